// SPDX-License-Identifier: Apache-2.0
import Foundation
import SystemPackage
import TestSupport
import VaultCrypto

@testable import VaultSync

/// Three members of etcd on this machine's own address, with users.
final class EtcdCluster: Sendable {
    private let directory: TemporaryDirectory
    private let ports: [UInt16]
    private let members: [EtcdProcess]

    init() throws {
        let directory = try TemporaryDirectory()
        let ports = try EtcdServer.freePorts(6)
        try EtcdServer.makeCertificate("server", in: directory)
        func path(_ name: String) -> String { directory.path.appending(name).string }
        let peers = ports[3...].map { "http://127.0.0.1:\($0)" }
        let all = peers.enumerated().map { "m\($0)=\($1)" }.joined(separator: ",")
        members = peers.enumerated().map { index, peer in
            let url = "https://127.0.0.1:\(ports[index])"
            return EtcdProcess([
                "--name", "m\(index)", "--data-dir", path("data\(index)"), "--listen-client-urls", url,
                "--advertise-client-urls", url, "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
                "--initial-cluster", all, "--cert-file", path("server.pem"), "--key-file", path("server.key"),
            ])
        }
        (self.directory, self.ports) = (directory, Array(ports[..<3]))
        let waits = try members.map { try $0.launch() }
        for wait in waits { try wait() }
        try control("role", "add", "vault")
        try control("role", "grant-permission", "vault", "--prefix=true", "readwrite", "vlt1/")
        try control("user", "add", "ada:\(EtcdServer.password.text)")
        try control("user", "grant-role", "ada", "vault")
        try control("user", "add", "root:root")
        try control("user", "grant-role", "root", "root")
        try control("auth", "enable")
    }

    /// Returns access through the members in this order.
    func access(_ order: [Int] = [0, 1, 2]) throws -> RemoteAccess {
        let hosts = order.map { "127.0.0.1:\(ports[$0])" }.joined(separator: ",")
        return RemoteAccess(
            try RemoteURL("etcd://ada@\(hosts)"),
            RemoteCredentials(
                password: EtcdServer.password, authorities: directory.path.appending("server.pem")))
    }

    func kill(_ index: Int) { members[index].kill() }
    func start(_ index: Int) throws { try members[index].start() }

    /// Returns the index of the leader.
    func leader() throws -> Int {
        for index in members.indices {
            let text = try control("endpoint", "status", "-w", "json", at: [index])
            let status = try JSONDecoder().decode([Endpoint].self, from: Data(text.utf8))[0].Status
            if status.leader == status.header.member_id { return index }
        }
        throw ServerFailure(log: "no member leads")
    }

    // The names in etcdctl's output.
    private struct Endpoint: Decodable {
        struct Status: Decodable {
            struct Header: Decodable { let member_id: UInt64 }
            let header: Header
            let leader: UInt64
        }
        let Status: Status
    }

    @discardableResult
    private func control(_ arguments: String..., at members: [Int] = [0, 1, 2]) throws -> String {
        let endpoints = members.map { "https://127.0.0.1:\(ports[$0])" }.joined(separator: ",")
        let certificate = directory.path.appending("server.pem").string
        return try EtcdProcess.run(["etcdctl", "--endpoints", endpoints, "--cacert", certificate] + arguments)
    }
}
