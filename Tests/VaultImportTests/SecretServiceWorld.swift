// SPDX-License-Identifier: Apache-2.0
import Foundation
import SystemPackage
import TestSupport
import VaultCrypto

@testable import VaultImport

/// A private message bus with a provider of secrets. Both end with the value.
final class SecretServiceWorld {
    private let home: TemporaryDirectory
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()

    /// - Parameter provider: `nothing`, `keyring`, or `provider` and its scenario, as `secrets.py` documents.
    init(_ provider: String...) throws {
        home = try TemporaryDirectory()
        let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "secrets.py").path()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["--default-signal=PIPE", "python3", script, home.path.string] + provider
        process.environment = ["PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"]
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        _ = try line()
    }

    deinit {
        // The script ends the processes that it started.
        process.terminate()
        process.waitUntilExit()
    }

    var address: String { "unix:path=\(home.path.string)/bus" }

    func source(
        patience: Duration = .seconds(25), promptPatience: Duration = .seconds(25)
    ) throws -> SecretServiceSource {
        try SecretServiceSource(address: address, patience: patience, promptPatience: promptPatience)
    }

    /// Imports from the provider, which is kept alive until the end of the import.
    func logins(
        _ algorithms: [SecretServiceSession.Algorithm] = SecretServiceSession.Algorithm.allCases,
        patience: Duration = .seconds(25), promptPatience: Duration = .seconds(25),
        _ progress: (Double) -> Void = { _ in }
    ) throws -> ImportedLogins {
        var source = try source(patience: patience, promptPatience: promptPatience)
        source.algorithms = algorithms
        return try withExtendedLifetime(self) { try source.logins(progress) }
    }

    @discardableResult
    func ask(_ command: String) throws -> String {
        try input.fileHandleForWriting.write(contentsOf: Data((command + "\n").utf8))
        return try line()
    }

    struct Ended: Error {}

    private func line() throws -> String {
        var line: [UInt8] = []
        while let byte = try output.fileHandleForReading.read(upToCount: 1)?.first {
            if byte == 0x0a { return String(decoding: line, as: UTF8.self) }
            line.append(byte)
        }
        throw Ended()
    }

    static let hasKeyring = ["dbus-daemon", "gnome-keyring-daemon", "secret-tool", "python3"].allSatisfy(isThere)
    static let hasBus = ["dbus-daemon", "python3"].allSatisfy(isThere)

    private static func isThere(_ program: String) -> Bool { access("/usr/bin/" + program, X_OK) == 0 }
}

/// Returns the reason why an import failed.
func failure(_ body: () throws -> Void) -> String {
    do {
        try body()
        return "none"
    } catch { return "\(error)" }
}
