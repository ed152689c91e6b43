// SPDX-License-Identifier: Apache-2.0
internal import Vault
internal import VaultCrypto

extension BrowserDoor {
    /// The group of logins without a folder.
    static let rootGroup = "vault"
    private static let mostGroups = 1000

    /// Writes the groups of the extension: the folders of logins, as made by an import, below a root group that has no
    /// name in the vault.
    func writeGroups(_ context: BrowserContext, _ answer: inout BrowserAnswer) throws(BrowserError) {
        let logins = try BrowserDoor.stored { () throws(VaultError) in try context.store.logins(of: nil) }
        let folders = Set(logins.compactMap(\.face.folder)).filter { BrowserDoor.isName($0) }.sorted()
        try answer.write { json throws(CryptoError) in
            try json.member("defaultGroup", "")
            try json.member("defaultGroupAlwaysAllow", raw: "false")
            try json.name("groups")
            try json.begin("{")
            try json.name("groups")
            try json.begin("[")
            try json.begin("{")
            try json.member("name", BrowserDoor.rootGroup)
            try json.member("uuid", context.groupID(""))
            try json.name("children")
            try json.begin("[")
            for folder in folders.prefix(BrowserDoor.mostGroups) {
                try json.begin("{")
                try json.member("name", folder)
                try json.member("uuid", context.groupID(folder))
                try json.member("children", raw: "[]")
                try json.end("}")
            }
            try json.end("]")
            try json.end("}")
            try json.end("]")
            try json.end("}")
        }
    }

    /// Answers a request for a new group. A folder exists once a login is in it: the name is only checked, and comes
    /// back with the next login.
    func writeNewGroup(
        _ request: BrowserRequest, _ context: BrowserContext, _ answer: inout BrowserAnswer
    ) throws(BrowserError) {
        guard let name = request.message.text("groupName"), BrowserDoor.isName(name) else { throw .noNewGroup }
        try answer.member("name", name)
        try answer.member("uuid", context.groupID(name))
    }

    /// Returns the folder of a login to be saved; `nil` if there is none.
    static func folder(_ name: String?, _ id: String?, _ context: BrowserContext) -> String? {
        guard let name, isName(name), id == context.groupID(name) else { return nil }
        return name
    }

    private static func isName(_ name: String) -> Bool {
        (1...255).contains(name.utf8.count)
            && name.unicodeScalars.allSatisfy { ![.control, .format].contains($0.properties.generalCategory) }
    }
}
