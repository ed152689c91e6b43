// SPDX-License-Identifier: Apache-2.0
internal import Foundation
@_implementationOnly import Vault
@_implementationOnly import VaultAgent

/// The value of `kSecUseAuthenticationContext`, as the calls use it: an `LAContext` of the module LocalAuthentication.
package protocol PersonContext: AnyObject {
    /// The user's consent; `nil` if the user was not asked yet.
    var grant: PersonGrant? { get }
    /// Whether a call may ask the user.
    var allowsQuestion: Bool { get }
    /// The program's message to the user; empty for none.
    var reason: String { get }
}

/// The user's consent: with it, calls can read protected items until it is released.
package final class PersonGrant: Sendable {
    /// An `AgentClient`. Modules that import this one need not know that type.
    private let client: any AnyObject & Sendable

    fileprivate init(_ client: AgentClient) { self.client = client }

    fileprivate var store: AgentClient? { client as? AgentClient }
}

/// A single attempt to have the user asked by the agent of the process's vault.
package final class PersonCall: Sendable {
    /// The reason why there is no consent.
    package enum Failure: Error {
        /// There is no vault, or none with a passphrase slot.
        case noPassphrase
        /// No agent with a door that can ask the user serves the vault.
        case nobodyAsks
        case dismissed
        case wrongPassphrase
        /// The user did not answer in time, or the agent has exited.
        case unanswered
    }

    /// An `AgentCall`.
    private let call: any AnyObject & Sendable

    package init() { call = AgentCall() }

    /// Checks whether the user could be asked now.
    package static func check() throws(Failure) { _ = try agent() }

    /// Asks the user and waits for the answer, at most 60 seconds from the time at which the prompt is shown.
    package func ask(_ reason: String) throws(Failure) -> PersonGrant {
        let agent = try PersonCall.agent()
        do throws(VaultError) { return PersonGrant(try agent.attended(reason: reason, call as? AgentCall)) } catch {
            switch error {
            case .presenceRequired: throw .nobodyAsks
            case .cancelled: throw .dismissed
            case .storage(.wrongPassphrase): throw .wrongPassphrase
            default: throw .unanswered
            }
        }
    }

    /// Cancels ``ask(_:)`` on another thread.
    package func end() { (call as? AgentCall)?.end() }

    private static func agent() throws(Failure) -> AgentClient {
        let hasPassphrase: Bool
        do throws(VaultError) {
            hasPassphrase = try DefaultStore.hasPassphrase()
        } catch { throw .noPassphrase }
        guard hasPassphrase else { throw .noPassphrase }
        guard let found = try? DefaultStore.agent(), found.greeting.asksPeople else { throw .nobodyAsks }
        return found
    }
}

extension Request {
    /// The settings of the dictionary for asking the user.
    struct People {
        var context: (any PersonContext)?
        var isAsked = true
        var isLeftOut = false
        var reason: String?

        /// - Throws: the error of the calls for an invalid value.
        mutating func take(_ name: String, _ value: Any) throws(VaultError) {
            switch name {
            case "u_AuthUI":
                isLeftOut = value as? String == "u_AuthUIS"
                if value as? String == "u_AuthUIF" { isAsked = false }
            case "u_NoAuthUI":
                guard let number = value as? NSNumber, isBoolean(number) else { throw .parameter(.key(name)) }
                if number.boolValue { isAsked = false }
            case "u_OpPrompt": reason = value as? String
            // A program may pass an object of an unrelated class of the same name.
            default: context = value as? any PersonContext
            }
        }

        /// How to treat items that require the user's consent.
        var presence: Query.Presence {
            if isLeftOut { return .leftOut }
            guard isAsked, context?.allowsQuestion != false else { return .refused }
            return .asked(reason: reason ?? context.flatMap { $0.reason.isEmpty ? nil : $0.reason })
        }

        /// The store that has the user's consent, to be used in place of the process's own.
        var store: (any ItemStore)? { context?.grant?.store }
    }
}
