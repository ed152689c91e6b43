// SPDX-License-Identifier: Apache-2.0
internal import CExpat
internal import FoundationEssentials
internal import Glibc
internal import Vault
internal import VaultCrypto
internal import VaultFormat

/// Parses the XML of KeePass 2 and KeePassXC, streamed from a pipe, with the values of protected fields in clear text.
///
/// Size: the properties are the place in the stream, and the elements that are open there.
final class KeePassXML {
    /// An attachment that the XML only names: KeePassXC omits the content in KDBX 4.
    typealias MissingAttachment = (login: Int, groups: [String], name: String)

    private(set) var imported = ImportedLogins()
    /// The entries in the recycle bin, which others may refer to.
    private(set) var binned: [Login] = []
    private(set) var missing: [MissingAttachment] = []
    private var path: [Tag] = []
    /// Whether the document has ended, so that nothing is missing.
    private(set) var isComplete = false
    private var text: SecretBuffer
    private var isOfUse = false
    private var isProtected = false
    private var reference = ""
    private var key = ""
    private var groups: [(name: String, id: String)] = []
    private var entry: Entry?
    private var historyDepth = 0
    private var older: (password: Secret?, since: Date?) = (nil, nil)
    private var binaryID = ""
    private var isCompressed = false
    private var binaries: [String: Login.Attachment] = [:]
    private var recycleBin = ""
    private var entryCount = 0
    private var failure: ImportError?

    private enum Tag {
        case file, meta, binaries, binary, recycleBin, group, entry, history, string, times, expires, expiry, creation
        case modification, key, value, name, uuid, tags, icon, colour, association, customData, item, notes, other

        private static let named: [(text: StaticString, tag: Tag)] = [
            ("KeePassFile", .file), ("Meta", .meta), ("Binaries", .binaries), ("Binary", .binary),
            ("RecycleBinUUID", .recycleBin), ("Group", .group), ("Entry", .entry), ("History", .history),
            ("String", .string), ("Times", .times), ("Expires", .expires), ("ExpiryTime", .expiry),
            ("CreationTime", .creation), ("LastModificationTime", .modification), ("Key", .key), ("Value", .value),
            ("Name", .name), ("UUID", .uuid), ("Tags", .tags), ("IconID", .icon), ("CustomIconUUID", .icon),
            ("ForegroundColor", .colour), ("BackgroundColor", .colour), ("Association", .association),
            ("CustomData", .customData), ("Item", .item), ("Notes", .notes),
        ]

        /// Most elements are none of these, and a large database has millions: no text is made of a name.
        init(_ name: UnsafePointer<CChar>?) {
            // Both names end with a zero byte.
            let known = unsafe name.flatMap { name in
                Tag.named.first { unsafe strcmp(UnsafeRawPointer($0.text.utf8Start), name) == 0 }
            }
            self = known?.tag ?? .other
        }

        /// Whether the text of such an element is used; of older versions only passwords and dates are.
        func isOfUse(inHistory: Bool) -> Bool {
            switch self {
            case .key, .value, .modification: true
            case .recycleBin, .binary, .name, .uuid, .tags, .expires, .expiry, .creation, .icon, .colour, .notes:
                !inHistory
            default: false
            }
        }
    }

    private struct Entry {
        var login: Login
        var expires = false
        var expiry = ""
        var attachments: [(name: String, reference: String)] = []
        var settings: String?
        var seed: Secret?
    }

    init() throws(ImportError) { text = try secured(try SecretBuffer(capacity: 4096)) }

    /// - Parameter feed: receives the function to call for each part; its errors are rethrown.
    func parse(_ feed: ((Span<UInt8>) throws -> Void) throws -> Void) throws(ImportError) {
        var handlers = unsafe cexpat_handlers(
            context: Unmanaged.passUnretained(self).toOpaque(),
            start: { context, name, attributes in
                unsafe KeePassXML.of(context) { reader throws(ImportError) in
                    try unsafe reader.start(Tag(name)) { unsafe KeePassXML.attributes(attributes) }
                }
            },
            end: { context, _ in
                unsafe KeePassXML.of(context) { reader throws(ImportError) in try reader.end() }
            },
            text: { context, bytes, count in
                // expat's bytes are valid for the duration of the call.
                unsafe KeePassXML.of(context) { reader throws(ImportError) in
                    let part = unsafe UnsafeRawBufferPointer(start: bytes, count: count)
                    try reader.append(unsafe Span(_unsafeBytes: part))
                }
            })
        guard let parser = unsafe cexpat_open(&handlers) else { throw .missing("libexpat", package: "libexpat1") }
        defer { unsafe cexpat_close(parser) }
        func take(_ bytes: Span<UInt8>, isLast: Bool) throws(ImportError) {
            let result = unsafe bytes.withUnsafeBytes {
                unsafe cexpat_parse(parser, $0.baseAddress, $0.count, isLast ? 1 : 0)
            }
            switch result {
            case 0: return
            case CEXPAT_STOPPED: throw failure ?? .malformed(nil, "it makes no sense")
            case CEXPAT_DOCTYPE: throw .line(unsafe cexpat_line(parser), "a document type, which KeePass never writes")
            case CEXPAT_NO_MEMORY: throw .cryptography(.outOfMemory)
            default: throw .line(unsafe cexpat_line(parser), "this is no XML, or a part of it is missing")
            }
        }
        try outside { try feed { part in try take(part, isLast: false) } }
        try take([UInt8]().span, isLast: true)
        try KeePassReferences.resolve(in: &imported, besides: binned)
    }

    private static func attributes(_ list: UnsafeMutablePointer<UnsafePointer<CChar>?>?) -> [String: String] {
        guard let list = unsafe list, unsafe list[0] != nil else { return [:] }
        var attributes: [String: String] = [:]
        var index = 0
        // Names and values alternate; a null pointer ends the list.
        while let name = unsafe list[index], let value = unsafe list[index + 1] {
            attributes[unsafe String(cString: name)] = unsafe String(cString: value)
            index += 2
        }
        return attributes
    }

    /// Runs the body of a callback, and keeps its error until the parser has stopped.
    private static func of(_ context: UnsafeMutableRawPointer?, _ body: (KeePassXML) throws(ImportError) -> Void)
        -> CInt
    {
        guard let context = unsafe context else { return 1 }
        // `parse` keeps the parser alive.
        let reader = unsafe Unmanaged<KeePassXML>.fromOpaque(context).takeUnretainedValue()
        do throws(ImportError) {
            try body(reader)
            return 0
        } catch {
            reader.failure = error
            return 1
        }
    }

    private var parent: Tag { path.count > 1 ? path[path.count - 2] : .other }

    private func start(_ tag: Tag, _ attributes: () -> [String: String]) throws(ImportError) {
        guard path.count < 256 else { throw .malformed(place, "the groups are nested too deeply") }
        if path.isEmpty, tag != .file { throw .otherFormat("this is the XML of another product", hint: nil) }
        path.append(tag)
        text.clear()
        isOfUse = tag.isOfUse(inHistory: historyDepth > 0)
        switch tag {
        case .group where entry != nil && historyDepth == 0, .entry where entry != nil && historyDepth == 0:
            throw .malformed(place, "a group or an entry in an entry")
        case .group where entry == nil: groups.append(("", ""))
        case .history where entry != nil: historyDepth += 1
        case .entry where historyDepth > 0:
            entry?.login.olderVersions += 1
            older = (nil, nil)
        case .entry:
            entryCount += 1
            entry = Entry(login: Login(id: "", place: place))
        case .value:
            let attributes = attributes()
            isProtected = [attributes["ProtectInMemory"], attributes["Protected"]].contains("True")
            reference = attributes["Ref"] ?? ""
        case .binary where parent == .binaries:
            let attributes = attributes()
            binaryID = attributes["ID"] ?? ""
            isCompressed = attributes["Compressed"] == "True"
        default: break
        }
    }

    private func append(_ bytes: Span<UInt8>) throws(ImportError) {
        guard isOfUse else { return }
        // Attachments are in base64.
        guard text.count + bytes.count <= Layout.valueLimit * 3 / 2 else { throw .tooLarge(place) }
        try secured(try text.append(bytes))
    }

    private var place: String { "entry \(entryCount)" }

    private func content() throws(ImportError) -> Secret { try secured(Secret(try text.take())) }

    private var plainContent: String { text.withBytes { String(decoding: $0.array($0.indices), as: UTF8.self) } }

    private func end() throws(ImportError) {
        let (tag, parent) = (path[path.count - 1], parent)
        path.removeLast()
        isOfUse = false
        isComplete = path.isEmpty
        guard historyDepth == 0 else {
            try endOlder(tag, parent)
            return text.clear()
        }
        switch (tag, parent) {
        case (.recycleBin, .meta): recycleBin = plainContent
        case (.binary, .binaries):
            guard let decoded = try text.withBytes({ bytes throws(ImportError) in try Secret.decoding(base64: bytes) })
            else { throw .malformed("attachment \(binaryID)", "this is no base64") }
            binaries[binaryID] = Login.Attachment(name: "", content: decoded, isCompressed: isCompressed)
        case (.name, .group) where entry == nil: groups[groups.count - 1].name = plainContent
        case (.uuid, .group) where entry == nil: groups[groups.count - 1].id = plainContent
        case (.group, _) where entry == nil: groups.removeLast()
        case (.uuid, .entry): entry?.login.id = plainContent
        case (.tags, .entry):
            let tags = plainContent.split { $0 == ";" || $0 == "," }.map { Login.trimmed($0) }
            entry?.login.addTags(tags, earlier: plainContent)
        case (.expires, .times): entry?.expires = plainContent == "True"
        case (.expiry, .times): entry?.expiry = plainContent
        case (.creation, .times): entry?.login.created = KeePassTime.date(plainContent)
        case (.modification, .times): entry?.login.modified = KeePassTime.date(plainContent)
        case (.icon, .entry), (.colour, .entry):
            if text.count > 0, plainContent != "0" {
                imported.looks[tag == .icon ? "icons" : "colours", default: 0] += 1
            }
        case (.association, _): imported.looks["auto-type settings", default: 0] += 1
        case (.item, .customData) where !groups.isEmpty:
            imported.looks["custom data of other programs", default: 0] += 1
        case (.notes, .group) where entry == nil && text.count > 0: imported.lost["notes of groups", default: 0] += 1
        case (.key, _): key = plainContent
        case (.value, .string): try setString()
        case (.value, .binary): entry?.attachments.append((key, reference))
        case (.entry, _): try finish()
        default: break
        }
        text.clear()
    }

    /// Handles the end of an element in the history of an entry, which KeePass writes oldest version first.
    private func endOlder(_ tag: Tag, _ parent: Tag) throws(ImportError) {
        switch (tag, parent) {
        case (.history, _): historyDepth -= 1
        case (.key, _): key = plainContent
        case (.value, .string) where key == "Password": older.password = try content()
        case (.modification, .times): older.since = KeePassTime.date(plainContent)
        case (.entry, .history):
            guard let password = older.password, !password.isEmpty,
                entry?.login.olderPasswords.last?.password.isEqual(to: password) != true
            else { break }
            entry?.login.olderPasswords.append(Login.OlderPassword(password: password, since: older.since))
        default: break
        }
    }

    private static let seeds = [ItemNames.otp, "TimeOtp-Secret", "HmacOtp-Secret"]

    private func setString() throws(ImportError) {
        let isEmpty = text.count == 0
        switch key {
        case "Title": entry?.login.title = plainContent
        case "UserName": entry?.login.user = plainContent
        case "Password": entry?.login.password = isEmpty ? nil : try content()
        case "URL": if !isEmpty { entry?.login.urls.insert(plainContent, at: 0) }
        case "Notes": entry?.login.notes = plainContent
        case "TOTP Seed": entry?.seed = try content()
        case "TOTP Settings": entry?.settings = plainContent
        case _ where key.hasPrefix("KP2A_URL") && !isProtected:
            if !isEmpty { entry?.login.urls.append(plainContent) }
        // A seed is a secret, even where the product does not protect it.
        case _ where isProtected || KeePassXML.seeds.contains(where: key.hasPrefix):
            entry?.login.addField(key, try content())
        default: entry?.login.addAttribute(key, plainContent)
        }
    }

    private func finish() throws(ImportError) {
        guard var entry else { return }
        self.entry = nil
        guard recycleBin.isEmpty || !groups.contains(where: { $0.id == recycleBin }) else {
            binned.append(entry.login)
            return imported.skip(entry.login.place, "it is in the recycle bin")
        }
        if entry.login.id.isEmpty { entry.login.earlierIDs = { [entryCount] in [String(entryCount)] } }
        // A version that changed other parts only has the current password.
        if let current = entry.login.password, entry.login.olderPasswords.last?.password.isEqual(to: current) == true {
            entry.login.olderPasswords.removeLast()
        }
        if entry.expires { entry.login.addAttribute(KeePassTime.expiry, KeePassTime.text(entry.expiry)) }
        try addSeed(to: &entry)
        try KeePassPasskey.read(&entry.login)
        // The path excludes the root group, which every database has.
        let folders = groups.dropFirst().map(\.name)
        entry.login.folder = folders.joined(separator: "/")
        for (name, reference) in entry.attachments {
            if var binary = binaries[reference] {
                binary.name = name
                entry.login.attachments.append(binary)
            } else {
                missing.append((imported.logins.count, Array(folders), name))
            }
        }
        imported.logins.append(entry.login)
    }

    /// Converts the seeds of one-time passwords in the formats of older versions of KeePassXC, of KeePass itself and of
    /// a plugin. A seed with parameters that no URI can express, such as Steam's alphabet, stays unchanged.
    private func addSeed(to entry: inout Entry) throws(ImportError) {
        let login = entry.login
        func uri(_ key: Secret, _ parameters: [(String, String)]) throws(ImportError) -> Secret {
            try OTPAuth.uri(issuer: login.title, account: login.user, key: key, parameters)
        }
        let place = login.fields.firstIndex { $0.name == ItemNames.otp }
        if let seed = entry.seed {
            // The format of KeePassXC before 2.5: `period;digits`, or an encoder.
            let settings = (entry.settings ?? "").split(separator: ";").prefix(2).map { Int($0).map(String.init) }
            if place == nil, settings.count < 2 || settings[1] != nil {
                let parameters = zip(["period", "digits"], settings).map { ($0, $1 ?? "") }
                entry.login.addField(ItemNames.otp, try uri(seed, parameters))
            } else {
                entry.login.addField("TOTP Seed", seed)
                entry.login.addAttribute("TOTP Settings", entry.settings)
            }
        } else if let place, let parts = try OTPAuth.parameters(login.fields[place].secret) {
            // KeeOtp: key=…&step=…&size=…
            let (period, digits) = (parts.others["step"] ?? "", parts.others["size"] ?? "")
            entry.login.fields[place].secret = try uri(parts.key, [("period", period), ("digits", digits)])
        } else if place == nil, let seed = login.fields.first(where: { $0.name == "TimeOtp-Secret-Base32" }) {
            func setting(_ name: String) -> String { login.attributes.first { $0.name == name }?.value ?? "" }
            let parameters = [
                ("digits", setting("TimeOtp-Length")), ("period", setting("TimeOtp-Period")),
                ("algorithm", setting("TimeOtp-Algorithm").replacing("HMAC-SHA-", with: "SHA")),
            ]
            entry.login.addField(ItemNames.otp, try uri(seed.secret, parameters))
        }
    }

    /// - Parameter unpacked: decompresses an attachment, or returns the reason why there is none.
    func unpack(
        _ unpacked: (Secret) throws(ImportError) -> (content: Secret?, flaw: String)
    ) throws(ImportError) -> ImportedLogins {
        for index in imported.logins.indices {
            let packed = imported.logins[index].attachments
            imported.logins[index].attachments = []
            for var attachment in packed {
                // KeePassXC writes nothing for an empty file, which gzip would not accept.
                if attachment.isCompressed, !attachment.content.isEmpty {
                    let (content, flaw) = try unpacked(attachment.content)
                    guard let content else {
                        imported.skip(imported.logins[index].place, "the attachment '\(attachment.name)' \(flaw)")
                        continue
                    }
                    attachment.content = content
                }
                imported.logins[index].attachments.append(attachment)
            }
        }
        return imported
    }
}
