// SPDX-License-Identifier: Apache-2.0
import Foundation
import KeychainServices
import TestSupport
import Testing
import Vault
import VaultAgentServer
import VaultCrypto
import VaultFormat

@testable import VaultStorage

/// Environment variables belong to the whole process, so these tests run in processes of their own.
extension SecItemTests {
    @Suite struct BindingTests {
        @Test func `without a passphrase the calls do not interact, and read no variable that could hold one`() async {
            await #expect(processExitsWith: .success) {
                let home = try Home()
                try home.makeVault()
                setenv("VAULT_PASSPHRASE", Home.passphrase, 1)
                try check(add() == errSecInteractionNotAllowed && copy() == errSecInteractionNotAllowed)
            }
        }

        @Test func `without a vault nothing is found, and adding is not available`() async {
            await #expect(processExitsWith: .success) {
                let home = try Home()
                try home.write(Home.passphrase, to: "pass", as: "VAULT_PASSPHRASE_FILE")
                try check(
                    copy() == errSecItemNotFound && delete() == errSecItemNotFound && update() == errSecItemNotFound)
                try check(add() == errSecNotAvailable)
                // An error in the request is still reported first.
                try check(SecItemCopyMatching(["class": 5] as CFDictionary, nil) == errSecParam)
                try check(copy(["acct": true]) == errSecParam && copy(["srvr": "h"]) == errSecNoSuchAttr)
                try check(
                    copy(["agrp": "foreign"]) == errSecMissingEntitlement
                        && add(["agrp": "foreign"]) == errSecMissingEntitlement)
                let changes = ["class": "genp"] as CFDictionary
                try check(SecItemUpdate(["class": "genp"] as CFDictionary, changes) == errSecNoSuchAttr)
                try check(SecItemDelete(["class": "genp", "m_Limit": 1] as CFDictionary) == errSecParam)
                try home.makeVault()
                try check(add() == errSecSuccess && copy() == errSecSuccess)
                try FileManager.default.removeItem(atPath: home.path.string)
                try check(copy() == errSecItemNotFound && add() == errSecNotAvailable)
                // The vault's directory also disappears, while the vault is open.
                try home.makeVault()
                try check(add() == errSecSuccess)
                try FileManager.default.removeItem(atPath: home.path.removingLastComponent().string)
                try check(
                    delete() == errSecItemNotFound && update() == errSecItemNotFound && add() == errSecNotAvailable)
            }
        }

        @Test func `an agent unlocks, and what it has locked is for a passphrase of the process's own`() async {
            await #expect(processExitsWith: .success) {
                let home = try Home()
                try home.makeVault()
                let address = home.directory.path.appending("vault").appending("agent.sock")
                var settings = AgentSettings(vault: home.path, version: "test")
                settings.environment = home.environment
                let server = try AgentServer(settings)
                let socket = try AgentSocket.make(address)
                try server.start(on: socket.descriptor)
                try check(add() == errSecInteractionNotAllowed)
                try server.unlock(with: .passphrase(.of(Home.passphrase)))
                try check(
                    add() == errSecSuccess && copy() == errSecSuccess && add() == errSecDuplicateItem
                        && update() == errSecSuccess)
                try check(
                    add(["agrp": "foreign"]) == errSecMissingEntitlement && copy(["srvr": "h"]) == errSecNoSuchAttr)
                server.lock()
                try check(copy() == errSecInteractionNotAllowed)
                try home.write(Home.passphrase, to: "pass", as: "VAULT_PASSPHRASE_FILE")
                try check(copy() == errSecSuccess && delete() == errSecSuccess)
                server.stop()
                try check(copy() == errSecItemNotFound)
                _ = consume socket
            }
        }

        @Test func `a passphrase file unlocks, also behind a symbolic link and with a newline`() async {
            await #expect(processExitsWith: .success) {
                let home = try Home()
                try home.makeVault()
                try home.write(Home.passphrase + "\n", to: "real")
                let link = home.directory.path.appending("link").string
                try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "real")
                setenv("VAULT_PASSPHRASE_FILE", link, 1)
                try check(add() == errSecSuccess && copy() == errSecSuccess && add() == errSecDuplicateItem)
            }
        }

        @Test func `a systemd credential unlocks, and a passphrase file comes before it`() async {
            await #expect(processExitsWith: .success) {
                let home = try Home()
                try home.makeVault()
                try home.write(Home.passphrase, to: "vault.passphrase")
                setenv("CREDENTIALS_DIRECTORY", home.directory.path.string, 1)
                try check(add() == errSecSuccess)
                Vault.setDefault(nil)
                try home.write("another", to: "wrong", as: "VAULT_PASSPHRASE_FILE")
                try check(copy() == errSecAuthFailed)
            }
        }

        @Test func `an agent of another version is not taken for a locked vault, and a process may do without it`()
            async
        {
            await #expect(processExitsWith: .success) {
                let home = try Home()
                try home.makeVault()
                for version in [3, 200] {
                    let address = home.directory.path.appending("\(version)").string
                    let (agent, output) = (Process(), Pipe())
                    agent.executableURL = URL(filePath: "/usr/bin/python3")
                    agent.arguments = [
                        "-c",
                        """
                        import socket, struct, sys
                        listener = socket.socket(socket.AF_UNIX)
                        listener.bind(sys.argv[1])
                        listener.listen()
                        print("listening", flush=True)
                        while True:
                            client = listener.accept()[0]
                            client.recv(16)
                            head = struct.pack("<IIBBHI", 3, 0, int(sys.argv[2]), 129, 0, 0)
                            client.sendall(head + bytes([13, 0, 5]))
                            client.close()
                        """,
                        address, "\(version)",
                    ]
                    agent.standardOutput = output
                    try agent.run()
                    defer { kill(agent.processIdentifier, SIGKILL) }
                    _ = output.fileHandleForReading.availableData
                    setenv("VAULT_AGENT_SOCK", address, 1)
                    unsetenv("VAULT_PASSPHRASE_FILE")
                    Vault.setDefault(nil)
                    try check(copy() == errSecNotAvailable && add() == errSecNotAvailable)
                    try home.write(Home.passphrase, to: "pass", as: "VAULT_PASSPHRASE_FILE")
                    try check(add() == errSecSuccess && delete() == errSecSuccess)
                }
            }
        }

        @Test func `a key file unlocks a vault that was made for it`() async {
            await #expect(processExitsWith: .success) {
                let home = try Home()
                let key = String(repeating: "0123456789abcdef", count: 4)
                try home.write(key, to: "key", as: "VAULT_KEY_FILE")
                let keyFile = try KeyFile(SecretBytes(copying: Array(key.utf8).span))
                try Vault.create(at: home.path, keyFile: keyFile, environment: home.environment).close()
                try check(add() == errSecSuccess && copy() == errSecSuccess)
            }
        }

        @Test func `what cannot be read does not unlock`() async {
            await #expect(processExitsWith: .success) {
                let home = try Home()
                try home.makeVault()
                for file in [home.directory.path.appending("none").string, home.directory.path.string, "/dev/zero"] {
                    setenv("VAULT_PASSPHRASE_FILE", file, 1)
                    try check(copy() == errSecInteractionNotAllowed)
                }
                try home.write("", to: "empty", as: "VAULT_PASSPHRASE_FILE")
                try check(copy() == errSecInteractionNotAllowed)
                unsetenv("VAULT_PASSPHRASE_FILE")
                try home.write("short", to: "key", as: "VAULT_KEY_FILE")
                try check(copy() == errSecInteractionNotAllowed)
            }
        }

        @Test func `the access groups are those of the environment, the first is where items are added`() async {
            await #expect(processExitsWith: .success) {
                let home = try Home()
                try home.makeVault()
                try home.write(Home.passphrase, to: "pass", as: "VAULT_PASSPHRASE_FILE")
                setenv("VAULT_ACCESS_GROUPS", "one, two", 1)
                try check(
                    add() == errSecSuccess && add(["agrp": "two"]) == errSecSuccess
                        && add(["agrp": "three"]) == errSecMissingEntitlement)
                try check(copy(["agrp": "one"]) == errSecSuccess)
            }
        }

        @Test func `a vault that was bound in code comes before the environment`() async {
            await #expect(processExitsWith: .success) {
                let home = try Home()
                try home.makeVault()
                try home.write(Home.passphrase, to: "pass", as: "VAULT_PASSPHRASE_FILE")
                try check(add() == errSecSuccess)
                Vault.setDefault(try Vault.inMemory(), accessGroups: ["mine"])
                try check(copy() == errSecItemNotFound && add(["agrp": "mine"]) == errSecSuccess)
                Vault.setDefault(nil)
                try check(copy() == errSecSuccess)
                Vault.setDefault(nil, accessGroups: ["other"])
                try check(copy() == errSecItemNotFound && add(["agrp": "other"]) == errSecSuccess)
            }
        }

        @Test func `a forked child opens the vault for itself, and leaves its parent's alone`() async {
            await #expect(processExitsWith: .success) {
                let home = try Home()
                try home.makeVault()
                try home.write(Home.passphrase, to: "pass", as: "VAULT_PASSPHRASE_FILE")
                try check(add() == errSecSuccess)
                // Swift marks fork as unavailable; a program can still call it.
                typealias Fork = @convention(c) () -> Int32
                let child = unsafeBitCast(dlsym(nil, "fork"), to: Fork.self)()
                if child == 0 {
                    _exit(
                        copy() == errSecSuccess && add(["acct": "child"]) == errSecSuccess && update() == errSecSuccess
                            ? 0 : 1)
                }
                var status: Int32 = 0
                waitpid(child, &status, 0)
                try check(status == 0)
                try check(
                    copy(["acct": "child", "r_Data": true]) == errSecSuccess && add(["acct": "parent"]) == errSecSuccess
                )
            }
        }

        @Test func `many threads at once open the vault and add to it`() async {
            await #expect(processExitsWith: .success) {
                let home = try Home()
                try home.makeVault()
                try home.write(Home.passphrase, to: "pass", as: "VAULT_PASSPHRASE_FILE")
                DispatchQueue.concurrentPerform(iterations: 16) { number in
                    for round in 0..<20 where SecItemAdd(item(["acct": "\(number) \(round)"]), nil) != errSecSuccess {
                        exit(1)
                    }
                }
                var all: CFTypeRef?
                let query: [String: Any] = ["class": "genp", "m_Limit": "m_LimitAll", "r_Attributes": true]
                try check(
                    SecItemCopyMatching(query as CFDictionary, &all) == errSecSuccess && (all as? [Any])?.count == 320)
            }
        }
    }
}

/// Ends the process with the line number, the only information that reaches the parent.
private func check(_ condition: Bool, line: Int32 = #line) throws {
    if !condition { exit(line % 255 + 1) }
}

private func item(_ more: [String: Any]) -> CFDictionary {
    (["class": "genp", "acct": "a", "v_Data": Data("secret".utf8)] as [String: Any]).merging(more) { $1 }
        as CFDictionary
}

private func add(_ more: [String: Any] = [:]) -> OSStatus { SecItemAdd(item(more), nil) }

private func copy(_ more: [String: Any] = [:]) -> OSStatus {
    SecItemCopyMatching((["class": "genp"] as [String: Any]).merging(more) { $1 } as CFDictionary, nil)
}

private func update() -> OSStatus {
    SecItemUpdate(["class": "genp", "acct": "a"] as CFDictionary, ["labl": "l"] as CFDictionary)
}

private func delete() -> OSStatus { SecItemDelete(["class": "genp"] as CFDictionary) }

/// The home directory of an exit test's process; the process's variables point to it.
private struct Home {
    static let passphrase = "correct horse"

    let directory: TemporaryDirectory

    var path: FilePath { directory.path.appending("v") }

    var environment: VaultEnvironment {
        .seeded("home", clock: SystemClock(), state: directory.path.appending("vault"))
    }

    init() throws {
        directory = try TemporaryDirectory()
        for name in [
            "VAULT_PASSPHRASE_FILE", "CREDENTIALS_DIRECTORY", "VAULT_KEY_FILE", "VAULT_ACCESS_GROUPS",
            "VAULT_AGENT_SOCK",
        ] {
            unsetenv(name)
        }
        setenv("VAULT_FILE", path.string, 1)
        setenv("XDG_STATE_HOME", directory.path.string, 1)
        setenv("XDG_RUNTIME_DIR", directory.path.string, 1)
    }

    func makeVault() throws {
        try Vault.create(at: path, passphrase: .of(Home.passphrase), cost: .weakest, environment: environment).close()
    }

    func write(_ text: String, to name: String, as variable: String? = nil) throws {
        try directory.write(Array(text.utf8), to: name)
        if let variable { setenv(variable, directory.path.appending(name).string, 1) }
    }
}
