// SPDX-License-Identifier: Apache-2.0
import Foundation
import TestSupport
import Vault

/// A device: a home with a vault of its own, and with an agent if the trial uses agents.
struct Home: Sendable {
    struct Failure: Error {
        let text: String
    }

    let number: Int
    let directory: String
    let command: String
    let usesAgent: Bool
    /// The network namespace of the home's commands; `nil` for the trial's own.
    let namespace: String?
    /// The agent while it runs.
    private(set) var agent: Child?
    private(set) var isLocked = false
    /// The duration of the last complete sync, in seconds.
    var syncSeconds = 0.05
    /// The number of agents started so far.
    private var agents = 0

    static let passphrase = "correct horse battery staple"

    init(_ number: Int, in directory: String, command: String, usesAgent: Bool, namespace: String? = nil) {
        self.number = number
        self.directory = directory + "/\(number)"
        self.command = command
        self.usesAgent = usesAgent
        self.namespace = namespace
    }

    private var runtime: String { directory + "/run" }
    private var state: String { directory + "/state" }
    private var key: String { directory + "/key" }
    private var passphraseFile: String { directory + "/passphrase" }

    /// Whether a command without a key of its own can use the vault.
    var isOpen: Bool { !usesAgent || agent != nil && !isLocked }

    // MARK: Commands

    /// - Parameter withKey: whether the command opens the vault itself, regardless of an agent.
    func environment(withKey: Bool) -> [String: String] {
        var environment = [
            "PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": directory, "TMPDIR": directory,
            "XDG_DATA_HOME": directory + "/data", "XDG_STATE_HOME": state, "XDG_RUNTIME_DIR": runtime,
        ]
        if withKey || !usesAgent { environment["VAULT_KEY_FILE"] = key }
        return environment
    }

    /// - Parameter place: distinguishes the files of concurrent commands.
    func start(
        _ arguments: [String], withKey: Bool = false, output: FileHandle? = nil, place: String = "main"
    ) throws -> Child {
        let line = namespace.map { Namespace.entering($0, [command] + arguments) } ?? [command] + arguments
        return try Child(
            line[0], Array(line.dropFirst()), environment: environment(withKey: withKey), output: output,
            errors: directory + "/errors-\(place)")
    }

    /// Runs a command, and waits for its end.
    func run(
        _ arguments: [String], withKey: Bool = false, place: String = "main"
    ) throws -> (ending: Ending, output: String, child: Child) {
        let file = directory + "/output-\(place)"
        _ = FileManager.default.createFile(atPath: file, contents: nil)
        let output = try FileHandle(forWritingTo: URL(filePath: file))
        let child = try start(arguments, withKey: withKey, output: output, place: place)
        let ending = child.wait()
        return (ending, try String(contentsOfFile: file, encoding: .utf8), child)
    }

    private func demand(_ arguments: [String], withKey: Bool = true) throws {
        let (ending, _, child) = try run(arguments, withKey: withKey)
        guard ending == .exit(0) else {
            throw Failure(text: "home \(number): \(arguments[0]) ended with \(ending.text): \(child.message)")
        }
    }

    /// The start of the message by which the command and the agent report a remote that has lost records.
    static let rollback = "rolled back: "

    /// Whether the home has received this value of the item.
    func has(_ account: String, version: Int) throws -> Bool {
        let value = Write.value(account, version: version)
        let output = try run(["get", Write.service, account], place: "get").output
        return output == value || output == value + "\n"
    }

    // MARK: The vault

    func make() throws {
        for path in [directory, runtime] {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        }
        try write(Data(Self.passphrase.utf8), to: passphraseFile)
        try demand(["init", "--kdf", "interactive", "--passphrase-file", passphraseFile], withKey: false)
        // A key file saves the seconds that the key derivation of a passphrase takes.
        try demand(
            ["slot", "add", "key-file", "--new-key-file", key, "--passphrase-file", passphraseFile], withKey: false)
    }

    private func write(_ data: Data, to path: String) throws {
        _ = FileManager.default.createFile(atPath: path, contents: data, attributes: [.posixPermissions: 0o600])
    }

    /// A place for the fleet's records.
    struct Remote: Sendable {
        let url: String
        /// Further options of `vault remote add`.
        var options: [String] = []
    }

    func found(_ remote: Remote) throws {
        try demand(["remote", "add", remote.url, "--name", "home\(number)"] + remote.options)
    }

    /// Joins the fleet, with the approval of an owner.
    func join(_ remote: Remote, approvedBy owner: Home, as role: String) throws {
        let child = try ask(to: remote, owner)
        try approve(by: owner, as: role)
        try finish(join: child)
    }

    /// Asks to join, and stores the code where the owner reads it.
    func ask(to remote: Remote, _ owner: Home) throws -> Child {
        let pipe = Pipe()
        let arguments = ["remote", "add", remote.url, "--join", "--name", "home\(number)", "--timeout", "1800"]
        let child = try start(
            arguments + remote.options, withKey: true, output: pipe.fileHandleForWriting, place: "join")
        try pipe.fileHandleForWriting.close()
        var code = Data()
        while !code.contains(UInt8(ascii: "\n")),
            case let more = pipe.fileHandleForReading.availableData, !more.isEmpty
        {
            code += more
        }
        try owner.write(code, to: owner.directory + "/code-\(number)")
        return child
    }

    func approve(by owner: Home, as role: String) throws {
        try owner.demand(["device", "approve", "--code-file", owner.directory + "/code-\(number)", role, "--yes"])
    }

    func finish(join child: Child) throws {
        guard child.wait() == .exit(0) else {
            throw Failure(text: "home \(number) cannot join: \(child.message)")
        }
    }

    /// Opens the vault in this process, without the command.
    func open() throws -> Vault {
        var environment = VaultEnvironment.system
        environment.strengthensSlots = false
        environment.stateDirectory = FilePath(state).appending("vault")
        return try Vault.open(
            at: FilePath(directory).appending("data/vault/default.vault"), unlockingWith: .of(Self.passphrase),
            environment: environment, accessGroups: .standard)
    }

    /// Deletes the mirror of the fleet's records, even during a sync that uses it.
    func loseMirror() -> Bool {
        let place = state + "/vault"
        let names = (try? FileManager.default.contentsOfDirectory(atPath: place)) ?? []
        for name in names where name.hasSuffix(".mirror") {
            // A running sync may add a file to a directory that was just emptied.
            for _ in 0..<3 where (try? FileManager.default.removeItem(atPath: "\(place)/\(name)")) == nil {}
            return true
        }
        return false
    }

    // MARK: The agent

    mutating func startAgent() throws {
        guard usesAgent, agent == nil else { return }
        for _ in 0..<100 {
            agents += 1
            let arguments = ["agent", "--foreground", "--announce", "--idle", "0", "--max", "0", "--key-file", key]
            let pipe = Pipe()
            let child = try start(arguments, output: pipe.fileHandleForWriting, place: "agent-\(agents)")
            try pipe.fileHandleForWriting.close()
            if try pipe.fileHandleForReading.readToEnd() == Data("ready\n".utf8) {
                (agent, isLocked) = (child, false)
                return
            }
            _ = child.wait()
            // An agent killed a moment ago may still be exiting.
            usleep(20_000)
        }
        throw Failure(text: "home \(number): the agent does not start")
    }

    /// Returns how often the home's agents have written a word to their logs.
    func countSaid(_ word: String) -> Int {
        guard agents > 0 else { return 0 }
        return (1...agents).reduce(0) { count, number in
            let text = try? String(contentsOfFile: directory + "/errors-agent-\(number)", encoding: .utf8)
            return count + (text?.ranges(of: word).count ?? 0)
        }
    }

    mutating func killAgent() -> Bool {
        guard let child = agent else { return false }
        agent = nil
        defer { _ = child.wait() }
        return child.kill()
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
        _ = agent?.wait()
        agent = nil
    }
}
