// SPDX-License-Identifier: Apache-2.0
internal import Dispatch
internal import Synchronization
internal import Vault
package import VaultCrypto
internal import VaultFormat

/// The stores of `pass` and gopass: a tree of files, each encrypted by GnuPG.
package struct PassStore {
    private static let suffix = ".gpg"
    /// The number of programs run at once; all wait for the one agent that has the key.
    private static let width = 4

    private let directory: String
    private let world: ImportWorld

    package init(_ directory: String, _ world: ImportWorld) { (self.directory, self.world) = (directory, world) }

    package func logins() throws(ImportError) -> ImportedLogins {
        let (files, unreadable) = try outside { try world.files(directory) }
        // The hidden files are of git and gopass.
        func isVisible(_ name: String) -> Bool { !name.hasPrefix(".") && !name.contains("/.") }
        let names = files.filter(isVisible)
        let encrypted = names.filter { $0.hasSuffix(PassStore.suffix) }
        var imported = ImportedLogins()
        for name in names where name.hasSuffix(".age") {
            imported.skip("entry '\(name)'", "it is encrypted by age: 'gopass convert' makes a store of GnuPG's of it")
        }
        for name in unreadable where isVisible(name) {
            imported.skip("entry '\(name)'", "it cannot be read, or its name is not UTF-8")
        }
        guard !encrypted.isEmpty || !imported.skipped.isEmpty else {
            throw .otherFormat("there are no entries of pass in the directory", hint: "name the store's directory")
        }
        // Decrypts the first file alone: gpg may have to ask for the passphrase of the key.
        var contents: [Content] = []
        if let first = encrypted.first {
            contents.append(try opened(first))
            if case .failed(let failure, isOfKey: true) = contents[0] { throw failure }
        }
        contents += try openedAtOnce(Array(encrypted.dropFirst()))
        let failures = contents.compactMap { if case .failed(let failure, _) = $0 { failure } else { nil } }
        // A key that opens nothing is no flaw of an entry.
        if let failure = failures.first, failures.count == contents.count { throw failure }
        for (content, name) in zip(contents, encrypted) { try append(content, name, &imported) }
        return imported
    }

    private enum Content: Sendable {
        case opened(Secret)
        case tooLarge
        /// - Parameter isOfKey: whether the key could not be used, as with a passphrase that nobody types.
        case failed(ImportError, isOfKey: Bool)
    }

    private func opened(_ name: String) throws(ImportError) -> Content {
        do throws(ImportError) {
            let (bytes, ended) = try world.output(
                of: ["gpg", "--quiet", "--batch", "--decrypt", "--", directory + "/" + name], limit: Layout.valueLimit,
                package: "gnupg", place: "entry '\(name)'")
            guard ended.status == 0 else {
                let isMissing = ended.message.contains("No secret key")
                let isLocked = ["ancel", "inentry", "ioctl", "imeout", "No agent"].contains {
                    ended.message.contains($0)
                }
                let failure = ImportError.program(
                    "gpg", "entry '\(name)'",
                    hint: isMissing
                        ? "the key that opens it is not here: 'gpg --list-secret-keys'"
                        : "the key may be locked, and nobody can be asked: open one entry with 'pass show' first")
                return .failed(failure, isOfKey: isLocked && !isMissing)
            }
            return .opened(bytes)
        } catch {
            guard case .tooLarge = error else { throw error }
            return .tooLarge
        }
    }

    private func openedAtOnce(_ names: [String]) throws(ImportError) -> [Content] {
        let results = Mutex((next: 0, opened: [Int: Result<Content, ImportError>](), hasFailed: false))
        DispatchQueue.concurrentPerform(iterations: PassStore.width) { _ in
            while true {
                let number = results.withLock { results -> Int? in
                    guard results.next < names.count, !results.hasFailed else { return nil }
                    defer { results.next += 1 }
                    return results.next
                }
                guard let number else { return }
                let result = Result { () throws(ImportError) in try opened(names[number]) }
                let done = results.withLock { results in
                    results.opened[number] = result
                    if case .failure = result { results.hasFailed = true }
                    return results.opened.count
                }
                world.progress(Double(done) / Double(names.count))
            }
        }
        let all = results.withLock { $0.opened }
        return try all.sorted { $0.key < $1.key }.map { _, result throws(ImportError) in try result.get() }
    }

    private func append(_ content: Content, _ name: String, _ imported: inout ImportedLogins) throws(ImportError) {
        let path = String(name.dropLast(PassStore.suffix.count))
        let place = "entry '\(path)'"
        switch content {
        case .tooLarge: imported.skip(place, "it has more than 16 MiB")
        case .failed: imported.skip(place, "gpg does not open it: see what 'pass show' says of it")
        case .opened(let secret):
            let (text, remark) = try PassStore.readable(secret)
            if let remark { imported.remarks.append("\(ImportedLogins.bounded(place)) is not UTF-8: \(remark)") }
            let login = try PassStore.login(text, path: path, place: place)
            if login.fields.contains(where: { $0.name.lowercased() == PassStore.encoding }) {
                imported.remarks.append(
                    "\(ImportedLogins.bounded(place)) is not in base64 as it states: it stays a text")
            }
            imported.logins.append(login)
        }
    }

    /// Returns a text in Latin-1 as UTF-8, and anything else as it is, with what was done if it is not UTF-8.
    private static func readable(_ secret: Secret) throws(ImportError) -> (Secret, remark: String?) {
        guard !secret.isUTF8 else { return (secret, nil) }
        let isText = secret.withBytes { bytes in
            bytes.indices.allSatisfy {
                bytes[$0].isBlank || (bytes[$0] & 0x7f) >= 0x20 && bytes[$0] != 0x7f
            }
        }
        guard isText else { return (secret, "all of it is the secret") }
        let text = try Secret.assembled(capacity: 2 * secret.count) { buffer throws(CryptoError) in
            try secret.withBytes { bytes throws(CryptoError) in
                for index in bytes.indices {
                    let byte = bytes[index]
                    if byte < 0x80 {
                        try buffer.append(byte)
                    } else {
                        try buffer.append([0xc0 | byte >> 6, 0x80 | byte & 0x3f])
                    }
                }
            }
        }
        return (text, "its text is read as Latin-1")
    }

    /// The headers by which gopass states that the rest of a text is a file in base64 (RFC 2045, 6; RFC 2183).
    private static let encoding = "content-transfer-encoding"
    private static let disposition = "content-disposition"

    /// Returns the file that an entry of gopass' contains; `nil` if it is none, or not in base64.
    private static func file(_ rest: Secret, _ login: Login) throws(ImportError) -> (name: String, content: Secret)? {
        func header(_ name: String) -> String? { login.fields.first { $0.name.lowercased() == name }?.secret.plainText }
        guard header(encoding)?.lowercased() == "base64", let stated = header(disposition) else { return nil }
        let text = try Secret.assembled(capacity: rest.count) { buffer throws(CryptoError) in
            try rest.withBytes { bytes throws(CryptoError) in
                for index in bytes.indices where !bytes[index].isBlank { try buffer.append(bytes[index]) }
            }
        }
        let content = try text.decodedBase64()
        let name = stated.firstRange(of: "filename=").map { stated[$0.upperBound...].filter { $0 != "\"" } } ?? ""
        return content.map { (name.isEmpty ? "file" : String(name), $0) }
    }

    static func folder(of path: String) -> String { path.split(separator: "/").dropLast().joined(separator: "/") }

    /// Parses a decrypted file: the password in the first line, known keys below; the rest stays secret, as it was.
    package static func login(_ secret: Secret, path: String, place: String) throws(ImportError) -> Login {
        var login = Login(id: path, place: place)
        login.title = path
        login.folder = folder(of: path)
        login.address = .service(path)
        guard secret.isUTF8, !secret.starts(with: "-----BEGIN ") else {
            login.password = secret
            return login
        }
        let document = try Document(secret)
        let lines = document.lines
        // A header that gopass wrote for some time.
        let hasHeader = lines.first.map { document.text($0.range) == "GOPASS-SECRET-1.0" } ?? false
        if !hasHeader, let first = lines.first?.range, !first.isEmpty { login.password = try document.secret(first) }
        var rest: [Secret] = []
        for line in lines.dropFirst() where try !take(line.range, document, &login) {
            rest.append(try document.secret(line.range))
        }
        let text = try Secret.assembled { buffer throws(CryptoError) in
            for line in rest {
                try buffer.append(line)
                try buffer.append(0x0a)
            }
        }
        let isBlank = text.withBytes { bytes in bytes.indices.allSatisfy { [0x0a, 0x20, 0x2d].contains(bytes[$0]) } }
        if let (name, content) = try file(text, login) {
            login.fields.removeAll { [encoding, disposition].contains($0.name.lowercased()) }
            // A file alone is the secret, as it is of an entry with other bytes.
            if login.password == nil {
                login.password = content
                login.addAttribute("filename", name)
            } else {
                login.attachments = [Login.Attachment(name: name, content: content)]
            }
        } else if !isBlank {
            login.addField(ItemNames.notes, text)
        }
        if let url = login.urls.first, WebAddress(url) != nil { login.address = .ofURL }
        return login
    }

    /// Reads a line that is a URI for one-time passwords, or `name: value`; returns whether it was one.
    private static func take(
        _ line: Range<Int>, _ document: Document, _ login: inout Login
    ) throws(ImportError) -> Bool {
        if document.starts(line, with: "otpauth://") {
            login.addField(ItemNames.otp, try document.secret(line))
            return true
        }
        guard let split = document.firstIndex(of: ":", in: line) else { return false }
        let value = document.trimmed(split + 1..<line.upperBound)
        guard !value.isEmpty else { return false }
        guard document.bytes.withBytes({ URLParts($0.extracting(line))?.scheme }) == nil else {
            login.urls.append(document.text(line))
            return true
        }
        let name = document.text(line.lowerBound..<split)
        guard !name.isEmpty, name.count <= 64, !name.contains(" ") || name.split(separator: " ").count <= 3 else {
            return false
        }
        switch name.lowercased() {
        case let name where ["login", "user", "username", "email"].contains(name) && login.user.isEmpty:
            login.user = document.text(value)
        case "password" where login.password == nil: login.password = try document.secret(value)
        case "url", "uri", "site", "website": login.urls.append(document.text(value))
        case "otpauth":
            // `otpauth: //totp/…`: the URI with a blank in it, as read by a YAML parser.
            let rest = try document.secret(value)
            let uri = try Secret.assembled { uri throws(CryptoError) in
                try uri.append("otpauth:")
                try uri.append(rest)
            }
            login.addField(ItemNames.otp, uri)
        case "totp", "otp": login.addField(ItemNames.otp, try document.secret(value))
        default: login.addField(name, try document.secret(value))
        }
        return true
    }
}
