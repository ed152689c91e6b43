// SPDX-License-Identifier: Apache-2.0
import Foundation
import SystemPackage
import TestSupport
import Testing
import VaultBus

@testable import VaultSecretService

/// The command with an agent and doors of its own: the release build, if given for these tests.
final class DoorWorld {
    let bus: PrivateBus
    let pinentry: FakePinentry
    let doors = Process()

    private static let command: String = {
        if let release = ProcessInfo.processInfo.environment["VAULT_RELEASE"] { return release + "/vault" }
        let path =
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? CommandLine.arguments[0]
        // Swift Testing may run the tests from a helper program; the bundle's path is then the first argument that
        // names it.
        let bundle = CommandLine.arguments.first { $0.contains("PackageTests.xctest") } ?? path
        return URL(filePath: bundle).deletingLastPathComponent().path() + "vault"
    }()

    /// - Parameter pin: Shell code that answers for the person; `nil` answers with the passphrase.
    init(_ passphrase: String, pin: String? = nil) throws {
        bus = try PrivateBus()
        pinentry = try FakePinentry(pin: pin ?? "echo 'D \(passphrase)'; echo OK")
        try bus.directory.write(Array((passphrase + "\n").utf8), to: "pass")
        try FileManager.default.createDirectory(
            atPath: bus.directory.path.appending("run").string, withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o700])
        try run("init", "--kdf", "interactive", "--passphrase-file", bus.directory.path.appending("pass").string)
        try start(doors, ["doors", "--secret-service"])
        try client().awaitName("org.freedesktop.secrets", hasOwner: true)
    }

    deinit {
        if doors.isRunning {
            kill(doors.processIdentifier, SIGTERM)
            doors.waitUntilExit()
        }
        _ = try? run("agent", "--stop")
    }

    func client() throws -> BusClient { try BusClient(bus.address) }

    private func start(_ process: Process, _ arguments: [String]) throws {
        let directory = bus.directory.path
        process.executableURL = URL(filePath: "/usr/bin/env")
        // The limit on descriptors that systemd sets.
        let shell = ["/bin/bash", "-c", "ulimit -Sn 1024; exec \"$0\" \"$@\""]
        process.arguments = ["--default-signal"] + shell + [Self.command] + arguments
        process.environment = [
            "PATH": "/usr/bin:/bin", "HOME": directory.string, "XDG_RUNTIME_DIR": directory.appending("run").string,
            "DBUS_SESSION_BUS_ADDRESS": bus.address, "VAULT_PINENTRY": pinentry.program, "DISPLAY": ":7",
        ]
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
    }

    private func run(_ arguments: String...) throws {
        let process = Process()
        try start(process, arguments)
        process.waitUntilExit()
        #expect(process.terminationStatus == 0, "\(arguments)")
    }
}
