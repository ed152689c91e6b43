// SPDX-License-Identifier: Apache-2.0
internal import VaultSecretService

extension SecretService: OpenedDoor {}

extension DoorServing {
    /// Returns the service that has the names of the doors on the session bus; `nil` without a name.
    static func bus(secretService: Bool, portal: Bool) -> DoorServing? {
        var names: SecretService.Names = []
        if secretService { names.insert(.secretService) }
        if portal { names.insert(.portal) }
        guard !names.isEmpty else { return nil }
        return DoorServing(audience: .session) { [names] house, end in
            do throws(DoorError) {
                return try SecretService.start(names, house: house) { end(CommandError($0)) }
            } catch { throw CommandError(error) }
        }
    }
}

extension CommandError {
    init(_ error: DoorError) {
        switch error {
        case .noLibrary:
            self.init(.inputOutput, "the library for D-Bus is not there", hint: "install libsystemd0")
        case .noBus:
            self.init(
                .inputOutput, "there is no session bus", hint: "set DBUS_SESSION_BUS_ADDRESS, or 'dbus-run-session'")
        case .busLost: self.init(.inputOutput, "the session bus has gone")
        case .nameTaken(let name, let process, let program):
            let owner = program.isEmpty ? "another program" : "'\(program.printable)'"
            self.init(
                .busy, "\(owner) (process \(process)) has the name \(name)",
                hint: "see 'vault doors status'; 'vault doors enable' tells the session to start this one instead")
        case .noDescriptors:
            self.init(.resources, "the process has too many files open", hint: "raise its limit: see 'ulimit -n'")
        case .failed: self.init(.failure, "the doors could not be opened")
        }
    }
}
