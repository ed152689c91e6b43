// SPDX-License-Identifier: Apache-2.0

extension EncodedAttributes {
    /// These attributes and those of `other` whose tags this version does not know.
    package func keepingUnknown(of other: EncodedAttributes) -> EncodedAttributes {
        merging(other, { _ in true }, { !$0.isKnown })
    }

    /// These attributes for a box that belonged to another version of the item.
    ///
    /// - Parameter other: that version's attributes; empty without a box.
    package func takingFields(of other: EncodedAttributes) -> EncodedAttributes {
        merging(other, { $0 != .fields }, { $0 == .fields })
    }

    /// These attributes without some tags.
    package func removing(_ tags: Set<AttributeTag>) -> EncodedAttributes {
        merging(EncodedAttributes(), { !tags.contains($0) }, { _ in false })
    }

    /// These attributes with the given value of this tag.
    package func setting(_ tag: AttributeTag, _ value: EncodedValue) -> EncodedAttributes {
        let bytes = bytes.span
        var place = bytes.count..<bytes.count
        EncodedAttributes.visit(bytes) { candidate, _, payload in
            guard candidate >= tag else { return true }
            let start = payload.lowerBound - EncodedAttributes.headLength
            place = start..<(candidate == tag ? payload.upperBound : start)
            return false
        }
        var output: [UInt8] = []
        output.reserveCapacity(bytes.count + EncodedAttributes.headLength + value.payloadLength)
        output.append(bytes.extracting(..<place.lowerBound))
        EncodedAttributes.append(AttributeList.Field(tag: tag, value: value), to: &output)
        output.append(bytes.extracting(place.upperBound...))
        return EncodedAttributes(sorted: output)
    }

    /// These attributes and those of `other`, which take precedence for common tags.
    package func overridden(by other: EncodedAttributes) -> EncodedAttributes {
        merging(other, { $0 == .user || other.payload(of: $0) == nil }, { _ in true })
    }

    /// The wanted attributes of both.
    private func merging(
        _ other: EncodedAttributes, _ isWanted: (AttributeTag) -> Bool, _ isWantedOfOther: (AttributeTag) -> Bool
    ) -> EncodedAttributes {
        let (mine, theirs) = (bytes.span, other.bytes.span)
        var (own, others) = (0, 0)
        var output: [UInt8] = []
        output.reserveCapacity(mine.count + theirs.count)
        while own < mine.count || others < theirs.count {
            let isOwn =
                others >= theirs.count
                || own < mine.count && EncodedAttributes.tag(at: own, mine) <= EncodedAttributes.tag(at: others, theirs)
            if isOwn {
                EncodedAttributes.copy(mine, at: &own, to: &output, isWanted)
            } else {
                EncodedAttributes.copy(theirs, at: &others, to: &output, isWantedOfOther)
            }
        }
        return EncodedAttributes(sorted: output)
    }

    private static func tag(at offset: Int, _ bytes: Span<UInt8>) -> AttributeTag {
        AttributeTag(rawValue: bytes.integer(at: offset))
    }

    /// Appends the attribute at the offset if it is wanted, and advances the offset.
    private static func copy(
        _ bytes: Span<UInt8>, at offset: inout Int, to output: inout [UInt8], _ isWanted: (AttributeTag) -> Bool
    ) {
        let end = offset + headLength + Int(bytes.integer(at: offset + 3, as: UInt32.self))
        if isWanted(tag(at: offset, bytes)) { output.append(bytes.extracting(offset..<end)) }
        offset = end
    }
}
