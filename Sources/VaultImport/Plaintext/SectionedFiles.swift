// SPDX-License-Identifier: Apache-2.0
internal import Vault
internal import VaultCrypto
internal import VaultFormat

/// A line `name = value` of a file with sections, such as INI files and simple TOML.
private struct Setting {
    let section: String
    let name: String
    let value: Range<Int>
    let line: Range<Int>
    let place: String
}

extension Document {
    /// Returns the settings of sections `[name]`; comments begin with # or ;.
    fileprivate func settings(_ found: inout Plaintext.Found) throws(ImportError) -> [Setting] {
        var settings: [Setting] = []
        var section = ""
        for line in lines where !isIdle(line) && self[line.text.lowerBound] != UInt8(ascii: ";") {
            let text = line.text
            if self[text.lowerBound] == UInt8(ascii: "[") {
                guard self[text.upperBound - 1] == UInt8(ascii: "]") else {
                    throw .malformed(line.place, "a section does not end")
                }
                section = self.text(text.lowerBound + 1..<text.upperBound - 1)
            } else if let split = firstIndex(of: "=", in: text) {
                settings.append(
                    Setting(
                        section: section, name: self.text(trimmed(text.lowerBound..<split)),
                        value: trimmed(split + 1..<text.upperBound), line: line.whole, place: line.place))
            } else {
                found.stays(line.place, "what is not NAME = VALUE")
            }
        }
        return settings
    }
}

/// `~/.aws/credentials`: one profile per section.
enum AWSCredentials {
    static func logins(_ document: Document) throws(ImportError) -> Plaintext.Found {
        var found = Plaintext.Found()
        let settings = try document.settings(&found)
        let profiles = Dictionary(grouping: settings, by: \.section)
        for (profile, lines) in profiles.sorted(by: { $0.value[0].value.lowerBound < $1.value[0].value.lowerBound }) {
            func setting(_ name: String) -> Setting? { lines.first { $0.name.lowercased() == name } }
            guard let secret = setting("aws_secret_access_key") else {
                found.imported.skip(lines.first?.place ?? "", "the profile has no secret key")
                continue
            }
            var login = Login(id: profile, place: secret.place)
            login.title = "AWS \(profile)"
            login.user = profile
            login.address = .service("aws")
            login.password = try document.secret(secret.value)
            let (key, token) = (setting("aws_access_key_id"), setting("aws_session_token"))
            login.addAttribute("aws_access_key_id", key.map { document.text($0.value) })
            if let token { login.addField("aws_session_token", try document.secret(token.value)) }
            let taken = [secret, key, token].compactMap { $0 }
            for line in lines where Plaintext.isSecret(line.name) && !taken.contains(where: { $0.place == line.place })
            {
                found.stays(line.place, "'\(line.name)'")
            }
            found.append(login, taken.map(\.line))
        }
        return found
    }
}

/// `~/.cargo/credentials.toml`: a token for each registry.
enum CargoCredentials {
    /// The URL by which cargo names crates.io to credential providers.
    private static let cratesIO = "sparse+https://index.crates.io/"

    static func logins(_ document: Document) throws(ImportError) -> Plaintext.Found {
        var found = Plaintext.Found()
        for setting in try document.settings(&found) {
            guard setting.name == "token" else {
                if setting.section == "registries" || setting.name.hasSuffix(".token") {
                    found.imported.skip(setting.place, "a table in a line: write [registries.NAME] and token = \"…\"")
                } else if Plaintext.isSecret(setting.name) {
                    found.stays(setting.place, "'\(setting.name)'")
                }
                continue
            }
            let registry: String
            switch setting.section {
            case "registry", "registries.crates-io": registry = cratesIO
            case _ where setting.section.hasPrefix("registries."):
                registry = setting.section.dropFirst("registries.".count).filter { $0 != "\"" }
            default:
                found.stays(setting.place, "a token of '[\(setting.section)]'")
                continue
            }
            guard let value = quoted(setting.value, document) else {
                found.stays(setting.place, "a token that is not between quotes")
                continue
            }
            var login = Login(id: registry, place: setting.place)
            login.title = setting.section == "registry" ? "crates.io" : registry
            login.address = .service("cargo:\(registry)")
            login.password = try document.secret(value)
            found.append(login, [setting.line])
        }
        return found
    }

    /// Returns the text between quotes; `nil` if it has none, or escapes.
    private static func quoted(_ range: Range<Int>, _ document: Document) -> Range<Int>? {
        document.bytes.withBytes { bytes in
            guard range.count >= 2, "\"'".utf8.contains(bytes[range.lowerBound]),
                let end = bytes.firstIndex(of: bytes[range.lowerBound], in: range.lowerBound + 1..<range.upperBound),
                bytes.firstIndex(of: UInt8(ascii: "\\"), in: range.lowerBound..<end) == nil
            else { return nil }
            return range.lowerBound + 1..<end
        }
    }
}

/// `~/.config/gh/hosts.yml` of GitHub's command, in the form it writes: one block per host, with `oauth_token` in it or
/// below each of its users.
enum GitHubHosts {
    static func logins(_ document: Document) throws(ImportError) -> Plaintext.Found {
        var found = Plaintext.Found()
        /// The names of the blocks around a line, and their indentation.
        var blocks: [(indent: Int, name: String)] = []
        var tokens: [(host: String, user: String?, value: Range<Int>, line: Range<Int>, place: String)] = []
        var users: [String: String] = [:]
        for line in document.lines where !document.isIdle(line) {
            let (text, place) = (line.text, line.place)
            guard let split = document.firstIndex(of: ":", in: text) else {
                found.stays(place, "what is not NAME: VALUE")
                continue
            }
            let indent = text.lowerBound - line.range.lowerBound
            while let last = blocks.last, last.indent >= indent { blocks.removeLast() }
            let name = document.text(scalar(text.lowerBound..<split, document) ?? text.lowerBound..<split)
            let written = document.trimmed(split + 1..<text.upperBound)
            let value = scalar(written, document)
            if value?.isEmpty == true, written.isEmpty || name != "oauth_token" {
                blocks.append((indent, name))
                continue
            }
            guard let host = blocks.first?.name else {
                if Plaintext.isSecret(name) { found.stays(place, "'\(name)'") }
                continue
            }
            switch name {
            case "user": users[host] = value.map(document.text) ?? ""
            case "oauth_token":
                guard let value else {
                    found.stays(place, "a token that is neither plain nor between quotes")
                    continue
                }
                guard !value.isEmpty else {
                    found.imported.skip(place, "it has no token")
                    continue
                }
                let user = blocks.count >= 3 && blocks[1].name == "users" ? blocks[2].name : nil
                tokens.append((host, user, value, line.whole, place))
            case _ where Plaintext.isSecret(name): found.stays(place, "'\(name)'")
            default: break
            }
        }
        var places: [String: Int] = [:]
        for token in tokens {
            let user = token.user ?? users[token.host] ?? ""
            let id = "\(token.host) \(user)"
            let secret = try document.secret(token.value)
            // The token of the active user may be in the file twice.
            if let place = places[id], found.imported.logins[place].password?.isEqual(to: secret) == true {
                found.ranges[place].append(token.line)
                continue
            }
            let isSecond = places[id] != nil
            if !isSecond { places[id] = found.ranges.count }
            var login = Login(id: id, place: token.place)
            if isSecond { login.earlierIDs = { [id + " active"] } }
            login.title = "GitHub \(token.host)"
            login.user = user
            login.address = .service("gh:\(token.host)")
            login.keepsAttributeNames = true
            login.attributes = [("service", "gh:\(token.host)"), ("username", user)]
            login.password = secret
            found.append(login, [token.line])
        }
        return found
    }

    /// Returns the text of a YAML scalar, plain or quoted, without the comment behind it; `nil` if it contains escapes
    /// or spans lines.
    private static func scalar(_ written: Range<Int>, _ document: Document) -> Range<Int>? {
        document.bytes.withBytes { bytes in
            guard !written.isEmpty else { return written }
            let first = bytes[written.lowerBound]
            guard first != UInt8(ascii: "#") else { return written.lowerBound..<written.lowerBound }
            let rest: Range<Int>
            let value: Range<Int>
            if "\"'".utf8.contains(first) {
                guard let end = bytes.firstIndex(of: first, in: written.lowerBound + 1..<written.upperBound) else {
                    return nil
                }
                (value, rest) = (written.lowerBound + 1..<end, end + 1..<written.upperBound)
                guard first == UInt8(ascii: "'") || !value.contains(where: { bytes[$0] == UInt8(ascii: "\\") }) else {
                    return nil
                }
            } else {
                guard !"|>&*!%@`{[#,]}?".utf8.contains(first) else { return nil }
                let end = written.first { bytes[$0] == 0x20 || bytes[$0] == 0x09 } ?? written.upperBound
                (value, rest) = (written.lowerBound..<end, end..<written.upperBound)
            }
            let comment = bytes.trimmed(rest)
            let hasBlank = comment.lowerBound > rest.lowerBound
            guard comment.isEmpty || hasBlank && bytes[comment.lowerBound] == UInt8(ascii: "#") else { return nil }
            return value
        }
    }
}

/// `~/.pgpass`: `host:port:database:user:password`, with a backslash in front of a literal colon or backslash.
enum PostgresPasswords {
    static func logins(_ document: Document) throws(ImportError) -> Plaintext.Found {
        var found = Plaintext.Found()
        for line in document.lines where !document.isIdle(line, indented: false) {
            let parts = parts(document, line.range)
            guard parts.count == 5 else {
                found.stays(line.place, "what is not host:port:database:user:password")
                continue
            }
            var names: [String] = []
            for part in parts.prefix(4) { names.append(try document.unescaped(part).plainText) }
            var attributes: [Attribute: AttributeValue] = [
                .server: .string(names[0]), .protocolName: .string("postgresql"),
            ]
            attributes[.port] = Int64(names[1]).map(AttributeValue.number)
            if names[2] != "*" { attributes[.path] = .string("/" + names[2]) }
            var login = Login(id: names.joined(separator: ":"), place: line.place)
            login.title = "PostgreSQL \(names[0])"
            login.user = names[3]
            login.address = .internet(attributes)
            login.password = try document.unescaped(parts[4])
            found.append(login, [line.whole])
        }
        return found
    }

    private static func parts(_ document: Document, _ line: Range<Int>) -> [Range<Int>] {
        document.bytes.withBytes { bytes in
            var parts: [Range<Int>] = []
            var (start, index) = (line.lowerBound, line.lowerBound)
            while index < line.upperBound {
                switch bytes[index] {
                case UInt8(ascii: "\\"): index += 2
                case UInt8(ascii: ":") where parts.count < 4:
                    parts.append(start..<index)
                    index += 1
                    start = index
                default: index += 1
                }
            }
            parts.append(start..<line.upperBound)
            return parts
        }
    }
}
