// SPDX-License-Identifier: Apache-2.0
internal import Dispatch
internal import Glibc
internal import Synchronization
internal import VaultCrypto

/// Divides calculations among the processors.
package enum Parallel {
    private static let processors = max(sysconf(Int32(_SC_NPROCESSORS_ONLN)), 1)
    /// Small parts end at nearly the same time on all processors.
    private static let partsPerProcessor = 4

    /// Dispatch has no threads in a forked child.
    static var hasThreads: Bool { processors > 1 && ForkMark.process == 1 }

    /// Returns the results for `0..<count`, in order.
    ///
    /// - Parameters:
    ///   - least: the number of elements for which another thread is worthwhile.
    ///   - other: runs once, at the same time if there are threads. It must not touch what the body reads.
    package static func map<R: Sendable>(
        _ count: Int, atLeast least: Int, _ body: @Sendable (Int) -> R, beside other: () -> Void = {}
    ) -> [R] {
        guard count >= least, hasThreads else {
            other()
            return (0..<count).map(body)
        }
        let parts = min(processors * partsPerProcessor, count)
        let results = Mutex([[R]](repeating: [], count: parts))
        withoutActuallyEscaping(other) { other in
            // Only the iteration with the number 0 calls it.
            nonisolated(unsafe) let other = other
            DispatchQueue.concurrentPerform(iterations: parts + 1) { number in
                guard number > 0 else { return unsafe other() }
                let part = number - 1
                let result = (count * part / parts..<count * (part + 1) / parts).map(body)
                results.withLock { $0[part] = result }
            }
        }
        return results.withLock { $0 }.flatMap { $0 }
    }
}
