// SPDX-License-Identifier: Apache-2.0
import Foundation
import Vault

/// A process that waits for a change, so that its system calls can be counted. The process reports when it is ready,
/// and then the kind of the change.
enum Watching {
    static func run(_ scratch: Scratch) throws {
        let vault = try scratch.open()
        let changes = vault.changes
        let done = DispatchSemaphore(value: 0)
        Task {
            for await change in changes {
                tell("\(change.kind)")
                break
            }
            done.signal()
        }
        tell("ready \(ProcessInfo.processInfo.processIdentifier)")
        done.wait()
    }

    private static func tell(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }

    /// Makes the changes that the other process waits for. Nothing is deleted: an item that comes and goes before the
    /// other process looks is not a change, and a compacted file without the item is `many`.
    static func change(_ scratch: Scratch) throws {
        let vault = try scratch.open()
        try vault.set(1, for: "watched")
        vault.close()
    }
}
