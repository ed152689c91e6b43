// SPDX-License-Identifier: Apache-2.0
import Foundation
import Synchronization
import SystemPackage
import TestSupport
import VaultCrypto
import VaultFormat

@testable import VaultSync
@testable import VaultSyncPostgres

/// A PostgreSQL server, which ends with the value or with the test process. Its database `vault` has the table; the
/// user `writer` syncs, and `trimmer` also removes.
final class PostgresServer: Sendable {
    static let password: StaticString = "correct horse"

    /// The server for tests that leave it running.
    static let shared = Result { try PostgresServer() }

    /// The directory of the server's programs on Debian.
    static let binaries: String? = {
        let root = "/usr/lib/postgresql"
        let versions = (try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []
        let found = versions.sorted { Int($0) ?? 0 < Int($1) ?? 0 }.last { version in
            FileManager.default.isExecutableFile(atPath: "\(root)/\(version)/bin/initdb")
        }
        if found == nil { print("PostgreSQL is not installed: its store is not tested") }
        return found.map { "\(root)/\($0)/bin" }
    }()

    static var isInstalled: Bool { binaries != nil }

    let directory: TemporaryDirectory
    let port: UInt16
    private let process: Mutex<Running>

    /// Unchecked: only one thread at a time holds the owner's lock.
    private struct Running: @unchecked Sendable {
        let process = Process()
        let input = Pipe()
        let output = Pipe()

        func ask(_ line: String) throws -> String {
            try input.fileHandleForWriting.write(contentsOf: Data((line + "\n").utf8))
            return try answer()
        }

        func answer() throws -> String {
            var line: [UInt8] = []
            while let byte = try output.fileHandleForReading.read(upToCount: 1)?.first {
                if byte == 0x0a { return String(decoding: line, as: UTF8.self) }
                line.append(byte)
            }
            throw Failed(what: "the server's script has ended")
        }
    }

    struct Failed: Error { let what: String }

    init() throws {
        directory = try TemporaryDirectory()
        port = try Self.freePort()
        let running = Running()
        let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "server.sh").path()
        // The server's user may not have access to the script's directory.
        let text = try String(contentsOfFile: script, encoding: .utf8)
        var arguments = ["sh", "-c", text, "server.sh", Self.binaries ?? "", directory.path.string, String(port)]
        // PostgreSQL refuses to run as root.
        if getuid() == 0 {
            guard chown(directory.path.string, 65534, 65534) == 0 else { throw Failed(what: "chown") }
            arguments = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] + arguments
        }
        running.process.executableURL = URL(filePath: "/usr/bin/env")
        running.process.arguments = arguments
        running.process.environment = ["PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"]
        running.process.standardInput = running.input
        running.process.standardOutput = running.output
        try running.process.run()
        process = Mutex(running)
        guard try running.answer() == "started" else { throw Failed(what: "the server does not start") }
        try sql("CREATE DATABASE vault; CREATE DATABASE empty;", in: "postgres")
        try sql(PostgresSchema.text)
        try sql(
            """
            CREATE ROLE writer LOGIN PASSWORD '\(Self.password)' IN ROLE vault_sync;
            CREATE ROLE trimmer LOGIN PASSWORD '\(Self.password)' IN ROLE vault_trim;
            CREATE ROLE stranger LOGIN PASSWORD '\(Self.password)';
            """)
    }

    deinit {
        process.withLock { running in
            try? running.input.fileHandleForWriting.close()
            running.process.waitUntilExit()
        }
    }

    /// Kills the server, like a power cut.
    func kill() throws { try ask("kill") }

    func start() throws { try ask("start") }

    func sql(_ text: String, in database: String = "vault") throws {
        let name = "statements-\(UInt64.random(in: 0 ... .max))"
        try directory.write(Array(text.utf8), to: name)
        let path = directory.path.appending(name).string
        _ = chmod(path, 0o644)
        try ask("sql \(database) \(path)")
    }

    /// Makes a database with the table; the server has the roles already.
    func makeDatabase(_ name: String) throws {
        try sql("CREATE DATABASE \(name);", in: "postgres")
        let statements = PostgresSchema.text.split(separator: "\n").filter { !$0.hasPrefix("CREATE ROLE") }
        try sql(statements.joined(separator: "\n"), in: name)
    }

    private func ask(_ line: String) throws {
        let answer = try process.withLock { try $0.ask(line) }
        guard answer == "done" else { throw Failed(what: "\(line): \(answer)") }
    }

    /// Returns a free port of this machine.
    private static func freePort() throws -> UInt16 {
        let descriptor = try listener()
        defer { close(descriptor) }
        return try boundPort(descriptor)
    }

    /// Returns a socket that accepts connections, and sends nothing.
    static func listener() throws -> CInt {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        let bound = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard bound == 0, listen(descriptor, 8) == 0 else { throw Failed(what: "no port") }
        return descriptor
    }

    static func boundPort(_ descriptor: CInt) throws -> UInt16 {
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let named = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
        }
        guard named == 0 else { throw Failed(what: "no port") }
        return UInt16(bigEndian: address.sin_port)
    }

    // MARK: Ways in

    /// Returns access by TLS, as `localhost`.
    func access(
        _ user: String = "trimmer", database: String = "vault", host: String = "localhost",
        password: Secret? = Secret(stringLiteral: PostgresServer.password), authorities: String? = "ca.pem"
    ) throws -> RemoteAccess {
        RemoteAccess(
            try RemoteURL("postgres://\(user)@\(host):\(port)/\(database)"),
            RemoteCredentials(password: password, authorities: authorities.map { directory.path.appending($0) }))
    }

    /// Returns access by the socket, without a password.
    func socketAccess(_ user: String = "trimmer") throws -> RemoteAccess {
        let socket = directory.path.string.replacingOccurrences(of: "/", with: "%2F")
        return RemoteAccess(try RemoteURL("postgres://\(user)@\(socket):\(port)/vault"))
    }
}

extension PostgresRecordStore {
    /// Makes a store with its own connection, like another process.
    convenience init(_ remote: RemoteAccess, realm: RealmID, patience: PostgresPatience = PostgresPatience()) {
        self.init(remote, realm: realm, PostgresLine(remote.credentials), patience)
    }
}

extension RealmID {
    static func random() -> RealmID { RealmID(SystemRandom().bytes(16)) }
}
