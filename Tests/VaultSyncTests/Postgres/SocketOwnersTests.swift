// SPDX-License-Identifier: Apache-2.0
import Foundation
import SystemPackage
import TestSupport
import Testing
import VaultCrypto

@testable import VaultSync
@testable import VaultSyncPostgres

/// Sockets at which another user may listen.
struct SocketOwnersTests {
    private static let canChangeUser =
        getuid() == 0 && ["setpriv", "python3"].allSatisfy { access("/usr/bin/" + $0, X_OK) == 0 }
    private static let other: UInt32 = 65534

    /// Listens as another user, asks each client for its password, and writes what it gets.
    private static let thief = """
        import os, socket, struct, sys
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(sys.argv[1] + "/.s.PGSQL.5432")
        os.chmod(sys.argv[1] + "/.s.PGSQL.5432", 0o777)
        listener.listen()
        print("listening", flush=True)
        client = listener.accept()[0]
        client.settimeout(30)
        heard = client.recv(4096)
        if heard:
            client.sendall(b"R" + struct.pack("!ii", 8, 3))
            heard += client.recv(4096)
        print("password" if b"stolen" in heard else "nothing", flush=True)
        """

    /// Returns what a server of another user hears of a client with a password.
    private func heard(in directory: String) throws -> String {
        let (process, output) = (Process(), Pipe())
        process.executableURL = URL(filePath: "/usr/bin/setpriv")
        let user = ["--reuid=\(Self.other)", "--regid=\(Self.other)", "--clear-groups"]
        process.arguments = user + ["/usr/bin/python3", "-c", Self.thief, directory]
        process.standardOutput = output
        try process.run()
        defer {
            kill(process.processIdentifier, SIGKILL)
            process.waitUntilExit()
        }
        func line() throws -> String {
            var bytes: [UInt8] = []
            while let byte = try output.fileHandleForReading.read(upToCount: 1)?.first, byte != 0x0a {
                bytes.append(byte)
            }
            return String(decoding: bytes, as: UTF8.self)
        }
        #expect(try line() == "listening")
        let host = directory.replacingOccurrences(of: "/", with: "%2F")
        let access = RemoteAccess(
            try RemoteURL("postgres://ada@\(host)/vault"), RemoteCredentials(password: Secret(stringLiteral: "stolen")))
        #expect {
            try PostgresRecordStore(access, realm: .of(0xab), patience: PostgresPatience()).heads()
        } throws: { error in
            guard case RecordStoreError.unreachable = error else { return false }
            return true
        }
        return try line()
    }

    @Test(.enabled(if: canChangeUser && PostgresServer.isInstalled))
    func `another user's process in a directory that others can write gets no password`() throws {
        let directory = try TemporaryDirectory()
        chmod(directory.path.string, 0o1777)
        #expect(try heard(in: directory.path.string) == "nothing")
    }

    @Test(.enabled(if: canChangeUser && PostgresServer.isInstalled))
    func `a server that owns its directory, below those of root, gets the password`() throws {
        // Outside of /tmp, in which every user could have made the directory.
        let directory = "/run/vault-test-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        chown(directory, Self.other, Self.other)
        #expect(try heard(in: directory) == "password")
    }

    @Test(.enabled(if: PostgresServer.isInstalled)) func `where nothing listens that is what is said`() throws {
        let directory = try TemporaryDirectory()
        let host = directory.path.string.replacingOccurrences(of: "/", with: "%2F")
        let access = RemoteAccess(
            try RemoteURL("postgres://ada@\(host)/vault"), RemoteCredentials(password: Secret(stringLiteral: "p")))
        #expect {
            try PostgresRecordStore(access, realm: .of(0xab), patience: PostgresPatience()).heads()
        } throws: { error in
            guard case RecordStoreError.unreachable(let why) = error else { return false }
            return why.contains("No such file or directory")
        }
    }

    @Test func `only root and this user decide whose a directory is`() throws {
        #expect(try SocketOwners.owner("/") == 0)
        #expect(try SocketOwners.owner("/usr/../usr/./bin") == 0)
        // Everybody may make a name in it.
        let directory = try TemporaryDirectory()
        #expect(try SocketOwners.owner(directory.path.string) == nil)
        #expect(throws: (any Error).self) { try SocketOwners.owner("/usr/nowhere/else") }
        // A link is followed as far as the same holds for what it names.
        let link = directory.path.appending("link").string
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "/usr/bin")
        #expect(try SocketOwners.owner(link) == nil)
        #expect(try SocketOwners.owner("/proc/self/root/usr/bin") == 0)
    }

    @Test(.enabled(if: canChangeUser))
    func `a directory in another user's, and links in circles, have no owner`() throws {
        let root = "/run/vault-test-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: root + "/theirs/own", withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: root) }
        for path in [root + "/theirs", root + "/theirs/own"] { chown(path, Self.other, Self.other) }
        #expect(try SocketOwners.owner(root + "/theirs") == Self.other)
        #expect(try SocketOwners.owner(root + "/theirs/own") == nil)
        for (name, target) in [("to", "theirs"), ("in", "theirs/own"), ("a", "b"), ("b", "a")] {
            try FileManager.default.createSymbolicLink(atPath: root + "/" + name, withDestinationPath: target)
        }
        #expect(try SocketOwners.owner(root + "/to") == Self.other)
        #expect(try SocketOwners.owner(root + "/in") == nil)
        #expect(throws: (any Error).self) { try SocketOwners.owner(root + "/a") }
        chmod(root, 0o775)
        #expect(try SocketOwners.owner(root + "/theirs") == nil)
    }
}
