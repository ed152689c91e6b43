// SPDX-License-Identifier: Apache-2.0

/// Who has which name on a bus. Nothing is started for it: a name without an owner has none.
package struct BusNames {
    /// A connection that has a name.
    package struct Owner: Equatable, Sendable {
        /// Such as `:1.7`.
        package let connection: String
        /// 0: the bus does not say.
        package let process: Int32
    }

    /// Why there is no answer.
    package enum Failure: Error, Equatable, Sendable {
        /// libsystemd is not there.
        case noLibrary
        /// There is no bus, or it does not let this process in.
        case unreachable
        /// It does not answer in time, or not as a bus does.
        case silent
    }

    private static let bus = "org.freedesktop.DBus"

    private let connection: BusConnection

    /// - Parameters:
    ///   - address: of the bus; nil: the session's.
    ///   - patience: how long each answer may take.
    package init(address: String? = nil, patience: Duration = .seconds(2)) throws(Failure) {
        do throws(BusError) { connection = try BusConnection(address, patience: patience) } catch {
            throw error == .noLibrary ? .noLibrary : .unreachable
        }
    }

    /// On a connection that is there already.
    package init(on connection: BusConnection) { self.connection = connection }

    /// Nil: the name has no owner.
    package func owner(of name: String) throws(Failure) -> Owner? {
        do throws(BusError) {
            let owner = try ask("GetNameOwner", name).text()
            return Owner(connection: owner, process: try process(of: owner))
        } catch {
            guard case .refused = error else { throw .silent }
            return nil
        }
    }

    /// The process of a connection; 0: it has gone meanwhile, or is out of the bus' sight.
    package func process(of connection: String) throws(BusError) -> Int32 {
        do throws(BusError) {
            return Int32(clamping: try ask("GetConnectionUnixProcessID", connection).number())
        } catch {
            guard case .refused = error else { throw error }
            return 0
        }
    }

    /// Makes the bus look for the programs that it can start: it does not notice a directory that is new.
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
