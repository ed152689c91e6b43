// SPDX-License-Identifier: Apache-2.0
internal import Glibc
package import VaultCrypto

/// Why a call on a bus has no answer.
package enum BusError: Error, Equatable {
    /// libsystemd is not there, or too old.
    case noLibrary
    /// There is no bus at the address, or it does not let this process in.
    case unreachable
    /// The connection ended.
    case lost
    /// Nothing came in time.
    case timedOut
    /// The answer is an error.
    ///
    /// - Parameter name: of the error, in the sender's words: to compare, not to show.
    case refused(name: String)
    /// A message is not made as it has to be.
    case malformed
    case cryptography(CryptoError)
}

extension BusError {
    /// - Parameters:
    ///   - result: -errno, as sd-bus returns it.
    ///   - name: of an answer that is an error; empty when there was none.
    init(_ result: CInt, name: String = "") {
        switch -result {
        case ETIMEDOUT: self = .timedOut
        case ENOTCONN, ECONNRESET, ESHUTDOWN, EPIPE: self = .lost
        case ENOMEM where name.isEmpty: self = .cryptography(.outOfMemory)
        default: self = name.isEmpty ? .malformed : .refused(name: name)
        }
    }
}
