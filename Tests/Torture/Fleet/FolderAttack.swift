// SPDX-License-Identifier: Apache-2.0
import Foundation
import TestSupport
import VaultCrypto

/// Damage that the operator of the folder, or a failing disk, may do to its files.
enum FolderAttack: String, CaseIterable, Sendable {
    /// Deletes one log, or all logs.
    case logDeleted
    case recordDeleted, recordCut, bitFlipped, filesSwapped, blobPartRemoved, olderCopy, junkStreams
    /// Adds a record that no device wrote, with the next number.
    case nextForged

    /// - Parameter folder: the folder, in which every record that this may change has been captured.
    func run(on folder: inout SharedFolder, _ random: SeededRandom) throws {
        let names = folder.names
        // Prefers records that not every device has read.
        let name = random.element(of: random.chance(70) ? names.suffix(12) : names[...])
        switch self {
        case .logDeleted:
            let log = random.chance(60) ? Self.stream(of: Self.one(of: names, kind: 1, random) ?? name) : "1"
            for name in names where name.hasPrefix(log + "/") { folder.remove(name) }
        case .recordDeleted: folder.remove(name)
        case .recordCut:
            try Self.change(name, folder) { data in data.prefix(random.number(in: 0...max(0, data.count - 1))) }
        case .bitFlipped:
            try Self.change(name, folder) { data in
                guard !data.isEmpty else { return data }
                // The first bytes are in the clear: magic, epoch and, in a roster, the counts of seals and farewells.
                let end = random.chance(40) ? min(12, data.count) : data.count
                var data = data
                data[random.number(in: 0...end - 1)] ^= 1 << UInt8(random.number(in: 0...7))
                return data
            }
        case .filesSwapped:
            let other = random.element(of: names)
            guard let first = Self.content(name, folder), let second = Self.content(other, folder) else { return }
            try folder.replace(name, with: second)
            try folder.replace(other, with: first)
        case .blobPartRemoved: if let part = Self.one(of: names, kind: 2, random) { folder.remove(part) }
        case .olderCopy:
            let count = random.number(in: 0...names.count - 1)
            for name in names[..<count] { try folder.restore(name) }
            for name in names[count...] { folder.remove(name) }
        case .junkStreams:
            for _ in 0..<random.number(in: 1...4) {
                let stream = "\(random.number(in: 1...2))/\(Self.hexadecimal(random.bytes(16)))"
                for number in 1...random.number(in: 1...50) {
                    try folder.invent(
                        "\(stream)/\(Self.number(UInt64(number)))", Data(random.bytes(random.number(in: 64...2_000))))
                }
            }
        case .nextForged:
            guard let one = Self.one(of: names, kind: random.chance(20) ? 0 : 1, random) else { return }
            let stream = Self.stream(of: one)
            let last = names.filter { Self.stream(of: $0) == stream }.compactMap { $0.split(separator: "/").last }.max()
            guard let last, let number = UInt64(last, radix: 16),
                var data = Self.content("\(stream)/\(last)", folder), data.count > 8
            else { return }
            // The next epoch, as after a removal.
            if random.chance(50) { data[4] &+= 1 }
            try folder.invent("\(stream)/\(Self.number(number + 1))", data)
        }
    }

    private static func stream(of name: String) -> String {
        name.split(separator: "/").prefix(2).joined(separator: "/")
    }

    private static func one(of names: [String], kind: Int, _ random: SeededRandom) -> String? {
        let some = names.filter { $0.hasPrefix("\(kind)/") }
        return some.isEmpty ? nil : random.element(of: some)
    }

    private static func content(_ name: String, _ folder: SharedFolder) -> Data? {
        FileManager.default.contents(atPath: folder.place(of: name))
    }

    private static func change(_ name: String, _ folder: SharedFolder, _ body: (Data) -> Data) throws {
        guard let data = content(name, folder) else { return }
        try folder.replace(name, with: Data(body(data)))
    }

    private static func number(_ number: UInt64) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    private static func hexadecimal(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}
