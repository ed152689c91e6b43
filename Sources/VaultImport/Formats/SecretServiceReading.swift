// SPDX-License-Identifier: Apache-2.0
internal import VaultBus
internal import VaultCrypto
internal import VaultFormat

/// A single pass over all items of a provider of `org.freedesktop.secrets`.
struct SecretServiceReading {
    struct Collection {
        let path: String
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
    private var refused: Set<String> = []
    private var seen: Set<String> = []
    private var counts: [String: Int] = [:]

    init(provider: SecretServiceProvider, session: SecretServiceSession, promptPatience: Duration) {
        (self.provider, self.session, self.promptPatience) = (provider, session, promptPatience)
    }

    /// Returns the readable collections, unlocked; skips the others.
    mutating func collections(itemLimit: Int) throws(ImportError) -> [Collection] {
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
            let place = "collection \(number + 1)"
            if let collection = try read(path, place, isOwn: path == own, itemLimit: left) {
                left -= collection.items.count
                collections.append(collection)
            }
        }
        return collections
    }

    private func alias(_ name: String) throws(ImportError) -> String? {
        try attempting { () throws(BusError) in try provider.collection(alias: name) } ?? nil
    }

    private typealias State = (label: String, isLocked: Bool, items: [String]?)

    private mutating func read(
        _ path: String, _ place: String, isOwn: Bool, itemLimit: Int
    ) throws(ImportError) -> Collection? {
        func skipped(_ reason: String) -> Collection? {
            imported.skip(place, reason)
            return nil
        }
        guard SecretServiceProvider.hasObject(path), var state = try state(of: path, itemLimit) else {
            return skipped("its provider does not say what is in it")
        }
        if state.isLocked {
            if let reason = try unlock([path]) { return skipped("it is locked, and \(reason)") }
            // A locked collection may not list its items.
            guard let unlocked = try self.state(of: path, itemLimit), !unlocked.isLocked else {
                return skipped("it is locked, and stayed so")
            }
            state = unlocked
        }
        guard let items = state.items else { throw .tooLarge(place) }
        let name = path.split(separator: "/").last.map(String.init) ?? ""
        var collection = Collection(
            path: path, place: place, label: isOwn ? nil : state.label.isEmpty ? name : state.label)
        for item in items where seen.insert(item).inserted {
            if SecretServiceProvider.hasObject(item) {
                collection.items.append(item)
            } else {
                imported.skip(place, "an item is none of the service's objects")
            }
        }
        collection.items.sort { ($0.utf8.count, $0) < ($1.utf8.count, $1) }
        return collection
    }

    private func state(of path: String, _ itemLimit: Int) throws(ImportError) -> State? {
        try attempting { () throws(BusError) in
            var state: State = ("", false, [])
            try provider.readProperties(of: path, "Collection") { name, value throws(BusError) in
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
        // Some providers answer only after their user has.
        let result = try attempting(patiently: true) { () throws(BusError) in
            try provider.unlock(paths, patience: promptPatience)
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

    mutating func take(_ paths: ArraySlice<String>, of collection: Collection) throws(ImportError) {
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
            let (opened, contentType) = try secret(of: item, secrets[item.path])
            switch opened {
            case .unusable(let reason): imported.skip(place, reason)
            case .secret(let secret):
                let id = item.identity(in: collection.path)
                imported.logins.append(
                    item.login(id: id, place: place, collection: collection.label, secret, contentType: contentType))
            }
        }
    }

    /// Returns the secrets that fit into one answer; others may be too long for a message, and are read one by one.
    private func secrets(of paths: [String]) throws(ImportError) -> [String: SecretServiceProvider.TransferredSecret] {
        guard !paths.isEmpty else { return [:] }
        return try attempting(patiently: paths.count > 1) { () throws(BusError) in
            try provider.secrets(of: paths, session: session.path)
        } ?? [:]
    }

    private func secret(
        of item: SecretServiceItem, _ transferred: SecretServiceProvider.TransferredSecret?
    ) throws(ImportError) -> (SecretServiceSession.Opened, contentType: String) {
        var transferred = transferred
        if transferred == nil {
            do throws(BusError) { transferred = try provider.secret(of: item.path, session: session.path) } catch {
                switch error {
                case .refused("org.freedesktop.Secret.Error.IsLocked"): return (.unusable("it is locked"), "")
                case .refused, .malformed: break
                default: throw ImportError(error)
                }
            }
        }
        guard let transferred else { return (.unusable("its provider does not give its secret"), "") }
        return (try secured(try session.opened(transferred)), transferred.contentType)
    }
}

func asking<R>(_ body: () throws(BusError) -> R) throws(ImportError) -> R {
    do throws(BusError) { return try body() } catch { throw ImportError(error) }
}

/// Runs a call whose failure does not prevent reading the rest: a refusal, with patience also a timeout, is `nil`.
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
