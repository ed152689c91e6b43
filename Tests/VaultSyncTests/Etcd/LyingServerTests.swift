// SPDX-License-Identifier: Apache-2.0
import Foundation
import SystemPackage
import TestSupport
import Testing
import VaultCrypto
import VaultFormat

@testable import VaultSync
@testable import VaultSyncEtcd

/// A server on this machine with the same answer to every request.
private final class Liar {
    private let process = Process()
    private let (input, output) = (Pipe(), Pipe())
    private let directory: TemporaryDirectory
    private(set) var access = RemoteAccess(RemoteURL(folder: "/"))

    init(_ answer: String, endless: Bool = false, password: Secret? = nil) throws {
        directory = try TemporaryDirectory()
        try directory.write(Array(answer.utf8), to: "answer")
        let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "liar.py").path()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["python3", script, directory.path.appending("answer").string]
        if endless { process.arguments?.append("endless") }
        (process.standardInput, process.standardOutput) = (input, output)
        try process.run()
        let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
        let port = line.filter(\.isNumber)
        access = RemoteAccess(
            try RemoteURL("etcd://ada@127.0.0.1:\(port)"), RemoteCredentials(password: password))
    }

    deinit {
        // Another process may hold its input open as well.
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }
}

/// A server can answer anything: the result is a clear error, in bounded time.
@Suite(.serialized) struct LyingServerTests {
    private static let log = RecordStream.logs[0]

    /// Returns an HTTP answer.
    private static func answer(_ body: String, _ status: String = "200 OK", _ head: String = "") -> String {
        "HTTP/1.1 \(status)\r\nContent-Type: application/json\r\n\(head)Content-Length: \(body.utf8.count)\r\n"
            + "Connection: close\r\n\r\n\(body)"
    }

    private static func header(_ rest: String) -> String { #"{"header":{"revision":"7"},\#(rest)}"# }

    private static func key(_ sequence: UInt64 = 1) -> String {
        base64(EtcdKeys(.of(0xab)).record(RecordAddress(log, sequence)).span)
    }

    /// Returns the error of each method of a store.
    private static func failures(_ access: RemoteAccess) throws -> [RecordStoreError?] {
        let store = try EtcdRecordStore(access, realm: .of(0xab))
        let engine = EtcdEngine()
        return [
            failure { _ = try store.heads() },
            failure { _ = try store.all(log) },
            failure { _ = try store.record(at: RecordAddress(log, 1)) },
            failure { _ = try store.append([.of(log, 1), .of(log, 2)]) },
            failure { try store.remove(log, below: 2) },
            failure { _ = try engine.realms(at: access) },
            failure { _ = try store.watch { _ in } },
        ]
    }

    private static func failure(_ body: () throws -> Void) -> RecordStoreError? {
        do { try body() } catch { return error as? RecordStoreError }
        return nil
    }

    static let everywhere: [String] = [
        "",
        "nothing of HTTP\r\n\r\n",
        answer(""),
        answer("[]"),
        answer(#"{"header":{"revision":"7"},"kvs":[{"key":""#),
        "HTTP/1.1 200 OK\r\nContent-Length: 4000\r\n\r\n{\"header\":",
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n{}",
        answer("", "302 Found", "Location: http://127.0.0.1:1/v3/kv/range\r\n"),
        answer(#"{"error":"\u001b[2Jbroken\u202e"}"#, "500 Internal Server Error"),
        answer("<html>", "404 Not Found"),
        answer(String(repeating: "[", count: 100_000)),
        answer("{\"kvs\":[" + String(repeating: "1,", count: 400_000) + "1]}"),
    ]

    @Test(arguments: LyingServerTests.everywhere.indices)
    func `what is no answer of etcd's is an error of every verb`(index: Int) throws {
        let liar = try Liar(Self.everywhere[index])
        for failure in try Self.failures(liar.access) {
            switch failure {
            case .unreachable(let what), .refused(let what, _):
                #expect(what.contains("127.0.0.1:") && what.utf8.count < 500)
                #expect(!what.unicodeScalars.contains { $0.value < 0x20 || $0 == "\u{202e}" })
            default: Issue.record("\(String(describing: failure))")
            }
        }
    }

    @Test func `redirections are not followed, and said`() throws {
        let other = try Liar(Self.answer(Self.header("\"count\":\"0\"")))
        let port = try #require(other.access.url.hosts[0].port)
        let liar = try Liar(Self.answer("", "307 Temporary", "Location: http://127.0.0.1:\(port)/v3/kv/range\r\n"))
        for failure in try Self.failures(liar.access) {
            guard case .refused(let what, _) = failure else {
                Issue.record("\(String(describing: failure))")
                continue
            }
            #expect(what.contains("sends elsewhere"))
        }
    }

    static let lies: [String] = [
        // Invalid base64, texts and numbers.
        #""kvs":[{"key":"!","value":""}],"count":"1""#,
        #""kvs":[{"key":7,"value":""}],"count":"1""#,
        #""kvs":[{"key":"\#(key())","value":"AAA"}],"count":"1""#,
        #""kvs":["x"],"count":"1""#,
        #""kvs":[{"key":"\#(key())"}],"count":"-1""#,
        #""kvs":[{"key":"\#(key())"}],"count":"99999999999999999999999""#,
        #""kvs":[{"key":"\#(key())"}],"more":"yes""#,
        // Keys that were not requested, duplicate, out of order, or too many.
        #""kvs":[{"key":"AAAA"}],"count":"1""#,
        #""kvs":[{"key":"\#(key())"},{"key":"\#(key())"}],"count":"2""#,
        #""kvs":[{"key":"\#(key(2))"},{"key":"\#(key(1))"}],"count":"2""#,
        // The same page for ever, or an empty page that announces more.
        #""kvs":[{"key":"\#(key())"}],"more":true,"count":"2""#,
        #""more":true,"count":"2""#,
    ]

    @Test(arguments: LyingServerTests.lies.indices)
    func `a page that cannot be is refused`(index: Int) throws {
        let liar = try Liar(Self.answer(Self.header(Self.lies[index])))
        for failure in try Self.failures(liar.access)[...1] {
            guard case .refused(let what, _) = failure else {
                Issue.record("\(String(describing: failure))")
                continue
            }
            #expect(what.contains("does not answer as etcd does"))
        }
    }

    @Test func `a transaction that says both is refused`() throws {
        for body in [
            #""succeeded":false,"responses":[]"#, #""succeeded":"no""#,
            #""responses":[{"response_range":{}},{"response_range":{}}]"#,
            #""responses":[{"response_range":{"kvs":[{"key":"\#(Self.key(9))"}]}},{"response_range":{}}]"#,
            #""responses":[{"response_put":{}},7]"#,
        ] {
            let liar = try Liar(Self.answer(Self.header(body)))
            guard case .refused = try Self.failures(liar.access)[3] else {
                Issue.record("\(body)")
                continue
            }
        }
    }

    @Test func `an answer without end is ended`() throws {
        let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n"
        for line in ["{\"kvs\":[", String(repeating: " ", count: 4000)] {
            let liar = try Liar(head + line, endless: true)
            for failure in try Self.failures(liar.access) {
                guard case .refused = failure else {
                    Issue.record("\(String(describing: failure))")
                    continue
                }
            }
        }
    }

    @Test func `a head without end is ended, of what is watched as well`() throws {
        let liar = try Liar("HTTP/1.1 200 OK\r\nX-Y: \(String(repeating: "z", count: 500))\r\n", endless: true)
        for failure in try Self.failures(liar.access) {
            guard case .refused = failure else {
                Issue.record("\(String(describing: failure))")
                continue
            }
        }
    }

    @Test func `a server that takes a watch and does not begin it is waited for no longer than that`() throws {
        for text in ["HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{\"result\":{}}\n", ""] {
            let liar = try Liar(text, endless: true)
            let failure = Self.failure {
                _ = try EtcdWatch(
                    EtcdConnection(liar.access), EtcdKeys(.of(0xab)), patience: .milliseconds(200)
                ) { _ in }
            }
            guard case .unreachable(let what) = failure else {
                Issue.record("\(String(describing: failure))")
                continue
            }
            #expect(what.contains("does not begin to watch"))
        }
    }

    @Test func `localhost is this machine, whatever a look-up says, where nothing is encrypted`() throws {
        let url = try RemoteURL("etcd://localhost,127.0.0.2:1,db.example")
        let plain = EtcdHost.all(of: RemoteAccess(url))
        #expect(
            plain.map(\.url) == [
                "http://127.0.0.1:2379/v3/", "http://[::1]:2379/v3/", "http://127.0.0.2:1/v3/",
                "https://db.example:2379/v3/",
            ])
        let secure = EtcdHost.all(of: RemoteAccess(url, RemoteCredentials(authorities: "/ca")))
        #expect(secure.map(\.url).first == "https://localhost:2379/v3/" && secure.count == 3)
        let zone = try RemoteURL("etcd://[fe80::1%25eth0]")
        #expect(EtcdHost.all(of: RemoteAccess(zone)).map(\.url) == ["https://[fe80::1%25eth0]:2379/v3/"])
    }

    @Test func `a token that could be more than a token is none`() throws {
        for body in [#"{"token":"a\r\nX: y"}"#, #"{"token":"a b"}"#, #"{"token":""}"#, #"{"token":7}"#, "{}"] {
            let liar = try Liar(Self.answer(body), password: "s3cret")
            guard case .refused = try Self.failures(liar.access)[0] else {
                Issue.record("\(body)")
                continue
            }
        }
        // The token is requested only once more.
        let liar = try Liar(
            Self.answer(#"{"token":"t","error":"etcdserver: invalid auth token"}"#, "401 Unauthorized"),
            password: "s3cret")
        for failure in try Self.failures(liar.access) {
            guard case .refused(let what, _) = failure else {
                Issue.record("\(String(describing: failure))")
                continue
            }
            #expect(!what.contains("s3cret"))
        }
    }

    @Test func `a watch that lies is lost`() throws {
        let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n"
        let created = #"{"result":{"created":true}}"# + "\n"
        for rest in [
            "", "x\n", "{}\n", #"{"result":{"canceled":true,"compact_revision":"9"}}"# + "\n",
            #"{"result":{"events":[{"kv":{"key":"!"}}]}}"# + "\n", #"{"error":{"message":"gone"}}"# + "\n",
        ] {
            let liar = try Liar(head + created + rest)
            let hints = Hints()
            let store = try EtcdRecordStore(liar.access, realm: .of(0xab))
            let watch = try #require(try store.watch { hints.take($0) })
            guard case .lost? = hints.next(1).first else {
                Issue.record("\(rest)")
                continue
            }
            watch.end()
        }
        // Invalid hints, and then silence.
        let noise = #"{"result":{"events":[{},{"kv":{"key":"AAAA","value":"AAAA"}},{"type":"DELETE"}]}}"# + "\n"
        let liar = try Liar(head + created + noise, endless: true)
        let hints = Hints()
        let watch = try #require(
            try EtcdRecordStore(liar.access, realm: .of(0xab)).watch { hints.take($0) })
        watch.end()
        #expect(hints.isEmpty)
    }
}
