// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import VaultCrypto

// Values of any Codable type, one item each.

/// The encoding of a value.
public enum ValueEncoding: String, Sendable {
    /// A binary property list.
    case propertyList = "application/x-plist"
    /// JSON (RFC 8259).
    case json = "application/json"

    /// The user attribute that names the encoding.
    static let attribute = "content-type"
}

/// A conversion of values of an older shape to the current one.
public struct ValueMigration<Value>: Sendable {
    /// Returns `nil` if the stored value does not have the older shape.
    let migrate: @Sendable (StoredValue) throws -> Value?

    /// - Parameter convert: its error ends the reading, as `.migrationFailed`; a `VaultError` is thrown unchanged.
    public init<Older: Decodable & SendableMetatype>(
        from older: Older.Type, _ convert: @escaping @Sendable (Older) throws -> Value
    ) {
        migrate = { stored in
            guard let value = try? stored.decoded(as: older) else { return nil }
            return try convert(value)
        }
    }
}

/// The error that the conversion of an older shape threw.
public struct MigrationFailure: Error, Equatable, Sendable {
    /// The error as the conversion threw it.
    public let underlying: any Error

    /// - Parameter underlying: the error of the conversion; its description must not quote the value.
    public init(underlying: any Error) { self.underlying = underlying }

    /// Whether both errors have the same type and debug description.
    public static func == (first: MigrationFailure, second: MigrationFailure) -> Bool {
        type(of: first.underlying) == type(of: second.underlying)
            && String(reflecting: first.underlying) == String(reflecting: second.underlying)
    }
}

extension ItemKey {
    /// The key of a value that is identified by name only: a generic password of the service `values`.
    public static func value(_ name: String) -> ItemKey { .genericPassword(service: "values", account: name) }
}

extension ItemStore {
    /// Stores a value under a key, replacing any previous one. The value is durable when this returns.
    ///
    /// - Throws: `.valueMismatch` with the path to a part that the encoding cannot represent, such as a non-finite
    ///   number in JSON.
    public func set(
        _ value: some Encodable, for key: ItemKey, encoding: ValueEncoding = .propertyList
    ) throws(VaultError) {
        try set(try StoredValue(value, encoding).item(key))
    }

    /// Stores a value under a name.
    public func set(
        _ value: some Encodable, for name: String, encoding: ValueEncoding = .propertyList
    ) throws(VaultError) {
        try set(value, for: .value(name), encoding: encoding)
    }

    /// Reads a value.
    ///
    /// - Parameter older: older shapes, tried in turn if the value does not have the current one. The stored value is
    ///   unchanged until it is set again.
    /// - Returns: `nil` if there is none.
    /// - Throws: `.valueMismatch` with the path to the mismatch, never with the stored content; `.migrationFailed` with
    ///   the error of the conversion of an older shape; `.locked`.
    public func value<Value: Decodable>(
        of type: Value.Type = Value.self, for key: ItemKey, migrating older: ValueMigration<Value>...
    ) throws(VaultError) -> Value? {
        try value(of: type, for: key, older)
    }

    /// Reads a value by name.
    public func value<Value: Decodable>(
        of type: Value.Type = Value.self, for name: String, migrating older: ValueMigration<Value>...
    ) throws(VaultError) -> Value? {
        try value(of: type, for: .value(name), older)
    }

    func value<Value: Decodable>(
        of type: Value.Type = Value.self, for key: ItemKey, _ older: [ValueMigration<Value>]
    ) throws(VaultError) -> Value? {
        var query = Query(key)
        query.returnsSecrets = true
        guard let item = try first(query) else { return nil }
        let stored = try StoredValue(item)
        do { return try stored.decoded(as: type) } catch {
            for migration in older {
                do { if let value = try migration.migrate(stored) { return value } } catch {
                    throw error as? VaultError ?? .migrationFailed(MigrationFailure(underlying: error))
                }
            }
            throw VaultError(shape: error)
        }
    }

    /// Removes a value. Returns `false` if there was none.
    @discardableResult
    public func removeValue(for key: ItemKey) throws(VaultError) -> Bool { try deleteAll(Query(key)) > 0 }

    /// Removes a value by name.
    @discardableResult
    public func removeValue(for name: String) throws(VaultError) -> Bool { try removeValue(for: .value(name)) }
}

/// A value in its stored form.
struct StoredValue {
    let encoding: ValueEncoding
    let data: Data

    init(_ value: some Encodable, _ encoding: ValueEncoding) throws(VaultError) {
        self.encoding = encoding
        do {
            switch encoding {
            case .json: data = try JSONEncoder().encode(value)
            case .propertyList:
                data = Data(try BinaryPropertyListWriter.write(try ValueEncoder.encode(value), allowsNull: true))
            }
        } catch { throw VaultError(shape: error) }
    }

    init(_ value: SecretValue) throws(VaultError) {
        encoding = .propertyList
        do throws(ValueFormatError) {
            data = Data(try BinaryPropertyListWriter.write(value, allowsNull: true))
        } catch { throw VaultError(shape: error) }
    }

    /// The value of an item that was found with its secret.
    ///
    /// - Throws: `.valueMismatch` for an item that is not marked as having a value.
    init(_ item: Item) throws(VaultError) {
        guard let encoding = item.userAttributes[ValueEncoding.attribute].flatMap(ValueEncoding.init),
            let data = try item.secretData()
        else { throw .valueMismatch(path: "") }
        self.init(data, encoding)
    }

    init(_ data: Data, _ encoding: ValueEncoding = .propertyList) {
        self.encoding = encoding
        self.data = data
    }

    func item(_ key: ItemKey) throws(VaultError) -> Item {
        Item(key, userAttributes: [ValueEncoding.attribute: encoding.rawValue], secret: try secret())
    }

    func secret() throws(VaultError) -> Secret { try Secret(copying: data) }

    func decoded<Value: Decodable>(as type: Value.Type) throws -> Value {
        switch encoding {
        case .json: return try JSONDecoder().decode(type, from: data)
        case .propertyList:
            let bytes = Array(data)
            return try ValueDecoder.decode(
                type, from: try SecretValue(propertyList: bytes),
                readsNullText: BinaryPropertyListReader.isOfFoundation(bytes))
        }
    }

    var value: SecretValue {
        get throws(VaultError) {
            do throws(ValueFormatError) {
                switch encoding {
                case .json: return try SecretValue(json: data)
                case .propertyList: return try SecretValue(propertyList: data)
                }
            } catch { throw VaultError(shape: error) }
        }
    }
}

extension VaultError {
    /// The error for a value that does not have the requested shape. A decoder's message may quote the value and is
    /// left out.
    ///
    /// - Parameter name: the field that has the value.
    init(shape error: any Error, under name: String) {
        self.init(shape: error)
        guard case .valueMismatch(let path) = self else { return }
        self = .valueMismatch(path: path.isEmpty || path.hasPrefix("[") ? name + path : name + "." + path)
    }

    /// The error for a value that does not have the requested shape.
    init(shape error: any Error) {
        let path: [any CodingKey] =
            switch error {
            case DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context),
                DecodingError.dataCorrupted(let context):
                context.codingPath
            case EncodingError.invalidValue(_, let context): context.codingPath
            case DecodingError.keyNotFound(let key, let context): context.codingPath + [key]
            default: []
            }
        if case ValueFormatError.unrepresentable(let path) = error {
            self = .valueMismatch(path: path)
        } else {
            let steps = path.map { $0.intValue.map(SecretValue.Step.index) ?? .key($0.stringValue) }
            self = error as? VaultError ?? .valueMismatch(path: steps.path)
        }
    }
}
