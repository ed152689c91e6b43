// SPDX-License-Identifier: Apache-2.0
import Foundation

/// PostgreSQL as an administrator sets it up for a fleet: TLS only, one role that removes records and one that does
/// not.
final class PostgresFleetServer: FleetServer, @unchecked Sendable {
    static let name = "postgres"
    private static let password = "correct horse"
    /// The server's user may not access directories above its own.
    private static let place = "/mnt"
    private static let nobody: UInt32 = 65_534
    private static let asNobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"]

    private static let binaries: String? = {
        let root = "/usr/lib/postgresql"
        let versions = (try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []
        return versions.sorted { Int($0) ?? 0 < Int($1) ?? 0 }.last { version in
            FileManager.default.isExecutableFile(atPath: "\(root)/\(version)/bin/initdb")
        }.map { "\(root)/\($0)/bin/" }
    }()

    static var missing: [String] {
        (binaries == nil ? ["postgresql"] : []) + ["psql", "pg_dump", "setpriv", "openssl"].filter { !Tool.has($0) }
    }

    private let directory: String
    private let daemon: Daemon

    init(in directory: String, command: String) throws {
        guard let binaries = Self.binaries else { throw Tool.Failure(text: "PostgreSQL is not installed") }
        self.directory = directory
        daemon = Daemon(
            Self.asNobody + ["\(binaries)postgres", "-D", "\(Self.place)/data"], log: directory + "/postgres.log")
        try Tool.run(["mount", "--bind", directory, Self.place])
        try Self.makeCertificate(in: directory)
        try Data(Self.password.utf8).write(to: URL(filePath: directory + "/password"))
        for name in ["", "/server.key", "/server.pem"] {
            guard chown(directory + name, Self.nobody, Self.nobody) == 0 else { throw Tool.Failure(text: "chown") }
        }
        try Tool.run(
            Self.asNobody + [
                "\(binaries)initdb", "-D", "\(Self.place)/data", "-N", "-A", "trust", "-U", "postgres", "--no-locale",
                "-E", "UTF8",
            ])
        let settings = """
            listen_addresses = '\(Namespace.server.address)'
            unix_socket_directories = '\(Self.place)'
            ssl = on
            ssl_cert_file = '\(Self.place)/server.pem'
            ssl_key_file = '\(Self.place)/server.key'
            max_connections = 400
            dynamic_shared_memory_type = mmap
            shared_buffers = 64MB

            """
        let file = try FileHandle(forWritingTo: URL(filePath: directory + "/data/postgresql.conf"))
        try file.seekToEnd()
        try file.write(contentsOf: Data(settings.utf8))
        try Data("local all all trust\nhostssl all all all scram-sha-256\n".utf8)
            .write(to: URL(filePath: directory + "/data/pg_hba.conf"))
        try start()
        try sql("CREATE DATABASE vault", in: "postgres")
        try Data(Tool.run([command, "remote", "sql"]).utf8).write(to: URL(filePath: directory + "/schema.sql"))
        try Tool.run(psql("vault") + ["-1", "-f", directory + "/schema.sql"])
        for (user, role) in [("writer", "vault_sync"), ("trimmer", "vault_trim")] {
            try sql("CREATE ROLE \(user) LOGIN PASSWORD '\(Self.password)' IN ROLE \(role)", in: "vault")
        }
    }

    func remote(of home: Int) -> Home.Remote {
        Home.Remote(
            url: "postgres://\(home % 3 == 0 ? "trimmer" : "writer")@\(Namespace.server.address)/vault",
            options: ["--password-file", directory + "/password", "--ca-file", directory + "/server.pem"])
    }

    // MARK: Administration

    private func psql(_ database: String) -> [String] {
        ["psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", Self.place, "-U", "postgres", "-d", database]
    }

    @discardableResult
    private func sql(_ text: String, in database: String) throws -> String {
        try Tool.run(psql(database) + ["-c", text])
    }

    func start() throws {
        try daemon.start { (try? sql("SELECT 1", in: "postgres")) != nil }
    }

    func kill() throws {
        daemon.kill()
        for name in ["data/postmaster.pid", ".s.PGSQL.5432", ".s.PGSQL.5432.lock"] { unlink("\(directory)/\(name)") }
    }

    func save(to file: String) throws {
        try Tool.run(["pg_dump", "-h", Self.place, "-U", "postgres", "-Fc", "-f", file, "vault"])
    }

    func putBack(_ file: String, whileRunning isRunning: Bool) throws {
        let restore = ["pg_restore", "-h", Self.place, "-U", "postgres", "--single-transaction", "--exit-on-error"]
        // The restore happens under the connections of all devices, which see another database from one statement to
        // the next.
        guard !isRunning else { return _ = try Tool.run(restore + ["-d", "vault", "--clean", file]) }
        try sql("CREATE DATABASE older", in: "postgres")
        try Tool.run(restore + ["-d", "older", file])
        try sql("DROP DATABASE vault WITH (FORCE)", in: "postgres")
        try sql("ALTER DATABASE older RENAME TO vault", in: "postgres")
    }

    func countRecords() -> Int? {
        guard let text = try? sql("SELECT count(*) FROM vault.record WHERE kind = 1", in: "vault") else { return nil }
        return Int(text.trimmingCharacters(in: .whitespacesAndNewlines))
    }
}
