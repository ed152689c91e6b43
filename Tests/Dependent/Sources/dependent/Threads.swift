// SPDX-License-Identifier: Apache-2.0
import Foundation
import Vault

/// Uses a vault from many threads. The thread sanitizer would report a race here.
enum Threads {
    static func run(_ command: Command) throws -> [String] {
        let vault = try Vault.inMemory()
        let failed = Counter()
        DispatchQueue.concurrentPerform(iterations: 8) { thread in
            for number in 0..<50 {
                do {
                    try vault.add(Item(.genericPassword(service: "\(thread)", account: "\(number)"), secret: "s"))
                    _ = try vault.copyMatching(Query(.genericPassword, service: "\(thread)"))
                    try vault.set(Item(.genericPassword(service: "shared"), secret: "s"))
                } catch { failed.increment() }
            }
        }
        var failures = Failures()
        try expect(failed.value == 0, &failures)
        try expect(try vault.copyMatching(Query(.genericPassword, limit: .all)).count == 8 * 50 + 1, &failures)
        return failures.all
    }

    private final class Counter: @unchecked Sendable {
        private let lock = NSLock()
        private var count = 0

        func increment() { lock.withLock { count += 1 } }

        var value: Int { lock.withLock { count } }
    }
}
