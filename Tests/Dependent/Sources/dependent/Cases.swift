// SPDX-License-Identifier: Apache-2.0
import Foundation
import OlderSources
import SecItemCases
import Vault

/// Runs every row of the table of Apple's behaviour in a process of its own that binds no vault: only the environment
/// names the vault.
enum Cases {
    static func run(_ command: Command) throws -> [String] {
        let template = try Home()
        try template.makeVault(command)
        let vault = try Data(contentsOf: URL(fileURLWithPath: template.vault))
        let program = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().path
        let failures = Failures()
        let ids = Case.table.map(\.id) + KeyCase.table.map(\.id) + [KeyCase.withoutLibcrypto.id]
        DispatchQueue.concurrentPerform(iterations: ids.count) { index in
            let id = ids[index]
            do {
                let home = try Home()
                if id == KeyCase.withoutLibcrypto.id {
                    // The first libcrypto in the search path is not a library.
                    try home.write(Data("text".utf8), to: home.directory + "/libcrypto.so.3")
                    home.variables["LD_LIBRARY_PATH"] = home.directory
                }
                try home.write(vault, to: home.vault)
                home.variables["VAULT_PASSPHRASE_FILE"] = home.passphraseFile
                defer { _ = try? command.run(["agent", "--stop"], in: home) }
                try command.run([command.path, "case", id], in: home, program: program)
            } catch {
                failures.note("\(id): \(error)")
            }
        }
        if Case.table.count + Case.leftOut.count + Case.ofObjects.count != 165 { failures.note("there are 165 rows") }
        return failures.all
    }
}

/// The failures that several threads collect.
final class Failures: @unchecked Sendable {
    private let lock = NSLock()
    private var found: [String] = []

    func note(_ failure: String) { lock.withLock { found.append(failure) } }

    var all: [String] { lock.withLock { found.sorted() } }
}

/// The vault named by the environment variables of this process.
final class EnvironmentWorld: CaseWorld {
    private let command: Command
    private let home: HomeOfProcess

    /// The home in which this process was started.
    private struct HomeOfProcess {
        let vault: String
        let directory: String
    }

    private init(_ command: Command) {
        self.command = command
        let variables = ProcessInfo.processInfo.environment
        home = HomeOfProcess(vault: variables["VAULT_FILE"] ?? "", directory: variables["HOME"] ?? "")
    }

    static func run(caseNamed id: String, _ command: Command) throws -> Int32 {
        let failures: [String]
        if let row = Case.table.first(where: { $0.id == id }) {
            var runner = try CaseRunner(EnvironmentWorld(command))
            failures = try runner.run(row)
        } else if let row = (KeyCase.table + [.withoutLibcrypto]).first(where: { $0.id == id }) {
            let isWithout = id == KeyCase.withoutLibcrypto.id
            failures =
                try row.run(in: EnvironmentWorld(command)) + (isWithout ? OlderSources.checkWithoutLibcrypto() : [])
        } else {
            return 64
        }
        for failure in failures { print(failure) }
        return failures.isEmpty ? 0 : 1
    }

    private func vault(_ arguments: [String]) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: command.path)
        process.arguments = arguments
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw Command.Failure(what: arguments.joined(separator: " ")) }
    }

    private var passphrase: [String] { ["--passphrase-file", home.directory + "/passphrase"] }

    /// Makes the next call read the environment again.
    private func lookAgain() { Vault.setDefault(nil) }

    func become(_ groups: [String]) {
        setenv("VAULT_ACCESS_GROUPS", groups.isEmpty ? "," : groups.joined(separator: ","), 1)
        lookAgain()
    }

    func lock() throws {
        lookAgain()
        try vault(["agent"] + passphrase)
        unsetenv("VAULT_PASSPHRASE_FILE")
        try vault(["lock"])
    }

    func unlock() throws { try vault(["unlock"] + passphrase) }

    func losePassphrase() throws {
        lookAgain()
        let keyFile = home.directory + "/key"
        try vault(["slot", "add", "recovery-code"] + passphrase)
        try vault(["slot", "add", "key-file", "--new-key-file", keyFile] + passphrase)
        unsetenv("VAULT_PASSPHRASE_FILE")
        setenv("VAULT_KEY_FILE", keyFile, 1)
        try vault(["slot", "remove", "passphrase", "--yes"])
    }

    func damage(_ what: Spoiling) throws {
        lookAgain()
        var bytes = try Data(contentsOf: URL(fileURLWithPath: home.vault))
        // FileFormat.md: the header, the marks, then frames; the frames of values come last.
        let firstFrame = 12_288
        func integer(_ offset: Int) -> Int { (0..<4).reduce(0) { $0 | Int(bytes[offset + $1]) << (8 * $1) } }
        switch what {
        case .file: bytes = Data(repeating: 0x5a, count: 9000)
        case .header: bytes[40] ^= 1
        case .marks: for offset in [4096, 8192] { bytes[offset + 20] ^= 1 }
        case .record: bytes[firstFrame + 100] ^= 1
        case .values, .swappedValues:
            var boxes: [Range<Int>] = []
            var frame = firstFrame
            while frame < bytes.count, integer(frame) > 0 {
                let start = frame + 112 + integer(frame + 16)
                boxes.append(start..<start + 104)
                frame += integer(frame)
            }
            // The vault's own settings precede the two items.
            boxes.removeFirst(max(0, boxes.count - 2))
            let contents = boxes.map { bytes[$0] }
            for (box, content) in zip(boxes, what == .values ? contents : contents.reversed()) {
                bytes.replaceSubrange(box, with: content)
                if what == .values { bytes[box.lowerBound] ^= 1 }
            }
        }
        try bytes.write(to: URL(fileURLWithPath: home.vault))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: home.vault)
    }
}
