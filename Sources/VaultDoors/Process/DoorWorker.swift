// SPDX-License-Identifier: Apache-2.0
internal import Dispatch

/// Threads for what waits for a person, the agent or a long calculation.
enum DoorWorker {
    static func run<R: Sendable>(_ body: @escaping @Sendable () -> R) async -> R {
        await withCheckedContinuation { continuation in
            // Each on a queue of its own: those that run at once on one, or on the global ones, share as many threads
            // as there are processors, and one that waits for a person would keep the others from their turn.
            DispatchQueue(label: "vault.door.work").async { continuation.resume(returning: body()) }
        }
    }

    private static let timers = DispatchQueue(label: "vault.door.timers")

    /// Waits without a thread: neither of its own, nor of the few that all tasks of a process share.
    static func pause(for duration: Duration) async {
        await withCheckedContinuation { continuation in
            let milliseconds = Int(clamping: Int64(duration / .milliseconds(1)))
            timers.asyncAfter(deadline: .now() + .milliseconds(milliseconds)) { continuation.resume() }
        }
    }

    static func attempt<R: Sendable, E: Error>(
        _ body: @escaping @Sendable () throws(E) -> R
    ) async throws(E) -> R {
        let result: Result<R, E> = await run {
            do throws(E) { return .success(try body()) } catch { return .failure(error) }
        }
        return try result.get()
    }
}
