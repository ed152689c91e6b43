// SPDX-License-Identifier: Apache-2.0
import SystemPackage
import TestSupport
import Vault
import VaultCrypto

@testable import VaultGit

/// A vault behind git's helper.
struct GitWorld {
    private let directory: TemporaryDirectory
    let vault: Vault
    var now: Int64 = 1000

    init() throws {
        directory = try TemporaryDirectory()
        vault = try Vault.create(
            at: directory.path.appending("v.vault"), passphrase: try .of("pass"), cost: .weakest,
            environment: .seeded("git", state: directory.path.appending("state")))
    }

    /// Whether the helper is `vault --imported`.
    var servesImported = false

    private var logins: GitLogins { GitLogins(vault, now: now, servesImported: servesImported) }

    private func record(_ lines: [String]) throws -> GitRecord {
        try GitRecord(try Secret(text: lines.map { $0 + "\n" }.joined()))
    }

    /// Returns the lines of the answer; `nil` if there is none.
    func get(_ lines: String...) throws -> [String]? { try get(lines) }

    func get(_ lines: [String]) throws -> [String]? {
        guard let answer = try logins.answer(to: try record(lines)) else { return nil }
        return Secret(try answer.text()).secretString()?.split(separator: "\n").map(String.init)
    }

    @discardableResult func store(_ lines: String...) throws -> Bool { try logins.keep(try record(lines)) }

    @discardableResult func erase(_ lines: String...) throws -> Int { try logins.erase(try record(lines)) }

    /// Stores an internet password for https, as something other than git does.
    @discardableResult
    func add(
        _ account: String, _ secret: String, at server: String = "example.com", path: String? = nil,
        user: [String: String] = [:]
    ) throws -> Item {
        try vault.add(
            Item(
                .internetPassword(server: server, account: account, protocol: "htps", path: path),
                userAttributes: user, secret: try Secret(text: secret)))
    }

    /// The internet passwords of an account.
    func items(_ account: String? = nil) throws -> [Item] {
        try vault.allMatching(Query(.internetPassword, account: account))
    }
}
