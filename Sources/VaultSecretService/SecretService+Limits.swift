// SPDX-License-Identifier: Apache-2.0
internal import Vault

extension SecretService {
    /// Makes room for a session or a prompt.
    ///
    /// - Throws: as ``ClientHoldings/makeRoom(for:)``.
    func makeRoom(for client: ServiceClient) throws(ServiceRefusal) {
        if let (prompt, owner) = try holdings.makeRoom(for: client) { dismiss(prompt, owner) }
    }

    /// Waits for the user, without blocking other calls.
    func waitAside<R: Sendable>(_ client: ServiceClient, _ body: () async -> R) async -> R {
        turns.beginSearch(of: client.program)
        let result = await body()
        turns.endSearch(of: client.program)
        return result
    }

    /// Makes room for a search that waits for the user.
    ///
    /// - Throws: `.tooMany`.
    func checkWaiting(_ client: ServiceClient) throws(ServiceRefusal) {
        guard let most = try turns.programToGiveWay(to: client.program) else { return }
        guard asking.giveUpOne(of: most) else { throw CallTurns.tooMany }
    }

    /// Returns the placeholder of a search until the vault is unlocked.
    func standIn(
        for attributes: ProgramAttributes, in collection: CollectionName?, _ client: ServiceClient
    ) throws(ServiceRefusal) -> ServiceObject {
        let number = try holdings.standIn(for: attributes, in: collection, client)
        return .search(collection ?? viewAtOnce(for: client).map { $0.collection($0.home) } ?? .login, number)
    }
}
