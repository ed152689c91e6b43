// SPDX-License-Identifier: Apache-2.0
import Dispatch
import Foundation
import TestSupport
import Vault
import VaultCrypto
import VaultFormat
import VaultStorage
import VaultSync
import VaultSyncEtcd
import VaultSyncPostgres

/// Measures a remote, by commands from standard input, each answered by one line. `Scripts/bench` alternates between
/// this program and one that measures the minimal cost. The results are medians in nanoseconds.
///
///   append BYTES COUNT     a record stored and acknowledged
///   hint BYTES COUNT       from sending a record to the notice that a watcher gets
///   upload BYTES           this number of bytes in records of large values
///   logs COUNT             makes this number of logs with one record each; then
///   heads COUNT            a query for the heads of all logs
///   sync COUNT             from a local commit to the end of its sync; before the commands above
///   arrive COUNT           from a local commit until a second device, which watches, has the change
///   devices COUNT ROUNDS   the same in a fleet that has grown to this size: a line of JSON
final class RemoteCosts {
    private let directory: FilePath
    private let remote: RemoteAccess
    private let engine: CountingEngine
    private let random = SystemRandom()
    /// A realm of no vault.
    private let realm: RealmID
    private lazy var store = Result { try engine.store(at: remote, realm: realm) }
    private lazy var fleet = Result { try GrowingFleet(directory, remote, engine) }

    init(directory: String, url: String) throws {
        self.directory = FilePath(directory)
        remote = RemoteAccess(try RemoteURL(url))
        engine =
            switch remote.url.scheme {
            case .file: CountingEngine(FolderEngine(.system))
            case .ssh: CountingEngine(SSHEngine())
            case .postgres: CountingEngine(PostgresEngine())
            case .etcd: CountingEngine(EtcdEngine())
            }
        realm = RealmID(random.bytes(16))
    }

    func run() throws {
        while let line = readLine() {
            let words = line.split(separator: " ").map(String.init)
            let numbers = words.dropFirst().compactMap { Int($0) }
            guard numbers.count == words.count - 1, let answer = try answer(words.first ?? "", numbers) else { exit(2) }
            say(answer)
        }
    }

    private func answer(_ command: String, _ numbers: [Int]) throws -> String? {
        switch (command, numbers.count) {
        case ("append", 2): String(try append(numbers[0], numbers[1]))
        case ("hint", 2): String(try hint(numbers[0], numbers[1]))
        case ("upload", 1): String(try upload(numbers[0]))
        case ("logs", 1): String(try logs(numbers[0]))
        case ("heads", 1): String(try heads(numbers[0]))
        case ("sync", 1): String(try fleet.get().sync(numbers[0]))
        case ("arrive", 1): String(try fleet.get().arrive(numbers[0]))
        case ("devices", 2): try fleet.get().cost(devices: numbers[0], rounds: numbers[1])
        default: nil
        }
    }

    private func records(_ count: Int, _ bytes: Int, _ kind: RecordKind = .log) -> [StoredRecord] {
        let stream = RecordStream(kind, Bytes16(random.bytes(16)))
        let body = random.bytes(bytes)
        return (0..<count).map { StoredRecord(RecordAddress(stream, UInt64($0 + 1)), body) }
    }

    private func append(_ bytes: Int, _ count: Int) throws -> UInt64 {
        let store = try store.get()
        return try records(count, bytes).map { record in try measured { _ = try store.append([record]) } }.median
    }

    private func hint(_ bytes: Int, _ count: Int) throws -> UInt64 {
        let store = try store.get()
        let heard = DispatchSemaphore(value: 0)
        guard let watch = try store.watch({ if case .appended = $0 { heard.signal() } }) else {
            throw SyncError.noAnswer
        }
        defer { watch.end() }
        return try records(count, bytes).map { record in
            let start = now()
            _ = try store.append([record])
            guard heard.wait(timeout: Patience.deadline) == .success else { throw SyncError.noAnswer }
            return now() - start
        }.median
    }

    private func upload(_ bytes: Int) throws -> UInt64 {
        let (store, length) = (try store.get(), 250_000)
        let records = records((bytes + length - 1) / length, length, .blob)
        return try measured {
            // A sync also sends 64 records at a time.
            for start in stride(from: 0, to: records.count, by: 64) {
                _ = try store.append(Array(records[start..<min(start + 64, records.count)]))
            }
        }
    }

    private func logs(_ count: Int) throws -> UInt64 {
        let store = try store.get()
        return try measured { for _ in 0..<count { _ = try store.append(records(1, 512)) } }
    }

    private func heads(_ count: Int) throws -> UInt64 {
        let store = try store.get()
        // The first query on a connection counts the records of all logs.
        _ = try store.heads()
        return try (0..<count).map { _ in try measured { _ = try store.heads() } }.median
    }
}

func measured(_ body: () throws -> Void) rethrows -> UInt64 {
    let start = now()
    try body()
    return now() - start
}

extension [UInt64] {
    var median: UInt64 { sorted()[count / 2] }
}
