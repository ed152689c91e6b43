// SPDX-License-Identifier: Apache-2.0
package import VaultCrypto

/// The reason why nothing was imported or exported. Never contains content.
package enum ImportError: Error {
    /// The input is malformed, in a place such as "line 12", or as a whole (`nil`).
    case malformed(_ place: String?, _ flaw: String)
    /// A field, an attachment or the whole input exceeds the size limit.
    case tooLarge(_ place: String?)
    /// The input is in the format of another product, or of an unknown version.
    case otherFormat(_ flaw: String, hint: String?)
    /// The passphrase of the imported file, not of the vault, is wrong.
    case wrongPassphrase
    /// The key derivation of the imported file costs more than a file may demand.
    case tooExpensive
    /// A program or a library is missing, which is in a package of Debian.
    case missing(_ what: String, package: String)
    /// A program failed, with the input of a place.
    case program(_ name: String, _ place: String?, hint: String?)
    /// A service of a running program is missing, does not answer, or has disconnected.
    case service(_ flaw: String, hint: String?)
    case cryptography(CryptoError)
    /// An error of a function passed in by the caller.
    case outside(any Error)
}

extension ImportError {
    static func line(_ line: Int, _ flaw: String) -> ImportError { .malformed("line \(line)", flaw) }
}

func secured<R: ~Copyable>(_ body: @autoclosure () throws(CryptoError) -> R) throws(ImportError) -> R {
    do throws(CryptoError) { return try body() } catch { throw .cryptography(error) }
}

func outside<R>(_ body: () throws -> R) throws(ImportError) -> R {
    do { return try body() } catch {
        if let error = error as? ImportError { throw error }
        throw .outside(error)
    }
}
