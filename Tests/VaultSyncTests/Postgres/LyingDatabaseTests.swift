// SPDX-License-Identifier: Apache-2.0
import Foundation
import TestSupport
import Testing
import VaultFormat

@testable import VaultSync
@testable import VaultSyncPostgres

/// A server whose answers no PostgreSQL server gives.
@Suite(.enabled(if: PostgresServer.isInstalled && access("/usr/bin/python3", X_OK) == 0))
struct LyingDatabaseTests {
    private final class Liar {
        private let process = Process()
        private let input = Pipe()
        let access: RemoteAccess

        init(_ lie: String) throws {
            let output = Pipe()
            let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "liar.py").path()
            process.executableURL = URL(filePath: "/usr/bin/python3")
            process.arguments = [script, lie]
            process.standardInput = input
            process.standardOutput = output
            try process.run()
            var port = ""
            while let byte = try output.fileHandleForReading.read(upToCount: 1)?.first, byte != 0x0a {
                port.unicodeScalars.append(Unicode.Scalar(byte))
            }
            access = RemoteAccess(try RemoteURL("postgres://ada@127.0.0.1:\(port)/vault"))
        }

        deinit {
            // Threads of the tests' pool block other signals, and child processes inherit that.
            kill(process.processIdentifier, SIGKILL)
            process.waitUntilExit()
        }
    }

    private enum Use: CaseIterable {
        case heads, read, record, append

        func of(_ store: PostgresRecordStore) throws(RecordStoreError) {
            let log = RecordStream.logs[0]
            switch self {
            case .heads: _ = try store.heads()
            case .read: _ = try store.all(log)
            case .record: _ = try store.record(at: RecordAddress(log, 1))
            case .append: _ = try store.append([.of(log, 1)])
            }
        }
    }

    private static func patience() -> PostgresPatience {
        var patience = PostgresPatience()
        patience.answering = .milliseconds(500)
        return patience
    }

    @Test(arguments: [
        "null", "text", "short", "long", "types", "columns", "fields", "numbers", "endless", "twice", "nothing", "copy",
        "both", "error", "huge", "garbage", "ends", "silent", "notices", "news", "settings", "welcome",
    ])
    func `whatever a server answers is a record, or says that there is none to be had`(lie: String) throws {
        let liar = try Liar(lie)
        var failures = 0
        for use in Use.allCases {
            do throws(RecordStoreError) {
                try use.of(PostgresRecordStore(liar.access, realm: .of(0xab), patience: Self.patience()))
            } catch {
                failures += 1
                guard case .unreachable(let why) = error else { throw error }
                #expect(why.count < 400 && why.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7f })
            }
        }
        #expect(failures >= 2, "\(lie)")
    }
}
