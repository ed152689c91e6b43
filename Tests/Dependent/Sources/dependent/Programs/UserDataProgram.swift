// SPDX-License-Identifier: Apache-2.0
import Foundation
import Vault

// The data of the user who is logged in: a field each, saved when it changes, a set of them for each account, and what
// a server has answered with nulls in it. Such a manager observes itself, writes its whole file for each change and
// strips the nulls, which its file cannot have.

struct UserData: StoredFields {
    static let service = "com.example.user-data"
    @Stored("name") var name: String?
    @Stored("age") var age = 0
    @Stored("token") var token: String?
    @Stored("friends") var friends: [String?] = []
    @Stored("answer") var answer: [String: [String: Int?]] = [:]
}

final class UserDataManager: Sendable {
    let current: AccountStore<UserData>
    private let vault: any ItemStore

    init(_ vault: any ItemStore) {
        self.vault = vault
        current = AccountStore(vault, account: "")
    }

    func logIn(_ account: String) { current.account = account }

    /// What a server answers with, nulls and all.
    func keep(_ response: Data) throws {
        let settings = SecureDefaults(suite: "com.example.responses", in: vault)
        try settings.set(any: try JSONSerialization.jsonObject(with: response), forKey: current.account)
    }

    func response() throws -> SecretValue? {
        try SecureDefaults(suite: "com.example.responses", in: vault).value(forKey: current.account)
    }
}

enum UserDataProgram {
    static func run(_ command: Command) throws -> [String] {
        let home = try Home(withVaultOf: command)
        var failures = Failures()
        let vault = try Vault.openDefault()
        let manager = UserDataManager(vault)
        manager.logIn("ada")
        manager.current.name = "Ada"
        manager.current.age = 36
        manager.current.friends = ["Grace", nil, "$null"]
        manager.current.answer = ["points": ["a": 1, "b": nil]]
        try manager.keep(Data(#"{"email": null, "tags": ["x", null], "level": 7, "isPro": true}"#.utf8))
        manager.logIn("grace")
        try expect(manager.current.name == nil && manager.current.age == 0, &failures)
        manager.current.token = "t"
        vault.close()

        // The next launch: nothing was forgotten to be saved, and a null is a null.
        let again = UserDataManager(try Vault.openDefault())
        again.logIn("ada")
        try expect(again.current.name == "Ada" && again.current.age == 36, &failures)
        try expect(again.current.friends == ["Grace", nil, "$null"], &failures)
        try expect(again.current.answer == ["points": ["a": 1, "b": nil]], &failures)
        let response: SecretValue = ["email": nil, "tags": ["x", nil], "level": 7, "isPro": true]
        try expect(try again.response() == response, &failures)
        again.current.name = nil
        try expect(try again.current.read { $0.name } == nil, &failures)
        try expect(try again.current.accounts() == ["ada", "grace"], &failures)
        // Two that count at once lose no step.
        DispatchQueue.concurrentPerform(iterations: 4) { _ in
            for _ in 0..<10 { _ = try? again.current.save { $0.age += 1 } }
        }
        try expect(again.current.age == 76, &failures)
        try expect(try again.current.remove() && again.current.accounts() == ["grace"], &failures)
        let listed = try command.run(["find", "--service", UserData.service], in: home)
        try expect(listed.contains("grace") && !listed.contains("ada"), &failures)
        return failures.all
    }
}
