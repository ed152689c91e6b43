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

    /// The reason why a look-up failed.
    package enum Failure: Error, Equatable, Sendable {
        /// libsystemd is missing.
        case noLibrary
        /// There is no bus, or it denies this process access.
        case unreachable
        /// The bus does not answer in time, or not as a bus does.
        case silent
    }

    private static let bus = "org.freedesktop.DBus"

    private let connection: BusConnection

    /// - Parameters:
    ///   - address: the address of the bus; `nil` for the session bus.
    ///   - patience: the timeout of each call.
    package init(address: String? = nil, patience: Duration = .seconds(2)) throws(Failure) {
        do throws(BusError) { connection = try BusConnection(address, patience: patience) } catch {
            throw error == .noLibrary ? .noLibrary : .unreachable
        }
    }

    /// Uses an existing connection.
    package init(on connection: BusConnection) { self.connection = connection }

    /// Returns the owner of a name; `nil` if there is none.
    package func owner(of name: String) throws(Failure) -> Owner? {
        do throws(BusError) {
            let owner = try ask("GetNameOwner", name).text()
            return Owner(connection: owner, process: try process(of: owner))
        } catch {
            guard case .refused = error else { throw .silent }
            return nil
        }
    }

    /// Returns the process of a connection; 0 if it has disconnected, or the bus cannot see it.
    package func process(of connection: String) throws(BusError) -> Int32 {
        do throws(BusError) {
            return Int32(clamping: try ask("GetConnectionUnixProcessID", connection).number())
        } catch {
            guard case .refused = error else { throw error }
            return 0
        }
    }

    /// Makes the bus search for services that it can start: it does not notice a new directory.
    package func reloadConfiguration() throws(Failure) {
        do throws(BusError) { _ = try ask("ReloadConfig") } catch {
            guard case .refused = error else { throw .silent }
        }
    }

    private func ask(_ method: String, _ argument: String? = nil) throws(BusError) -> BusMessage {
        let member = BusMember(interface: Self.bus, name: method)
        return try connection.call(member, at: "/org/freedesktop/DBus", of: Self.bus) { message throws(BusError) in
            if let argument { try message.append(argument) }
        }
    }
}
