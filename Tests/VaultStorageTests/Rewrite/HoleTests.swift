// SPDX-License-Identifier: Apache-2.0
import SystemPackage
import TestSupport
import Testing
import VaultCrypto
import VaultFormat

@testable import VaultStorage

/// The loss caused by holes in a file of many items imported together.
struct HoleTests {
    /// The owner of a byte in the file.
    private enum Part: Hashable {
        /// The identifying part of a frame, without the tag that chains the frame to its predecessor.
        case metadata(UInt64)
        case value(ItemID)
    }

    /// A vault of items that a single transaction added, as an import does.
    private struct Imported {
        let home: Home
        /// The vault key, which saves a derivation in each salvage.
        private let vaultKey: Secret
        let bytes: [UInt8]
        /// The items of each frame with items, by the frame's number.
        var frames: [UInt64: [ItemID]] = [:]
        private var parts: [(range: Range<Int>, part: Part)] = []

        init(_ home: Home, items count: Int, rewritten: Bool = false) throws {
            self.home = home
            let store = try home.create()
            guard let key = try store.keys.vaultKey?.copy() else { throw StorageError.locked }
            vaultKey = Secret(key)
            try store.change { (session: inout WriteSession) throws(StorageError) in
                for number in 0..<count { try session.add("value \(number)") }
            }
            if rewritten { try store.compact() }
            try store.settleMarks()
            bytes = try home.bytes()
            try store.log.frames(after: Commit(genesisOf: store.log.page, keys: store.log.keys)).forEach { operations in
                var ids: [ItemID] = []
                operations.forEach { bytes in
                    let operation = Operation(checked: bytes)
                    ids.append(operation.id)
                    if let value = operation.value {
                        let start = Int(value.offset)
                        parts.append((start..<start + Int(value.length), .value(operation.id)))
                    }
                }
                frames[UInt64(frames.count) + store.header.baseSequence + 1] = ids
            }
            var offset = Layout.firstFrame
            for number in frames.keys.sorted() {
                let head = try FrameHead(
                    parsing: bytes.span.extracting(offset..<offset + Layout.frameHeadLength),
                    available: bytes.count - offset)
                parts.append(
                    (offset..<offset + Layout.frameHeadLength + head.metadataLength, .metadata(number)))
                offset += head.length
            }
        }

        /// Returns the bytes with a hole in the metadata of a frame.
        func damaging(_ number: UInt64, _ bytes: [UInt8]) -> [UInt8]? {
            guard let range = parts.first(where: { $0.part == .metadata(number) })?.range else { return nil }
            var bytes = bytes
            bytes[range.lowerBound + 90] ^= 1
            return bytes
        }

        func parts(hitBy hole: Range<Int>) -> Set<Part> {
            Set(parts.filter { $0.range.overlaps(hole) }.map(\.part))
        }

        private func unlocked(_ store: borrowing LockedStore) throws -> UnlockedKeys {
            UnlockedKeys(
                keys: try VaultKeys(vaultKey: vaultKey.bytes.copy(), vaultID: store.header.vaultID),
                slotID: store.header.slots[0].slotID)
        }

        /// - Returns: The salvaged items, and for each whether its value was salvaged.
        func salvage(_ bytes: [UInt8]) throws -> (salvage: Salvage, items: [ItemID: Bool]) {
            home.disk.put(bytes, as: "v")
            if home.disk.inode("new") != nil { try home.disk.openDirectory(home.disk.root).remove("new") }
            let locked = try LockedStore(home.path(), environment: home.environment(30), isDamaged: true)
            let salvage = try locked.salvage(with: unlocked(locked), to: home.path("new"), accepts: { _ in true }) {
                _ in
            }
            let saved = try home.locked("new", number: 32)
            let store = try saved.open(with: unlocked(saved))
            let records = store.records.sorted.filter { $0.itemClass != nil }
            return (salvage, Dictionary(uniqueKeysWithValues: records.map { ($0.id, $0.value != nil) }))
        }

        /// Expects that only the parts hit by holes are lost, and that the report states the extent.
        func expectOnlyHit(
            _ hit: Set<Part>, _ salvage: Salvage, _ items: [ItemID: Bool], isExact: Bool,
            sourceLocation: SourceLocation = #_sourceLocation
        ) {
            var (lost, emptied): (Set<ItemID>, Set<ItemID>) = ([], [])
            for case .metadata(let number) in hit { lost.formUnion(frames[number] ?? []) }
            for case .value(let id) in hit where !lost.contains(id) { emptied.insert(id) }
            // Not every byte of a frame's head is needed.
            let missing = Set(frames.values.joined()).subtracting(items.keys)
            let hollow = Set(items.filter { !$0.value }.keys)
            expect(missing.isSubset(of: lost) && hollow.subtracting(lost).subtracting(emptied).isEmpty)
            expect(emptied.subtracting(hollow).isEmpty && salvage.damaged.count == hollow.count)
            expect(salvage.missingItems.contains(missing.count))
            if isExact { expect(salvage.missingItems == missing.count...missing.count) }

            // No expectation on the sets themselves, since a failure would print them.
            func expect(_ holds: Bool, line: Int = #line) {
                if !holds { Issue.record("not so: line \(line)", sourceLocation: sourceLocation) }
            }
        }
    }

    @Test func `a frame has at most sixteen items, whether an import made it or a rewrite`() throws {
        for rewritten in [false, true] {
            let imported = try Imported(Home("frames"), items: 40, rewritten: rewritten)
            #expect(imported.frames.values.map(\.count).reduce(0, +) == 40)
            #expect(imported.frames.values.allSatisfy { $0.count <= 16 })
        }
    }

    @Test func `a hole costs the items whose bytes it hits, and the report says how many are missing`() throws {
        for rewritten in [false, true] {
            let imported = try Imported(Home("holes \(rewritten)"), items: 40, rewritten: rewritten)
            let numbers = imported.frames.keys.sorted()
            for start in stride(from: Layout.firstFrame, to: imported.bytes.count - 3, by: rewritten ? 60 : 4) {
                var bytes = imported.bytes
                for place in start..<start + 4 { bytes[place] = ~bytes[place] }
                let hit = imported.parts(hitBy: start..<start + 4)
                let (salvage, items) = try imported.salvage(bytes)
                // The number of items is unknown for the last frame, without a successor, and for the first, without a
                // predecessor.
                let isExact = hit.allSatisfy {
                    guard case .metadata(let number) = $0 else { return true }
                    return !rewritten && number != numbers.first && number != numbers.last
                }
                imported.expectOnlyHit(hit, salvage, items, isExact: isExact)
                let most = hit.count { if case .metadata = $0 { true } else { false } } * 16
                #expect(salvage.missingItems.upperBound <= most)
            }
        }
    }

    @Test func `a thousand holes in ten thousand items cost no more than what they hit`() throws {
        let imported = try Imported(Home("thousand"), items: 10_000)
        let random = SeededRandom("holes")
        var (bytes, hit) = (imported.bytes, Set<Part>())
        for _ in 0..<1000 {
            let start = random.number(in: Layout.firstFrame...bytes.count - 4)
            for place in start..<start + 4 { bytes[place] ^= UInt8(random.number(in: 1...255)) }
            hit.formUnion(imported.parts(hitBy: start..<start + 4))
        }
        let (salvage, items) = try imported.salvage(bytes)
        imported.expectOnlyHit(hit, salvage, items, isExact: false)
        let frames = hit.count { if case .metadata = $0 { true } else { false } }
        #expect(salvage.missingFrames <= frames && salvage.missingItems.upperBound <= frames * 16)
    }

    @Test func `without marks the items of an import whose last frame is lost are there`() throws {
        let imported = try Imported(Home("no marks"), items: 40)
        var bytes = imported.bytes
        for place in 4096..<12288 { bytes[place] = 0 }
        let last = try #require(imported.frames.keys.max())
        let (salvage, items) = try imported.salvage(try #require(imported.damaging(last, bytes)))
        #expect(items.count == 40 - (imported.frames[last]?.count ?? 0) && items.values.allSatisfy { $0 })
        #expect(salvage.unreadableBytes > 0)
    }
}
