// SPDX-License-Identifier: Apache-2.0

/// The reason why bytes do not conform to VLT1.
public enum FormatError: Error, Equatable, Sendable {
    /// Fewer bytes than a vault's header and marks, or another magic number.
    case notAVault
    /// A newer version, or an unknown feature, frame, operation or critical attribute.
    case unsupported(FormatField)
    /// The bytes end inside this field.
    case truncated(FormatField)
    /// A value that no writer of this format produces.
    case invalid(FormatField)
    /// A bound of the format is exceeded.
    case outOfBounds(FormatField)
}

/// The part of a file or record that an error concerns.
public enum FormatField: String, Sendable {
    case headerLength, major, suite, requiredFeatures, slotCount, slotSize, generation, reserved
    case slotType, slotKeyDerivation, slotFlags, slotPasses, slotMemory, slotName, slotExternal, annex
    case mark, frameLength, frameFlags, frameVersion, frameSequence, metadataLength, valueLength, padding
    case metadata, operationCount, operationKind, itemClass, protection, operationFlags, itemID, version, date, value
    case attributes, attributeOrder, attributeKind, attributeValue, attributeTag, fields, anchor
    case record, seals, body, sequence, tips, trims, closes, logs, items, context, fieldID, fieldValue, dot, blob
    case farewells, rosterOperation, device, cuts, heads, replication
}
