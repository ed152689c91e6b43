// SPDX-License-Identifier: Apache-2.0
import Foundation
import SystemPackage
import TestSupport
import Testing
import VaultCrypto
import VaultFormat

@testable import VaultStorage

/// A vault of twenty items under every enumerable change: `Scripts/tamper` makes all of them, the tests a part.
struct TamperMatrixTests {
    /// The interval between the single bytes and truncations that are tried.
    private static let stride = ProcessInfo.processInfo.environment["VAULT_TAMPER_STRIDE"].flatMap { Int($0) } ?? 97

    private static let values = (0..<20).map { "value number \($0)" }

    /// The result of opening a changed file with the key.
    private enum Outcome: Equatable {
        case same
        case refused(StorageError)
        case undetected
    }

    private let vault: VaultBuilder
    private let content: Set<String>

    init() throws {
        vault = try VaultBuilder(seed: "matrix", values: Self.values)
        content = Set(["value number 0 again"] + Self.values.dropFirst())
    }

    private func look(_ bytes: [UInt8], key: VaultBuilder? = nil) -> Outcome {
        let disk = SimulatedDisk()
        disk.put(bytes, as: VaultBuilder.name)
        do throws(StorageError) {
            let store = try VaultStore.open(
                on: disk, vaultKey: (key ?? vault).keys.vaultKey, environment: .seeded("reader", on: disk))
            var found: Set<String> = []
            for operation in store.records.sorted {
                guard let value = try store.openValue(of: operation) else { return .undetected }
                found.insert(String(decoding: value.exposed, as: UTF8.self))
            }
            _ = try store.verify(deep: true)
            return found == content ? .same : .undetected
        } catch {
            return .refused(error)
        }
    }

    /// Whether the error is of a class that a changed byte may have. A changed version number is that of a newer
    /// program.
    private func isFitting(_ error: StorageError) -> Bool {
        switch error {
        case .damaged, .unsupported: true
        default: false
        }
    }

    /// The two marks, one of which may be lost.
    private static let marks = Layout.headerLength..<Layout.firstFrame

    @Test(arguments: 0..<10) func `a changed byte is refused or changes nothing`(kind: Int) {
        var tried = 0
        for offset in Swift.stride(from: kind * Self.stride / 10, to: vault.bytes.count, by: Self.stride) {
            var bytes = vault.bytes
            switch kind {
            case 8: bytes[offset] = 0
            case 9: bytes[offset] = 0xff
            default: bytes[offset] ^= 1 << UInt8(kind)
            }
            guard bytes[offset] != vault.bytes[offset] else { continue }
            tried += 1
            switch look(bytes) {
            case .same: #expect(Self.marks.contains(offset), "byte \(offset), kind \(kind), changes nothing")
            case .refused(let error): #expect(isFitting(error), "byte \(offset), kind \(kind): \(error)")
            case .undetected: Issue.record("byte \(offset), kind \(kind) was not detected")
            }
        }
        #expect(tried > vault.bytes.count / Self.stride / 8)
    }

    @Test func `no changed byte makes the reader take more memory than twice the file`() async {
        await #expect(processExitsWith: .success) {
            let matrix = try TamperMatrixTests()
            let vault = matrix.vault
            // A thousand openings of a whole file leave 1 MiB behind, in the allocator's own memory.
            let most = 2 * vault.bytes.count + 4 << 20
            guard matrix.look(vault.bytes) == .same else { exit(10) }
            let before = try Self.resident(reset: true)
            for offset in vault.bytes.indices {
                let isLength = vault.frames.contains {
                    [0, 1, 2, 3, 16, 17, 18, 19, 20, 21, 22, 23].contains(offset - $0.lowerBound)
                }
                guard isLength || offset % Self.stride == 0 else { continue }
                for value: UInt8 in [0x7f, 0xff] {
                    var bytes = vault.bytes
                    bytes[offset] = value
                    _ = matrix.look(bytes)
                }
            }
            guard try Self.resident(reset: false) - before <= most else { exit(11) }
            // The control: allocated memory is detected.
            guard [UInt8](repeating: 1, count: 32 << 20).last == 1, try Self.resident(reset: false) - before > most
            else { exit(12) }
        }
    }

    /// Returns the peak of resident memory since the last reset, in bytes.
    private static func resident(reset: Bool) throws -> Int {
        if reset { try "5".write(toFile: "/proc/self/clear_refs", atomically: false, encoding: .utf8) }
        let status = try FileHandle(forReadingFrom: URL(filePath: "/proc/self/status")).readToEnd() ?? Data()
        let line = String(decoding: status, as: UTF8.self).split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        return try #require(line?.split(separator: " ").dropFirst().first.flatMap { Int($0) }) * 1024
    }

    @Test func `every truncation is refused, whatever is done to the marks`() throws {
        let (first, second) = (Layout.markOffsets[0], Layout.markOffsets[1])
        let areas = [first, second].map { Array(vault.bytes[$0..<$0 + Layout.markAreaLength]) }
        let zeros = [UInt8](repeating: 0, count: Layout.markAreaLength)
        // Each mark unchanged, erased, or replaced by the other.
        for (a, b) in [(0, 0), (1, 0), (0, 1), (2, 0), (0, 2)] {
            var changed = vault
            changed.replace(first..<first + Layout.markAreaLength, with: [areas[0], zeros, areas[1]][a])
            changed.replace(second..<second + Layout.markAreaLength, with: [areas[1], zeros, areas[0]][b])
            #expect(look(changed.bytes) == .same, "marks \(a) \(b)")
            for size in Swift.stride(from: a + b, to: vault.bytes.count, by: Self.stride) {
                guard case .refused(let error) = look(Array(changed.bytes[..<size])) else {
                    Issue.record("cut to \(size) with the marks \(a) \(b) was not detected")
                    continue
                }
                #expect(isFitting(error), "cut to \(size): \(error)")
            }
        }
        var none = vault
        for index in 0..<2 { none.destroyMark(index) }
        #expect(look(none.bytes) == .refused(.damaged(.marks)))
    }

    @Test func `a frame that is removed, doubled or moved is refused`() {
        let frames = vault.frames
        for (index, frame) in frames.enumerated() {
            var changes: [(String, [UInt8])] = []
            let (before, own, after) = (
                vault.bytes[..<frame.lowerBound], vault.bytes[frame], vault.bytes[frame.upperBound...]
            )
            changes.append(("removed", Array(before + after)))
            changes.append(("doubled", Array(before + own + own + after)))
            for other in frames[(index + 1)...] {
                let middle = vault.bytes[frame.upperBound..<other.lowerBound]
                changes.append(
                    ("swapped", Array(before + vault.bytes[other] + middle + own + vault.bytes[other.upperBound...])))
            }
            for (name, bytes) in changes {
                // Bytes after the last commit that a mark names look like an unfinished commit.
                let isTail = name == "doubled" && index == frames.count - 1
                let outcome = look(bytes)
                #expect(isTail ? outcome == .same : isRefused(outcome), "frame \(index) \(name): \(outcome)")
            }
        }
    }

    @Test func `a frame, a mark or a slot of another vault or another time is refused`() throws {
        let other = try VaultBuilder(seed: "other", values: Self.values)
        let compacted = try vault.compacted()
        for (name, foreign) in [("another vault", other), ("another generation", compacted)] {
            for (index, frame) in vault.frames.enumerated() {
                let spliced = foreign.frames[min(index, foreign.frames.count - 1)]
                let bytes = Array(
                    vault.bytes[..<frame.lowerBound] + foreign.bytes[spliced] + vault.bytes[frame.upperBound...])
                #expect(isRefused(look(bytes)), "frame \(index) of \(name)")
            }
            for mark in Layout.markOffsets {
                var bytes = vault.bytes
                bytes.replaceSubrange(
                    mark..<mark + Layout.markAreaLength, with: foreign.bytes[mark..<mark + Layout.markAreaLength])
                // A mark of another vault counts as torn.
                #expect(look(bytes) == .same || isRefused(look(bytes)), "mark of \(name)")
                var both = foreign.bytes
                both.replaceSubrange(Layout.firstFrame..., with: vault.bytes[Layout.firstFrame...])
                #expect(isRefused(look(both)), "header and marks of \(name)")
            }
        }
        // The slot of a previous passphrase still seals the vault key, but the header's MAC excludes the slot.
        var replayed = try vault.withChangedPassphrase()
        replayed.replace(
            Layout.slotsOffset..<Layout.annexOffset, with: Array(vault.bytes[Layout.slotsOffset..<Layout.annexOffset]))
        replayed.repairSum()
        #expect(look(replayed.bytes) == .refused(.damaged(.headerMAC)))
    }

    @Test func `an older mark does not hide newer commits, and garbage behind the end changes nothing`() throws {
        let positions = try vault.positions()
        for position in positions {
            for index in 0..<2 {
                var older = vault
                try older.mark(index, position)
                #expect(look(older.bytes) == .same, "mark \(index) of commit \(position.sequence)")
            }
            var both = vault
            for index in 0..<2 { try both.mark(index, position) }
            // Both marks replayed name a prefix; the following frames are whole and chained, and count as committed.
            #expect(look(both.bytes) == .same, "both marks of commit \(position.sequence)")
        }
        let random = SeededRandom("garbage")
        for count in [1, 3, 4, 79, 80, 320, 4096] {
            for garbage in [
                random.bytes(count), [UInt8](repeating: 0, count: count), [UInt8](repeating: 0xff, count: count),
            ] {
                #expect(look(vault.bytes + garbage) == .same, "\(count) bytes of garbage")
            }
        }
    }

    private func isRefused(_ outcome: Outcome) -> Bool {
        if case .refused(let error) = outcome { isFitting(error) } else { false }
    }
}
