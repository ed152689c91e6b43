// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import FoundationEssentials
internal import Glibc
internal import Vault
internal import VaultAgent
internal import VaultCrypto
internal import VaultFormat

struct Show: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show all parts of an item, with its secrets masked.",
        discussion: """
            Prints a line for each part that the item has: on a terminal aligned, with local times, in a pipe its name \
            and its text, separated by a tab. A text of several lines has as many. If the item has a seed of one-time \
            passwords, 'code' is the current one. An item that requires the passphrase each time is opened only with \
            --reveal. 'vault get' prints the secret alone.
            """)

    @OptionGroup var vault: VaultOptions
    @OptionGroup var selection: ItemSelection
    @OptionGroup var output: JSONOption

    @Flag(help: "Include the secrets.")
    var reveal = false

    func run() throws {
        try vault.access(selection.groups, onlyReads: true).withVault { vault in
            let item = try selection.only(in: vault, secrets: output.json && reveal)
            guard !output.json else { return try ItemOutput(item: item).write(revealing: reveal) }
            try ShownItem(item, in: vault, reveal ? .revealed : .masked).write()
        }
    }
}

/// All that a person sees of an item: the parts of its face, then its secrets and what the vault knows of it.
struct ShownItem {
    /// The display of the secrets.
    enum Secrets {
        /// They are not even opened.
        case closed
        case masked
        case revealed
    }

    enum Value {
        case text(String)
        case secret(Secret)
    }

    private(set) var lines: [(name: String, value: Value)] = []
    /// Of the same width for each secret.
    static let mask = "********"

    /// - Parameter secrets: an item that requires the passphrase each time is only opened to be revealed.
    init(_ item: Item, in vault: some CommandVault, _ secrets: Secrets) throws {
        let face = ItemFace(item)
        addFace(face)
        if let passkey = Passkey(item) {
            add(passkey)
        } else {
            let isOpened = secrets == .revealed || !item.asksForPresence
            try add(isOpened ? ItemFace(vault.opened(item)) : face, isOpened ? secrets : .closed)
        }
        addRecord(of: item)
        add("made by", face.made)
        guard let record = item.record else { return }
        let query = Query(persistentReference: record.persistentReference)
        let older = try ifFound(try vault.versions(matching: query))?.count { !$0.isCurrent } ?? 0
        if older > 0 { add("older versions", older.grouped) }
        if try vault.hasConflict(record) { add("conflict", "see 'vault conflicts'") }
    }

    private mutating func add(_ name: String, _ text: String?) {
        if let text, !text.isEmpty { lines.append((name, .text(text))) }
    }

    private mutating func addFace(_ face: ItemFace) {
        add("title", face.title)
        add("place", face.place)
        add("user", face.user)
        for url in face.urls { add("url", url) }
        add("domain", face.item[.securityDomain]?.text)
        add("kind", face.kind)
        add("folder", face.folder)
        for tag in face.tags { add("tag", tag) }
        add("notes", face.comment)
        for (name, text) in face.others { add("attr " + name, text) }
    }

    /// The private key of a passkey is for browsers alone.
    private mutating func add(_ passkey: Passkey) {
        add("site", passkey.names.relyingParty)
        add("display name", passkey.names.display)
        add("credential", Base64URL.encoded(passkey.credentialID))
        add("secret", "the key of a passkey, which sites use through a browser")
    }

    /// - Parameter face: of an item with its secrets, unless they stay closed.
    private mutating func add(_ face: ItemFace, _ secrets: Secrets) throws {
        let item = face.item
        guard secrets != .closed else {
            for name in face.fieldNames { add("field " + name, ShownItem.mask) }
            return add("secret", item.record?.hasSecret ?? (item.secret != nil) ? ShownItem.mask : "none")
        }
        for name in face.fieldNames { try add("field " + name, item.openedSecret(field: name), secrets) }
        let secret = try face.openedSecret()
        try add("secret", secret, secrets)
        if secret == nil { add("secret", "none") }
        guard let seed = try face.oneTimePasswordSeed() else { return }
        do {
            let code = try OneTimeCode(of: seed)
            add("code", "\(code.digits), good for \(code.secondsLeft) s")
        } catch {
            // The other parts of the item are still to be seen.
            add("code", "none: " + (CommandLineTool.failure(error)?.message ?? "\(error)"))
        }
    }

    private mutating func add(_ name: String, _ secret: Secret?, _ secrets: Secrets) throws {
        guard let secret else { return }
        if let count = secret.withBytes({ $0.isUTF8 ? nil : $0.count }) {
            add(name, "not text: \(count.grouped) bytes")
        } else if secrets == .revealed {
            lines.append((name, .secret(secret)))
        } else {
            add(name, ShownItem.mask)
        }
    }

    private mutating func addRecord(of item: Item) {
        add("class", ClassOption(item.itemClass).rawValue)
        add("group", item[.accessGroup]?.text)
        add("protection", item.accessibleName)
        if item.asksForPresence { add("presence", "yes") }
        if item.isSynchronizable { add("synchronizable", "yes") }
        add("created", (item.record?.created).map { Time($0).text })
        add("modified", (item.record?.modified).map { Time($0).text })
        add("id", item.record?.id.uuidString.lowercased())
    }

    // MARK: Writing

    /// The lines for a screen, which escapes the texts itself, with the secrets first: notes may be long.
    var parts: [(name: String, secret: Secret)] {
        get throws {
            let isSecret = { (name: String) in name == "secret" || name == "code" || name.hasPrefix("field ") }
            let sorted = lines.filter { isSecret($0.name) } + lines.filter { !isSecret($0.name) }
            return try sorted.map { line in
                switch line.value {
                case .text(let text): (line.name.printable, try Secret(copying: text))
                case .secret(let secret): (line.name.printable, secret)
                }
            }
        }
    }

    func write() throws {
        let isTerminal = Terminal.isTerminal(STDOUT_FILENO)
        try text(isAligned: isTerminal).withBytes { try Output.write($0) }
    }

    /// - Parameter isAligned: whether the values begin in one column, rather than behind a tab.
    func text(isAligned: Bool) throws -> SecretBytes {
        let names = lines.map(\.name.printable)
        // A long name does not move all values away.
        let width = names.map(\.cells).filter { $0 <= 24 }.max() ?? 0
        var output = try SecretBuffer()
        for (name, line) in zip(names, lines) {
            let (first, next) =
                if isAligned {
                    (
                        name + String(repeating: " ", count: max(0, width - name.cells) + 2),
                        String(repeating: " ", count: width + 2)
                    )
                } else {
                    (name + "\t", name + "\t")
                }
            switch line.value {
            case .text(let text): try output.append(first + text.printableLines.joined(separator: "\n" + next))
            case .secret(let secret):
                try output.append(first)
                try output.append(linesOf: secret, startingWith: next)
            }
            try output.append("\n")
        }
        return try output.take()
    }
}

extension SecretBuffer {
    /// Appends a secret in UTF-8 as lines, without characters that a terminal obeys.
    fileprivate mutating func append(linesOf secret: Secret, startingWith start: String) throws(CryptoError) {
        try secret.withBytes { bytes throws(CryptoError) in
            var index = 0
            while index < bytes.count, let (scalar, length) = bytes.scalar(at: index) {
                if scalar == "\n" {
                    if index + 1 < bytes.count { try append("\n" + start) }
                } else if scalar.isObeyed {
                    try append(String(scalar).printable)
                } else {
                    try append(bytes.extracting(index..<index + length))
                }
                index += length
            }
        }
    }
}

extension ItemStore {
    /// Returns the item with its secrets.
    func opened(_ item: Item) throws(VaultError) -> Item {
        guard let record = item.record else { throw .itemNotFound }
        let query = Query(persistentReference: record.persistentReference).with(\.returnsSecrets, true)
        guard let opened = try first(query) else { throw .itemNotFound }
        return opened
    }
}
