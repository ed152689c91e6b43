// SPDX-License-Identifier: Apache-2.0
internal import VaultCrypto

/// A passkey in Bitwarden's parts (`login.fido2Credentials`): the public parts as attributes, the rest as fields, each
/// named `passkey.NAME`, or `passkey.2.NAME` for a second passkey.
enum Passkey {
    /// A member of Bitwarden's object, and its name here.
    private struct Part {
        let member: String
        let name: String
        let isPublic: Bool

        init(_ member: String, _ name: String, isPublic: Bool = true) {
            (self.member, self.name, self.isPublic) = (member, name, isPublic)
        }
    }

    /// The parts, in the order in which Bitwarden writes them.
    private static let parts = [
        Part("credentialId", "credential"), Part("keyType", "key-type"), Part("keyAlgorithm", "key-algorithm"),
        Part("keyCurve", "key-curve"), Part("keyValue", "key", isPublic: false), Part("rpId", "rp"),
        Part("userHandle", "user-handle", isPublic: false), Part("userName", "user"), Part("counter", "counter"),
        Part("rpName", "rp-name"), Part("userDisplayName", "display-name"), Part("discoverable", "discoverable"),
        Part("creationDate", "created"),
    ]

    private static func prefix(_ number: Int) -> String { number == 1 ? "passkey." : "passkey.\(number)." }

    static func read(_ passkey: JSONValue, number: Int, _ login: inout Login) throws(ImportError) {
        for (member, value) in passkey.members {
            let part = parts.first { $0.member == member }
            let name = prefix(number) + (part?.name ?? member)
            if let part, part.isPublic {
                login.addAttribute(name, value.text)
            } else {
                login.addField(name, try value.isObject || value.isArray ? value.source() : value.secret())
            }
        }
    }

    /// Removes the passkeys from the attributes and fields of an entry.
    ///
    /// - Returns: the members of each passkey, with Bitwarden's names and in Bitwarden's order.
    static func take(from entry: inout ExportEntry) throws(CryptoError) -> [[(member: String, value: Secret?)]] {
        var passkeys: [[(member: String, value: Secret?)]] = []
        while true {
            let prefix = prefix(passkeys.count + 1)
            let names = entry.fields.map(\.name) + entry.attributes.map(\.name)
            // Without these two parts a passkey is unusable.
            guard names.contains(prefix + "key"), names.contains(prefix + "credential") else { return passkeys }
            var members: [(member: String, value: Secret?)] = []
            for part in parts {
                var value: Secret?
                if let index = entry.fields.firstIndex(where: { $0.name == prefix + part.name }) {
                    value = entry.fields.remove(at: index).secret
                } else if let index = entry.attributes.firstIndex(where: { $0.name == prefix + part.name }) {
                    let text = Array(entry.attributes.remove(at: index).value.utf8)
                    value = Secret(try SecretBytes(copying: text.span))
                }
                members.append((part.member, value))
            }
            passkeys.append(members)
        }
    }
}
