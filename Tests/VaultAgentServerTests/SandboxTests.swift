// SPDX-License-Identifier: Apache-2.0
import CLinux
import Dispatch
import Foundation
import Glibc
import Synchronization
import TestSupport
import Testing
import Vault
import VaultSystem

@testable import VaultAgent
@testable import VaultAgentServer

/// Files that a process substitutes for its sandbox's own.
struct SandboxTests {
    fileprivate static let named = Array("[Application]\nname=org.example.App\n".utf8)

    private final class Heard: Sendable {
        private let sandbox = Mutex<Sandbox?>(nil)
        private let done = DispatchSemaphore(value: 0)

        func hear(_ sandbox: Sandbox) {
            self.sandbox.withLock { $0 = sandbox }
            done.signal()
        }

        var already: Sandbox? { sandbox.withLock { $0 } }

        func get() throws -> Sandbox {
            try #require(done.wait(timeout: Patience.deadline) == .success)
            return try #require(already)
        }
    }

    private static func read(_ directory: TemporaryDirectory, by reader: SandboxReader = .shared) throws -> Heard {
        let root = clinux_openat(AT_FDCWD, directory.path.string, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)
        try #require(root >= 0)
        let heard = Heard()
        reader.read(Descriptor(owning: Int32(root))) { heard.hear($0) }
        return heard
    }

    /// The kinds of file at the sandbox file's path.
    enum Place: CaseIterable {
        case sparse, tooLong, pipe, directory, endless, dangling, nameless, empty

        func make(at path: String) -> Bool {
            switch self {
            case .sparse: write(SandboxTests.named, path) && truncate(path, 4 << 30) == 0
            case .tooLong:
                write(
                    SandboxTests.named
                        + [UInt8](repeating: 35, count: SandboxReader.limit + 1 - SandboxTests.named.count), path)
            case .pipe: mkfifo(path, 0o600) == 0
            case .directory: mkdir(path, 0o700) == 0
            case .endless: symlink("/dev/zero", path) == 0
            case .dangling: symlink("nothing", path) == 0
            case .nameless: write(Array("name=a.b".utf8), path)
            case .empty: write([], path)
            }
        }

        private func write(_ bytes: [UInt8], _ path: String) -> Bool {
            FileManager.default.createFile(atPath: path, contents: Data(bytes))
        }
    }

    @Test(arguments: Place.allCases)
    func `what does not say whose sandbox it is makes an unnamed one`(place: Place) throws {
        let directory = try TemporaryDirectory()
        try #require(place.make(at: directory.path.appending(SandboxReader.file).string))
        #expect(try Self.read(directory).get() == .unnamed)
    }

    @Test func `the file names the application, up to the longest that is read, and no file is no sandbox`() throws {
        let directory = try TemporaryDirectory()
        #expect(try Self.read(directory).get() == Sandbox.none)
        for length in [0, SandboxReader.limit - Self.named.count] {
            try directory.write(Self.named + [UInt8](repeating: 35, count: length), to: SandboxReader.file)
            #expect(try Self.read(directory).get() == .application("org.example.App"))
        }
    }

    @Test func `files that take for ever are unnamed sandboxes, and few threads wait for them`() throws {
        let gate = DispatchSemaphore(value: 0)
        let reader = SandboxReader(patience: .milliseconds(10), most: 2) { _ in
            gate.wait()
            return .none
        }
        let directory = try TemporaryDirectory()
        for _ in 0..<2 { #expect(try Self.read(directory, by: reader).get() == .unnamed) }
        // No thread is free, so these calls return at once.
        for _ in 0..<100 { #expect(try Self.read(directory, by: reader).already == .unnamed) }
        for _ in 0..<2 { gate.signal() }
        let end = Patience.end
        var last = Sandbox.unnamed
        while last == .unnamed, .now < end {
            gate.signal()
            last = try Self.read(directory, by: reader).get()
        }
        #expect(last == Sandbox.none)
    }

    @Test func `a process with the same root directory is in none, which takes no file to read`() throws {
        let other = try OtherProcess()
        #expect(Sandbox.atOnce(other.id) == Sandbox.none)
        other.end()
    }

    @Test func `a process that gave up privileges for good is told from one that did not`() throws {
        #if arch(x86_64)
            let number = 157
        #else
            let number = 167
        #endif
        let other = try OtherProcess("syscall(\(number), 38, 1, 0, 0, 0) and die; print 'ready'")
        #expect(ProcessTable.canGainPrivileges(other.id) == false)
        let parent = ProcessTable.canGainPrivileges(getpid())
        #expect(parent != nil)
        other.end()
        #expect(ProcessTable.canGainPrivileges(other.id) == nil)
        #expect(Sandbox.of(other.id) == .unseen)
    }

    @Test func `names of sandboxes that are no application's are those of unnamed ones`() {
        for name in ["", "*", "default", "a b.c"] { #expect(Sandbox.application(name).name == "") }
        #expect(Sandbox.application("a.b").name == "a.b" && Sandbox.none.name == nil)
        #expect(Sandbox.unnamed.name == "" && Sandbox.unseen.name == "")
    }

    @Test(.enabled(if: getuid() == 0), arguments: [Place.sparse, .pipe])
    func `a program with a root directory full of nothing is nobody, and keeps no other from the agent`(
        place: Place
    ) throws {
        let agent = try TestAgent { settings in
            settings.policy = settings.vault.removingLastComponent().appending("policy.json")
            try Data("{\"rules\": [{\"unit\": \"x.service\", \"access\": \"none\"}]}".utf8).write(
                to: URL(filePath: settings.policy?.string ?? ""))
        }
        let root = try TemporaryDirectory()
        let file = root.path.appending(SandboxReader.file).string
        try #require(place.make(at: file))
        let process = try OtherProcess("chroot '\(root.path)' or die")
        #expect(Sandbox.atOnce(process.id) == nil && Sandbox.of(process.id) == .unnamed)
        let waiting = try (0..<16).map { _ in try agent.connection() }
        for connection in waiting {
            connection.send(
                BehalfHelloRequest(
                    greeting: Greeting(vault: "", groups: nil, purpose: .reveal), behalf: try process.behalf))
        }
        try agent.unlocked().add(.generic("s"))
        for connection in waiting {
            #expect(try (connection.reply() as? StatusReply)?.value.access == AgentStatus.Access.none)
        }
    }
}
