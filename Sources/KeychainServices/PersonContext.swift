// SPDX-License-Identifier: Apache-2.0
internal import Foundation
@_implementationOnly import Vault
@_implementationOnly import VaultAgent

/// What a value of `kSecUseAuthenticationContext` tells the calls: an `LAContext` of the module LocalAuthentication.
package protocol PersonContext: AnyObject {
    /// What a person has allowed: a ``PersonGrant``'s. Nil: nobody was asked yet.
    var grant: PersonGrant? { get }
    /// Whether a call may have a person asked.
    var allowsQuestion: Bool { get }
    /// What the program says to the person; empty: nothing.
    var reason: String { get }
}

/// What a person has allowed: calls that show it read items that demand a person, until it is let go.
package final class PersonGrant: Sendable {
    /// An `AgentClient`. Those who import this module need not know that type.
    private let client: any AnyObject & Sendable

    fileprivate init(_ client: AgentClient) { self.client = client }

    fileprivate var store: AgentClient? { client as? AgentClient }
}

/// One try to have a person asked by the agent of the process's vault.
package final class PersonCall: Sendable {
    /// Why there is no grant.
    package enum Failure: Error {
        /// There is no vault, or none that a passphrase opens.
        case noPassphrase
        /// No agent serves the vault with a door that asks people.
        case nobodyAsks
        case dismissed
        case wrongPassphrase
        /// In time, or by an agent that is still there.
        case unanswered
    }

    /// An `AgentCall`.
    private let call: any AnyObject & Sendable

    package init() { call = AgentCall() }

    /// Whether a person could be asked now.
    package static func check() throws(Failure) { _ = try agent() }

    /// Has a person asked, and waits for the answer: 60 seconds at most once it is this program's turn.
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

    /// Another thread's ``ask(_:)`` ends.
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
    /// What the dictionary says about people who are asked.
    struct People {
        var context: (any PersonContext)?
        var isAsked = true
        var isLeftOut = false
        var reason: String?

        /// - Throws: what the calls answer to a value that is none.
        mutating func take(_ name: String, _ value: Any) throws(VaultError) {
            switch name {
            case "u_AuthUI":
                isLeftOut = value as? String == "u_AuthUIS"
                if value as? String == "u_AuthUIF" { isAsked = false }
            case "u_NoAuthUI":
                guard let number = value as? NSNumber, isBoolean(number) else { throw .parameter(.key(name)) }
                if number.boolValue { isAsked = false }
            case "u_OpPrompt": reason = value as? String
            // A program that has a class of this name for other reasons may pass an object of it.
            default: context = value as? any PersonContext
            }
        }

        /// What becomes of items that demand a person.
        var presence: Query.Presence {
            if isLeftOut { return .leftOut }
            guard isAsked, context?.allowsQuestion != false else { return .refused }
            return .asked(reason: reason ?? context.flatMap { $0.reason.isEmpty ? nil : $0.reason })
        }

        /// Whom to ask in the place of the process's own store: a person has allowed it.
        var store: (any ItemStore)? { context?.grant?.store }
    }
}
