// SPDX-License-Identifier: Apache-2.0
internal import Foundation
internal import Logging
internal import Synchronization
@_implementationOnly import VaultCrypto

/// The reason why a call on keys, certificates or trust failed.
struct StatusError: Error, Equatable {
    let status: OSStatus

    static let parameter = StatusError(status: errSecParam)

    init(status: OSStatus) { self.status = status }

    /// - Parameter refusal: the status for an authentication failure, such as numbers that do not belong together.
    init(_ error: CryptoError, refusal: OSStatus = errSecParam) {
        switch error {
        case .authenticationFailed: status = refusal
        case .outOfMemory: status = errSecAllocate
        default:
            status = errSecUnimplemented
            StatusError.noteMissingLibrary()
        }
    }

    private static let isNoted = Atomic(false)

    /// Logs once per process, even if the log handler itself uses keys.
    private static func noteMissingLibrary() {
        guard !isNoted.exchange(true, ordering: .relaxed) else { return }
        Logger(label: "KeychainServices").error("keys and certificates need libcrypto.so.3: install libssl3")
    }

    /// Returns an error for the caller, with the message of the status and the subject; never with a key or data.
    func error(_ subject: String? = nil) -> NSError {
        let message = SecCopyErrorMessageString(status, nil) as String? ?? "OSStatus \(status)"
        let text = subject.map { "\(message) (\($0))" } ?? message
        return NSError(
            domain: NSOSStatusErrorDomain, code: Int(status),
            userInfo: [NSLocalizedDescriptionKey: text, "NSDescription": text])
    }
}

/// Runs the body of a call that reports failure through an error pointer, which stays untouched on success.
///
/// - Parameter subject: the subject of the error's description, such as an algorithm.
func reporting<R>(
    to error: UnsafeMutablePointer<Unmanaged<CFError>?>?, _ subject: String? = nil,
    _ body: () throws(StatusError) -> R
) -> R? {
    do throws(StatusError) { return try body() } catch let failure {
        // The caller's pointer is valid for the duration of the call.
        unsafe error?.pointee = Unmanaged.passRetained(failure.error(subject))
        return nil
    }
}

/// Converts errors of the cryptography into a status.
func converting<R: ~Copyable>(
    refusal: OSStatus = errSecParam, _ body: () throws(CryptoError) -> R
) throws(StatusError) -> R {
    do throws(CryptoError) { return try body() } catch { throw StatusError(error, refusal: refusal) }
}
