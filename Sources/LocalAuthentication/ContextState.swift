// SPDX-License-Identifier: Apache-2.0
internal import Dispatch
internal import Foundation
internal import KeychainServices
internal import Synchronization

/// The state of a context, safe to use from any thread.
final class ContextState: Sendable {
    struct Settings {
        var reason = ""
        var fallbackTitle: String?
        var cancelTitle: String?
        var interactionNotAllowed = false
        var reuseDuration: TimeInterval = 0
    }

    private struct State {
        var settings = Settings()
        var grant: PersonGrant?
        /// The pending calls.
        var calls: [PersonCall] = []
        var isInvalid = false
    }

    private let state = Mutex(State())

    var settings: Settings { state.withLock(\.settings) }

    func change(_ change: (inout Settings) -> Void) { state.withLock { change(&$0.settings) } }

    var grant: PersonGrant? { state.withLock(\.grant) }

    var allowsQuestion: Bool { state.withLock { !$0.isInvalid && !$0.settings.interactionNotAllowed } }

    /// Returns the reason why the user cannot be asked; `nil` if the user can.
    func obstacle(to policy: LAPolicy) -> LAError.Code? {
        guard !state.withLock(\.isInvalid) else { return .invalidContext }
        switch policy {
        case .deviceOwnerAuthentication: break
        case .deviceOwnerAuthenticationWithCompanion: return .companionNotAvailable
        case .deviceOwnerAuthenticationWithBiometrics, .deviceOwnerAuthenticationWithBiometricsOrCompanion,
            .deviceOwnerAuthenticationWithWristDetection:
            return .biometryNotAvailable
        }
        do throws(PersonCall.Failure) { try PersonCall.check() } catch { return LAError.Code(error) }
        return settings.interactionNotAllowed ? .notInteractive : nil
    }

    /// - Parameter end: called once, on another thread; with `nil` if the user consented.
    func evaluate(_ policy: LAPolicy, _ reason: String, end: @escaping @Sendable (LAError.Code?) -> Void) {
        // A thread of its own, since the call blocks until the user answers.
        DispatchQueue(label: "local-authentication").async { end(self.evaluate(policy, reason)) }
    }

    private func evaluate(_ policy: LAPolicy, _ reason: String) -> LAError.Code? {
        guard !state.withLock(\.isInvalid) else { return .invalidContext }
        guard !reason.isEmpty else { return .authenticationFailed }
        if let obstacle = obstacle(to: policy) { return obstacle }
        let call = PersonCall()
        let isValid = state.withLock { state in
            if !state.isInvalid { state.calls.append(call) }
            return !state.isInvalid
        }
        guard isValid else { return .appCancel }
        let result: Result<PersonGrant, PersonCall.Failure>
        do throws(PersonCall.Failure) { result = .success(try call.ask(reason)) } catch { result = .failure(error) }
        return state.withLock { state in
            state.calls.removeAll { $0 === call }
            guard !state.isInvalid else { return .appCancel }
            switch result {
            case .success(let grant):
                state.grant = grant
                return nil
            case .failure(let failure): return LAError.Code(failure)
            }
        }
    }

    func invalidate() {
        let (calls, grant) = state.withLock { state in
            state.isInvalid = true
            defer { (state.calls, state.grant) = ([], nil) }
            return (state.calls, state.grant)
        }
        for call in calls { call.end() }
        // The connection is closed after the lock is released.
        withExtendedLifetime(grant) {}
    }
}

extension LAError.Code {
    init(_ failure: PersonCall.Failure) {
        self =
            switch failure {
            case .noPassphrase: .passcodeNotSet
            case .nobodyAsks: .notInteractive
            case .dismissed: .userCancel
            case .wrongPassphrase: .authenticationFailed
            case .unanswered: .systemCancel
            }
    }
}
