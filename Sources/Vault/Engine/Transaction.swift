// SPDX-License-Identifier: Apache-2.0
package import FoundationEssentials
internal import VaultStorage

/// The errors that the body of a transaction may throw: `VaultError`, and a program's own errors that have a case for
/// one.
public protocol TransactionError: Error {
    /// Wraps an error of a verb, or of the commit.
    init(_ error: VaultError)
}

extension VaultError: TransactionError {
    /// The error itself.
    public init(_ error: VaultError) { self = error }
}

/// An error of any type on its way through a transaction.
struct AnyTransactionError: TransactionError {
    let own: any Error

    init(own: any Error) { self.own = own }
    init(_ error: VaultError) { own = error }
}

/// The verbs inside a transaction: each sees the effects of those before it. Lent to the transaction's body, which
/// cannot keep it.
public struct Transaction: ~Copyable {
    private let engine: ItemEngine
    private let viewer: Viewer
    private let source: any SecretSource
    private var session: WriteSession

    init(
        _ engine: ItemEngine, _ viewer: Viewer, _ source: any SecretSource,
        _ session: consuming WriteSession
    ) {
        self.engine = engine
        self.viewer = viewer
        self.source = source
        self.session = session
    }

    /// Gives the session back.
    ///
    /// - Parameter engine: the engine for which the transaction was made. Two exchanged transactions would each write
    ///   to the other's vault, without its lock.
    consuming func end(of engine: ItemEngine) -> WriteSession {
        precondition(self.engine === engine, "a transaction was exchanged for that of another vault")
        return session
    }

    /// Adds an item.
    ///
    /// - Throws: `.duplicateItem` if an item with the same primary key exists; the transaction may continue.
    @discardableResult
    public mutating func add(_ item: Item) throws(VaultError) -> Item {
        try step { [source] (engine, viewer, session) throws(VaultError) in
            try engine.add(item, viewer.groups, for: source, in: &session)
        }
    }

    /// Adds an item, or gives these attributes and this secret to the item with the same primary key.
    @discardableResult
    public mutating func set(_ item: Item) throws(VaultError) -> Item {
        try step { [source] (engine, viewer, session) throws(VaultError) in
            try engine.set(item, viewer, for: source, in: &session)
        }
    }

    /// Adds an item, or changes the one that a program stores again.
    package mutating func replace(_ item: Item, sameAs given: ProgramAttributes?) throws(VaultError) -> ReplacedItem {
        try step { [source] (engine, viewer, session) throws(VaultError) in
            try engine.replace(item, sameAs: given, viewer, for: source, in: &session)
        }
    }

    /// Finds items, including those that this transaction added.
    public func copyMatching(_ query: Query) throws(VaultError) -> [Item] {
        try engine.copyMatching(query, viewer, for: source)
    }

    /// The items affected by an update or a delete, readable or not.
    package func identifiers(of change: QueriedChange, matching query: Query) throws(VaultError) -> [UUID] {
        try engine.identifiers(of: change, matching: query, viewer.groups)
    }

    /// Changes all matching items or none.
    ///
    /// - Returns: as ``ItemStore/update(matching:with:)``.
    /// - Throws: `.itemNotFound`; the transaction may continue.
    @discardableResult
    public mutating func update(matching query: Query, with changes: ItemChanges) throws(VaultError) -> Int {
        try step { (engine, viewer, session) throws(VaultError) in
            try engine.update(matching: query, with: changes, viewer, in: &session)
        }
    }

    /// Deletes all matching items.
    ///
    /// - Returns: the number of deleted items, 1 or more.
    /// - Throws: `.itemNotFound`; the transaction may continue.
    @discardableResult
    public mutating func delete(matching query: Query) throws(VaultError) -> Int {
        try step { (engine, viewer, session) throws(VaultError) in
            try engine.delete(matching: query, viewer.groups, in: &session)
        }
    }

    /// Deletes all matching items, if any.
    ///
    /// - Returns: the number of deleted items, 0 or more.
    @discardableResult
    public mutating func deleteAll(_ query: Query) throws(VaultError) -> Int {
        do throws(VaultError) { return try delete(matching: query) } catch {
            guard error == .itemNotFound else { throw error }
            return 0
        }
    }

    /// Runs a verb; a failed verb leaves no changes, although the transaction may continue.
    private mutating func step<R>(
        _ verb: (ItemEngine, Viewer, inout WriteSession) throws(VaultError) -> R
    ) throws(VaultError) -> R {
        let (engine, viewer) = (engine, viewer)
        return try session.step { (session: inout WriteSession) throws(VaultError) in try verb(engine, viewer, &session)
        }
    }
}
