// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import Synchronization

/// A program's class or struct whose ``Stored`` properties an ``AccountStore`` keeps.
public protocol StoredFields {
    /// The service of the items of all accounts. Defaults to the type's name without its module: two types of one name
    /// then share their items, and a renamed type finds none.
    static var service: String { get }

    /// Creates an instance with the initial values.
    init()
}

extension StoredFields {
    /// The type's name without its module.
    public static var service: String { String(describing: Self.self) }
}

/// The fields of accounts, one item per account: read from the vault, and saved when set.
///
/// No explicit save is needed: `account.email = "…"` is durable when it returns, and failures are reported by
/// ``errors``. `try account.save { $0.email = "…" }` throws them, and saves several fields as one. A value derived from
/// the previous one, such as a counter, needs `save`: `account.visits += 1` reads and then sets, and another thread or
/// process may set the field in between.
///
/// An account is a generic password; each field is one of its named fields. Processes that change different fields of
/// one account do not overwrite each other's changes.
@dynamicMemberLookup
public final class AccountStore<Fields: StoredFields>: Sendable {
    private let store: any ItemStore
    private let service: String
    private let name: Mutex<String>
    private let failures: FieldFailures

    /// - Parameters:
    ///   - account: the account's name; a new account is created with its first field.
    ///   - service: of the items of all accounts; `nil` for that of the type.
    public init(_ store: any ItemStore, account: String, of type: Fields.Type = Fields.self, service: String? = nil) {
        self.store = store
        self.service = service ?? type.service
        name = Mutex(account)
        failures = FieldFailures()
    }

    /// The current account. Setting it switches to another one.
    public var account: String {
        get { name.withLock { $0 } }
        set { name.withLock { $0 = newValue } }
    }

    private var key: ItemKey { .genericPassword(service: service, account: account) }

    // MARK: Fields

    /// A field, read from the vault on access and saved when set. Failures are reported by ``errors``; a field that
    /// cannot be read has its default.
    public subscript<Value>(dynamicMember field: WritableKeyPath<Fields, Value>) -> Value {
        get {
            let context = StoredContext(store, key)
            defer { if let failure = context.failure { failures.tell(failure) } }
            return context.fields(Fields.self)[keyPath: field]
        }
        set {
            do throws(VaultError) {
                let context = StoredContext(store, key)
                var fields = context.fields(Fields.self)
                fields[keyPath: field] = newValue
                try context.save()
            } catch { failures.tell(FieldFailure(account: account, error: error)) }
        }
    }

    /// Reads several fields from the same version of the item.
    ///
    /// - Throws: the error that kept a field from being read: `.locked`, `.valueMismatch` with its name.
    public func read<R>(_ body: (Fields) -> R) throws(VaultError) -> R {
        let context = StoredContext(store, key)
        let result = body(context.fields(Fields.self))
        if let failure = context.failure { throw failure.error }
        return result
    }

    /// Changes fields: all of them are durable when this returns, or none if it throws.
    ///
    /// A body that reads a field may run more than once: if another thread or process has changed the account since,
    /// nothing is written, and the body runs again on the new state.
    ///
    /// - Throws: the body's error; `.versionMismatch` after 1,000 runs.
    @discardableResult
    public func save<R>(_ body: (inout Fields) throws(VaultError) -> R) throws(VaultError) -> R {
        for _ in 0..<Self.mostAttempts {
            let context = StoredContext(store, key)
            var fields = context.fields(Fields.self)
            let result = try body(&fields)
            if try context.saveIfUnchanged() { return result }
        }
        throw .versionMismatch
    }

    /// As the other `save`, for a body that throws its own errors: nothing is changed then.
    @_disfavoredOverload
    @discardableResult
    public func save<R>(_ body: (inout Fields) throws -> R) throws -> R {
        for _ in 0..<Self.mostAttempts {
            let context = StoredContext(store, key)
            var fields = context.fields(Fields.self)
            let result = try body(&fields)
            if try context.saveIfUnchanged() { return result }
        }
        throw VaultError.versionMismatch
    }

    private static var mostAttempts: Int { 1000 }

    // MARK: Accounts

    /// The names of all accounts, sorted.
    public func accounts() throws(VaultError) -> [String] {
        try store.allMatching(Query(.genericPassword, service: service)).compactMap(\.account).sorted()
    }

    /// Removes the account with all of its fields. Returns `false` if there was none.
    @discardableResult
    public func remove() throws(VaultError) -> Bool { try store.deleteAll(Query(key)) > 0 }

    // MARK: Events

    /// The changes of all accounts, by any process.
    public var changes: ChangeSequence { store.changes(matching: Query(.genericPassword, service: service)) }

    /// Failures of fields that were set or read without a `try`. Up to 64 of them are buffered for a reader.
    public var errors: AsyncStream<FieldFailure> { failures.stream }
}

/// The failure to save or read a field.
public struct FieldFailure: Error, Equatable, Sendable {
    /// The account whose field could not be read or saved.
    public let account: String
    /// The error of the store, or `.valueMismatch` with the field's name.
    public let error: VaultError
}

/// A field of an account, such as `@Stored("email") var email: String?`.
///
/// In an instance that was not made by an ``AccountStore``, an ordinary property.
@propertyWrapper
public struct Stored<Value: Codable & Sendable>: Sendable {
    private let name: String
    private let context: StoredContext?
    /// The value while nothing is stored.
    private var initial: Value

    /// - Parameters:
    ///   - wrappedValue: the value while nothing is stored.
    ///   - name: of the item's field: 1 to 255 bytes without control characters.
    public init(wrappedValue: Value, _ name: String) {
        self.name = name
        initial = wrappedValue
        context = StoredContext.current
    }

    /// An optional property, `nil` while nothing is stored.
    public init<Wrapped>(_ name: String) where Value == Wrapped? { self.init(wrappedValue: nil, name) }

    /// The stored value, or the initial one. Setting an optional to `nil` removes the field.
    public var wrappedValue: Value {
        get {
            guard let context else { return initial }
            return context.read(Value.self, name) ?? initial
        }
        set {
            if let context { context.write(newValue, name) } else { initial = newValue }
        }
    }
}

/// The item of an account while its fields are read and changed.
final class StoredContext: Sendable {
    private struct State {
        /// `nil` before the lookup; empty if there is none.
        var item: [Item]?
        var changes: [String: Secret?] = [:]
        var failure: FieldFailure?
    }

    /// The context of the instance being made.
    @TaskLocal static var current: StoredContext?

    private let store: any ItemStore
    private let key: ItemKey
    private let state = Mutex(State())

    init(_ store: any ItemStore, _ key: ItemKey) {
        self.store = store
        self.key = key
    }

    /// An instance whose fields are those of the item.
    func fields<Fields: StoredFields>(_ type: Fields.Type) -> Fields {
        StoredContext.$current.withValue(self) { Fields() }
    }

    var failure: FieldFailure? { state.withLock { $0.failure } }

    func read<Value: Decodable>(_ type: Value.Type, _ name: String) -> Value? {
        do throws(VaultError) {
            guard let secret = try secret(name) else { return nil }
            let stored = StoredValue(secret.secretData())
            do { return try stored.decoded(as: type) } catch { throw VaultError(shape: error, under: name) }
        } catch {
            note(error)
            return nil
        }
    }

    private func secret(_ name: String) throws(VaultError) -> Secret? {
        let (changed, known) = state.withLock { ($0.changes[name], $0.item) }
        if let changed { return changed }
        if let known { return known.first?.fields[name] }
        var query = Query(key)
        query.returnsSecrets = true
        let found = try store.allMatching(query)
        state.withLock { $0.item = found }
        return found.first?.fields[name]
    }

    func write(_ value: some Encodable, _ name: String) {
        do throws(VaultError) {
            // A `nil` removes the field, so that stored values never contain null.
            let isNil = (value as? any OptionalValue)?.isNil ?? false
            let secret = isNil ? nil : try StoredValue(value, .propertyList).secret()
            state.withLock { _ = $0.changes.updateValue(secret, forKey: name) }
        } catch { note(VaultError(shape: error, under: name)) }
    }

    private func note(_ error: VaultError) {
        let account = key.attributes[.account]?.text ?? ""
        state.withLock { state in
            state.failure = state.failure ?? FieldFailure(account: account, error: error)
        }
    }

    /// Writes the changes as one, whatever the item has become since it was read.
    ///
    /// - Throws: also the error that kept a field from being read or encoded: nothing is changed then.
    func save() throws(VaultError) {
        let changes = try sound().changes
        guard !changes.isEmpty else { return }
        do throws(VaultError) {
            try store.update(matching: Query(key), with: ItemChanges(fields: changes))
        } catch {
            guard error == .itemNotFound else { throw error }
            if let item = newItem(changes) { try store.set(item) }
        }
    }

    /// As ``save()``, if the item is unchanged since a field was read from it. Otherwise changes nothing and returns
    /// `false`.
    func saveIfUnchanged() throws(VaultError) -> Bool {
        let state = try sound()
        guard !state.changes.isEmpty else { return true }
        guard let known = state.item else {
            try save()
            return true
        }
        do throws(VaultError) {
            if let record = known.first?.record {
                try store.update(record, with: ItemChanges(fields: state.changes))
            } else if let item = newItem(state.changes) {
                try store.add(item)
            }
            return true
        } catch {
            guard [.versionMismatch, .itemNotFound, .duplicateItem].contains(error) else { throw error }
            return false
        }
    }

    private func sound() throws(VaultError) -> State {
        let state = state.withLock { $0 }
        if let failure = state.failure { throw failure.error }
        return state
    }

    /// Returns `nil` if every change removes a field: no account is created then.
    private func newItem(_ changes: [String: Secret?]) -> Item? {
        let fields = changes.compactMapValues { $0 }
        let type = [ValueEncoding.attribute: ValueEncoding.propertyList.rawValue]
        return fields.isEmpty ? nil : Item(key, userAttributes: type, fields: fields)
    }
}

/// Failures on their way to the reader of ``AccountStore/errors``.
private final class FieldFailures: Sendable {
    let stream: AsyncStream<FieldFailure>
    private let continuation: AsyncStream<FieldFailure>.Continuation

    init() { (stream, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(64)) }

    deinit { continuation.finish() }

    func tell(_ failure: FieldFailure) { continuation.yield(failure) }
}
