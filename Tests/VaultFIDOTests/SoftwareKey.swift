// SPDX-License-Identifier: Apache-2.0
import CFido
import Foundation
import Glibc
import SystemPackage
import TestSupport
import VaultFIDO

/// A security key in software, behind libfido2's functions for a transport: a process whose socket takes its reports.
final class SoftwareKey {
    private let directory: TemporaryDirectory
    private let process = Process()
    private let (input, output) = (Pipe(), Pipe())
    private let socket: String

    /// - Parameters:
    ///   - manners: see `securitykey.py`.
    ///   - pin: set before the key is inserted.
    init(_ manners: [String], pin: String? = nil) throws {
        directory = try TemporaryDirectory()
        socket = directory.path.appending("socket").string
        if let pin { try Self.run(["--set-pin", directory.path.string, pin]).waitUntilExit() }
        process.executableURL = Self.python
        process.arguments = [Self.program, "--serve", directory.path.string, socket] + manners
        (process.standardInput, process.standardOutput) = (input, output)
        try process.run()
        try awaitReadiness()
    }

    deinit {
        try? input.fileHandleForWriting.close()
        process.waitUntilExit()
    }

    func reinsert() throws {
        try input.fileHandleForWriting.write(contentsOf: Data("\n".utf8))
        try awaitReadiness()
    }

    private func awaitReadiness() throws { _ = try output.fileHandleForReading.read(upToCount: 6) }

    private static let python = URL(filePath: "/usr/bin/python3")
    private static let program = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "securitykey.py")
        .path()

    private static func run(_ arguments: [String]) throws -> Process {
        let process = Process()
        process.executableURL = python
        process.arguments = [program] + arguments
        try process.run()
        return process
    }

    var found: FoundSecurityKey { FoundSecurityKey(path: socket, name: "Soft Key") }

    func opened() throws -> SecurityKey { try Self.keys.open(found) }

    /// The requests that the key was sent, without those for its features.
    var log: [String] {
        get throws {
            let lines = String(decoding: try directory.read("log"), as: UTF8.self).split(separator: "\n")
            return lines.map(String.init).filter { $0 != "info" }
        }
    }

    /// Keys whose path is that of a socket.
    static let keys = SecurityKeys(
        over: cfido_transport(
            open: { path in
                guard let path, let fd = connected(to: String(cString: path)) else { return nil }
                // Never null: descriptors count from 0.
                return UnsafeMutableRawPointer(bitPattern: Int(fd) + 1)
            },
            close: { _ = Glibc.close(descriptor($0)) },
            read: { handle, bytes, count, milliseconds in
                var waiting = pollfd(fd: descriptor(handle), events: Int16(POLLIN), revents: 0)
                guard poll(&waiting, 1, milliseconds) > 0 else { return -1 }
                return Int32(Glibc.read(descriptor(handle), bytes, count))
            },
            write: { handle, bytes, count in
                Int32(send(descriptor(handle), bytes, count, Int32(MSG_NOSIGNAL)))
            }))

    private static func descriptor(_ handle: UnsafeMutableRawPointer?) -> Int32 { Int32(Int(bitPattern: handle) - 1) }

    private static func connected(to path: String) -> Int32? {
        let fd = Glibc.socket(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix($0.count - 1)) }
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(fd, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard result == 0 else {
            _ = Glibc.close(fd)
            return nil
        }
        return fd
    }
}
