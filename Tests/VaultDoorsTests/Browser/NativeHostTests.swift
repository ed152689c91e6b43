// SPDX-License-Identifier: Apache-2.0
import Foundation
import SystemPackage
import TestSupport
import Testing
import Vault
import VaultAgent
import VaultAgentServer
import VaultCrypto

@testable import VaultBrowser
@testable import VaultDoorKit

/// The host between two pipes.
struct NativeHostTests {
    /// A running host, and the browser's ends of its pipes.
    private final class Running {
        private let input = Pipe()
        private let output = Pipe()
        let stop: PromptStop
        private let worker: Worker<NativeFrameError?>

        init(_ house: any BrowserHouse, following agents: AgentBrowserHouse? = nil) throws {
            stop = try #require(PromptStop())
            let (read, write) = (input.fileHandleForReading, output.fileHandleForWriting)
            let host = NativeHost(
                house, input: read.fileDescriptor, output: write.fileDescriptor, until: stop)
            if let agents { host.follow(agents) }
            worker = Worker {
                // The host owns both ends while it runs.
                defer { withExtendedLifetime((read, write)) { try? write.close() } }
                do throws(NativeFrameError) {
                    try host.run()
                    return nil
                } catch { return error }
            }
        }

        func send(_ bytes: [UInt8]) throws { try input.fileHandleForWriting.write(contentsOf: Data(bytes)) }

        func send(_ text: String) throws { try send(NativeFrames.frame(Array(text.utf8)) ?? []) }

        func receive() throws -> [String: Any] {
            let head = try #require(try output.fileHandleForReading.read(upToCount: 4))
            let length = head.withUnsafeBytes { $0.loadUnaligned(as: UInt32.self) }
            let body = try #require(try output.fileHandleForReading.read(upToCount: Int(length)))
            return try #require(try JSONSerialization.jsonObject(with: body) as? [String: Any])
        }

        func close() throws { try input.fileHandleForWriting.close() }

        func end() throws -> NativeFrameError? { try worker.value() }

        /// Counts the remaining bytes of output.
        func rest() throws -> Int { try output.fileHandleForReading.readToEnd()?.count ?? 0 }
    }

    @Test func `a frame that is too long ends the host, which says nothing to it`() async throws {
        try await aside {
            let running = try Running(try TestBrowserHouse(TemporaryDirectory()))
            try running.send("{}")
            #expect(try running.receive()["errorCode"] as? String == "12")
            let length = UInt32(NativeFrames.limit + 1)
            try running.send(withUnsafeBytes(of: length) { Array($0) })
            #expect(try running.end() == .tooLong(length))
            #expect(try running.rest() == 0)
        }
    }

    @Test func `the host ends with the browser, in a frame or behind one`() async throws {
        try await aside {
            for (bytes, error) in [([], nil), ([1, 0], .truncated), ([9, 0, 0, 0, 1], .truncated)]
                as [([UInt8], NativeFrameError?)]
            {
                let running = try Running(try TestBrowserHouse(TemporaryDirectory()))
                if !bytes.isEmpty { try running.send(bytes) }
                try running.close()
                #expect(try running.end() == error)
            }
        }
    }

    @Test(arguments: [
        [], ["/usr/lib/x.json"], ["/x.json", "evil@example.com"], ["x.json", "keepassxc-browser@keepassxc.org"],
        ["keepassxc-browser@keepassxc.org"], ["chrome-extension://evil/"],
        ["chrome-extension://oboonakemofpalcgghocfoadofidjkkk"], ["--help"],
        ["chrome-extension://oboonakemofpalcgghocfoadofidjkkk/x"],
    ])
    func `what another extension starts is refused`(arguments: [String]) {
        #expect(!NativeHost.isMeant(for: arguments))
    }

    @Test func `the stock extensions are known`() {
        #expect(NativeHost.isMeant(for: ["/x.json", "keepassxc-browser@keepassxc.org"]))
        #expect(NativeHost.isMeant(for: ["chrome-extension://oboonakemofpalcgghocfoadofidjkkk/", "--parent-window=0"]))
    }

    @Test func `a person who is asked keeps no other message from its answer`() async throws {
        try await aside {
            let client = try BrowserClient(TestBrowserHouse(TemporaryDirectory()))
            let (asked, goOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
            client.house.whenAsked {
                asked.signal()
                goOn.wait()
            }
            let running = try Running(client.house)
            let key = base64(client.pair.publicKey)
            let nonce = client.nonce()
            try running.send(
                #"{"action":"change-public-keys","publicKey":"\#(key)","nonce":"\#(base64(nonce.bytes))"}"#)
            let keys = try running.receive()
            let box = try client.pair.box(
                with: Array(try #require(Data(base64Encoded: keys["publicKey"] as? String ?? ""))).span)
            func message(_ action: String, _ inner: String) throws -> String {
                let nonce = client.nonce()
                let sealed = box.seal(try SecretBytes(copying: Array(inner.utf8).span), nonce: nonce)
                let numbers = #""message":"\#(base64(sealed))","nonce":"\#(base64(nonce.bytes))""#
                return #"{"action":"\#(action)",\#(numbers)}"#
            }
            try running.send(message("associate", #"{"key":"\#(key)"}"#))
            asked.wait()
            try running.send(message("get-databasehash", "{}"))
            #expect(try running.receive()["action"] as? String == "get-databasehash")
            goOn.signal()
            #expect(try running.receive()["action"] as? String == "associate")
            try running.close()
            #expect(try running.end() == nil)
        }
    }

    @Test func `a page whose requests wait for the user holds up no other page`() async throws {
        try await aside {
            let client = try BrowserClient(TestBrowserHouse(TemporaryDirectory()))
            try client.house.vault.keep("a.example", "ada", "of a")
            let (asked, goOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
            let running = try Running(client.house)
            let key = base64(client.pair.publicKey)
            let nonce = client.nonce()
            try running.send(
                #"{"action":"change-public-keys","publicKey":"\#(key)","nonce":"\#(base64(nonce.bytes))"}"#)
            let keys = try running.receive()
            let box = try client.pair.box(
                with: Array(try #require(Data(base64Encoded: keys["publicKey"] as? String ?? ""))).span)
            func send(_ action: String, _ inner: String, _ number: Int) throws -> BoxNonce {
                let nonce = client.nonce()
                let sealed = box.seal(try SecretBytes(copying: Array(inner.utf8).span), nonce: nonce)
                let numbers = #""message":"\#(base64(sealed))","nonce":"\#(base64(nonce.bytes))""#
                try running.send(#"{"action":"\#(action)",\#(numbers),"requestID":"\#(number)"}"#)
                return nonce.next
            }
            let associating = try send("associate", #"{"key":"\#(key)"}"#, 0)
            let sealed = Data(base64Encoded: try #require(running.receive()["message"] as? String)) ?? Data()
            let made = Data(try box.open(Array(sealed).span, nonce: associating).exposed)
            let id = try #require(try (JSONSerialization.jsonObject(with: made) as? [String: Any])?["id"] as? String)
            _ = try send("set-login", #"{"url":"https://b.example","login":"b","password":"p"}"#, 1)
            #expect(try running.receive()["action"] as? String == "set-login")
            client.house.whenAsked {
                asked.signal()
                goOn.wait()
            }
            let member = #""keys":[{"id":"\#(id)","key":"\#(key)"}]"#
            for number in 100..<140 {
                _ = try send("get-logins", #"{"url":"https://\#(number).a.example",\#(member)}"#, number)
                if number == 100 { asked.wait() }
            }
            // Those beyond the bound are refused at once, and the other page gets its own login meanwhile.
            for number in 132..<140 {
                let refused = try running.receive()
                #expect(refused["errorCode"] as? String == "6" && refused["requestID"] as? String == "\(number)")
            }
            let other = try send("get-logins", #"{"url":"https://b.example",\#(member)}"#, 200)
            #expect(try running.receive()["nonce"] as? String == base64(other.bytes))
            client.house.says(.dismissed)
            client.house.whenAsked {}
            goOn.signal()
            for _ in 100..<132 { #expect(try running.receive()["action"] as? String == "get-logins") }
            try running.close()
            #expect(try running.end() == nil)
        }
    }

    @Test func `locks and unlocks by others are told unasked`() async throws {
        try await aside {
            let directory = try TemporaryDirectory()
            let house = try TestHouse(directory.path)
            try house.makeVault()
            var settings = AgentSettings(vault: house.path, version: "test")
            settings.environment = house.environment
            let server = try AgentServer(settings)
            defer { server.stop() }
            let socket = try AgentSocket.make(house.address)
            try server.start(on: socket.descriptor)
            let client = try #require(DoorClient(getpid()))
            let stop = try #require(PromptStop())
            let agents = AgentBrowserHouse(house, client: client, until: stop) {
                [UInt8](repeating: 1, count: 16)
            } isReplicated: { _ in
                false
            }
            #expect(agents.openStore() == nil)
            let running = try Running(agents, following: agents)
            try running.send("{}")
            _ = try running.receive()
            try house.unlockNow()
            #expect(try running.receive()["action"] as? String == "database-unlocked")
            try #require(try house.agent(for: nil)).lock()
            #expect(try running.receive()["action"] as? String == "database-locked")
            try running.close()
            #expect(try running.end() == nil)
        }
    }
}
