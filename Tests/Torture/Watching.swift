// SPDX-License-Identifier: Apache-2.0
import Foundation
import Vault

/// A process that waits for a change, for a look at what it does meanwhile: it says that it is ready, and then of what
/// kind the change is that has come.
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

    /// Changes what the other process waits for. Nothing is deleted: an item that comes and goes before the other has
    /// looked is no change, and a file that is compacted without it is `many`.
    static func change(_ scratch: Scratch) throws {
        let vault = try scratch.open()
        try vault.set(1, for: "watched")
        vault.close()
    }
}
