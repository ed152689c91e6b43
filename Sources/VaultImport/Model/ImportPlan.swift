// SPDX-License-Identifier: Apache-2.0
package import Vault
internal import VaultCrypto
internal import VaultFormat

/// The changes of an import, planned before anything is written, so that a dry run reports the same as a real one.
///
/// Size: the properties are the wishes of the user, the planned changes, and the counts of the report.
package struct ImportPlan {
    private static let batch = 1000

    private struct Addition {
        let item: Item
        let line: Int
        let older: [Login.OlderPassword]

        /// Returns the item with an older password, or, after those, with its own; `nil` beyond that.
        func version(_ number: Int) -> Item? {
            guard number < older.count else { return number == older.count ? item : nil }
            var version = item
            version.secret = older[number].password
            version[.modificationDate] = older[number].since.map(AttributeValue.date) ?? item[.creationDate]
            return version
        }
    }

    private let format: String
    private let store: any ItemStore
    private let group: String?
    private let trust: ImportTrust
    private let replaces: Bool
    private let history: Int
    private let keepsFilesApart: Bool
    private let origin: Fingerprint.Origin?
    package private(set) var report = ImportReport()
    private var additions: [Addition] = []
    private var updates: [(line: Int, change: () throws -> Void)] = []
    private var stored: StoredItems
    /// The sources of the entries, the last number given to one of each, and to an item to make its key unique.
    private var wanted: Set<String> = []
    private var sources: [String: Int] = [:]
    private var ownKeys: [[String]: Int] = [:]
    private var passkeys: PasskeyPlan
    private var collections: CollectionGroups
    /// Items of other sources that an entry of this one updates.
    private var claimed: Set<[UInt8]> = []
    private var entry = 0

    /// - Parameters:
    ///   - format: the prefix of sources.
    ///   - origin: the file, for a format without identifiers, whose entries do not update those of another file.
    ///   - group: the access group of added items, unless the source states one.
    ///   - trust: how far the source is believed.
    ///   - keepsFilesApart: whether the service of the items is the name of a directory, which others may have.
    ///   - replaces: whether the source takes precedence where both have changed.
    ///   - history: the maximum number of older passwords for an added item.
    package init(
        _ logins: ImportedLogins, of format: String, from origin: String? = nil, in store: any ItemStore,
        group: String?, within trust: ImportTrust = ImportTrust(), keepsFilesApart: Bool = false, replaces: Bool,
        history: Int = 0
    ) throws(ImportError) {
        (self.history, self.trust, self.keepsFilesApart) = (history, trust, keepsFilesApart)
        self.origin = origin.map { Fingerprint.Origin($0) }
        (self.format, self.store, self.group, self.replaces) = (format, store, group, replaces)
        passkeys = try PasskeyPlan(in: store, group: group, replaces: replaces)
        stored = try StoredItems(store, of: format, preferring: group, isAlone: trust.group != nil)
        collections = CollectionGroups(stored.items)
        (report.remarks, report.lost, report.looks) = (logins.remarks, logins.lost, logins.looks)
        try plan(logins.logins)
        for (place, reason) in logins.skipped {
            report.lines.append(
                ImportReport.Line(
                    place: place, login: nil, service: "", account: "", source: "", outcome: .skipped, reason: reason))
        }
    }

    /// Carries out the planned additions and changes, 1,000 additions at a time: if a later batch fails, earlier ones
    /// stay, and the next run continues.
    package mutating func carryOut(_ progress: (Double) -> Void) throws(ImportError) {
        let count = Double(additions.count + updates.count + passkeys.count)
        var done = 0
        for record in collections.records { _ = try refusal(of: [Addition(item: record, line: 0, older: [])]) }
        while done < additions.count {
            let part = additions[done..<min(done + ImportPlan.batch, additions.count)]
            if try refusal(of: part) != nil {
                // An item that the vault refuses does not stop the rest.
                for addition in part {
                    guard let error = try refusal(of: [addition]) else { continue }
                    report.lines[addition.line].outcome = .skipped
                    report.lines[addition.line].reason = "the vault refuses it: \(error.text)"
                }
            }
            done += part.count
            progress(Double(done) / count)
        }
        // Before the updates, which remove what an earlier version imported in place of a passkey.
        try passkeys.carryOut()
        for (line, change) in updates {
            do { try change() } catch {
                guard let error = error as? VaultError,
                    [.versionMismatch, .itemNotFound, .duplicateItem].contains(error)
                else { throw .outside(error) }
                report.lines[line].outcome = .differs
                report.lines[line].reason =
                    error == .duplicateItem ? "another item has its key" : "it changed meanwhile"
            }
            done += 1
            progress(Double(done) / count)
        }
        (additions, updates) = ([], [])
    }

    private func refusal(of additions: some Collection<Addition>) throws(ImportError) -> VaultError? {
        do throws(VaultError) {
            for number in 0...(additions.map(\.older.count).max() ?? 0) {
                try store.store(additions.compactMap { $0.version(number) }, replacing: number > 0)
            }
        } catch {
            guard error.isOfItem else { throw .outside(error) }
            return error
        }
        return nil
    }

    /// Returns whether the service of the entries has those of other files, and none of this one.
    private func isOfOtherFiles(_ logins: [Login]) throws(ImportError) -> Bool {
        guard keepsFilesApart, let origin, case .service(let service) = logins.first?.address else { return false }
        var hasOthers = false
        for item in stored.imported.values where (item.userAttributes[ItemNames.originalKey] ?? item.service) == service
        {
            guard let earlier = try item.opened(ItemNames.fingerprint).flatMap({ Fingerprint.Origin($0) }) else {
                continue
            }
            guard earlier != origin else { return false }
            hasOthers = true
        }
        return hasOthers
    }

    private mutating func plan(_ logins: [Login]) throws(ImportError) {
        report.needsName = try isOfOtherFiles(logins)
        guard !report.needsName else {
            for (number, login) in logins.enumerated() {
                entry = number
                let service = if case .service(let service) = login.address { service } else { "" }
                note(login, service, login.user, "", .differs, "its service has the variables of another file")
            }
            return
        }
        var wishes: [ImportMatches.Wish] = []
        var flaws: [Int: String] = [:]
        for (number, login) in logins.enumerated() {
            do throws(ImportError) {
                let login = try login.withStatements(within: trust)
                report.refused += login.stated?.refused ?? 0
                for item in try login.items(of: format) { wishes.append(try wish(item, of: login, number)) }
            } catch {
                guard case .malformed(_, let flaw) = error else { throw error }
                flaws[number] = flaw
            }
        }
        wanted = Set(wishes.map(\.source))
        let matches = try ImportMatches(of: wishes, in: stored.imported)
        for item in matches.items.values { stored.take(item) }
        var next = 0
        for (number, login) in logins.enumerated() {
            entry = number
            report.olderVersions += login.olderVersions
            report.missedPasswords += login.olderPasswords.count
            if let flaw = flaws[number] { note(login, login.title, login.user, "", .skipped, flaw) }
            var login = login
            while next < wishes.count, wishes[next].login == number {
                if matches.ambiguous.contains(next), !replaces {
                    note(login, wishes[next].item, .differs, "of several entries with its name, it is not clear which")
                } else {
                    try plan(wishes[next], inPlaceOf: matches.items[next], of: login)
                }
                // Attachments have no older passwords.
                login.olderPasswords = []
                next += 1
            }
            for passkey in login.passkeys { plan(passkey, of: login) }
        }
    }

    private mutating func wish(_ item: Item, of login: Login, _ number: Int) throws(ImportError) -> ImportMatches.Wish {
        var item = item
        if let label = login.collection, trust.group == nil {
            item[.accessGroup] = .string(collections.group(of: label))
        }
        if item[.accessGroup] == nil, let group { item[.accessGroup] = .string(group) }
        let source = item.userAttributes[ItemNames.source] ?? format
        let earlier = { [format] in
            // An attachment has its name behind the source of its entry.
            let end = source.dropFirst(login.source(of: format).count)
            return login.earlierSources(of: format).map { $0 + end }
        }
        return ImportMatches.Wish(
            login: number, item: item, fingerprint: try Fingerprint(of: item), source: source, earlierSources: earlier,
            earlierAttributes: login.earlierAttributes, isNamed: login.hasIdentity)
    }

    private mutating func plan(_ portable: PortablePasskey, of login: Login) {
        let source = unique(login.source(of: format) + ItemNames.passkeySuffix)
        let (outcome, reason) = passkeys.plan(portable, source: source, created: login.created)
        let passkey = portable.passkey
        note(login, passkey.relyingParty, passkey.names.user, source, outcome, reason)
    }

    private mutating func plan(
        _ wish: ImportMatches.Wish, inPlaceOf existing: Item?, of login: Login
    ) throws(ImportError) {
        var item = wish.item
        let known = existing?.userAttributes[ItemNames.source]
        // An item with an identity of an earlier version gets a present one.
        let isPresent = known.map { $0 == wish.source || ItemNames.unnumbered($0) == wish.source } ?? false
        let source = isPresent ? known ?? wish.source : unique(wish.source)
        if source != wish.source { item.userAttributes[ItemNames.source] = source }
        if let existing { return try plan(item, wish, inPlaceOf: existing, of: login) }
        if try stored.hasTwin(of: item, login) { return note(login, item, .unchanged, "it is there already") }
        guard isAllowed(item) else {
            return note(login, item, .skipped, "programs rely on such items, and only --as-backup imports them")
        }
        item.fields[ItemNames.fingerprint] = try wish.fingerprint.field(origin)
        if let other = stored.keys[item.importKey] {
            // An item to be added is of this source as well.
            let isOfThisSource =
                other.map { $0.userAttributes[ItemNames.source]?.hasPrefix(format + ":") ?? false } ?? true
            if isOfThisSource {
                add(withOwnKey(item), login)
            } else if let other {
                try plan(item, besides: other, of: login)
            }
        } else {
            add(item, login)
        }
    }

    /// Returns whether the import may add the item: one on which programs rely is for a backup alone.
    private mutating func isAllowed(_ item: Item) -> Bool {
        let group = item[.accessGroup]?.text ?? Statement.usualGroup
        guard
            ImportTrust.needsBackup(
                group: group == self.group ? Statement.usualGroup : group, service: item.service ?? "")
        else {
            return true
        }
        if trust.isBackup { report.reserved.append("\(item.service ?? item.server ?? "") in the group '\(group)'") }
        return trust.isBackup
    }

    private mutating func plan(
        _ item: Item, _ wish: ImportMatches.Wish, inPlaceOf existing: Item, of login: Login
    ) throws(ImportError) {
        // An item with as many versions has them from an earlier import.
        let older = min(login.olderPasswords.count, history)
        if let version = existing.record?.version, version > older { report.missedPasswords -= older }
        let field = try existing.opened(ItemNames.fingerprint)
        let base = field.flatMap { Fingerprint($0) }
        guard base != wish.fingerprint else { return note(login, item, .unchanged) }
        if let base, try wish.had(base, existing) { return note(login, item, .unchanged) }
        let fingerprint = wish.fingerprint
        var item = item
        item.fields[ItemNames.fingerprint] = try fingerprint.field(origin)
        let current = try Fingerprint.ofStored(existing)
        let isAsImported = base.map { current.contains($0) } ?? false
        if current.contains(fingerprint) {
            // Both sides made the same change.
            note(login, item, .unchanged)
        } else if !replaces, let origin, let earlier = field.flatMap({ Fingerprint.Origin($0) }), earlier != origin {
            note(login, item, .differs, "it came from another file before")
        } else if isAsImported || replaces {
            try change(existing, to: item, of: login, removing: isAsImported)
        } else {
            note(login, item, .differs, "it changed here and at its source")
        }
    }

    /// Plans an item whose key belongs to another item, not from this source.
    private mutating func plan(_ item: Item, besides other: Item, of login: Login) throws(ImportError) {
        if try !other.hasSecrets(of: item) {
            guard replaces, let record = other.record else {
                return note(login, item, .differs, "another item has its key, and another secret")
            }
            // A second entry with the same key must not overwrite the first.
            guard claimed.insert(record.persistentReference).inserted else { return add(withOwnKey(item), login) }
            try change(other, to: item, of: login, removing: false)
        } else if try other.saysAll(of: item) {
            note(login, item, .unchanged, "it is there already")
        } else if replaces {
            try change(other, to: item, of: login, removing: false)
        } else {
            note(login, item, .differs, "it is there with the same secret, and with other notes or attributes")
        }
    }

    /// Plans the change of a stored item, or its replacement by one of another class, which an item cannot change.
    private mutating func change(_ existing: Item, to item: Item, of login: Login, removing: Bool) throws(ImportError) {
        guard let record = existing.record else { throw .outside(VaultError.itemNotFound) }
        let (store, line) = (store, report.lines.count)
        note(login, item, .updated)
        guard existing.itemClass != item.itemClass else {
            let changes = try ItemChanges(of: existing, to: item, removing: removing)
            return updates.append((line, { try store.update(record, with: changes) }))
        }
        var replacement = item
        // No source has these attributes.
        let protection = existing[.accessControl] == nil ? Attribute.accessible : .accessControl
        for chosen in [.accessGroup, .synchronizable, protection] { replacement[chosen] = existing[chosen] }
        let (new, old) = (replacement, Query(persistentReference: record.persistentReference))
        updates.append((line, { try store.store([new], replacing: false, deleting: [old]) }))
    }

    private mutating func add(_ item: Item, _ login: Login) {
        stored.keys[item.importKey] = .some(nil)
        if let label = login.collection { collections.keep(label, for: item) }
        let older = item.secret == nil ? [] : Array(login.olderPasswords.suffix(history))
        report.olderVersions -= older.count
        report.missedPasswords -= older.count
        report.olderPasswords += older.count
        if older.count > report.longestHistory?.count ?? 0 {
            report.longestHistory = (item.userAttributes[ItemNames.source] ?? "", older.count)
        }
        additions.append(Addition(item: item, line: report.lines.count, older: older))
        note(login, item, .added)
    }

    /// Returns the item with an unused key derived from its own: two entries of a source may have the same key.
    private mutating func withOwnKey(_ item: Item) -> Item {
        var item = item
        let part = item.itemClass == .genericPassword ? Attribute.service : .securityDomain
        let original = item[part]?.text ?? ""
        item.userAttributes[ItemNames.originalKey] = original
        let key = item.importKey
        var number = ownKeys[key] ?? 1
        repeat {
            number += 1
            item[part] = .string("\(original)~\(number)")
        } while stored.keys[item.importKey] != nil
        ownKeys[key] = number
        return item
    }

    /// Returns a source that no item and no other entry has.
    private mutating func unique(_ source: String) -> String {
        var number = sources[source] ?? 0
        var unique = source
        repeat {
            number += 1
            unique = number == 1 ? source : "\(source)~\(number)"
        } while stored.imported[unique] != nil || number > 1 && wanted.contains(unique)
        sources[source] = number
        return unique
    }

    private mutating func note(_ login: Login, _ item: Item, _ outcome: ImportReport.Outcome, _ reason: String? = nil) {
        note(
            login, item.server ?? item.service ?? "", item.account ?? "", item.userAttributes[ItemNames.source] ?? "",
            outcome, reason)
    }

    private mutating func note(
        _ login: Login, _ service: String, _ account: String, _ source: String, _ outcome: ImportReport.Outcome,
        _ reason: String?
    ) {
        report.lines.append(
            ImportReport.Line(
                place: login.place, login: entry, service: service, account: account, source: source, outcome: outcome,
                reason: reason))
    }
}
