// SPDX-License-Identifier: Apache-2.0
internal import VaultFormat
internal import VaultStorage

/// The length and the last MAC of an audit log, in a file beside it, by which missing lines at the end, or a missing
/// log, are detected.
///
/// `"VLTAUDH1" || count u64 || mac of the last line 32 || BLAKE2b-256(K_audit, 32 zeros || all before)`. A log whose
/// first lines a rotation has removed has `"VLTAUDH2" || count u64 || mac of the last line 32 || number of the last
/// removed line u64 || its mac 32 || BLAKE2b-256(…)`. A line begins with a brace, so neither can be mistaken for a
/// line. An attacker who also restores an older head is not detected.
struct AuditHead: Equatable {
    /// The number of lines ever written.
    var count: Int
    /// The MAC of the last line, 32 bytes.
    var tag: [UInt8]
    /// The number of the first lines that were removed.
    var dropped = 0
    /// The MAC of the last of these; zeros without one.
    var base = AuditLog.start

    private static let labels = (whole: Array("VLTAUDH1".utf8), rotated: Array("VLTAUDH2".utf8))
    static let longest = 120

    func sealed(_ seal: AuditSeal) -> [UInt8] {
        let end = AuditHead.bytes(count) + tag
        let covered =
            dropped == 0
            ? AuditHead.labels.whole + end : AuditHead.labels.rotated + end + AuditHead.bytes(dropped) + base
        return covered + seal.tag(of: covered, after: AuditLog.start)
    }

    private static func bytes(_ number: Int) -> [UInt8] {
        (0..<8).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> Int? {
        Int(exactly: bytes.reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }).flatMap { $0 < 1 << 53 ? $0 : nil }
    }
}

extension AuditHead {
    /// Fails unless the seal has made these bytes; `nil` accepts any, for a look without the vault's key.
    init?(_ bytes: [UInt8], _ seal: AuditSeal?) {
        guard bytes.count == 80 || bytes.count == AuditHead.longest, let count = AuditHead.number(bytes[8..<16]) else {
            return nil
        }
        self.init(count: count, tag: Array(bytes[16..<48]))
        if bytes.count == AuditHead.longest {
            guard let dropped = AuditHead.number(bytes[48..<56]), dropped > 0 else { return nil }
            (self.dropped, base) = (dropped, Array(bytes[56..<88]))
        }
        guard seal.map({ sealed($0) == bytes }) ?? true else { return nil }
    }
}
