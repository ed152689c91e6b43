// SPDX-License-Identifier: Apache-2.0
import CLinux
import Synchronization

/// Tells a forked child from its parent without a system call.
///
/// Secrets are in no forked child: what was made by an ancestor is of no use, and what a child makes for itself is as good as anywhere.
public enum ForkMark {
    /// A page that the kernel empties in a child (MADV_WIPEONFORK).
    @safe private struct Page: @unchecked Sendable {
        let word: UnsafeMutablePointer<UInt64>?

        init() {
            guard let base = unsafe clinux_map(4096), unsafe clinux_wipe_on_fork(base, 4096) == 0 else {
                unsafe self.word = nil
                return
            }
            unsafe self.word = unsafe base.bindMemory(to: UInt64.self, capacity: 512)
        }
    }

    private static let page = Page()
    /// What was last written into the page, in memory that a child gets a copy of.
    private static let last = Mutex<UInt64>(0)

    /// The number of this process among its ancestors: 1 for the one that asked first, another in each child.
    public static var process: UInt64 {
        guard let word = unsafe page.word else { return 1 }
        let known = unsafe word.pointee
        if known != 0 { return known }
        return last.withLock { last in
            if unsafe word.pointee == 0 {
                last += 1
                unsafe word.pointee = last
            }
            return unsafe word.pointee
        }
    }
}
