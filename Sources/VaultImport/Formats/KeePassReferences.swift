// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import Vault
internal import VaultCrypto
internal import VaultFormat

/// The references of KeePass to parts of other entries, such as `{REF:P@I:46C9B1FFBD4ABC4BBB260C6190BAD20C}`: the part
/// that is wanted, the part to search, and the text to search for (KeePass' help, "Field References").
///
/// An import puts the parts of the other entries in their places, since no other program evaluates references. Of
/// several entries with the text, the first one counts; without one, the first whose text differs in case alone.
struct KeePassReferences {
    private static let depthLimit = 16
    private static let lengthLimit = 1 << 20
    private static let searchLimit = 20_000_000

    private enum Part: UInt8, Hashable {
        case title = 0x54, user = 0x55, password = 0x50, url = 0x41, notes = 0x4e, id = 0x49, other = 0x4f
    }

    private typealias Reference = (range: Range<Int>, wanted: Part, searched: Part, text: Range<Int>)

    private struct Place: Hashable {
        let entry: Int
        let part: Part
    }

    /// A text, and whether a password is in it.
    private typealias Resolved = (text: Secret, isSecret: Bool)

    private let entries: [Login]
    private var resolved: [Place: Resolved] = [:]
    private var open: Set<Place> = []
    /// The first entry with each title, user and so on, exact and in lower case.
    private var indexes: [Part: [String: Int]] = [:]
    private var searched = 0

    private init(_ entries: [Login]) { self.entries = entries }

    /// Replaces the references to these and other entries; one that leads nowhere stays, and is reported.
    static func resolve(in imported: inout ImportedLogins, besides others: [Login]) throws(ImportError) {
        var references = KeePassReferences(imported.logins + others)
        for index in imported.logins.indices {
            for flaw in try references.resolve(&imported.logins[index]) {
                imported.skip(imported.logins[index].place, flaw)
            }
        }
    }

    private mutating func resolve(_ login: inout Login) throws(ImportError) -> [String] {
        var flaws: [String] = []
        if let text = try shown(login.title, "title", &flaws) { login.title = text }
        if let text = try shown(login.user, "user name", &flaws) { login.user = text }
        for (place, url) in login.urls.enumerated() {
            if let text = try shown(url, "URL", &flaws) { login.urls[place] = text }
        }
        if let password = login.password, let found = try replaced(password, "password", &flaws) {
            login.password = found.text.isEmpty ? nil : found.text
        }
        for (place, (name, secret)) in login.fields.enumerated() {
            if let found = try replaced(secret, "field '\(name)'", &flaws) { login.fields[place].secret = found.text }
        }
        if let found = try replaced(login.notes, "notes", &flaws) {
            login.notes = found.isSecret ? "" : found.text.plainText
            if found.isSecret { login.addField(ItemNames.notes, found.text) }
        }
        for (place, (name, value)) in login.attributes.enumerated().reversed() {
            guard let found = try replaced(value, "field '\(name)'", &flaws) else { continue }
            if found.isSecret {
                // A value that contains a password is protected as one.
                login.attributes.remove(at: place)
                login.addField(name, found.text)
            } else {
                login.attributes[place].value = found.text.plainText
            }
        }
        // Reports of versions of the past would help nobody.
        var past: [String] = []
        for (place, older) in login.olderPasswords.enumerated() {
            guard let found = try replaced(older.password, "history", &past) else { continue }
            login.olderPasswords[place].password = found.text
        }
        return flaws
    }

    /// Returns a text with its references replaced; `nil` for one without any, or with one that stays.
    private mutating func replaced(
        _ text: Secret, _ name: String, _ flaws: inout [String]
    ) throws(ImportError) -> Resolved? {
        guard !KeePassReferences.references(in: text).isEmpty else { return nil }
        do throws(ImportError) { return try expanded(text, depth: 0) } catch {
            guard case .malformed(_, let flaw) = error else { throw error }
            flaws.append("the reference in its \(name) \(flaw), and stays as it is")
            return nil
        }
    }

    private mutating func replaced(
        _ text: String, _ name: String, _ flaws: inout [String]
    ) throws(ImportError) -> Resolved? {
        guard text.utf8.contains(UInt8(ascii: "{")) else { return nil }
        return try replaced(Secret(plain: text), name, &flaws)
    }

    /// Returns the new text of a part that listings show, and that a password must not get into.
    private mutating func shown(
        _ text: String, _ name: String, _ flaws: inout [String]
    ) throws(ImportError) -> String? {
        guard let found = try replaced(text, name, &flaws) else { return nil }
        if found.isSecret { flaws.append("the reference in its \(name) is to a password, and stays as it is") }
        return found.isSecret ? nil : found.text.plainText
    }

    private static func references(in text: Secret) -> [Reference] {
        text.withBytes { bytes in
            var references: [Reference] = []
            var start = 0
            while let brace = bytes.firstIndex(of: UInt8(ascii: "{"), in: start..<bytes.count) {
                start = brace + 1
                guard brace + 9 < bytes.count,
                    zip(brace + 1..<brace + 5, "ref:".utf8).allSatisfy({ bytes[$0] | 0x20 == $1 | 0x20 }),
                    let wanted = Part(rawValue: bytes[brace + 5] & ~0x20), bytes[brace + 6] == UInt8(ascii: "@"),
                    let searched = Part(rawValue: bytes[brace + 7] & ~0x20), bytes[brace + 8] == UInt8(ascii: ":"),
                    let end = bytes.firstIndex(of: UInt8(ascii: "}"), in: brace + 9..<bytes.count)
                else { continue }
                references.append((brace..<end + 1, wanted, searched, brace + 9..<end))
                start = end + 1
            }
            return references
        }
    }

    /// - Throws: `.malformed` with the flaw of a reference.
    private mutating func expanded(_ text: Secret, depth: Int) throws(ImportError) -> Resolved {
        let references = KeePassReferences.references(in: text)
        guard !references.isEmpty else { return (text, false) }
        guard depth < KeePassReferences.depthLimit else { throw .malformed(nil, "leads through too many others") }
        var pieces: [Secret] = []
        var (start, length, isSecret) = (0, 0, false)
        for reference in references {
            pieces.append(try text.part(start..<reference.range.lowerBound))
            let found = try value(reference, text.part(reference.text), depth: depth + 1)
            pieces.append(found.text)
            length += reference.range.lowerBound - start + found.text.count
            guard length <= KeePassReferences.lengthLimit else {
                throw .malformed(nil, "makes a text of more than 1 MiB")
            }
            isSecret = isSecret || found.isSecret
            start = reference.range.upperBound
        }
        pieces.append(try text.part(start..<text.count))
        let whole = try Secret.assembled(capacity: length + text.count) { buffer throws(CryptoError) in
            for piece in pieces { try piece.withBytes { bytes throws(CryptoError) in try buffer.append(bytes) } }
        }
        return (whole, isSecret)
    }

    private mutating func value(_ reference: Reference, _ wanted: Secret, depth: Int) throws(ImportError) -> Resolved {
        guard reference.wanted != .other else { throw .malformed(nil, "names no part of an entry") }
        guard let entry = try entry(reference.searched, wanted) else { throw .malformed(nil, "leads to no entry") }
        let place = Place(entry: entry, part: reference.wanted)
        if let known = resolved[place] { return known }
        guard open.insert(place).inserted else { throw .malformed(nil, "leads back to itself") }
        defer { open.remove(place) }
        let text: Secret
        if reference.wanted == .password, let password = entries[entry].password {
            text = password
        } else {
            text = try Secret(plain: part(reference.wanted, of: entries[entry]))
        }
        var found = try expanded(text, depth: depth)
        if reference.wanted == .password { found.isSecret = true }
        resolved[place] = found
        return found
    }

    private func part(_ part: Part, of login: Login) -> String {
        switch part {
        case .title: login.title
        case .user: login.user
        case .url: login.urls.first ?? ""
        case .notes: login.notes
        case .id: hexadecimal(Array(Data(base64Encoded: login.id) ?? Data())).uppercased()
        case .password, .other: ""
        }
    }

    private mutating func entry(_ part: Part, _ wanted: Secret) throws(ImportError) -> Int? {
        guard part != .password, part != .other else {
            searched += entries.count
            guard searched <= KeePassReferences.searchLimit else { throw .malformed(nil, "is one of too many") }
            guard part == .other else { return entries.firstIndex { $0.password?.isEqual(to: wanted) == true } }
            let text = wanted.plainText
            return entries.firstIndex { login in
                login.attributes.contains { $0.value == text }
                    || login.fields.contains { $0.secret.isEqual(to: wanted) }
            }
        }
        if indexes[part] == nil {
            var index: [String: Int] = [:]
            // From behind, since the first entry counts. No text has the character in front of those in lower case.
            for (number, login) in entries.enumerated().reversed() {
                let text = self.part(part, of: login)
                index[text] = number
                index["\u{0}" + text.lowercased()] = number
            }
            indexes[part] = index
        }
        let text = wanted.plainText
        return text.isEmpty ? nil : indexes[part]?[text] ?? indexes[part]?["\u{0}" + text.lowercased()]
    }
}
