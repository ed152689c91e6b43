// SPDX-License-Identifier: Apache-2.0
import Foundation
import Synchronization
import TestSupport
import Vault

/// A process whose threads set, read, add, delete, compact and change the passphrase, and log their operations.
struct Worker: Sendable {
    let scratch: Scratch
    let name: String
    let threads: Int
    let seconds: Int
    /// The number of operations of all threads together before one thread kills the process.
    let lifetime: Int
    private let done = Counter()

    static let keys = 6

    init(_ scratch: Scratch, name: String, threads: Int, seconds: Int, lifetime: Int) {
        (self.scratch, self.name, self.threads, self.seconds, self.lifetime) = (
            scratch, name, threads, seconds, lifetime
        )
    }

    private final class Counter: Sendable { let value = Atomic(0) }

    func run() throws {
        let vault = try scratch.open()
        let stop = now() + UInt64(seconds) * 1_000_000_000
        let group = DispatchGroup()
        // Separate threads are used because a queue has at most as many threads as the machine has cores.
        for thread in 0..<threads {
            group.enter()
            Thread.detachNewThread {
                do { try work(vault, "\(name).\(thread)", until: stop) } catch {
                    say("worker \(name).\(thread): \(error)")
                    exit(3)
                }
                group.leave()
            }
        }
        group.wait()
        vault.close()
    }

    private func work(_ vault: Vault, _ name: String, until stop: UInt64) throws {
        let (random, log) = (SystemRandomNumbers(), try scratch.log(name))
        var count = 0
        while now() < stop {
            if done.value.add(1, ordering: .relaxed).newValue == lifetime { kill(getpid(), SIGKILL) }
            count += 1
            let key = "\(random.below(Self.keys))"
            let value = "\(name)/\(count)"
            switch random.below(100) {
            case 0..<30: try set(key, value, vault, log)
            case 30..<60: try read(key, vault, log)
            case 60..<75: try add(value, vault, log)
            case 75..<85: try setTogether(value, vault)
            case 85..<95: try readTogether(vault)
            case 95..<97: try addAndDelete(value, vault)
            case 97: try vault.compact()
            default: try changePassphrase(vault, random)
            }
        }
    }

    private func write(_ event: Event, _ log: FileHandle) throws { try log.write(contentsOf: Data(event.line.utf8)) }

    private func set(_ key: String, _ value: String, _ vault: Vault, _ log: FileHandle) throws {
        let begin = now()
        // The operation is logged before it starts, in case this process is killed in the middle.
        try write(Event(.set, key, value, version: 0, begin: begin, end: .max), log)
        let item = Item(.genericPassword(service: "shared", account: key), secret: try Secret(text: value))
        let version = try vault.set(item).record?.version ?? 0
        try write(Event(.set, key, value, version: version, begin: begin, end: now()), log)
    }

    private func read(_ key: String, _ vault: Vault, _ log: FileHandle) throws {
        let begin = now()
        var query = Query(.genericPassword, service: "shared", account: key)
        query.returnsSecrets = true
        do {
            guard let item = try vault.copyMatching(query).first else { return }
            try write(Event(.read, key, item.text, version: item.record?.version ?? 0, begin: begin, end: now()), log)
        } catch VaultError.itemNotFound { return }
    }

    private func add(_ value: String, _ vault: Vault, _ log: FileHandle) throws {
        let begin = now()
        try vault.add(Item(.genericPassword(service: "own", account: value), secret: try Secret(text: value)))
        try write(Event(.add, value, value, version: 1, begin: begin, end: now()), log)
    }

    private func addAndDelete(_ value: String, _ vault: Vault) throws {
        try vault.add(Item(.genericPassword(service: "gone", account: value), secret: "gone"))
        try vault.delete(matching: Query(.genericPassword, service: "gone", account: value))
    }

    /// Sets three items to the same value in one transaction: a reader that sees different values has seen a partial
    /// commit.
    private func setTogether(_ value: String, _ vault: Vault) throws {
        let secret = try Secret(text: value)
        try vault.transaction { (transaction: inout Transaction) throws(VaultError) in
            for account in ["a", "b", "c"] {
                try transaction.set(Item(.genericPassword(service: "together", account: account), secret: secret))
            }
        }
    }

    private func readTogether(_ vault: Vault) throws {
        var query = Query(.genericPassword, service: "together")
        query.returnsSecrets = true
        do {
            let values = Set(try vault.copyMatching(query).map { try $0.text })
            guard values.count == 1 else {
                say("half a transaction was seen: \(values)")
                exit(4)
            }
        } catch VaultError.itemNotFound { return }
    }

    private func changePassphrase(_ vault: Vault, _ random: SystemRandomNumbers) throws {
        let names = random.below(2) == 0 ? Scratch.passphrases : Scratch.passphrases.reversed()
        // Another worker may have changed the passphrase first.
        do {
            try vault.changePassphrase(from: .of(names[0]), to: .of(names[1]), cost: .weakest)
        } catch VaultError.storage(.wrongPassphrase) {}
    }
}

struct SystemRandomNumbers {
    func below(_ bound: Int) -> Int { Int.random(in: 0..<bound) }
}
