// SPDX-License-Identifier: Apache-2.0
import Foundation
import Glibc
import TestSupport
import Testing
import Vault
import VaultCrypto

@testable import VaultStorage

/// A secret that this process never holds in ordinary memory: only masked, and in the memory for secrets.
private struct Marker {
    private let masked: [UInt8]
    private static let mask: UInt8 = 0x20

    /// Letters, so that it can be a passphrase.
    init() { masked = SystemRandom().bytes(24).map { ($0 % 26 + 0x41) ^ Marker.mask } }

    /// Takes a mask of what lies in a secret.
    init(of secret: borrowing SecretBytes) {
        masked = secret.withBytes { bytes in bytes.indices.map { bytes[$0] ^ Marker.mask } }
    }

    func secret() throws -> SecretBytes {
        var secret = try SecretBytes(zeroed: masked.count)
        secret.withMutableBytes { bytes in
            for index in masked.indices { bytes[index] = masked[index] ^ Marker.mask }
        }
        return secret
    }

    /// How often it lies in the readable memory of this process.
    func occurrencesInMemory() throws -> Int {
        // Foundation takes the first page of a file that says it has no length, which would leave most of the memory
        // out.
        let maps = try FileHandle(forReadingFrom: URL(filePath: "/proc/self/maps")).readToEnd() ?? Data()
        var count = 0
        for line in String(decoding: maps, as: UTF8.self).split(separator: "\n") {
            let fields = line.split(separator: " ", omittingEmptySubsequences: true)
            guard fields.count >= 2, fields[1].hasPrefix("r"), !line.contains("[v") else { continue }
            let bounds = fields[0].split(separator: "-").compactMap { UInt(String($0), radix: 16) }
            guard bounds.count == 2, let start = UnsafeRawPointer(bitPattern: bounds[0]) else { continue }
            count += occurrences(in: UnsafeRawBufferPointer(start: start, count: Int(bounds[1] - bounds[0])))
        }
        return count
    }

    /// Writes it to a file, past the buffers of any library.
    func write(to path: String) throws {
        let secret = try secret()
        let file = open(path, O_WRONLY | O_CREAT, 0o600)
        secret.withBytes { bytes in bytes.withUnsafeBytes { _ = Glibc.write(file, $0.baseAddress, $0.count) } }
        close(file)
    }

    func occurrences(inFilesBelow directory: String) throws -> Int {
        var count = 0
        for name in try FileManager.default.subpathsOfDirectory(atPath: directory) {
            guard let data = FileManager.default.contents(atPath: directory + "/" + name) else { continue }
            count += data.withUnsafeBytes { occurrences(in: $0) }
        }
        return count
    }

    private func occurrences(in memory: UnsafeRawBufferPointer) -> Int {
        guard var position = memory.baseAddress, memory.count >= masked.count else { return 0 }
        let end = position + memory.count - masked.count
        var count = 0
        while position <= end, let found = memchr(position, Int32(masked[0] ^ Marker.mask), end - position + 1) {
            let candidate = UnsafeRawPointer(found)
            var matches = true
            for index in 1..<masked.count
            where candidate.load(fromByteOffset: index, as: UInt8.self) != masked[index] ^ Marker.mask {
                matches = false
                break
            }
            if matches { count += 1 }
            position = candidate + 1
        }
        return count
    }
}

struct MemoryTests {
    @Test func `a secret, a passphrase and a key that were let go are nowhere in memory and in no file`() async {
        await #expect(processExitsWith: .success) {
            let directory = try TemporaryDirectory()
            let (secretMarker, phraseMarker, otherMarker, heldMarker) = (Marker(), Marker(), Marker(), Marker())
            let held = Secret(try heldMarker.secret())
            // The controls: what is held is found, and what is written.
            guard try heldMarker.occurrencesInMemory() == 1 else { exit(10) }
            try heldMarker.write(to: directory.path.appending("control").string)
            var environment = VaultEnvironment.system
            environment.stateDirectory = directory.path.appending("state")
            let path = directory.path.appending("v")
            do {
                let secret = Secret(try secretMarker.secret())
                let passphrase = try Passphrase(phraseMarker.secret())
                let vault = try Vault.create(at: path, passphrase: passphrase, cost: .weakest, environment: environment)
                try vault.add(Item(.genericPassword(service: "s", account: "a"), secret: secret))
                try vault.update(matching: Query(.genericPassword), with: ItemChanges(attributes: [.accessible: "ck"]))
                try vault.update(matching: Query(.genericPassword), with: ItemChanges(attributes: [.accessible: "aku"]))
                var query = Query(.genericPassword)
                query.returnsSecrets = true
                guard try vault.copyMatching(query).first?.secret?.count == 24 else { exit(11) }
                try vault.changePassphrase(from: passphrase, to: Passphrase(otherMarker.secret()), cost: .weakest)
                try vault.compact()
                _ = try vault.verify(deep: true)
                try vault.lock()
            }
            guard try heldMarker.occurrencesInMemory() == 1, held.count == 24 else { exit(15) }
            guard try heldMarker.occurrences(inFilesBelow: directory.path.string) == 1 else { exit(16) }
            guard try secretMarker.occurrencesInMemory() == 0 else { exit(12) }
            guard try phraseMarker.occurrencesInMemory() == 0, try otherMarker.occurrencesInMemory() == 0 else {
                exit(13)
            }
            for marker in [secretMarker, phraseMarker, otherMarker] {
                guard try marker.occurrences(inFilesBelow: directory.path.string) == 0 else { exit(14) }
            }
        }
    }

    @Test func `a vault key and a class key are gone from memory when the vault is locked`() async {
        await #expect(processExitsWith: .success) {
            let directory = try TemporaryDirectory()
            var environment = VaultEnvironment.system
            environment.stateDirectory = directory.path.appending("state")
            let path = directory.path.appending("v")
            let store = try VaultStore.create(
                at: path, unlockedBy: .passphrase(.of("p")), cost: .weakest, environment: environment)
            let marker: Marker
            switch store.keys.vaultKey {
            case .some(let key): marker = Marker(of: key)
            case .none: exit(10)
            }
            guard try marker.occurrencesInMemory() >= 1 else { exit(11) }
            store.lockKeys()
            guard try marker.occurrencesInMemory() == 0 else { exit(12) }
            guard try marker.occurrences(inFilesBelow: directory.path.string) == 0 else { exit(13) }
        }
    }
}
