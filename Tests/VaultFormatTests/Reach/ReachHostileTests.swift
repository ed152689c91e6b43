// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing
import VaultFormat

/// Bytes altered in transit are refused, or are a valid encoding.
struct ReachHostileTests {
    @Test func `every byte changed is refused or written again as it is`() throws {
        for sample in try ReachSamples.all() {
            for index in sample.bytes.indices {
                for byte in [sample.bytes[index] ^ 1, sample.bytes[index] ^ 0x80, 0, 0xFF] {
                    var changed = sample.bytes
                    changed[index] = byte
                    #expect(FuzzedFormat.holds([sample.target.rawValue] + changed), "\(sample.name), \(index), \(byte)")
                }
            }
        }
    }

    @Test func `nothing is read that was cut off, wherever`() throws {
        for sample in try ReachSamples.all() {
            #expect(sample.target.accepts(sample.bytes), "\(sample.name)")
            for length in sample.bytes.indices {
                #expect(!sample.target.accepts(Array(sample.bytes[..<length])), "\(sample.name), \(length)")
            }
        }
    }

    @Test func `many bytes changed are refused or written again as they are`() throws {
        let random = SeededRandom("hostile records")
        for sample in try ReachSamples.all() {
            for round in 0..<300 {
                var changed = sample.bytes
                for _ in 0...random.number(in: 0...4) {
                    changed[random.number(in: 0...changed.count - 1)] = UInt8(random.uniform(256))
                }
                if random.chance(20) { changed.removeLast(random.number(in: 0...changed.count)) }
                #expect(FuzzedFormat.holds([sample.target.rawValue] + changed), "\(sample.name), \(round)")
            }
        }
    }
}

extension FuzzedFormat {
    fileprivate func accepts(_ bytes: [UInt8]) -> Bool {
        switch self {
        case .rosterRecord: (try? SealedRecord(parsing: bytes, .roster)) != nil
        case .logRecord: (try? SealedRecord(parsing: bytes, .log)) != nil
        case .logEntry: (try? LogEntry(parsing: bytes.span)) != nil
        case .rosterEntry: (try? RosterEntry(parsing: bytes.span)) != nil
        case .joinRequest: (try? JoinRequest(parsing: bytes.span)) != nil
        case .joinGrant: (try? JoinGrant(parsing: bytes.span)) != nil
        case .itemClock: (try? ItemClock(parsing: bytes.span)) != nil
        case .conflictMark: (try? ConflictMark(parsing: bytes.span)) != nil
        default: false
        }
    }
}
