// SPDX-License-Identifier: Apache-2.0
internal import Dispatch

/// Runs work that waits for the user, the agent or a long calculation, on threads of its own.
package enum DoorWorker {
    package static func run<R: Sendable>(_ body: @escaping @Sendable () -> R) async -> R {
        await withCheckedContinuation { continuation in
            // A queue for each: work on a concurrent or global queue shares as many threads as there are processors,
            // and work that waits for the user would block the rest.
            DispatchQueue(label: "vault.door.work").async { continuation.resume(returning: body()) }
        }
    }

    private static let timers = DispatchQueue(label: "vault.door.timers")

    /// Waits without blocking a thread, neither one of its own, nor one of the pool that all tasks of a process share.
    package static func pause(for duration: Duration) async {
        await withCheckedContinuation { continuation in
            let milliseconds = Int(clamping: Int64(duration / .milliseconds(1)))
            timers.asyncAfter(deadline: .now() + .milliseconds(milliseconds)) { continuation.resume() }
        }
    }

    package static func attempt<R: Sendable, E: Error>(
        _ body: @escaping @Sendable () throws(E) -> R
    ) async throws(E) -> R {
        let result: Result<R, E> = await run {
            do throws(E) { return .success(try body()) } catch { return .failure(error) }
        }
        return try result.get()
    }
}
