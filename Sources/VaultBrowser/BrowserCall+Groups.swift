// SPDX-License-Identifier: Apache-2.0
internal import Vault
internal import VaultCrypto

extension BrowserCall {
    /// The group of logins without a folder.
    static let rootGroup = "vault"
    private static let mostGroups = 1000

    /// Returns the groups of the extension: the folders of logins, as made by an import, below a root group that has no
    /// name in the vault.
    func groups() throws(BrowserError) -> BrowserAnswer.Members {
        let logins = try stored { store throws(VaultError) in try store.logins(of: nil) }
        let folders = Set(logins.compactMap(\.face.folder)).filter { BrowserCall.isName($0) }.sorted()
        let children = folders.prefix(BrowserCall.mostGroups).map { group($0, id: groupID($0), []) }
        let root = group(BrowserCall.rootGroup, id: groupID(""), children)
        return [
            ("defaultGroup", .text("")), ("defaultGroupAlwaysAllow", .json("false")),
            ("groups", .object([("groups", .array([root]))])),
        ]
    }

    private func group(_ name: String, id: String, _ children: [JSONOutput]) -> JSONOutput {
        .object([("name", .text(name)), ("uuid", .text(id)), ("children", .array(children))])
    }

    /// Answers a request for a new group. A folder exists once a login is in it: the name is only checked, and comes
    /// back with the next login.
    func newGroup() throws(BrowserError) -> BrowserAnswer.Members {
        guard let name = message.text("groupName"), BrowserCall.isName(name) else { throw .noNewGroup }
        return [("name", .text(name)), ("uuid", .text(groupID(name)))]
    }

    /// Returns the folder of a login to be saved; `nil` if there is none.
    func folder(_ name: String?, _ id: String?) -> String? {
        guard let name, BrowserCall.isName(name), id == groupID(name) else { return nil }
        return name
    }

    private static func isName(_ name: String) -> Bool {
        (1...255).contains(name.utf8.count)
            && name.unicodeScalars.allSatisfy { ![.control, .format].contains($0.properties.generalCategory) }
    }
}
