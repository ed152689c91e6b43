// SPDX-License-Identifier: Apache-2.0
internal import VaultBus
internal import VaultCrypto
internal import VaultFormat

/// A single pass over all items of a provider of `org.freedesktop.secrets`.
struct SecretServiceReading {
    struct Collection {
        let path: String
        /// The name for messages, such as "collection 2".
        let place: String
        /// Its label; `nil` for the user's default collection, into which programs store.
        var label: String?
        /// The distinct paths of its items, in numerical order if they have numbers.
        var items: [String] = []
    }

    let provider: SecretServiceProvider
    let session: SecretServiceSession
    let promptPatience: Duration
    private(set) var imported = ImportedLogins()
    /// Whether a prompt timed out: there is no user to ask.
    private var isUnanswered = false
    /// The collections in which the user declined to unlock items.
    private var refused: Set<String> = []
    private var seen: Set<String> = []
    /// The number of items examined in each collection.
    private var counts: [String: Int] = [:]

    init(provider: SecretServiceProvider, session: SecretServiceSession, promptPatience: Duration) {
        (self.provider, self.session, self.promptPatience) = (provider, session, promptPatience)
    }

    // MARK: Collections

    /// Returns the readable collections, unlocked; skips the others.
    ///
    /// - Throws: `.tooLarge` for more items than the limit.
    mutating func collections(itemLimit: Int) throws(ImportError) -> [Collection] {
        let provider = provider
        var paths: [String]? = []
        try asking { () throws(BusError) in
            try provider.readProperties(of: SecretServiceProvider.root, "Service") { name, value throws(BusError) in
                guard name == "Collections" else { return false }
                try value.variant(of: "ao") { () throws(BusError) in
                    paths = try value.paths(limit: SecretServiceProvider.collectionLimit)
                }
                return true
            }
        }
        guard let paths else { throw .tooLarge("the list of collections") }
        let own = try alias("default") ?? SecretServiceProvider.root + "/collection/login"
        let temporary = try alias("session") ?? SecretServiceProvider.root + "/collection/session"
        var collections: [Collection] = []
        var left = itemLimit
        for (number, path) in paths.enumerated() where path != temporary && seen.insert(path).inserted {
            var collection = Collection(path: path, place: "collection \(number + 1)")
            guard try read(&collection, isOwn: path == own, itemLimit: left) else { continue }
            left -= collection.items.count
            collections.append(collection)
        }
        return collections
    }

    private func alias(_ name: String) throws(ImportError) -> String? {
        let provider = provider
        return try attempting { () throws(BusError) in try provider.collection(alias: name) } ?? nil
    }

    private struct State {
        var label = ""
        var isLocked = false
        var items: [String]? = []
    }

    /// Reads a collection; returns `false` if it is skipped.
    private mutating func read(
        _ collection: inout Collection, isOwn: Bool, itemLimit: Int
    ) throws(ImportError) -> Bool {
        guard SecretServiceProvider.hasObject(collection.path), var state = try state(of: collection, itemLimit)
        else {
            imported.skip(collection.place, "its provider does not say what is in it")
            return false
        }
        if state.isLocked {
            if let reason = try unlock([collection.path]) {
                imported.skip(collection.place, "it is locked, and \(reason)")
                return false
            }
            // A locked collection may not list its items.
            guard let unlocked = try self.state(of: collection, itemLimit), !unlocked.isLocked else {
                imported.skip(collection.place, "it is locked, and stayed so")
                return false
            }
            state = unlocked
        }
        guard let items = state.items else { throw .tooLarge(collection.place) }
        for path in items where seen.insert(path).inserted {
            guard SecretServiceProvider.hasObject(path) else {
                imported.skip(collection.place, "an item is none of the service's objects")
                continue
            }
            collection.items.append(path)
        }
        collection.items.sort { ($0.utf8.count, $0) < ($1.utf8.count, $1) }
        let name = collection.path.split(separator: "/").last.map(String.init) ?? ""
        if !isOwn { collection.label = state.label.isEmpty ? name : state.label }
        return true
    }

    /// Returns the state of a collection; `nil` if the provider does not report it.
    private func state(of collection: Collection, _ itemLimit: Int) throws(ImportError) -> State? {
        let provider = provider
        return try attempting { () throws(BusError) in
            var state = State()
            try provider.readProperties(of: collection.path, "Collection") { name, value throws(BusError) in
                switch name {
                case "Label": try value.variant(of: "s") { () throws(BusError) in state.label = try value.text() }
                case "Locked": try value.variant(of: "b") { () throws(BusError) in state.isLocked = try value.flag() }
                case "Items":
                    try value.variant(of: "ao") { () throws(BusError) in
                        state.items = try value.paths(limit: itemLimit)
                    }
                default: return false
                }
                return true
            }
            return state
        }
    }

    /// Unlocks objects; returns the reason if they stay locked, `nil` otherwise.
    private mutating func unlock(_ paths: [String]) throws(ImportError) -> String? {
        guard !isUnanswered else { return "an earlier prompt was not answered" }
        let (provider, patience) = (provider, promptPatience)
        // Some providers answer only after their user has.
        let result = try attempting(patiently: true) { () throws(BusError) in
            try provider.unlock(paths, patience: patience)
        }
        switch result {
        case .completed: return nil
        case .dismissed: return "the prompt to unlock it was dismissed, or there is no way to ask"
        case .unanswered:
            isUnanswered = true
            return "the prompt to unlock it was not answered"
        case nil: return "its provider does not unlock it"
        }
    }

    // MARK: Items

    /// Reads some items of a collection.
    mutating func take(_ paths: ArraySlice<String>, of collection: Collection) throws(ImportError) {
        let provider = provider
        var items: [(item: SecretServiceItem, place: String)] = []
        for path in paths {
            counts[collection.path, default: 0] += 1
            let place = "\(collection.place), item \(counts[collection.path, default: 0])"
            let item = try attempting { () throws(BusError) in try SecretServiceItem(path, of: provider) }
            guard let item else {
                imported.skip(place, "its provider does not say what it is")
                continue
            }
            guard !item.isTooLarge else {
                imported.skip(place, "its label and attributes have more than 48 KiB")
                continue
            }
            items.append((item, place))
        }
        // KeePassXC asks for each item, even in unlocked collections.
        let locked = items.filter { $0.item.isLocked }.map { $0.item.path }
        if !locked.isEmpty, !refused.contains(collection.path), try unlock(locked) != nil {
            refused.insert(collection.path)
        }
        let secrets = try secrets(of: items.map { $0.item.path })
        for (item, place) in items {
            switch try secret(of: item, secrets[item.path]) {
            case .unusable(let reason): imported.skip(place, reason)
            case .usable(let secret, let contentType):
                let id = item.identity(in: collection.path)
                imported.logins.append(
                    item.login(
                        id: id, place: place, collection: collection.label, secret, contentType: contentType))
            }
        }
    }

    private enum Outcome {
        case usable(Secret, contentType: String)
        case unusable(String)
    }

    /// Returns the secrets that fit into one answer; others, of which one may be too long for a message, are read one
    /// by one.
    private func secrets(
        of paths: [String]
    ) throws(ImportError) -> [String: SecretServiceProvider.TransferredSecret] {
        guard !paths.isEmpty else { return [:] }
        let (provider, session) = (provider, session)
        return try attempting(patiently: paths.count > 1) { () throws(BusError) in
            try provider.secrets(of: paths, session: session.path)
        } ?? [:]
    }

    private func secret(
        of item: SecretServiceItem, _ transferred: SecretServiceProvider.TransferredSecret?
    ) throws(ImportError) -> Outcome {
        var transferred = transferred
        if transferred == nil {
            do throws(BusError) { transferred = try provider.secret(of: item.path, session: session.path) } catch {
                switch error {
                case .refused("org.freedesktop.Secret.Error.IsLocked"): return .unusable("it is locked")
                case .refused, .malformed: break
                default: throw ImportError(error)
                }
            }
        }
        guard let transferred else { return .unusable("its provider does not give its secret") }
        let opened = try secured(try session.opened(transferred))
        switch opened {
        case .secret(let secret): return .usable(secret, contentType: transferred.contentType)
        case .unusable(let reason): return .unusable(reason)
        }
    }
}

/// Runs a body that calls a provider.
func asking<R>(_ body: () throws(BusError) -> R) throws(ImportError) -> R {
    do throws(BusError) { return try body() } catch { throw ImportError(error) }
}

/// Runs a call whose failure does not prevent reading the rest. Returns `nil` if the provider refuses, or its answer is
/// malformed.
///
/// - Parameter patiently: whether a timeout counts as a refusal.
func attempting<R>(patiently: Bool = false, _ body: () throws(BusError) -> R) throws(ImportError) -> R? {
    do throws(BusError) { return try body() } catch {
        switch error {
        case .refused, .malformed: return nil
        case .timedOut where patiently: return nil
        default: throw ImportError(error)
        }
    }
}

extension ImportError {
    init(_ error: BusError) {
        self =
            switch error {
            case .noLibrary: .missing("libsystemd", package: "libsystemd0")
            case .unreachable:
                .service(
                    "the bus of the session cannot be reached",
                    hint: "run it as the user of a session, with DBUS_SESSION_BUS_ADDRESS or XDG_RUNTIME_DIR")
            case .lost: .service("the bus, or what provides org.freedesktop.secrets on it, went away", hint: nil)
            case .timedOut: .service("what provides org.freedesktop.secrets does not answer", hint: nil)
            case .refused: .service("what provides org.freedesktop.secrets refuses to be read", hint: nil)
            case .malformed: .malformed("an answer of org.freedesktop.secrets", "it is not made as the standard says")
            case .cryptography(let error): .cryptography(error)
            }
    }
}
