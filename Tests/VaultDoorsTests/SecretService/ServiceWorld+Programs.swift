// SPDX-License-Identifier: Apache-2.0
import Dispatch
import Glibc
import Synchronization
import Testing
import VaultAgent
import VaultBus

@testable import VaultDoors

// Programs of a test, which are all in its process: the service is told that they are not.

extension SecretService {
    /// Takes a connection for one from a sandbox, or of another process.
    ///
    /// - Parameter startTime: nil: this process's own, of which alone the agent believes that it is there.
    func pretend(_ name: String, isIn sandbox: String?, startTime: UInt64? = nil) {
        let process = DoorClient(
            process: getpid(), startTime: startTime ?? ProcessTable.startTime(of: getpid()) ?? 0, program: "app",
            sandbox: sandbox)
        clients[name] = ServiceClient(name: name, process: process)
    }
}

extension ServiceWorld {
    /// What the service has, read where it may be read.
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

    /// A program of its own, by a number that no other one has.
    func program(_ number: Int) throws -> BusClient {
        let client = try client()
        let name = try #require(client.connection.uniqueName)
        try look { await $0.pretend(name, isIn: nil, startTime: UInt64(number)) }
        return client
    }
}

/// Runs tasks on a thread of its own: those that all tasks share may be taken for long by other tests.
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
