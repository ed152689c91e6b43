// SPDX-License-Identifier: Apache-2.0
import Foundation
import TestSupport
import Vault
import VaultStorage

/// A directory with a vault, and the logs of the processes that work on it.
struct Scratch: Sendable {
    let directory: String

    var vault: FilePath { FilePath(directory).appending("torture.vault") }

    static let passphrases = ["first", "second"]

    private var environment: VaultEnvironment {
        var environment = VaultEnvironment.system
        environment.strengthensSlots = false
        environment.stateDirectory = FilePath(directory).appending("state/vault")
        return environment
    }

    func make(cost: KeyDerivationCost = .weakest) throws -> Vault {
        try? FileManager.default.removeItem(atPath: directory)
        return try Vault.create(
            at: vault, passphrase: .of(Self.passphrases[0]), cost: cost, environment: environment,
            accessGroups: .standard)
    }

    /// Opens the vault with its current passphrase.
    func open() throws -> Vault {
        while true {
            for passphrase in Self.passphrases { if let vault = try open(with: passphrase) { return vault } }
        }
    }

    /// Opens the vault; returns `nil` if the passphrase is wrong.
    func open(with passphrase: String) throws -> Vault? {
        do {
            return try Vault.open(
                at: vault, unlockingWith: .of(passphrase), environment: environment, accessGroups: .standard)
        } catch VaultError.storage(
            .wrongPassphrase)
        { return nil }
    }

    func log(_ name: String) throws -> FileHandle {
        let path = directory + "/\(name).log"
        _ = FileManager.default.createFile(atPath: path, contents: nil)
        return try FileHandle(forWritingTo: URL(filePath: path))
    }

    func logs() throws -> [[Event]] {
        try FileManager.default.contentsOfDirectory(atPath: directory).filter { $0.hasSuffix(".log") }.map { name in
            let text = String(decoding: try Data(contentsOf: URL(filePath: directory + "/" + name)), as: UTF8.self)
            return text.split(separator: "\n", omittingEmptySubsequences: true).compactMap { Event(String($0)) }
        }
    }

    func spawn(_ arguments: [String]) throws -> Process {
        let process = Process()
        process.executableURL = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
        process.arguments = [arguments[0], directory] + arguments.dropFirst()
        try process.run()
        return process
    }
}

/// Returns the nanoseconds of a clock that all processes share.
func now() -> UInt64 { clock_gettime_nsec() }

private func clock_gettime_nsec() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}

/// An operation of a worker on one item, with its start, its end and its result. A line of a log.
struct Event {
    enum Kind: String { case set, read, add, failed }

    var kind: Kind
    var key: String
    var value: String
    /// The version; 0 for a started operation with an unknown outcome.
    var version: UInt64
    var begin: UInt64
    var end: UInt64

    var line: String { "\(kind.rawValue) \(key) \(value) \(version) \(begin) \(end)\n" }

    init(_ kind: Kind, _ key: String, _ value: String, version: UInt64, begin: UInt64, end: UInt64) {
        (self.kind, self.key, self.value, self.version, self.begin, self.end) = (kind, key, value, version, begin, end)
    }

    /// Parses a line; fails for the last line of a killed worker, which may be incomplete.
    init?(_ line: String) {
        let fields = line.split(separator: " ").map(String.init)
        guard fields.count == 6, let kind = Kind(rawValue: fields[0]), let version = UInt64(fields[3]),
            let begin = UInt64(fields[4]),
            let end = UInt64(fields[5])
        else { return nil }
        self.init(kind, fields[1], fields[2], version: version, begin: begin, end: end)
    }
}

extension Item {
    var text: String {
        get throws {
            try withSecret { bytes in String(decoding: (0..<bytes.count).map { bytes[$0] }, as: UTF8.self) } ?? ""
        }
    }
}

/// Writes a line to standard output unbuffered, so that a kill does not lose it.
func say(_ line: String) { try? FileHandle.standardOutput.write(contentsOf: Data((line + "\n").utf8)) }
