// SPDX-License-Identifier: Apache-2.0
internal import VaultFormat

/// Older versions that replication keeps: a losing value to be shown to a person (tag 7002), and the contents of a
/// deleted item, which another device may have edited (tag 7003).
enum KeptVersions {
    static func isOne(_ past: Operation) -> Bool {
        past.attributes.payload(of: .conflict) != nil || past.attributes.isOne(.held)
    }

    /// The kept versions of an item that its new record still names.
    static func named(by record: Span<UInt8>, of versions: [Operation]) -> [Operation] {
        let attributes = record.extracting(Operation.attributes(of: record))
        guard let (_, range) = EncodedAttributes.payload(of: .clock, in: attributes),
            let clock = try? ItemClock(parsing: attributes.extracting(range))
        else { return [] }
        let isDeleted = EncodedAttributes.isTombstone(attributes)
        return versions.filter { version in
            guard let (_, range) = version.attributes.payload(of: .conflict) else {
                return isDeleted && clock.erased == 0
            }
            guard let conflict = try? ConflictMark(parsing: version.attributes.bytes.span.extracting(range)) else {
                return false
            }
            return clock.fields[conflict.field]?.contains { $0.mark == .conflict && $0.dot == conflict.dot } ?? false
        }
    }
}

extension EncodedAttributes {
    /// Whether checked attributes are those of a deleted item, of which replication keeps the record.
    static func isTombstone(_ attributes: Span<UInt8>) -> Bool {
        guard let (kind, range) = payload(of: Attribute.tombstone.tag, in: attributes) else { return false }
        return isOne(kind, range, in: attributes)
    }
}
