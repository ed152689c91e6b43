// SPDX-License-Identifier: Apache-2.0
import Foundation
import Glibc
import SystemPackage
import TestSupport
import VaultCrypto
import VaultFormat

@testable import VaultSync
@testable import VaultSyncEtcd

/// A real etcd on the loopback address, with its own directory, ports, certificate and users.
final class EtcdServer: Sendable {
    struct Options {
        var hasAuth = true
        var asksForCertificates = false
        var quota: Int?
        /// Whether the file `log` receives all messages.
        var logsAll = false
    }

    static let isThere: Bool = {
        let isThere = ["etcd", "etcdctl", "openssl"].allSatisfy { name in
            (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin").split(separator: ":").contains {
                FileManager.default.isExecutableFile(atPath: "\($0)/\(name)")
            }
        }
        if !isThere { print("etcd is not installed: what its remotes promise is not tested") }
        return isThere
    }()

    /// The server for tests that each use their own realm.
    static let shared = Result { try EtcdServer() }

    static let user = "ada"
    static let password: Secret = "pass \"word\" \\ ä"
    private static let rootPassword = "root's"

    let directory: TemporaryDirectory
    let port: UInt16
    private let peer: String
    private let options: Options
    private let process: EtcdProcess

    init(_ options: Options = Options()) throws {
        let directory = try TemporaryDirectory()
        let ports = try Self.freePorts(2)
        let (url, peer) = ("https://127.0.0.1:\(ports[0])", "http://127.0.0.1:\(ports[1])")
        func path(_ name: String) -> String { directory.path.appending(name).string }
        var arguments = [
            "--name", "only", "--data-dir", path("data"), "--listen-client-urls", url, "--advertise-client-urls", url,
            "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", "only=\(peer)",
            "--cert-file", path("server.pem"), "--key-file", path("server.key"),
        ]
        if options.logsAll { arguments += ["--log-level", "debug", "--log-outputs", "stderr,\(path("log"))"] }
        if let quota = options.quota { arguments += ["--quota-backend-bytes", String(quota)] }
        if options.asksForCertificates { arguments += ["--client-cert-auth", "--trusted-ca-file", path("server.pem")] }
        process = EtcdProcess(arguments)
        (self.directory, port, self.peer, self.options) = (directory, ports[0], peer, options)
        try Self.makeCertificate("server", in: directory)
        try start()
        guard options.hasAuth else { return }
        try control("role", "add", "vault")
        try control("role", "grant-permission", "vault", "--prefix=true", "readwrite", "vlt1/")
        try control("role", "add", "reader")
        try control("role", "grant-permission", "reader", "--prefix=true", "read", "vlt1/")
        for (user, role) in [(Self.user, "vault"), ("eve", "reader"), ("nobody", nil)] {
            try addUser(user, Self.password.text)
            if let role { try control("user", "grant-role", user, role) }
        }
        try addUser("root", Self.rootPassword)
        try control("user", "grant-role", "root", "root")
        try control("auth", "enable")
    }

    // MARK: Access

    func access(
        user: String? = EtcdServer.user, password: Secret? = EtcdServer.password, authorities: String? = "server.pem"
    ) -> RemoteAccess {
        let name = options.hasAuth ? user.map { $0 + "@" } ?? "" : ""
        return access("etcd://\(name)127.0.0.1:\(port)", password: password, authorities: authorities)
    }

    func access(_ url: String, password: Secret? = EtcdServer.password, authorities: String? = "server.pem")
        -> RemoteAccess
    {
        guard let url = try? RemoteURL(url) else { fatalError("the test's own URL is none") }
        var credentials = RemoteCredentials(password: options.hasAuth ? password : nil)
        credentials.authorities = authorities.map { directory.path.appending($0) }
        return RemoteAccess(url, credentials)
    }

    func store(realm: RealmID = .of(0xab)) throws -> EtcdRecordStore { try EtcdRecordStore(access(), realm: realm) }

    // MARK: Running

    func start() throws { try process.start() }

    /// Kills the server, like a power cut.
    func kill() { process.kill() }

    /// Saves the data for ``putBack()``.
    func save() throws {
        // With users, only root may do this.
        try control("snapshot", "save", path("saved"), asRoot: options.hasAuth)
    }

    /// Restores the saved data, like an administrator after the loss of a server.
    func putBack() throws {
        kill()
        try FileManager.default.removeItem(atPath: path("data"))
        try EtcdProcess.run([
            "etcdctl", "snapshot", "restore", path("saved"), "--name", "only", "--data-dir", path("data"),
            "--initial-cluster", "only=\(peer)", "--initial-advertise-peer-urls", peer,
        ])
        try start()
    }

    /// Runs etcdctl, with users as root.
    @discardableResult
    func control(_ arguments: String..., asRoot: Bool = false) throws -> String {
        var options = [
            "etcdctl", "--endpoints", "https://127.0.0.1:\(port)", "--cacert", path("server.pem"),
        ]
        if self.options.asksForCertificates { options += ["--cert", path("server.pem"), "--key", path("server.key")] }
        if asRoot { options += ["--user", "root:\(Self.rootPassword)"] }
        return try EtcdProcess.run(options + arguments)
    }

    func path(_ name: String) -> String { directory.path.appending(name).string }

    private func addUser(_ name: String, _ password: String) throws {
        // A colon would end the name.
        try control("user", "add", "\(name):\(password)")
    }

    static func makeCertificate(_ name: String, in directory: TemporaryDirectory) throws {
        func path(_ suffix: String) -> String { directory.path.appending(name + suffix).string }
        try EtcdProcess.run([
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days",
            "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", path(".key"), "-out",
            path(".pem"),
        ])
    }

    /// Returns ports that were free a moment ago.
    static func freePorts(_ count: Int) throws -> [UInt16] {
        let sockets = try (0..<count).map { _ in try BoundSocket() }
        return sockets.map(\.port)
    }
}

/// A port without a listener.
final class BoundSocket {
    let port: UInt16
    private let descriptor: Int32

    init() throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        self.descriptor = descriptor
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafeMutablePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) | getsockname(descriptor, $0, &length)
            }
        }
        guard result == 0 else { throw Errno(rawValue: errno) }
        port = UInt16(bigEndian: address.sin_port)
    }

    deinit { close(descriptor) }
}
