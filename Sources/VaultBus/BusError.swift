// SPDX-License-Identifier: Apache-2.0
internal import Glibc
package import VaultCrypto

/// The reason why a call on a bus failed.
package enum BusError: Error, Equatable {
    /// libsystemd is missing or too old.
    case noLibrary
    /// There is no bus at the address, or it denies this process access.
    case unreachable
    /// The connection has ended.
    case lost
    /// No answer before the timeout.
    case timedOut
    /// The answer is an error.
    ///
    /// - Parameter name: the error's name, chosen by the sender: to be compared, not displayed.
    case refused(name: String)
    /// A message has an unexpected structure.
    case malformed
    case cryptography(CryptoError)
}

extension BusError {
    /// - Parameters:
    ///   - result: -errno, as returned by sd-bus.
    ///   - name: the name of the error answer; empty if there was none.
    init(_ result: CInt, name: String = "") {
        switch -result {
        case ETIMEDOUT: self = .timedOut
        case ENOTCONN, ECONNRESET, ESHUTDOWN, EPIPE: self = .lost
        case ENOMEM where name.isEmpty: self = .cryptography(.outOfMemory)
        default: self = name.isEmpty ? .malformed : .refused(name: name)
        }
    }
}
