// SPDX-License-Identifier: Apache-2.0
internal import Vault
internal import VaultAgent

/// A request that the agent accepts.
protocol ServedRequest: AgentRequest {
    /// Whether the policy permits this client the request.
    func isPermitted(to caller: Caller) -> Bool
}

extension ServedRequest {
    func isPermitted(to caller: Caller) -> Bool { caller.access == .full }
}

/// A request of any client.
protocol OpenRequest: ServedRequest {}

extension OpenRequest {
    func isPermitted(to caller: Caller) -> Bool { true }
}

/// A request of any client with a right.
protocol KnownRequest: ServedRequest {}

extension KnownRequest {
    func isPermitted(to caller: Caller) -> Bool { caller.access != .none }
}

/// A request that concerns the vault as a whole, and so the items of every group.
protocol WholeRequest: ServedRequest {}

extension WholeRequest {
    func isPermitted(to caller: Caller) -> Bool { caller.isWhole }
}

/// A request that is answered from the vault. The answer may wait for the disk, and so runs on no event loop.
protocol VaultRequest: ServedRequest {
    static var lane: Lane { get }

    /// - Returns: one reply, or the parts of one.
    func replies(to caller: Caller, from answers: Answers) throws(VaultError) -> [Reply]

    /// Returns the replies to a request that need not wait for another thread; `nil` if they have to. The thread that
    /// uses the vault delays all others, so the choice of the thread for a query makes no difference to them.
    func repliesAtOnce(to caller: Caller, from answers: Answers) throws(VaultError) -> [Reply]?
}

/// A request that is answered by one call of the vault.
protocol PlainRequest: VaultRequest {
    func reply(from vault: Vault) throws(VaultError) -> Reply

    /// The log's line about the action, with the number of items; `nil` for none.
    func line(_ reply: Reply) -> (verb: AuditLog.Verb, count: Int)?
}

extension PlainRequest {
    func replies(to caller: Caller, from answers: Answers) throws(VaultError) -> [Reply] {
        let only = try answers.use(caller) { vault throws(VaultError) in try reply(from: vault) }
        if let (verb, count) = line(only) {
            try answers.afterwards { audit throws(VaultError) in try audit.note(verb, count: count, by: caller) }
        }
        return [only]
    }

    func line(_ reply: Reply) -> (verb: AuditLog.Verb, count: Int)? { nil }
}

/// The threads that answer a request.
enum Lane {
    case pool
    /// A thread for key derivations. An attempt may be delayed, which must not delay other requests.
    case keys
    /// The threads for requests that may wait for a remote, and so only delay requests of the same kind.
    case remotes
    /// A thread beyond the pools, for some seconds at most.
    case own
}

extension VaultRequest {
    static var lane: Lane { .pool }

    func repliesAtOnce(to caller: Caller, from answers: Answers) throws(VaultError) -> [Reply]? { nil }
}
