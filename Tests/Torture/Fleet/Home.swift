// SPDX-License-Identifier: Apache-2.0
import Foundation
import TestSupport
import Vault

/// A device: a home with a vault of its own, and an agent in some of them.
struct Home: Sendable {
    struct Failure: Error {
        let text: String
    }

    let number: Int
    let directory: String
    let command: String
    let usesAgent: Bool
    /// The agent's process while it runs.
    private(set) var agent: Int32?
    private(set) var isLocked = false
    /// Seconds that the last whole sync took.
    var syncSeconds = 0.05

    static let passphrase = "correct horse battery staple"

    init(_ number: Int, in directory: String, command: String, usesAgent: Bool) {
        self.number = number
        self.directory = directory + "/\(number)"
        self.command = command
        self.usesAgent = usesAgent
    }

    private var runtime: String { directory + "/run" }
    private var state: String { directory + "/state" }
    private var key: String { directory + "/key" }
    private var passphraseFile: String { directory + "/passphrase" }

    /// Whether a command without a key of its own finds the vault open.
    var isOpen: Bool { !usesAgent || agent != nil && !isLocked }

    // MARK: Commands

    /// - Parameter withKey: opens the vault itself, whether there is an agent or not.
    func environment(withKey: Bool) -> [String: String] {
        var environment = [
            "PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": directory, "TMPDIR": directory,
            "XDG_DATA_HOME": directory + "/data", "XDG_STATE_HOME": state, "XDG_RUNTIME_DIR": runtime,
        ]
        if withKey || !usesAgent { environment["VAULT_KEY_FILE"] = key }
        return environment
    }

    /// - Parameter place: tells the files of commands that run at once apart.
    func start(
        _ arguments: [String], withKey: Bool = false, output: FileHandle? = nil, place: String = "main"
    ) throws -> Child {
        try Child(
            command, arguments, environment: environment(withKey: withKey), output: output,
            errors: directory + "/errors-\(place)")
    }

    /// Runs a command to its end.
    func run(_ arguments: [String], withKey: Bool = false) throws -> (ending: Ending, output: String, message: String) {
        let file = directory + "/output"
        _ = FileManager.default.createFile(atPath: file, contents: nil)
        let output = try FileHandle(forWritingTo: URL(filePath: file))
        let child = try start(arguments, withKey: withKey, output: output)
        let ending = child.wait()
        return (ending, try String(contentsOfFile: file, encoding: .utf8), child.message)
    }

    private func demand(_ arguments: [String], withKey: Bool = true) throws {
        let (ending, _, message) = try run(arguments, withKey: withKey)
        guard ending == .exit(0) else {
            throw Failure(text: "home \(number): \(arguments[0]) ended with \(ending.text): \(message)")
        }
    }

    // MARK: The vault

    func make() throws {
        for path in [directory, runtime] {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        }
        try write(Data(Self.passphrase.utf8), to: passphraseFile)
        try demand(["init", "--kdf", "interactive", "--passphrase-file", passphraseFile], withKey: false)
        // A key file opens the vault without the seconds that a passphrase is made to cost.
        try demand(
            ["slot", "add", "key-file", "--new-key-file", key, "--passphrase-file", passphraseFile], withKey: false)
    }

    private func write(_ data: Data, to path: String) throws {
        _ = FileManager.default.createFile(atPath: path, contents: data, attributes: [.posixPermissions: 0o600])
    }

    func found(_ url: String) throws { try demand(["remote", "add", url, "--name", "home\(number)"]) }

    /// Joins the fleet, which an owner approves.
    func join(_ url: String, approvedBy owner: Home, as role: String) throws {
        let pipe = Pipe()
        let arguments = ["remote", "add", url, "--join", "--name", "home\(number)", "--timeout", "120"]
        let child = try start(arguments, withKey: true, output: pipe.fileHandleForWriting, place: "join")
        try pipe.fileHandleForWriting.close()
        var code = Data()
        while !code.contains(UInt8(ascii: "\n")),
            case let more = pipe.fileHandleForReading.availableData, !more.isEmpty
        {
            code += more
        }
        try owner.write(code, to: owner.directory + "/code")
        try owner.demand(["device", "approve", "--code-file", owner.directory + "/code", role, "--yes"])
        guard child.wait() == .exit(0) else {
            throw Failure(text: "home \(number) cannot join: \(child.message)")
        }
    }

    /// Opens the vault without the command.
    func open() throws -> Vault {
        var environment = VaultEnvironment.system
        environment.strengthensSlots = false
        environment.stateDirectory = FilePath(state).appending("vault")
        return try Vault.open(
            at: FilePath(directory).appending("data/vault/default.vault"), unlockingWith: .of(Self.passphrase),
            environment: environment, accessGroups: .standard)
    }

    /// Deletes the copy of the fleet's records, also under a sync that uses it.
    func loseMirror() -> Bool {
        let place = state + "/vault"
        let names = (try? FileManager.default.contentsOfDirectory(atPath: place)) ?? []
        for name in names where name.hasSuffix(".mirror") {
            // A running sync may add a file to a directory that was empty a moment ago.
            for _ in 0..<3 where (try? FileManager.default.removeItem(atPath: "\(place)/\(name)")) == nil {}
            return true
        }
        return false
    }

    // MARK: The agent

    mutating func startAgent() throws {
        guard usesAgent, agent == nil else { return }
        struct Status: Decodable {
            struct Agent: Decodable { var pid: Int32? }
            var agent: Agent?
        }
        for _ in 0..<100 {
            let started = try run(["agent", "--idle", "0", "--max", "0", "--key-file", key])
            let status = try run(["status", "--json"]).output
            let pid = try? JSONDecoder().decode(Status.self, from: Data(status.utf8)).agent?.pid
            if started.ending == .exit(0), let pid {
                (agent, isLocked) = (pid, false)
                return
            }
            // The one that was killed a moment ago may not be gone yet.
            usleep(20_000)
        }
        throw Failure(text: "home \(number): the agent does not start")
    }

    mutating func killAgent() -> Bool {
        guard let pid = agent else { return false }
        agent = nil
        return Foundation.kill(pid, SIGKILL) == 0
    }

    mutating func noteLock() { isLocked = agent != nil }

    mutating func unlock() throws {
        guard agent != nil, isLocked else { return }
        try demand(["unlock", "--key-file", key])
        isLocked = false
    }

    mutating func stopAgent() {
        guard agent != nil else { return }
        _ = try? run(["agent", "--stop"])
        agent = nil
    }
}
