// SPDX-License-Identifier: Apache-2.0

// Values of any Codable type in named fields of an item, the storage of ``Stored`` properties.

extension ItemStore {
    /// Stores a value in a field, creating the item or field if necessary. The item's secret and its other fields stay.
    ///
    /// - Throws: `.valueMismatch` with the path to a part that a property list cannot represent;
    ///   `.parameter(.fieldName)`.
    public func set(_ value: some Encodable, for key: ItemKey, field: String) throws(VaultError) {
        let fields = [field: try StoredValue(value, .propertyList).secret()]
        do throws(VaultError) { try update(matching: Query(key), with: ItemChanges(fields: fields)) } catch {
            guard error == .itemNotFound else { throw error }
            try set(Item(key, fields: fields))
        }
    }

    /// Reads the value of a field, without opening the others.
    ///
    /// - Returns: `nil` if there is no such item or no such field.
    /// - Throws: `.valueMismatch` with the path to the mismatch, never with the stored content; `.locked`.
    public func value<Value: Decodable>(
        of type: Value.Type = Value.self, for key: ItemKey, field: String
    ) throws(VaultError) -> Value? {
        guard let secret = try first(key)?.openedSecret(field: field) else { return nil }
        do { return try StoredValue(secret.secretData()).decoded(as: type) } catch {
            throw VaultError(shape: error, under: field)
        }
    }
}

extension ItemStore {
    /// As the synchronous ``set(_:for:field:)``, without blocking the task's thread.
    public func set(_ value: some Encodable & Sendable, for key: ItemKey, field: String) async throws(VaultError) {
        try await VaultExecutor.run { () throws(VaultError) in try self.set(value, for: key, field: field) }
    }

    /// As the synchronous ``value(of:for:field:)``, without blocking the task's thread.
    public func value<Value: Decodable & Sendable>(
        of type: Value.Type = Value.self, for key: ItemKey, field: String
    ) async throws(VaultError) -> Value? {
        try await VaultExecutor.run { () throws(VaultError) in try self.value(for: key, field: field) }
    }
}
