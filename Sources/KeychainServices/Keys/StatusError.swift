// SPDX-License-Identifier: Apache-2.0
internal import Foundation
internal import Logging
internal import Synchronization
@_implementationOnly import VaultCrypto

/// Why a call on keys, certificates or trust failed, on its way to its caller.
struct StatusError: Error, Equatable {
    let status: OSStatus

    static let parameter = StatusError(status: errSecParam)

    init(status: OSStatus) { self.status = status }

    /// - Parameter refusal: what it means that the numbers do not fit each other.
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

    /// Said once a process, also when what writes the line down uses keys itself.
    private static func noteMissingLibrary() {
        guard !isNoted.exchange(true, ordering: .relaxed) else { return }
        Logger(label: "KeychainServices").error("keys and certificates need libcrypto.so.3: install libssl3")
    }

    /// The error that Apple's calls give out: the status's message and what was asked for; no key, no data.
    func error(_ subject: String? = nil) -> NSError {
        let message = SecCopyErrorMessageString(status, nil) as String? ?? "OSStatus \(status)"
        let text = subject.map { "\(message) (\($0))" } ?? message
        return NSError(
            domain: NSOSStatusErrorDomain, code: Int(status),
            userInfo: [NSLocalizedDescriptionKey: text, "NSDescription": text])
    }
}

/// Runs the body of a call that tells of a failure by an error, which stays untouched on success.
///
/// - Parameter subject: what the error's description names: an algorithm.
func reporting<R>(
    to error: UnsafeMutablePointer<Unmanaged<CFError>?>?, _ subject: String? = nil,
    _ body: () throws(StatusError) -> R
) -> R? {
    do throws(StatusError) { return try body() } catch let failure {
        // The caller's pointer is valid for the length of the call.
        unsafe error?.pointee = Unmanaged.passRetained(failure.error(subject))
        return nil
    }
}

/// Turns what the cryptography throws into a status.
func converting<R: ~Copyable>(
    refusal: OSStatus = errSecParam, _ body: () throws(CryptoError) -> R
) throws(StatusError) -> R {
    do throws(CryptoError) { return try body() } catch { throw StatusError(error, refusal: refusal) }
}
