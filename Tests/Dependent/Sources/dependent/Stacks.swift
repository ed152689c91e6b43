// SPDX-License-Identifier: Apache-2.0
import Foundation
import Vault

/// Searches the calling thread's stack for secrets that the calls left. The extent of a wipe depends on the optimizer
/// and on the alignment of the stack, so the release build is tested, from every offset within a cache line.
enum Stacks {
    static func run(_ command: Command) throws -> [String] {
        let home = try Home(withVaultOf: command)
        let path = FilePath(home.vault)
        let phrase = Secret(try SecretBytes(copying: Array(Home.passphrase.utf8).span))
        let passphrase = try Passphrase(phrase.bytes.copy())
        let secret = Secret(try SecretBytes(random: 24))
        let vault = try Vault.open(at: path, unlockingWith: passphrase)
        try vault.lock()
        var query = Query(.genericPassword, service: "stack")
        query.returnsSecrets = true
        var failures = Failures()
        for offset in stride(from: 0, to: 128, by: 16) {
            let stack = try Stack {
                try withUnsafeTemporaryAllocation(byteCount: offset + 1, alignment: 16) { space in
                    space[offset] = 1
                    try vault.unlock(with: .passphrase(passphrase))
                    try vault.set(Item(.genericPassword(service: "stack"), secret: secret))
                    _ = try vault.copyMatching(query)
                    try vault.lock()
                }
            }
            try expect(stack.wasUsed, &failures)
            for kept in [secret, phrase] { try expect(!stack.holdsHalf(of: kept), &failures) }
        }
        return failures.all
    }
}

/// A stack that outlives its thread.
private final class Stack {
    private static let length = 1 << 20
    private let memory = UnsafeMutableRawPointer.allocate(byteCount: Stack.length, alignment: 1 << 16)

    private final class Work {
        let body: () throws -> Void
        var result: Result<Void, any Error> = .success(())

        init(_ body: @escaping () throws -> Void) { self.body = body }
    }

    init(running body: @escaping () throws -> Void) throws {
        memory.initializeMemory(as: UInt8.self, repeating: 0, count: Stack.length)
        let work = Work(body)
        var (attributes, thread) = (pthread_attr_t(), pthread_t())
        pthread_attr_init(&attributes)
        defer { pthread_attr_destroy(&attributes) }
        pthread_attr_setstack(&attributes, memory, Stack.length)
        let main: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { argument in
            guard let argument else { return nil }
            let work = Unmanaged<Work>.fromOpaque(argument).takeUnretainedValue()
            work.result = Result { try work.body() }
            return nil
        }
        let started = pthread_create(&thread, &attributes, main, Unmanaged.passUnretained(work).toOpaque())
        guard started == 0 else { throw Command.Failure(what: "no thread: \(started)") }
        pthread_join(thread, nil)
        try work.result.get()
    }

    deinit { memory.deallocate() }

    private var content: Data { Data(bytesNoCopy: memory, count: Stack.length, deallocator: .none) }

    var wasUsed: Bool { content.contains { $0 != 0 } }

    func holdsHalf(of secret: Secret) -> Bool {
        secret.withBytes { bytes in
            let half = bytes.count / 2
            return [0..<half, half..<bytes.count].contains { range in
                content.range(of: Data(range.map { bytes[$0] })) != nil
            }
        }
    }
}
