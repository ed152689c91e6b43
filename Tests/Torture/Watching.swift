// SPDX-License-Identifier: Apache-2.0
import Foundation
import Vault

/// A process that waits for changes, for a look at what it does meanwhile: it says that it is ready, and then of what
/// kind each change is that comes.
enum Watching {
    static func run(_ scratch: Scratch) throws {
        let vault = try scratch.open()
        let changes = vault.changes
        let done = DispatchSemaphore(value: 0)
        Task {
            for await change in changes {
                tell("\(change.kind)")
                if change.kind == .deleted { break }
            }
            done.signal()
        }
        tell("ready \(ProcessInfo.processInfo.processIdentifier)")
        done.wait()
    }

    private static func tell(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }

    /// Changes what the other process waits for.
    static func change(_ scratch: Scratch) throws {
        let vault = try scratch.open()
        try vault.set(1, for: "watched")
        try vault.removeValue(for: "watched")
        vault.close()
    }
}
