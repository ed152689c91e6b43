// SPDX-License-Identifier: Apache-2.0
import Foundation
import Glibc
import Synchronization
import SystemPackage
import TestSupport
import VaultCrypto
import VaultFormat

@testable import VaultSync
@testable import VaultSyncEtcd

/// A real etcd on this machine's own address, with a directory, ports, a certificate and users of its own.
final class EtcdServer: Sendable {
    struct Options {
        var hasAuth = true
        var asksForCertificates = false
        var quota: Int?
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

    /// For tests that each use a realm of their own.
    static let shared = Result { try EtcdServer() }

    static let user = "ada"
    static let password: Secret = "pass \"word\" \\ ä"
    private static let rootPassword = "root's"

    let directory: TemporaryDirectory
    let port: UInt16
    private let peerPort: UInt16
    private let options: Options
    private let running = Mutex<Process?>(nil)

    init(_ options: Options = Options()) throws {
        directory = try TemporaryDirectory()
        (port, peerPort) = try Self.freePorts()
        self.options = options
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

    deinit { kill() }

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

    func start() throws {
        let url = "https://127.0.0.1:\(port)"
        let peer = "http://127.0.0.1:\(peerPort)"
        var arguments = [
            "etcd", "--name", "only", "--data-dir", path("data"), "--listen-client-urls", url,
            "--advertise-client-urls", url, "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
            "--initial-cluster", "only=\(peer)", "--cert-file", path("server.pem"), "--key-file",
            path("server.key"), "--logger", "zap", "--log-outputs", "stderr",
        ]
        if let quota = options.quota { arguments += ["--quota-backend-bytes", String(quota)] }
        if options.asksForCertificates { arguments += ["--client-cert-auth", "--trusted-ca-file", path("server.pem")] }
        let process = Process()
        let (input, output) = (Pipe(), Pipe())
        // A thread of the tests' pool keeps SIGCHLD to itself, and so do its children: another shell waits for that.
        process.executableURL = URL(filePath: "/bin/bash")
        // The server ends with its standard input: it must not outlive the tests.
        process.arguments = ["-c", #""$@" & server=$!; read -r _; kill -9 $server; wait"#, "bash"] + arguments
        (process.standardInput, process.standardError, process.standardOutput) = (input, output, output)
        try process.run()
        running.withLock { $0 = process }
        let handle = output.fileHandleForReading
        var log = ""
        while !log.contains("serving client traffic"), !log.contains("ready to serve client requests") {
            let part = handle.availableData
            log += String(decoding: part, as: UTF8.self)
            guard !part.isEmpty, !log.contains("\"level\":\"fatal\"") else { throw ServerFailure(log: log) }
        }
        handle.readabilityHandler = { if $0.availableData.isEmpty { $0.readabilityHandler = nil } }
    }

    /// As a power cut would.
    func kill() {
        running.withLock { process in
            guard let running = process else { return }
            process = nil
            try? (running.standardInput as? Pipe)?.fileHandleForWriting.close()
            running.waitUntilExit()
        }
    }

    /// Runs etcdctl, as root when there are users.
    @discardableResult
    func control(_ arguments: String..., asRoot: Bool = false) throws -> String {
        var options = [
            "etcdctl", "--endpoints", "https://127.0.0.1:\(port)", "--cacert", path("server.pem"),
        ]
        if self.options.asksForCertificates { options += ["--cert", path("server.pem"), "--key", path("server.key")] }
        if asRoot { options += ["--user", "root:\(Self.rootPassword)"] }
        return try Self.run(options + arguments)
    }

    func path(_ name: String) -> String { directory.path.appending(name).string }

    private func addUser(_ name: String, _ password: String) throws {
        // A colon would end the name.
        try control("user", "add", "\(name):\(password)")
    }

    static func makeCertificate(_ name: String, in directory: TemporaryDirectory) throws {
        func path(_ suffix: String) -> String { directory.path.appending(name + suffix).string }
        try run([
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days",
            "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", path(".key"), "-out",
            path(".pem"),
        ])
    }

    @discardableResult
    private static func run(_ arguments: [String]) throws -> String {
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = arguments
        (process.standardInput, process.standardOutput, process.standardError) = (
            FileHandle.nullDevice, output, output
        )
        try process.run()
        let text = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw ServerFailure(log: text) }
        return text
    }

    /// Ports that nobody had a moment ago.
    static func freePorts() throws -> (UInt16, UInt16) {
        let sockets = try (0..<2).map { _ in try BoundSocket() }
        return (sockets[0].port, sockets[1].port)
    }
}

/// A port that nobody listens at.
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

struct ServerFailure: Error {
    let log: String
}
