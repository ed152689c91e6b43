// SPDX-License-Identifier: Apache-2.0
internal import Dispatch
public import Foundation
public import KeychainServices

/// Asks the user for the vault's passphrase, and lets `SecItem…` calls and keys with `kSecUseAuthenticationContext`
/// read what the user has consented to.
///
/// The vault's agent asks, through a door that can show a prompt; the program learns that the passphrase was right, but
/// not the passphrase. A locked vault is unlocked by it. Without such a door, every request is denied.
open class LAContext: NSObject, @unchecked Sendable {
    private let state = ContextState()

    override public init() { super.init() }

    // MARK: Asking

    /// Returns whether the user could be asked now.
    ///
    /// - Parameter error: receives the reason if the result is `false`; otherwise untouched.
    /// - Returns: `false` for biometry and other devices, which are not supported.
    open func canEvaluatePolicy(_ policy: LAPolicy, error: NSErrorPointer) -> Bool {
        guard let obstacle = state.obstacle(to: policy) else { return true }
        // The caller's pointer is valid for the duration of the call.
        unsafe error?.pointee = LAError(obstacle)._bridgeToObjectiveC()
        return false
    }

    /// Asks the user, even if the vault is unlocked.
    ///
    /// - Parameters:
    ///   - localizedReason: the message to the user; not empty. The prompt also names the program.
    ///   - reply: called once, on a thread of this module: with `true`, or with an `NSError` that is an ``LAError``.
    open func evaluatePolicy(
        _ policy: LAPolicy, localizedReason: String, reply: @escaping @Sendable (Bool, (any Error)?) -> Void
    ) {
        state.evaluate(policy, localizedReason) { failure in
            reply(failure == nil, failure.map { LAError($0)._bridgeToObjectiveC() })
        }
    }

    /// Like ``evaluatePolicy(_:localizedReason:reply:)``.
    ///
    /// - Returns: `true`.
    /// - Throws: an `NSError` that is an ``LAError``.
    @discardableResult
    open func evaluatePolicy(_ policy: LAPolicy, localizedReason: String) async throws -> Bool {
        let failure = await withCheckedContinuation { continuation in
            evaluatePolicy(policy, localizedReason: localizedReason) { _, error in
                continuation.resume(returning: error)
            }
        }
        if let failure { throw failure }
        return true
    }

    /// Asks the user for the consent that an access control requires.
    ///
    /// - Parameter reply: as in ``evaluatePolicy(_:localizedReason:reply:)``; with `.biometryNotAvailable` if the
    ///   passphrase is not sufficient.
    open func evaluateAccessControl(
        _ accessControl: SecAccessControl, operation: LAAccessControlOperation, localizedReason: String,
        reply: @escaping @Sendable (Bool, (any Error)?) -> Void
    ) {
        let policy: LAPolicy =
            accessControl.isMetByPassphrase ? .deviceOwnerAuthentication : .deviceOwnerAuthenticationWithBiometrics
        evaluatePolicy(policy, localizedReason: localizedReason, reply: reply)
    }

    /// Cancels a pending prompt with `.appCancel`, and revokes consents. Later calls fail with `.invalidContext`.
    open func invalidate() { state.invalidate() }

    // MARK: What is not here

    /// - Returns: `false`: credentials are not supported.
    open func setCredential(_ credential: Data?, type: LACredentialType) -> Bool { false }

    open func isCredentialSet(_ type: LACredentialType) -> Bool { false }

    open var biometryType: LABiometryType { .none }

    /// Always `nil`: only used for biometry.
    open var evaluatedPolicyDomainState: Data? { nil }

    // MARK: Settings

    /// The message to the user when a `SecItem…` call asks with this context.
    open var localizedReason: String {
        get { state.settings.reason }
        set { state.change { $0.reason = newValue } }
    }

    /// Stored, but not shown.
    open var localizedFallbackTitle: String? {
        get { state.settings.fallbackTitle }
        set { state.change { $0.fallbackTitle = newValue } }
    }

    /// Stored, but not shown.
    open var localizedCancelTitle: String? {
        get { state.settings.cancelTitle }
        set { state.change { $0.cancelTitle = newValue } }
    }

    /// Whether the user must not be asked; calls then fail with `.notInteractive`.
    open var interactionNotAllowed: Bool {
        get { state.settings.interactionNotAllowed }
        set { state.change { $0.interactionNotAllowed = newValue } }
    }

    /// Stored, without effect.
    open var touchIDAuthenticationAllowableReuseDuration: TimeInterval {
        get { state.settings.reuseDuration }
        set { state.change { $0.reuseDuration = newValue } }
    }
}

extension LAContext: PersonContext {
    package var grant: PersonGrant? { state.grant }

    package var allowsQuestion: Bool { state.allowsQuestion }

    package var reason: String { state.settings.reason }
}
