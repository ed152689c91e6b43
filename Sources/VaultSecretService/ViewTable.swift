// SPDX-License-Identifier: Apache-2.0
internal import VaultAgent
internal import VaultDoorKit

/// The views by client; the key `nil` is the view shared by all clients without one of their own.
struct ViewTable {
    private var views: [DoorClient?: VaultView] = [:]
    /// The views whose agents are being asked. A task returns the reason why there is no view.
    private var connecting: [DoorClient?: Task<ServiceRefusal?, Never>] = [:]
    /// The clients with a view, in the order of their last use.
    private var byUse: [DoorClient] = []

    /// The maximum number of clients with a connection of their own to the agent.
    private static let mostOfOne = 16

    /// The view shared by all clients without one of their own.
    var shared: VaultView? { views[nil] }

    var all: [VaultView] { Array(views.values) }

    /// Returns the key of a client's view; `nil` for the shared one.
    func key(of client: ServiceClient) -> DoorClient? {
        client.isSandboxed || shared?.agent.greeting.asksWhoClientsAre == true ? client.process : nil
    }

    subscript(_ key: DoorClient?) -> VaultView? { views[key] }

    /// Notes that a client uses its view. Closes the view that was not used for the longest time, if there is one for
    /// too many clients.
    mutating func use(_ client: DoorClient) {
        byUse.removeAll { $0 == client }
        byUse.append(client)
        guard views[client] == nil else { return }
        while byUse.count > ViewTable.mostOfOne { views.removeValue(forKey: byUse.removeFirst())?.close() }
    }

    /// Returns the task that connects a client, or begins one: calls that arrive meanwhile wait for the same
    /// connection, since the agent accepts a limited number.
    mutating func connection(
        of key: DoorClient?, _ begin: () -> Task<ServiceRefusal?, Never>
    ) -> Task<ServiceRefusal?, Never> {
        if let task = connecting[key] { return task }
        let task = begin()
        connecting[key] = task
        return task
    }

    /// - Parameter view: `nil` if the connection failed.
    mutating func endConnection(of key: DoorClient?, _ view: VaultView?) {
        connecting[key] = nil
        if let view { views[key] = view }
    }

    /// Closes the view of a client that has disconnected.
    mutating func remove(_ client: DoorClient) {
        views.removeValue(forKey: client)?.close()
        byUse.removeAll { $0 == client }
    }

    /// Removes a view whose agent has exited.
    mutating func drop(_ view: VaultView) {
        view.close()
        if views[view.client] === view { views[view.client] = nil }
    }

    mutating func closeAll() {
        for view in views.values { view.close() }
        views = [:]
    }
}
