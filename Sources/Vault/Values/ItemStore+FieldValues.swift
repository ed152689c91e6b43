// SPDX-License-Identifier: Apache-2.0

// Values of any Codable type in named fields of an item: what ``Stored`` properties are.

extension ItemStore {
    /// Stores a value in a field, whether it or the item was there before or not. The secret of the item and its other
    /// fields stay.
    ///
    /// - Throws: `.valueMismatch` with the path to what a property list cannot say; `.parameter(.fieldName)`.
    public func set(_ value: some Encodable, for key: ItemKey, field: String) throws(VaultError) {
        let fields = [field: try StoredValue(value, .propertyList).secret()]
        do throws(VaultError) { try update(matching: Query(key), with: ItemChanges(fields: fields)) } catch {
            guard error == .itemNotFound else { throw error }
            try set(Item(key, fields: fields))
        }
    }

    /// Reads the value of a field, without opening the others.
    ///
    /// - Returns: nil when there is no such item, or no such field.
    /// - Throws: `.valueMismatch` with the path to what does not fit, never with what is there; `.locked`.
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
    public func set(
        _ value: some Encodable & Sendable, for key: ItemKey, field: String
    ) async throws(VaultError) {
        try await VaultExecutor.run { () throws(VaultError) in try self.set(value, for: key, field: field) }
    }

    public func value<Value: Decodable & Sendable>(
        of type: Value.Type = Value.self, for key: ItemKey, field: String
    ) async throws(VaultError) -> Value? {
        try await VaultExecutor.run { () throws(VaultError) in try self.value(for: key, field: field) }
    }
}
