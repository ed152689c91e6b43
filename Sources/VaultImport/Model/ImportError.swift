// SPDX-License-Identifier: Apache-2.0
package import VaultCrypto

/// Why nothing was imported or exported. None of it has content in it.
package enum ImportError: Error {
    /// What was read makes no sense.
    ///
    /// - Parameters:
    ///   - place: such as "line 12" or "entry 3"; nil: the whole of it.
    ///   - flaw: in words, such as "a quote is left open".
    case malformed(_ place: String?, _ flaw: String)
    /// A field, an attachment or the whole has more bytes than can be taken.
    case tooLarge(_ place: String?)
    /// It is another product's, or a version that is not known.
    case otherFormat(_ flaw: String, hint: String?)
    /// The passphrase of what is imported, which is not the vault's.
    case wrongPassphrase
    /// The key derivation of what is imported costs more than what a file may ask for.
    case tooExpensive
    /// A program or a library is not there.
    ///
    /// - Parameter package: of Debian's, that has it.
    case missing(_ what: String, package: String)
    /// A program ended with a failure.
    ///
    /// - Parameter place: of what it was to read.
    case program(_ name: String, _ place: String?, hint: String?)
    /// A service that a running program offers is not there, does not answer, or went away.
    ///
    /// - Parameter flaw: in words, such as "the bus of the session cannot be reached".
    case service(_ flaw: String, hint: String?)
    case cryptography(CryptoError)
    /// What the caller's own functions threw.
    case outside(any Error)
}

extension ImportError {
    static func line(_ line: Int, _ flaw: String) -> ImportError { .malformed("line \(line)", flaw) }
}

/// Runs a body that needs locked memory, or the like.
func secured<R: ~Copyable>(_ body: () throws(CryptoError) -> R) throws(ImportError) -> R {
    do throws(CryptoError) { return try body() } catch { throw .cryptography(error) }
}

/// Runs a body of the caller's, or of the vault's.
func outside<R>(_ body: () throws -> R) throws(ImportError) -> R {
    do { return try body() } catch {
        if let error = error as? ImportError { throw error }
        throw .outside(error)
    }
}
