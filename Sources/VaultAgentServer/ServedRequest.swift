// SPDX-License-Identifier: Apache-2.0
internal import Vault
internal import VaultAgent

/// A request that the agent takes.
protocol ServedRequest: AgentRequest {
    /// Whether the policy lets this client ask for it.
    func isPermitted(to caller: Caller) -> Bool
}

extension ServedRequest {
    func isPermitted(to caller: Caller) -> Bool { caller.access == .full }
}

/// One that is answered from the vault. That may wait for the disk, and runs on no event loop.
protocol VaultRequest: ServedRequest {
    /// - Returns: one reply, or the parts of one.
    func replies(to caller: Caller, from answers: Answers) throws(VaultError) -> [Reply]

    /// The replies to a request that need not wait for another thread; nil: they have to. The thread that holds the
    /// vault makes all others wait, so it makes no difference to them on which thread a query runs.
    func repliesAtOnce(to caller: Caller, from answers: Answers) throws(VaultError) -> [Reply]?
}

/// One that may wait for a remote, and keeps those waiting alone that may do so too.
protocol RemoteRequest: VaultRequest {}

extension VaultRequest {
    func repliesAtOnce(to caller: Caller, from answers: Answers) throws(VaultError) -> [Reply]? { nil }
}

extension Caller {
    /// - Throws: `.agent(.refused)` for what the policy does not let this client do.
    func check(_ request: some ServedRequest) throws(VaultError) {
        guard request.isPermitted(to: self) else { throw .agent(.refused) }
    }
}
