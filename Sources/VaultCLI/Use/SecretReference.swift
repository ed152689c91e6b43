// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import Vault
internal import VaultCrypto
internal import VaultFormat

/// `vault://SERVICE[/ACCOUNT[/NAME]]`: refers to a secret, a field or else an attribute of its item, and contains no
/// secret itself. Each part is percent-encoded (RFC 3986).
struct SecretReference: Equatable {
    static let scheme = "vault://"

    let service: String
    /// The account; `nil` for any.
    let account: String?
    /// The name of a field or an attribute; `nil` for the secret itself.
    let name: String?

    /// Fails for text that is not a well-formed reference. The text may be a secret typed by the user, so it is never
    /// printed.
    init?(_ text: String) {
        // Split by bytes: a `Character` may be a slash with a combining mark.
        guard text.utf8.starts(with: SecretReference.scheme.utf8) else { return nil }
        let rest = text.utf8.dropFirst(SecretReference.scheme.utf8.count)
        let parts = rest.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        let decoded = parts.compactMap { SecretReference.decode($0) }
        guard (1...3).contains(parts.count), decoded.count == parts.count, !decoded[0].isEmpty else { return nil }
        service = decoded[0]
        account = decoded.count > 1 ? decoded[1] : nil
        name = decoded.count > 2 ? decoded[2] : nil
        guard name?.isEmpty != true else { return nil }
    }

    private static func decode(_ part: Substring.UTF8View) -> String? {
        // A `?` or `#` ends the path of a URL; a later version may give them a meaning here.
        let isPath = part.allSatisfy { byte in byte > 0x20 && byte != 0x7f && !"?#".utf8.contains(byte) }
        return isPath ? PercentCoding.decoded(Substring(part)) : nil
    }

    /// Looks the secret up among generic and internet passwords.
    ///
    /// - Parameter purpose: the use of the secret, for messages, such as the name of a variable.
    /// - Throws: code 10 if there is no match, 12 if several items match.
    func secret(in store: any ItemStore, for purpose: String? = nil) throws -> Secret {
        do {
            let item = try item(in: store)
            if let name, !item.fieldNames.contains(name) {
                guard let value = item.attribute(named: name) else {
                    throw CommandError(
                        .notFound, "the item has no such field or attribute",
                        hint: NearMiss.hint(field: name, of: item))
                }
                return Secret(try SecretBytes(copying: Array(value.utf8).span))
            }
            guard let secret = try item.openedSecret(field: name) else {
                throw CommandError(.notFound, "the item has no secret", hint: NearMiss.hint(field: nil, of: item))
            }
            return secret
        } catch let error as CommandError {
            guard let purpose else { throw error }
            throw CommandError(error.status, "\(purpose): \(error.message)", hint: error.hint)
        }
    }

    private func item(in store: any ItemStore) throws -> Item {
        let named = ItemName(service, account: account, .place)
        let items = try store.allMatching(Query(named: named).with(\.returnsSecrets, name == nil))
        guard items.isEmpty else { return try items.only(hint: "vault://SERVICE/ACCOUNT names the account") }
        // Titles are set by programs, by imports and by other people, and so are only a hint.
        let meant = try store.allMatching(Query(named: ItemName(service, account: account)).withoutQuestions)
        guard let face = meant.first.map(ItemFace.init), meant.count == 1 else {
            throw MissingItem.error(named, in: store)
        }
        throw CommandError.noSuchItem(hint: "did you mean '\(SecretReference.text(of: face))'?")
    }

    /// Returns the reference to the secret of an item.
    static func text(of face: ItemFace) -> String { "\(scheme)\(escaped(face.place))/\(escaped(face.user))" }

    static func escaped(_ part: String) -> String { PercentCoding.encoded(part, keeping: "@") }
}

extension Span<UInt8> {
    /// Returns whether a text that begins like a reference stands at an index.
    func hasReference(at index: Int) -> Bool {
        let scheme = Array(SecretReference.scheme.utf8)
        return index + scheme.count <= count && scheme.indices.allSatisfy { self[index + $0] == scheme[$0] }
    }
}

/// A NAME=vault://… argument.
struct NamedReference: ExpressibleByArgument {
    let name: String
    let reference: SecretReference

    init?(argument: String) {
        guard let split = argument.utf8.firstIndex(of: UInt8(ascii: "=")),
            let value = String(argument.utf8[argument.utf8.index(after: split)...]),
            let reference = SecretReference(value)
        else { return nil }
        name = String(argument[..<split])
        self.reference = reference
        guard NamedReference.isName(name) else { return nil }
    }

    /// Returns whether POSIX shells accept the name of a variable.
    static func isName(_ name: some StringProtocol) -> Bool {
        guard let first = name.utf8.first, !first.isASCIIDigit else { return false }
        return name.utf8.allSatisfy { $0 == UInt8(ascii: "_") || $0.isASCIIAlphanumeric }
    }
}
