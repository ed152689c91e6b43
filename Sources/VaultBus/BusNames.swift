// SPDX-License-Identifier: Apache-2.0

/// Looks up the owners of names on a bus, without activating a service.
package struct BusNames {
    /// A connection that has a name.
    package struct Owner: Equatable, Sendable {
        /// The unique name, such as `:1.7`.
        package let connection: String
        /// The process; 0 if the bus does not report it.
        package let process: Int32
    }

    private let connection: BusConnection

    /// - Parameters:
    ///   - address: the address of the bus; `nil` for the session bus.
    ///   - patience: the timeout of each call.
    package init(address: String? = nil, patience: Duration = .seconds(2)) throws(BusError) {
        connection = try BusConnection(address, patience: patience)
    }

    /// Uses an existing connection.
    package init(on connection: BusConnection) { self.connection = connection }

    /// Returns the owner of a name; `nil` if there is none.
    package func owner(of name: String) throws(BusError) -> Owner? {
        guard let owner = try ask("GetNameOwner", name)?.text() else { return nil }
        return Owner(connection: owner, process: try process(of: owner))
    }

    /// Returns the process of a connection; 0 if it has disconnected, or the bus cannot see it.
    package func process(of connection: String) throws(BusError) -> Int32 {
        Int32(clamping: try ask("GetConnectionUnixProcessID", connection)?.number() ?? 0)
    }

    /// Makes the bus search for services that it can start: it does not notice a new directory.
    package func reloadConfiguration() throws(BusError) { _ = try ask("ReloadConfig") }

    /// - Returns: `nil` if the bus refuses.
    private func ask(_ method: String, _ argument: String? = nil) throws(BusError) -> BusMessage? {
        let member = BusMember(interface: BusDaemon.name, name: method)
        do throws(BusError) {
            return try connection.call(member, at: BusDaemon.path, of: BusDaemon.name) { message throws(BusError) in
                if let argument { try message.append(argument) }
            }
        } catch {
            guard case .refused = error else { throw error }
            return nil
        }
    }
}

/// The message bus itself, as a peer.
package enum BusDaemon {
    package static let name = "org.freedesktop.DBus"
    package static let path = "/org/freedesktop/DBus"
    package static let ownerChanged = BusMember(interface: name, name: "NameOwnerChanged")
}
