// SPDX-License-Identifier: Apache-2.0
public import FoundationEssentials
internal import Synchronization

/// Settings by key, like `UserDefaults`: encrypted, durable when a call returns, and visible to every process that has
/// the vault.
///
/// Each key is an item: a generic password with the suite's name as service and the key as account. Every call throws
/// the vault's errors, so an unreadable setting is distinct from an absent one.
public final class SecureDefaults: Sendable {
    private struct State {
        var registered: [String: SecretValue] = [:]
        /// Searched in this order, after the suite itself.
        var otherSuites: [String] = []
    }

    /// The service of its items.
    public let suite: String
    private let store: any ItemStore
    private let state = Mutex(State())

    /// - Parameters:
    ///   - suite: the service of the suite's items, such as a program's bundle identifier.
    ///   - store: a vault, or an agent's client.
    public init(suite: String, in store: any ItemStore) {
        self.suite = suite
        self.store = store
    }

    // MARK: Reading

    /// The value of a key: from the suite itself, else from the first added suite that has it, else the registered
    /// default.
    public func value(forKey key: String) throws(VaultError) -> SecretValue? {
        let state = state.withLock { $0 }
        for suite in [suite] + state.otherSuites {
            var query = Query(.genericPassword, service: suite, account: key)
            query.returnsSecrets = true
            if let item = try store.first(query) { return try StoredValue(item).value }
        }
        return state.registered[key]
    }

    /// The value of a key, decoded as a type; `nil` if there is none.
    ///
    /// - Throws: `.valueMismatch` with the path to the mismatch.
    public func value<Value: Decodable>(
        of type: Value.Type = Value.self, forKey key: String
    ) throws(VaultError) -> Value? {
        guard let value = try value(forKey: key) else { return nil }
        do { return try ValueDecoder.decode(type, from: value) } catch { throw VaultError(shape: error) }
    }

    /// The value of a key as an object of a Swift type, see ``SecretValue/any``; `nil` if there is none.
    public func object(forKey key: String) throws(VaultError) -> Any? { try value(forKey: key)?.any }

    /// Accepts a number or a date as well, as text; `nil` for anything else.
    public func string(forKey key: String) throws(VaultError) -> String? { try value(forKey: key)?.lenientString }

    /// 0 if there is none; accepts a numeric text and a bool as well.
    public func integer(forKey key: String) throws(VaultError) -> Int { try value(forKey: key)?.lenientInt ?? 0 }

    /// 0 if there is none.
    public func double(forKey key: String) throws(VaultError) -> Double { try value(forKey: key)?.lenientReal ?? 0 }

    /// 0 if there is none.
    public func float(forKey key: String) throws(VaultError) -> Float { Float(try double(forKey: key)) }

    /// `false` if there is none; accepts 0 and 1, and the words yes, no, true and false, as well.
    public func bool(forKey key: String) throws(VaultError) -> Bool { try value(forKey: key)?.lenientBool ?? false }

    /// `nil` for anything but data.
    public func data(forKey key: String) throws(VaultError) -> Data? { try value(forKey: key)?.data }

    /// `nil` for anything but a date.
    public func date(forKey key: String) throws(VaultError) -> Date? { try value(forKey: key)?.date }

    /// The URL of a text; `nil` for anything else.
    public func url(forKey key: String) throws(VaultError) -> URL? {
        try value(forKey: key)?.string.flatMap { URL(string: $0) }
    }

    /// `nil` for anything but an array.
    public func array(forKey key: String) throws(VaultError) -> [SecretValue]? { try value(forKey: key)?.array }

    /// `nil` also for an array that contains anything but text.
    public func stringArray(forKey key: String) throws(VaultError) -> [String]? {
        guard let array = try array(forKey: key) else { return nil }
        let strings = array.compactMap(\.string)
        return strings.count == array.count ? strings : nil
    }

    /// `nil` for anything but a dictionary.
    public func dictionary(forKey key: String) throws(VaultError) -> [String: SecretValue]? {
        try value(forKey: key)?.dictionary
    }

    /// Every key with its value, including those of added suites and registered defaults.
    public func dictionaryRepresentation() throws(VaultError) -> [String: SecretValue] {
        let state = state.withLock { $0 }
        var all = state.registered
        for suite in state.otherSuites.reversed() + [suite] {
            for (key, value) in try SecureDefaults.values(of: suite, in: store) { all[key] = value }
        }
        return all
    }

    /// The values of the suite itself.
    public func ownValues() throws(VaultError) -> [String: SecretValue] {
        try SecureDefaults.values(of: suite, in: store)
    }

    /// Whether the suite itself has the key; no secret is opened.
    public func hasOwnValue(forKey key: String) throws(VaultError) -> Bool {
        try store.contains(.genericPassword(service: suite, account: key))
    }

    /// The keys of the suite itself, sorted; no secret is opened.
    public func keys() throws(VaultError) -> [String] {
        try store.allMatching(Query(.genericPassword, service: suite)).compactMap(\.account).sorted()
    }

    private static func values(of suite: String, in store: any ItemStore) throws(VaultError) -> [String: SecretValue] {
        var query = Query(.genericPassword, service: suite)
        query.returnsSecrets = true
        var values: [String: SecretValue] = [:]
        for item in try store.allMatching(query) {
            if let key = item.account { values[key] = try StoredValue(item).value }
        }
        return values
    }

    // MARK: Writing

    /// Sets a value, or removes it if `nil`. The change is durable when this returns.
    ///
    /// - Throws: `.valueMismatch` for a value that is too deep or a date that is not finite.
    public func set(_ value: SecretValue?, forKey key: String) throws(VaultError) {
        try transaction { (draft: inout Draft) throws(VaultError) in draft.set(value, forKey: key) }
    }

    /// Sets a truth value.
    public func set(_ value: Bool, forKey key: String) throws(VaultError) { try set(.bool(value), forKey: key) }

    /// Sets an integer.
    public func set(_ value: Int, forKey key: String) throws(VaultError) {
        try set(.integer(Int64(value)), forKey: key)
    }

    /// Sets a number with a fraction.
    public func set(_ value: Double, forKey key: String) throws(VaultError) { try set(.real(value), forKey: key) }

    /// Sets a text.
    public func set(_ value: String, forKey key: String) throws(VaultError) { try set(.string(value), forKey: key) }

    /// Sets data.
    public func set(_ value: Data, forKey key: String) throws(VaultError) { try set(.data(value), forKey: key) }

    /// Sets a date.
    ///
    /// - Throws: `.valueMismatch` for a date that is not finite.
    public func set(_ value: Date, forKey key: String) throws(VaultError) { try set(.date(value), forKey: key) }

    /// Sets a URL, as its absolute text.
    public func set(_ value: URL, forKey key: String) throws(VaultError) {
        try set(.string(value.absoluteString), forKey: key)
    }

    /// Sets an object of any type of property lists, see ``SecretValue/init(any:)``.
    ///
    /// - Throws: `.valueMismatch` with the path to an object of another type. An object of `NSSecureCoding` can be set
    ///   as the data that `SecureArchive.archived` makes of it.
    public func set(any object: Any, forKey key: String) throws(VaultError) {
        let value: SecretValue
        do throws(ValueFormatError) { value = try SecretValue(any: object) } catch { throw VaultError(shape: error) }
        try set(value, forKey: key)
    }

    /// Sets a value of any Codable type.
    public func set(encoding value: some Encodable, forKey key: String) throws(VaultError) {
        let encoded: SecretValue
        do { encoded = try ValueEncoder.encode(value) } catch { throw VaultError(shape: error) }
        try set(encoded, forKey: key)
    }

    /// Sets a value computed from the present one; the suite itself may have none.
    ///
    /// - Parameter body: runs again if another process has changed the value meanwhile.
    package func amend(_ key: String, _ body: (SecretValue?) throws -> SecretValue) throws {
        let place = ItemKey.genericPassword(service: suite, account: key)
        var query = Query(place)
        query.returnsSecrets = true
        while true {
            let old = try store.first(query)
            let new = try StoredValue(try body(try old.map { item throws(VaultError) in try StoredValue(item).value }))
            do throws(VaultError) {
                let item = try new.item(place)
                guard let record = old?.record else {
                    _ = try store.add(item)
                    return
                }
                let attributes = item.userAttributes.mapValues { String?.some($0) }
                return try store.update(record, with: ItemChanges(userAttributes: attributes, secret: item.secret))
            } catch {
                // Another process changed the value first.
                guard [.duplicateItem, .versionMismatch, .itemNotFound].contains(error) else { throw error }
            }
        }
    }

    /// Removes the value of the suite itself, if there is one.
    public func removeValue(forKey key: String) throws(VaultError) { try set(nil as SecretValue?, forKey: key) }

    /// Removes all values of the suite itself.
    public func removeAll() throws(VaultError) { try store.deleteAll(Query(.genericPassword, service: suite)) }

    /// The changes made by a transaction.
    public struct Draft: Sendable {
        fileprivate var changes: [String: SecretValue?] = [:]

        /// Sets a value, or removes it if `nil`.
        public mutating func set(_ value: SecretValue?, forKey key: String) {
            changes.updateValue(value, forKey: key)
        }

        /// Removes a value, if there is one.
        public mutating func removeValue(forKey key: String) { set(nil, forKey: key) }
    }

    /// Sets and removes several values as one: all changes are durable when this returns, or none if it throws.
    public func transaction(_ body: (inout Draft) throws(VaultError) -> Void) throws(VaultError) {
        var draft = Draft()
        try body(&draft)
        try store(draft)
    }

    /// As the other `transaction`, for a body that throws its own errors: nothing is changed then.
    @_disfavoredOverload
    public func transaction(_ body: (inout Draft) throws -> Void) throws {
        var draft = Draft()
        try body(&draft)
        try store(draft)
    }

    private func store(_ draft: Draft) throws(VaultError) {
        var items: [Item] = []
        var removed: [Query] = []
        for (key, value) in draft.changes.sorted(by: { $0.key < $1.key }) {
            let place = ItemKey.genericPassword(service: suite, account: key)
            if let value { items.append(try StoredValue(value).item(place)) } else { removed.append(Query(place)) }
        }
        try store.store(items, replacing: true, deleting: removed)
    }

    // MARK: Defaults and suites

    /// Sets defaults for keys without a value, which are never stored.
    public func register(defaults: [String: SecretValue]) { state.withLock { $0.registered.merge(defaults) { $1 } } }

    /// Adds another suite to search for keys that this suite does not have.
    public func addSuite(named name: String) {
        state.withLock { state in
            if name != suite, !state.otherSuites.contains(name) { state.otherSuites.append(name) }
        }
    }

    /// Searches an added suite no longer.
    public func removeSuite(named name: String) { state.withLock { $0.otherSuites.removeAll { $0 == name } } }

    // MARK: Changes

    /// The changes of the suite's own items, by any process.
    public var changes: ChangeSequence { store.changes(matching: Query(.genericPassword, service: suite)) }

    /// The value of a key: now, and after every change. A slow reader gets the newest.
    ///
    /// The stream ends with an error if the vault is closed or its value cannot be read.
    public func values(forKey key: String) -> AsyncThrowingStream<SecretValue?, any Error> {
        let changes = changes
        return AsyncThrowingStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            let task = Task { [self] in
                do throws(VaultError) {
                    var last = try await VaultExecutor.run { () throws(VaultError) in try self.value(forKey: key) }
                    continuation.yield(last)
                    for await change in changes {
                        if case .failed(let error) = change.kind { throw error }
                        let value = try await VaultExecutor.run { () throws(VaultError) in try self.value(forKey: key) }
                        if value != last { continuation.yield(value) }
                        last = value
                    }
                    continuation.finish()
                } catch { continuation.finish(throwing: error) }
            }
            continuation.onTermination = { _ in task.cancel() }
        }
    }
}
