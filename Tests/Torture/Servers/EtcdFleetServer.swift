// SPDX-License-Identifier: Apache-2.0
import Foundation

/// etcd as an administrator sets it up for a fleet: TLS only, and users with a role for the records.
final class EtcdFleetServer: FleetServer, @unchecked Sendable {
    static let name = "etcd"
    private static let password = "correct horse"
    private static let endpoint = "https://\(Namespace.server.address):2379"
    private static let peer = "http://127.0.0.1:2380"

    static var missing: [String] { ["etcd", "etcdctl", "openssl"].filter { !Tool.has($0) } }

    private let directory: String
    private let daemon: Daemon
    private var hasUsers = false

    init(in directory: String, command: String) throws {
        self.directory = directory
        daemon = Daemon(
            [
                "etcd", "--name", "only", "--data-dir", directory + "/data", "--listen-client-urls", Self.endpoint,
                "--advertise-client-urls", Self.endpoint, "--listen-peer-urls", Self.peer,
                "--initial-advertise-peer-urls", Self.peer, "--initial-cluster", "only=\(Self.peer)", "--cert-file",
                directory + "/server.pem", "--key-file", directory + "/server.key", "--logger", "zap",
                "--log-outputs", "stderr",
            ], log: directory + "/etcd.log")
        try Self.makeCertificate(in: directory)
        try Data(Self.password.utf8).write(to: URL(filePath: directory + "/password"))
        try start()
        try control("role", "add", "vault")
        try control("role", "grant-permission", "vault", "--prefix=true", "readwrite", "vlt1/")
        for (user, role) in [("ada", "vault"), ("root", "root")] {
            try control("user", "add", "\(user):\(Self.password)")
            try control("user", "grant-role", user, role)
        }
        try control("auth", "enable")
        hasUsers = true
    }

    func remote(of home: Int) -> Home.Remote {
        Home.Remote(
            url: "etcd://ada@\(Namespace.server.address)",
            options: ["--password-file", directory + "/password", "--ca-file", directory + "/server.pem"])
    }

    // MARK: Administration

    @discardableResult
    private func control(_ arguments: String...) throws -> String {
        // The default timeout of 5 seconds includes the check of a password, which is slow on a loaded machine.
        let line = [
            "etcdctl", "--endpoints", Self.endpoint, "--cacert", directory + "/server.pem", "--dial-timeout", "60s",
            "--command-timeout", "60s",
        ]
        let user = hasUsers ? ["--user", "root:\(Self.password)"] : []
        return try Tool.run(Namespace.entering(Namespace.server.name, line + user + arguments))
    }

    func start() throws {
        try daemon.start { (try? control("get", "a", "--dial-timeout", "2s", "--command-timeout", "2s")) != nil }
    }

    func kill() throws { daemon.kill() }

    func save(to file: String) throws { try control("snapshot", "save", file) }

    func putBack(_ file: String, whileRunning isRunning: Bool) throws {
        daemon.kill()
        try FileManager.default.removeItem(atPath: directory + "/data")
        try Tool.run([
            "etcdctl", "snapshot", "restore", file, "--data-dir", directory + "/data", "--name", "only",
            "--initial-cluster", "only=\(Self.peer)", "--initial-advertise-peer-urls", Self.peer,
        ])
        try start()
    }

    func countRecords() -> Int? {
        guard let text = try? control("get", "--prefix", "vlt1/", "--keys-only", "--command-timeout", "20s") else {
            return nil
        }
        // The keys are vlt1/REALM/1/LOG/NUMBER.
        return text.split(separator: "\n").count { $0.split(separator: "/").dropFirst(2).first == "1" }
    }
}
