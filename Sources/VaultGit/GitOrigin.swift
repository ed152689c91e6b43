// SPDX-License-Identifier: Apache-2.0
internal import Vault

/// The origin of an item, as far as it tells whether a server of repositories takes the password. Many have refused the
/// passwords of their web sites for years, and git, given a refused one, ends without asking its user.
enum GitOrigin {
    /// The user attribute with which a person gives any item to git, and its value.
    private static let use = (name: "use", value: "git")
    /// The formats of files from which git and its helpers take credentials.
    private static let formats = ["git-credentials", "netrc", "gh"]

    /// Returns whether git may have stored the item, or a person may have made it for git, rather than a browser or
    /// another product.
    static func isOfGit(_ item: Item) -> Bool {
        let user = item.userAttributes
        if GitPlace.isOwn(item) || user[use.name] == use.value { return true }
        switch Maker(of: item) {
        case .command, .git: return true
        case .browser, .program: return false
        case .imported, nil: break
        }
        guard let source = user[ItemNames.source] else {
            return user[ItemNames.browser] == nil && user[ItemNames.made] == nil
        }
        return formats.contains { source.hasPrefix($0 + ":") }
    }
}
