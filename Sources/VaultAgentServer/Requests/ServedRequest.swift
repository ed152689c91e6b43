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

/// A request that is answered from the vault. The answer may wait for the disk, and so runs on no event loop.
protocol VaultRequest: ServedRequest {
    /// - Returns: one reply, or the parts of one.
    func replies(to caller: Caller, from answers: Answers) throws(VaultError) -> [Reply]

    /// Returns the replies to a request that need not wait for another thread; `nil` if they have to. The thread that
    /// uses the vault delays all others, so the choice of the thread for a query makes no difference to them.
    func repliesAtOnce(to caller: Caller, from answers: Answers) throws(VaultError) -> [Reply]?
}

/// A request that may wait for a remote, and so only delays requests of the same kind.
protocol RemoteRequest: VaultRequest {}

extension VaultRequest {
    func repliesAtOnce(to caller: Caller, from answers: Answers) throws(VaultError) -> [Reply]? { nil }
}

extension Caller {
    /// - Throws: `.agent(.refused)` for a request that the policy does not permit this client.
    func check(_ request: some ServedRequest) throws(VaultError) {
        guard request.isPermitted(to: self) else { throw .agent(.refused) }
    }
}
