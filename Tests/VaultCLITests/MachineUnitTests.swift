// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

/// The units of the machine's vault, as in the sources.
struct MachineUnitTests {
    private static func lines(_ name: String) throws -> [String] {
        let scripts = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Scripts")
        return try String(contentsOf: scripts.appending(path: name).standardized, encoding: .utf8)
            .split(separator: "\n").map(String.init)
    }

    private static func value(_ key: String, _ name: String) throws -> String {
        let line = try #require(try lines("systemd/" + name).first { $0.hasPrefix(key + "=") })
        return String(line.dropFirst(key.count + 1))
    }

    @Test func `root binds the socket of the credentials in a directory of its own, beside that of the agent`() throws {
        let socket = try Self.value("ListenStream", "vault-system-credentials.socket")
        let directory = try #require(socket.split(separator: "/").dropLast().last.map(String.init))
        #expect(socket == "%t/\(directory)/credentials.sock")
        #expect(try Self.value("DirectoryMode", "vault-system-credentials.socket") == "0755")
        let agents = try Self.value("RuntimeDirectory", "vault-system.service")
        #expect(agents != directory && agents.hasPrefix(directory + "/"))
        for service in ["vault-system.service", "vault-system-credentials.service"] {
            #expect(try Self.value("Environment", service).hasSuffix(" VAULT_AGENT_SOCK=%t/\(agents)/agent.sock"))
        }
        #expect(try Self.lines("debian/vault-system").joined().contains("VAULT_AGENT_SOCK=/run/\(agents)/agent.sock "))
        let own = try Self.lines("systemd/vault-system-credentials.service")
        #expect(!own.contains { $0.hasPrefix("RuntimeDirectory=") })
    }
}
