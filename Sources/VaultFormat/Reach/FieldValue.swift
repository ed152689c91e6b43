// SPDX-License-Identifier: Apache-2.0

/// The value that a write gave to a field.
///
/// - Parameter Secret: a secret's bytes, or their range in a body.
@usableFromInline package enum FieldValue<Secret> {
    /// The field was removed.
    case none
    /// The value of a field that is not a secret: see ``FieldContent``.
    case plain([UInt8])
    case secret(Secret)
    indirect case blob(BlobReference)
    /// Every device knows that the item is deleted, and the value was erased.
    case erased
}

extension FieldValue: Equatable where Secret: Equatable {}
extension FieldValue: Sendable where Secret: Sendable {}

extension FieldValue {
    @inlinable package var isNone: Bool { if case .none = self { true } else { false } }
    @inlinable package var isErased: Bool { if case .erased = self { true } else { false } }

    /// The bytes of a field that is not a secret.
    package var plainBytes: [UInt8]? { if case .plain(let bytes) = self { bytes } else { nil } }

    /// For ``FieldID/life``: whether the write created the item or kept it alive.
    package var isLife: Bool { plainBytes?.first == 1 }

    /// The longest value stored in an entry, in bytes; longer ones are blobs.
    package static var inlineLimit: Int { 64 << 10 }

    @inlinable package func map<T, E: Error>(_ body: (Secret) throws(E) -> T) throws(E) -> FieldValue<T> {
        switch self {
        case .none: .none
        case .plain(let bytes): .plain(bytes)
        case .secret(let secret): .secret(try body(secret))
        case .blob(let reference): .blob(reference)
        case .erased: .erased
        }
    }

    /// A value of a field that is not a secret.
    ///
    /// - Throws: for bytes that no writer publishes.
    package init(checking bytes: Span<UInt8>, of field: FieldID) throws(FormatError) {
        guard bytes.count <= FieldValue.inlineLimit, !field.isSecret else { throw .outOfBounds(.fieldValue) }
        try FieldContent.check(bytes, of: field)
        self = .plain(bytes.array(bytes.indices))
    }

    /// The form's number in the encoding.
    var form: UInt8 {
        switch self {
        case .none: 0
        case .plain, .secret: 1
        case .blob: 2
        case .erased: 3
        }
    }

    /// The length in bytes, without the head.
    @inlinable package func payloadLength(_ length: (Secret) -> Int) -> Int {
        switch self {
        case .none, .erased: 0
        case .plain(let bytes): bytes.count
        case .secret(let secret): length(secret)
        case .blob: BlobReference.encodedLength
        }
    }
}

extension FieldValue where Secret == Range<Int> {
    /// - Parameter range: of the value's bytes in the body.
    init(parsing form: UInt8, _ range: Range<Int>, of body: Span<UInt8>, in field: FieldID) throws(FormatError) {
        let bytes = body.extracting(range)
        switch form {
        case 0 where range.isEmpty && FieldContent.canBeNone(field): self = .none
        case 1:
            guard range.count <= FieldValue.inlineLimit else { throw .outOfBounds(.fieldValue) }
            if field.isSecret {
                self = .secret(range)
            } else {
                try FieldContent.check(bytes, of: field)
                self = .plain(bytes.array(bytes.indices))
            }
        case 2 where FieldContent.canBeBlob(field): self = .blob(try BlobReference(parsing: bytes))
        case 3 where range.isEmpty && field != .life: self = .erased
        default: throw .invalid(.fieldValue)
        }
    }
}
