// SPDX-License-Identifier: Apache-2.0
import CLinux
import Synchronization

/// Distinguishes a forked child from its parent without a system call.
///
/// Secrets are not inherited by a forked child: those made by an ancestor are unusable, and those that a child makes
/// are as good as any.
package enum ForkMark {
    /// A page that the kernel zeroes in a child (MADV_WIPEONFORK).
    @safe private struct Page: @unchecked Sendable {
        let word: UnsafeMutablePointer<Atomic<UInt64>>?

        init() {
            guard let base = unsafe clinux_map(4096), unsafe clinux_wipe_on_fork(base, 4096) == 0 else {
                unsafe self.word = nil
                return
            }
            // The kernel's zeros are a valid value of zero.
            unsafe self.word = unsafe base.bindMemory(to: Atomic<UInt64>.self, capacity: 1)
        }
    }

    private static let page = Page()
    /// The last value written to the page, in memory of which a child gets a copy.
    private static let last = Mutex<UInt64>(0)

    /// The number of this process among its ancestors: 1 for the first that asked, and a different one in each child.
    package static var process: UInt64 {
        guard let word = unsafe page.word else { return 1 }
        let known = unsafe word.pointee.load(ordering: .acquiring)
        if known != 0 { return known }
        return last.withLock { last in
            let known = unsafe word.pointee.load(ordering: .acquiring)
            if known != 0 { return known }
            last += 1
            unsafe word.pointee.store(last, ordering: .releasing)
            return last
        }
    }
}
