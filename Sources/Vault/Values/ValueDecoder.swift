// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials

/// Decodes a `Decodable` type from a ``SecretValue``.
struct ValueDecoder: Decoder, SingleValueDecodingContainer {
    let value: SecretValue
    let codingPath: [any CodingKey]
    /// Whether the text `$null` decodes as nil, as in lists that Foundation's encoder wrote.
    let readsNullText: Bool

    var userInfo: [CodingUserInfoKey: Any] { [:] }

    /// - Throws: `DecodingError` with the path; the errors of the type's own `init(from:)`.
    static func decode<Value: Decodable>(
        _ type: Value.Type, from value: SecretValue, readsNullText: Bool = false
    ) throws -> Value {
        try ValueDecoder(value: value, codingPath: [], readsNullText: readsNullText).decode(type)
    }

    fileprivate func part(_ value: SecretValue, _ key: any CodingKey) -> ValueDecoder {
        ValueDecoder(value: value, codingPath: codingPath + [key], readsNullText: readsNullText)
    }

    // MARK: One value

    func decodeNil() -> Bool {
        switch value {
        case .null: true
        case .string("$null"): readsNullText
        default: false
        }
    }

    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        guard let scalar = type as? any ValueScalar.Type else { return try Value(from: self) }
        guard let decoded = scalar.init(exactly: value) as? Value else { throw mismatch(type) }
        return decoded
    }

    /// Leaves out the value itself, since error messages may reach places that secrets must not.
    fileprivate func mismatch(_ type: Any.Type) -> DecodingError {
        let context = DecodingError.Context(codingPath: codingPath, debugDescription: "another shape")
        return value.isNull ? .valueNotFound(type, context) : .typeMismatch(type, context)
    }

    // MARK: Containers

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        guard let members = value.dictionary else { throw mismatch([String: SecretValue].self) }
        return KeyedDecodingContainer(KeyedValues<Key>(decoder: self, members: members))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        guard let elements = value.array else { throw mismatch([SecretValue].self) }
        return UnkeyedValues(decoder: self, elements: elements)
    }

    func singleValueContainer() -> any SingleValueDecodingContainer { self }
}

private struct KeyedValues<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let decoder: ValueDecoder
    let members: [String: SecretValue]

    var codingPath: [any CodingKey] { decoder.codingPath }
    var allKeys: [Key] { members.keys.compactMap { Key(stringValue: $0) } }

    func contains(_ key: Key) -> Bool { members[key.stringValue] != nil }

    private func member(_ key: any CodingKey) throws -> ValueDecoder {
        guard let member = members[key.stringValue] else {
            throw DecodingError.keyNotFound(key, .init(codingPath: codingPath, debugDescription: "absent"))
        }
        return decoder.part(member, key)
    }

    func decodeNil(forKey key: Key) throws -> Bool { try member(key).decodeNil() }

    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value { try member(key).decode(type) }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<Nested> {
        try member(key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try member(key).unkeyedContainer()
    }

    /// An absent superclass value is null, since the superclass may have encoded nothing.
    func superDecoder() -> any Decoder { decoder.part(members[NameKey.super.stringValue] ?? .null, NameKey.super) }

    func superDecoder(forKey key: Key) throws -> any Decoder { try member(key) }
}

private struct UnkeyedValues: UnkeyedDecodingContainer {
    let decoder: ValueDecoder
    let elements: [SecretValue]
    private(set) var currentIndex = 0

    init(decoder: ValueDecoder, elements: [SecretValue]) {
        self.decoder = decoder
        self.elements = elements
    }

    var codingPath: [any CodingKey] { decoder.codingPath }
    var count: Int? { elements.count }
    var isAtEnd: Bool { currentIndex >= elements.count }

    /// Advances past the next element if the body succeeds, and stays at it if the body throws.
    private mutating func next<Result>(_ body: (ValueDecoder) throws -> Result) throws -> Result {
        let key = IndexKey(currentIndex)
        guard !isAtEnd else {
            throw DecodingError.valueNotFound(
                SecretValue.self, .init(codingPath: codingPath + [key], debugDescription: "no more elements"))
        }
        let result = try body(decoder.part(elements[currentIndex], key))
        currentIndex += 1
        return result
    }

    mutating func decodeNil() throws -> Bool {
        guard !isAtEnd else { return try next { $0.decodeNil() } }
        let isNil = decoder.part(elements[currentIndex], IndexKey(currentIndex)).decodeNil()
        if isNil { currentIndex += 1 }
        return isNil
    }

    mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try next { try $0.decode(type) } }

    mutating func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type
    ) throws -> KeyedDecodingContainer<Nested> {
        try next { try $0.container(keyedBy: type) }
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try next { try $0.unkeyedContainer() }
    }

    mutating func superDecoder() throws -> any Decoder { try next { $0 } }
}
