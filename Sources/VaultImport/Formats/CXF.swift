// SPDX-License-Identifier: Apache-2.0
package import VaultCrypto

/// FIDO's Credential Exchange Format (CXF) 1.0, Proposed Standard of 14 August 2025: JSON in clear.
///
/// The reader ignores members and values that it does not know, as section 3.1.1 demands; unknown kinds of credentials,
/// and unknown members of known ones, become fields, and an export writes them again.
package enum CXF {
    /// Makes the item of an ssh key (PKCS#8 in DER) and its file; returns `nil` for a key that the door cannot use.
    package typealias SSHKeyReading = (
        _ key: Secret, _ comment: String, _ isConfirmed: Bool
    ) -> (file: Secret, item: SSHKeyItem)?

    /// - Parameter document: a header with accounts (3.1), or one account alone, as some systems hand it over.
    package static func logins(
        _ document: Document, sshKey: SSHKeyReading = { _, _, _ in nil }
    ) throws(ImportError) -> ImportedLogins {
        let accounts = try accounts(JSONValue(ofExport: document), document)
        var imported = ImportedLogins()
        for (number, account) in accounts.enumerated() {
            let prefix = accounts.count > 1 ? "account \(number + 1), " : ""
            guard let items = account["items"], items.isArray else {
                throw .malformed("\(prefix)line \(account.line)", "an account without items")
            }
            let folders = folders(account)
            let name = [account["email"], account["username"]].lazy.compactMap { $0?.text }.first { !$0.isEmpty }
            for (index, item) in items.elements.enumerated() {
                let place = "\(prefix)entry \(index + 1)"
                var reader = CXFItemReader(id: item["id"]?.text, place: place, position: index + 1)
                guard item.isObject, item["credentials"]?.isArray == true else {
                    imported.skip("\(place), line \(item.line)", "an item without credentials")
                    continue
                }
                try reader.read(item, folders: folders[item["id"]?.text ?? ""] ?? [], sshKey)
                if accounts.count > 1 { reader.login.addAttribute("account", name) }
                imported.logins.append(reader.login)
                for reason in reader.skipped { imported.skip(place, reason) }
            }
        }
        return imported
    }

    static let version = 1

    private static func accounts(_ root: JSONValue, _ document: Document) throws(ImportError) -> [JSONValue] {
        if let accounts = root["accounts"], accounts.isArray, root["version"]?.isObject == true {
            guard let major = root["version"]?["major"]?.integer, major == version else {
                throw .otherFormat("a version of CXF that is not known", hint: "upgrade vault")
            }
            return accounts.elements
        }
        if isAccount(root) { return [root] }
        throw .otherFormat("this is no CXF: it has no accounts", hint: FormatGuess.hint(of: document, otherThan: "cxf"))
    }

    static func isAccount(_ value: JSONValue) -> Bool {
        guard let items = value["items"], items.isArray, value["encrypted"] == nil else { return false }
        return items.elements.first.map { $0["credentials"]?.isArray == true } ?? (value["collections"] != nil)
    }

    /// Returns the paths of the collections of each item, in the order of the source.
    private static func folders(_ account: JSONValue) -> [String: [String]] {
        var folders: [String: [String]] = [:]
        let id = account["id"]?.text
        func walk(_ collections: JSONValue?, below parent: String?) {
            for collection in collections?.elements ?? [] {
                let title = collection["title"]?.text ?? ""
                let path = parent.map { "\($0)/\(title)" } ?? title
                for link in collection["items"]?.elements ?? [] {
                    // Items of other accounts are not this account's to move.
                    guard let item = link["item"]?.text, link["account"].map({ $0.text == id }) ?? true else {
                        continue
                    }
                    if !path.isEmpty { folders[item, default: []].append(path) }
                }
                walk(collection["subCollections"], below: path)
            }
        }
        walk(account["collections"], below: nil)
        return folders
    }
}

/// The attributes and fields that stand for parts of a CXF item without a counterpart in a login.
enum CXFNames {
    /// The applications of the scope, in JSON.
    static let applications = "android-apps"
    /// The extensions of the item other than the one of this product, in JSON.
    static let extensions = "extensions"
    /// The prefix for a kind of credential that is not known, in JSON.
    static let unknown = "credential."
    /// Whether the ssh door asks before each use of a key.
    static let confirmation = "ssh.confirm"

    /// Returns a name for the first part of a kind, or a further one: `reference`, `reference.2`, ….
    static func numbered(_ name: String, _ number: Int) -> String { number == 1 ? name : "\(name).\(number)" }

    /// Returns the text of tags: separated by commas, or in JSON if a tag contains one.
    static func text(ofTags tags: [String]) -> String {
        guard tags.contains(where: { $0.isEmpty || $0.contains(",") || $0.hasPrefix("[") }) else {
            return tags.joined(separator: ",")
        }
        return (try? Secret.json(.texts(tags)))?.plainText ?? ""
    }

    /// Returns the tags of such a text; `nil` for a text that means no tags.
    static func tags(of text: String) -> [String]? {
        var tags = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        if text.hasPrefix("[") {
            guard let secret = try? Secret(plain: text), let value = try? JSONValue(Document(secret)), value.isArray
            else { return nil }
            tags = value.elements.compactMap(\.text)
        }
        return self.text(ofTags: tags) == text ? tags : nil
    }
}
