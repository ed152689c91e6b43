// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import Synchronization
package import SystemPackage
internal import Vault
package import VaultCrypto
package import VaultStorage
internal import VaultSystem

/// A directory of a single test, removed with the value.
package final class TemporaryDirectory: Sendable {
    package let path: FilePath

    package init() throws {
        let name = SystemRandom().bytes(8).map { String($0, radix: 16) }.joined()
        path = FilePath(FileManager.default.temporaryDirectory.path).appending("vault-test-\(name)")
        try LinuxFileSystem().createDirectories(path)
    }

    deinit { try? FileManager.default.removeItem(atPath: path.string) }

    package func read(_ name: String) throws -> [UInt8] {
        let file = try LinuxFileSystem().openDirectory(path).open(name, writable: false)
        return try file.read(try file.status().size, at: 0)
    }

    package func write(_ bytes: [UInt8], to name: String) throws {
        let directory = try LinuxFileSystem().openDirectory(path)
        if try directory.status(of: name) != nil { try directory.remove(name) }
        let file = try directory.openOrCreate(name)
        var written = 0
        while written < bytes.count {
            written += try file.write(bytes.span.extracting(written..<bytes.count), at: written)
        }
    }
}

/// Deterministic randomness, the same in every run: BLAKE2b of a seed and a counter.
package final class SeededRandom: RandomSource {
    private let state: Mutex<(seed: [UInt8], counter: UInt64)>

    package init(_ seed: String) { state = Mutex((Array(seed.utf8), 0)) }

    package func fill(_ bytes: inout MutableSpan<UInt8>) {
        let drawn = draw(bytes.count)
        for index in drawn.indices { bytes[index] = drawn[index] }
    }

    package func secret(_ count: Int) throws(CryptoError) -> SecretBytes { try SecretBytes(copying: draw(count).span) }

    /// Returns a number in `0..<bound`, uniformly distributed. `bound` is 1 or more.
    package func uniform(_ bound: UInt32) -> UInt32 {
        // Values in the last, incomplete run would favour small results, so draw again.
        let limit = UInt32.max - UInt32.max % bound
        while true {
            let drawn = bytes(4)
            let value = UInt32(drawn[0]) | UInt32(drawn[1]) << 8 | UInt32(drawn[2]) << 16 | UInt32(drawn[3]) << 24
            if value < limit { return value % bound }
        }
    }

    /// Returns a number in the range, uniformly distributed.
    package func number(in range: ClosedRange<Int>) -> Int { range.lowerBound + Int(uniform(UInt32(range.count))) }

    package func chance(_ percent: Int) -> Bool { uniform(100) < percent }

    package func element<C: RandomAccessCollection>(of collection: C) -> C.Element where C.Index == Int {
        collection[collection.startIndex + number(in: 0...collection.count - 1)]
    }

    private func draw(_ count: Int) -> [UInt8] {
        state.withLock { state in
            var output: [UInt8] = []
            while output.count < count {
                var hash = KeyedHash()
                hash.update(state.seed)
                hash.update(state.counter)
                state.counter += 1
                let digest = hash.digest()
                for index in 0..<32 where output.count < count { output.append(digest.bytes[index]) }
            }
            return output
        }
    }
}

/// A clock that moves on request, or by a millisecond at each reading.
package final class ManualClock: VaultClock {
    private let state: Mutex<(now: Double, step: Double, uptime: Duration)>

    package init(now: Double = 800_000_000, step: Double = 0.001) { state = Mutex((now, step, .zero)) }

    package var now: Double {
        state.withLock { state in
            state.now += state.step
            return state.now
        }
    }

    package var uptime: Duration { state.withLock { $0.uptime } }

    /// Advances the clock at once instead of waiting.
    package func sleep(for duration: Duration) { state.withLock { $0.uptime += duration } }

    package func advance(by seconds: Double) { state.withLock { $0.now += seconds } }
}

extension Passphrase {
    /// - Parameter text: The test's own text, which is not a secret.
    package static func of(_ text: String) throws -> Passphrase {
        try Passphrase(SecretBytes(copying: Array(text.utf8).span))
    }
}

extension Secret {
    package convenience init(text: String) throws { try self.init(SecretBytes(copying: Array(text.utf8).span)) }

    package convenience init(bytes: [UInt8]) throws { try self.init(SecretBytes(copying: bytes.span)) }

    /// The bytes outside protected memory, for comparisons in tests.
    package var exposed: [UInt8] {
        withBytes { bytes in
            var copy: [UInt8] = []
            for index in bytes.indices { copy.append(bytes[index]) }
            return copy
        }
    }
}

extension SecretBytes {
    package var exposed: [UInt8] {
        withBytes { bytes in
            var copy: [UInt8] = []
            for index in bytes.indices { copy.append(bytes[index]) }
            return copy
        }
    }
}

extension VaultEnvironment {
    /// Everything that a test needs for identical results in every run.
    package static func seeded(
        _ seed: String, on fileSystem: any VaultFileSystem = LinuxFileSystem(), clock: any VaultClock = ManualClock(),
        state: FilePath? = nil
    ) -> VaultEnvironment {
        VaultEnvironment(fileSystem: fileSystem, clock: clock, random: SeededRandom(seed), stateDirectory: state)
    }

    /// The system's environment with its own state. An unlock does not raise the weakest cost of a derivation to that
    /// of a new vault, which would take most of a test's time.
    package static func process(state: FilePath) -> VaultEnvironment {
        var environment = VaultEnvironment.system
        environment.stateDirectory = state
        environment.strengthensSlots = false
        return environment
    }
}

extension LinuxFileSystem {
    /// Sets mode 0600, the mode of a vault.
    package static func restrict(_ path: FilePath) throws {
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path.string)
    }
}
