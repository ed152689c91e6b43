// SPDX-License-Identifier: Apache-2.0
internal import Vault
package import VaultCrypto

/// Entries in the format of `pass`: one file each, named by folders and title, encrypted by GnuPG.
package enum PassExport {
    /// - Parameter write: receives the path of a file relative to the store's directory, and its bytes.
    package static func write(
        _ entries: inout ExportedEntries, for recipient: String, _ world: ImportWorld,
        _ write: (_ name: String, _ bytes: Secret) throws -> Void
    ) throws(ImportError) {
        entries.leaveOutPasskeys()
        entries.settle(for: "pass")
        try outside { try write(".gpg-id", Secret(plain: recipient + "\n")) }
        var taken: Set<String> = []
        let all = entries.entries
        for (index, entry) in all.enumerated() {
            let base = path(entry)
            var name = base
            var number = 2
            while !taken.insert(name.lowercased()).inserted {
                name = "\(base) \(number)"
                number += 1
            }
            let entry = stated(entry, path: name)
            let whole = isWhole(entry) ? entry.password : nil
            let content: Secret
            if let whole { content = whole } else { content = try self.content(entry) }
            try count(entry, content, path: name, &entries)
            try outside { try write(name + ".gpg", try encrypted(content, for: recipient, world)) }
            for (attachment, content) in entry.attachments {
                let file = "\(name).attachments/\(part(attachment)).gpg"
                try outside { try write(file, try encrypted(content, for: recipient, world)) }
            }
            world.progress(Double(index) / Double(all.count))
        }
    }

    /// Returns whether the file contains only the secret, as `pass insert --multiline` makes it: bytes, keys and texts
    /// of several lines, whose first line would be taken for the password.
    private static func isWhole(_ entry: ExportEntry) -> Bool {
        guard let password = entry.password else { return false }
        return !password.isUTF8 || hasLines(password)
    }

    private static func hasLines(_ secret: Secret) -> Bool {
        secret.withBytes { bytes in bytes.indices.contains { bytes[$0] == 0x0a } }
    }

    /// Returns the entry with statements of what its path and lines do not say.
    private static func stated(_ given: ExportEntry, path: String) -> ExportEntry {
        var entry = given
        entry.user = Login.trimmed(line(entry.user))
        entry.restate { login in
            (login.title, login.kind) = (path, nil)
            if login.urls.first.flatMap({ WebAddress($0) }) == nil { login.address = .service(path) }
            login.folder = PassStore.folder(of: path)
        }
        entry.settle(for: "pass")
        if let notes = entry.notes {
            let isField = entry.attributes.contains { $0 == (Statement.notes, "field") }
            entry.attributes.removeAll { $0.name == Statement.notes }
            let isLine = notes.withBytes { $0.count > 0 && $0[$0.count - 1] == 0x0a }
            // The notes of an entry are a field, with a line end.
            if !isField || !isLine { entry.attributes.append((Statement.notes, isField ? "field" : "open")) }
        }
        let open = entry.attributes.map(\.name).filter { !Statement.all.contains($0) }
        if !open.isEmpty { entry.attributes.append((Statement.open, Statement.text(open))) }
        return entry
    }

    private static func count(
        _ entry: ExportEntry, _ content: Secret, path: String, _ entries: inout ExportedEntries
    ) throws(ImportError) {
        let login = try PassStore.login(content, path: path, place: "").withStatements(within: ImportTrust())
        func has(_ name: String, _ secret: Secret) -> Bool {
            login.fields.contains { $0.name == name && $0.secret.isEqual(to: secret) }
        }
        entries.leaveOut(
            "passwords", entry.password.map { login.password?.isEqual(to: $0) ?? $0.isEmpty } == false ? 1 : 0)
        entries.leaveOut("one-time password seeds", entry.otp.map { has(ItemNames.otp, $0) } == false ? 1 : 0)
        entries.leaveOut("fields", entry.fields.count { !has($0.name, $0.secret) })
        let attributes = entry.attributes.filter { !$0.name.hasPrefix(ItemNames.prefix) }
        entries.leaveOut("attributes", attributes.count { attribute in !login.attributes.contains { $0 == attribute } })
        let notes = entry.notes.map { notes in
            has(ItemNames.notes, notes) || notes.isUTF8 && notes.plainText == login.notes
        }
        entries.leaveOut("notes", notes == false ? 1 : 0)
        let isSame = login.user == entry.user && login.urls == (login.urls.isEmpty ? [] : entry.urls)
        entries.leaveOut("users and URLs", isSame ? 0 : 1)
        if isWhole(entry) { entries.leaveOutOwn(entry.attributes) }
    }

    private static func encrypted(
        _ content: Secret, for recipient: String, _ world: ImportWorld
    ) throws(ImportError) -> Secret {
        let (bytes, ended) = try world.output(
            of: ["gpg", "--quiet", "--batch", "--no-tty", "--encrypt", "--recipient", recipient], content,
            limit: 64 << 20, package: "gnupg")
        guard ended.status == 0 else {
            throw .program("gpg", nil, hint: "the key must be there and trusted: 'gpg --list-keys'")
        }
        return bytes
    }

    private static func path(_ entry: ExportEntry) -> String {
        // The title of an entry of pass includes its folder.
        if let own = entry.id(in: "pass") ?? entry.id(in: "gopass") {
            return own.split(separator: "/").map { part(String($0)) }.joined(separator: "/")
        }
        let folders = entry.folder.split(separator: "/").map(String.init)
        let names =
            folders + [entry.title.isEmpty ? "untitled" : entry.title] + (entry.user.isEmpty ? [] : [entry.user])
        return names.map(part).joined(separator: "/")
    }

    private static func part(_ name: String) -> String {
        var text = "".unicodeScalars
        text += name.unicodeScalars.map { $0 == "/" || $0.properties.generalCategory == .control ? "_" : $0 }
        var part = String(text)
        while part.utf8.count > 200 { part.removeLast() }
        // A name with a leading dot is hidden, or refers to another directory.
        while part.hasPrefix(".") { part = "_" + part.dropFirst() }
        return part.isEmpty ? "_" : part
    }

    private static func content(_ entry: ExportEntry) throws(ImportError) -> Secret {
        try Secret.assembled(capacity: 1024) { buffer throws(CryptoError) in
            func append(_ secret: Secret) throws(CryptoError) {
                try buffer.append(secret)
                try buffer.append(0x0a)
            }
            if let password = entry.password { try append(password) } else { try buffer.append(0x0a) }
            if !entry.user.isEmpty { try buffer.append("login: \(line(entry.user))\n") }
            for url in entry.urls { try buffer.append("url: \(line(url))\n") }
            if let otp = entry.otp {
                if !otp.starts(with: "otpauth://") { try buffer.append("totp: ") }
                try append(otp)
            }
            for (name, value) in entry.attributes { try buffer.append("\(line(name)): \(line(value))\n") }
            for (name, secret) in entry.fields where !hasLines(secret) {
                try buffer.append("\(line(name)): ")
                try append(secret)
            }
            guard let notes = entry.notes else { return }
            let isComplete = !entry.attributes.contains { $0.name == Statement.notes }
            if isComplete { try buffer.append(notes) } else { try append(notes) }
        }
    }

    private static func line(_ text: String) -> String {
        text.split(omittingEmptySubsequences: true) { $0.isNewline }.joined(separator: " ")
    }
}
