// SPDX-License-Identifier: Apache-2.0
internal import Dispatch
public import Foundation
public import KeychainServices

/// Has a person asked for the passphrase of the vault, and lets `SecItem…` calls and keys read, under
/// `kSecUseAuthenticationContext`, what they have allowed.
///
/// The agent of the vault asks, by a door that can; the program learns that the passphrase was right, and not what it
/// is. A vault that was locked is unlocked by it. Without such a door nothing is ever allowed.
open class LAContext: NSObject, @unchecked Sendable {
    private let state = ContextState()

    override public init() { super.init() }

    // MARK: Asking

    /// Whether a person could be asked now.
    ///
    /// - Parameter error: gets the reason when the answer is no; otherwise it stays as it is.
    /// - Returns: false for biometry and other devices, which are not here.
    open func canEvaluatePolicy(_ policy: LAPolicy, error: NSErrorPointer) -> Bool {
        guard let obstacle = state.obstacle(to: policy) else { return true }
        // The caller's pointer is valid for the length of the call.
        unsafe error?.pointee = LAError(obstacle)._bridgeToObjectiveC()
        return false
    }

    /// Has a person asked, also when the vault is unlocked.
    ///
    /// - Parameters:
    ///   - localizedReason: what they are told; not empty. They are told who says it as well.
    ///   - reply: called once, on a thread of this module's: with true, or with an `NSError` that is an ``LAError``.
    open func evaluatePolicy(
        _ policy: LAPolicy, localizedReason: String, reply: @escaping @Sendable (Bool, (any Error)?) -> Void
    ) {
        state.evaluate(policy, localizedReason) { failure in
            reply(failure == nil, failure.map { LAError($0)._bridgeToObjectiveC() })
        }
    }

    /// As ``evaluatePolicy(_:localizedReason:reply:)``.
    ///
    /// - Returns: true.
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

    /// Has a person asked for what an access control demands.
    ///
    /// - Parameter reply: as in ``evaluatePolicy(_:localizedReason:reply:)``; with `.biometryNotAvailable` when the
    ///   passphrase is not enough.
    open func evaluateAccessControl(
        _ accessControl: SecAccessControl, operation: LAAccessControlOperation, localizedReason: String,
        reply: @escaping @Sendable (Bool, (any Error)?) -> Void
    ) {
        let policy: LAPolicy =
            accessControl.isMetByPassphrase ? .deviceOwnerAuthentication : .deviceOwnerAuthenticationWithBiometrics
        evaluatePolicy(policy, localizedReason: localizedReason, reply: reply)
    }

    /// Ends what is being asked, with `.appCancel`, and takes back what was allowed. Later calls end with
    /// `.invalidContext`.
    open func invalidate() { state.invalidate() }

    // MARK: What is not here

    /// - Returns: false: there is nothing that takes one.
    open func setCredential(_ credential: Data?, type: LACredentialType) -> Bool { false }

    open func isCredentialSet(_ type: LACredentialType) -> Bool { false }

    open var biometryType: LABiometryType { .none }

    /// Nil: it is about biometry.
    open var evaluatedPolicyDomainState: Data? { nil }

    // MARK: Settings

    /// What a person is told when a `SecItem…` call asks with this context.
    open var localizedReason: String {
        get { state.settings.reason }
        set { state.change { $0.reason = newValue } }
    }

    /// Kept, and not shown.
    open var localizedFallbackTitle: String? {
        get { state.settings.fallbackTitle }
        set { state.change { $0.fallbackTitle = newValue } }
    }

    /// Kept, and not shown.
    open var localizedCancelTitle: String? {
        get { state.settings.cancelTitle }
        set { state.change { $0.cancelTitle = newValue } }
    }

    /// Whether nobody is asked, so that calls end with `.notInteractive`.
    open var interactionNotAllowed: Bool {
        get { state.settings.interactionNotAllowed }
        set { state.change { $0.interactionNotAllowed = newValue } }
    }

    /// Kept, without effect.
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
