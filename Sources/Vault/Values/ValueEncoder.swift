// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials

/// Encodes an `Encodable` value as a ``SecretValue``.
///
/// Foundation's encoder (swift-foundation of Swift 6.3.1) writes a nil as the text `$null`, which makes the two
/// indistinguishable. This encoder writes null.
enum ValueEncoder {
    /// - Throws: the errors of the value's own `encode(to:)`; `ValueFormatError.tooDeep`; `EncodingError.invalidValue`
    ///   if a value requests containers of two kinds in one place.
    static func encode(_ value: some Encodable) throws -> SecretValue {
        let root = EncodingPlace([])
        try root.encode(value)
        return try root.value()
    }
}

/// A value under construction. Nested containers may be filled in any order, after the call that requested them, so
/// places are shared by reference.
private final class EncodingPlace {
    private enum Content {
        case nothing
        case value(SecretValue)
        case array([EncodingPlace])
        case dictionary([String: EncodingPlace])
        /// Containers of two kinds were requested: the contents of the first would be lost.
        case contradiction
    }

    let path: [any CodingKey]
    private var content = Content.nothing
    /// The number of values that are currently encoding themselves in this place on behalf of another.
    private var wrappers = 0

    init(_ path: [any CodingKey]) { self.path = path }

    func encode(_ value: some Encodable) throws {
        if let scalar = value as? any ValueScalar {
            set(scalar.secretValue)
            return
        }
        guard path.count + wrappers <= SecretValue.deepest else { throw ValueFormatError.tooDeep }
        wrappers += 1
        defer { wrappers -= 1 }
        try value.encode(to: PlaceEncoder(place: self))
    }

    func set(_ value: SecretValue) { content = .value(value) }

    // MARK: Containers

    func beDictionary() {
        switch content {
        case .nothing: content = .dictionary([:])
        case .dictionary: break
        case .value, .array, .contradiction: content = .contradiction
        }
    }

    func beArray() {
        switch content {
        case .nothing: content = .array([])
        case .array: break
        case .value, .dictionary, .contradiction: content = .contradiction
        }
    }

    var count: Int { if case .array(let elements) = content { elements.count } else { 0 } }

    func member(_ key: any CodingKey) -> EncodingPlace {
        let place = EncodingPlace(path + [key])
        guard case .dictionary(var members) = content else { return place }
        // Releases the other reference to the members while one is added.
        content = .nothing
        members[key.stringValue] = place
        content = .dictionary(members)
        return place
    }

    func element() -> EncodingPlace {
        let place = EncodingPlace(path + [IndexKey(count)])
        guard case .array(var elements) = content else { return place }
        content = .nothing
        elements.append(place)
        content = .array(elements)
        return place
    }

    /// The encoded value. A place where nothing was encoded is an empty dictionary.
    func value() throws -> SecretValue {
        guard path.count <= SecretValue.deepest else { throw ValueFormatError.tooDeep }
        switch content {
        case .nothing: return .dictionary([:])
        case .value(let value): return value
        case .array(let elements): return .array(try elements.map { try $0.value() })
        case .dictionary(let members): return .dictionary(try members.mapValues { try $0.value() })
        case .contradiction:
            let context = EncodingError.Context(codingPath: path, debugDescription: "two kinds of container")
            throw EncodingError.invalidValue((), context)
        }
    }
}

private struct PlaceEncoder: Encoder, SingleValueEncodingContainer {
    let place: EncodingPlace

    var codingPath: [any CodingKey] { place.path }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        place.beDictionary()
        return KeyedEncodingContainer(KeyedPlaces<Key>(place: place))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        place.beArray()
        return UnkeyedPlaces(place: place)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { self }

    func encodeNil() { place.set(.null) }
    func encode<Value: Encodable>(_ value: Value) throws { try place.encode(value) }
}

private struct KeyedPlaces<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let place: EncodingPlace

    var codingPath: [any CodingKey] { place.path }

    func encodeNil(forKey key: Key) { place.member(key).set(.null) }
    func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws { try place.member(key).encode(value) }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type, forKey key: Key
    ) -> KeyedEncodingContainer<Nested> {
        PlaceEncoder(place: place.member(key)).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        PlaceEncoder(place: place.member(key)).unkeyedContainer()
    }

    func superEncoder() -> any Encoder { PlaceEncoder(place: place.member(NameKey.super)) }
    func superEncoder(forKey key: Key) -> any Encoder { PlaceEncoder(place: place.member(key)) }
}

private struct UnkeyedPlaces: UnkeyedEncodingContainer {
    let place: EncodingPlace

    var codingPath: [any CodingKey] { place.path }
    var count: Int { place.count }

    func encodeNil() { place.element().set(.null) }
    func encode<Value: Encodable>(_ value: Value) throws { try place.element().encode(value) }

    func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) -> KeyedEncodingContainer<Nested> {
        PlaceEncoder(place: place.element()).container(keyedBy: type)
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
        PlaceEncoder(place: place.element()).unkeyedContainer()
    }

    func superEncoder() -> any Encoder { PlaceEncoder(place: place.element()) }
}

/// The coding key of an array element.
struct IndexKey: CodingKey {
    let index: Int

    init(_ index: Int) { self.index = index }
    init?(intValue: Int) { self.init(intValue) }
    init?(stringValue: String) { nil }

    var intValue: Int? { index }
    var stringValue: String { "\(index)" }
}

/// A key that is not declared by a type of the caller.
struct NameKey: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    /// The key under which a class encodes its superclass.
    static let `super` = NameKey(stringValue: "super")

    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
}
