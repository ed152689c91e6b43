// SPDX-License-Identifier: Apache-2.0
import Dispatch
import Glibc
import Synchronization
import Testing
import VaultAgent
import VaultBus

@testable import VaultDoorKit
@testable import VaultSecretService

// A test's programs share its process, so the service is told that they are separate.

extension SecretService {
    /// Makes the service treat a connection as coming from a sandbox or another process.
    ///
    /// - Parameter startTime: The process's start time; `nil` for this process's own, the only one that the agent
    ///   accepts.
    func pretend(_ name: String, isIn sandbox: String?, startTime: UInt64? = nil) {
        let process = DoorClient(
            process: getpid(), startTime: startTime ?? ProcessTable.startTime(of: getpid()) ?? 0, program: "app",
            sandbox: sandbox)
        holdings.enter(ServiceClient(name: name, process: process))
    }
}

extension ServiceWorld {
    /// Reads the service's state on its actor.
    func look<R: Sendable>(_ body: @escaping @Sendable (SecretService) async -> R) throws -> R {
        let service = try #require(service)
        let (box, done) = (Box<R>(), DispatchSemaphore(value: 0))
        Task(executorPreference: AsideExecutor()) {
            let value = await body(service)
            box.value.withLock { $0 = value }
            done.signal()
        }
        done.wait()
        return try #require(box.value.withLock { $0 })
    }

    func sandboxed(_ application: String) throws -> BusClient {
        let client = try client()
        let name = try #require(client.connection.uniqueName)
        try look { await $0.pretend(name, isIn: application) }
        return client
    }

    /// Connects as a separate program, by a number that no other program has.
    func program(_ number: Int) throws -> BusClient {
        let client = try client()
        let name = try #require(client.connection.uniqueName)
        try look { await $0.pretend(name, isIn: nil, startTime: UInt64(number)) }
        return client
    }
}

/// Runs tasks on a thread of its own, since other tests may occupy the shared threads for long.
private final class AsideExecutor: TaskExecutor {
    private let queue = DispatchQueue(label: "aside")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}

private final class Box<Value: Sendable>: Sendable {
    let value = Mutex<Value?>(nil)
}
