// SPDX-License-Identifier: Apache-2.0
import SystemPackage
import TestSupport
import Testing
import VaultCrypto
import VaultFormat

@testable import VaultStorage

/// Every combination of the commits that the marks name and the length of the log, compared with an independent model
/// of the rules.
struct RecoveryRuleTests {
    @Test func `the storage code and the model of the rules agree on every file`() throws {
        let text = String(decoding: try Vectors.bytes("recovery-rules.txt"), as: UTF8.self)
        let whole = try VaultBuilder()
        let positions = try whole.positions()
        var checked = 0
        for line in text.split(separator: "\n") where !line.hasPrefix("#") {
            let fields = line.split(separator: " ")
            var builder = whole
            for (index, field) in fields[0..<2].enumerated() {
                if let commit = Int(field) {
                    try builder.mark(index, positions[commit])
                } else {
                    builder.destroyMark(index)
                }
            }
            let frames = try #require(Int(fields[2].prefix(1)))
            let end = positions[frames].end
            builder.cut(to: fields[2].hasSuffix(".5") ? (end + positions[frames + 1].end) / 2 : end)
            #expect(try Self.verdict(builder) == fields[3], "\(line)")
            checked += 1
        }
        #expect(checked == 324)
    }

    /// Returns the last commit that a reader finds, which equals the commit that a writer leaves behind.
    private static func verdict(_ builder: VaultBuilder) throws -> String {
        let disk = SimulatedDisk()
        disk.put(builder.bytes, as: VaultBuilder.name)
        do throws(StorageError) {
            let store = try VaultStore.open(
                on: disk, vaultKey: builder.keys.vaultKey, environment: .seeded("reader", on: disk))
            let found = store.sequence
            guard disk.inode(VaultBuilder.name)?.bytes == builder.bytes else { return "a reader wrote" }
            try store.write { _ in }
            guard store.sequence == found, store.tip.position.end == disk.inode(VaultBuilder.name)?.bytes.count else {
                return "a writer disagrees"
            }
            return "\(found)"
        } catch {
            guard disk.inode(VaultBuilder.name)?.bytes == builder.bytes else { return "damage was written over" }
            if case .damaged = error { return "corrupt" }
            return "\(error)"
        }
    }
}
