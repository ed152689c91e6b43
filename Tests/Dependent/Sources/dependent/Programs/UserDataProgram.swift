// SPDX-License-Identifier: Apache-2.0
import Foundation
import Vault

// The data of the logged-in user: one field per property, saved on change, one set per account, and server responses
// that contain nulls. The usual manager of this kind observes itself, writes its whole file for each change and strips
// nulls, which its file cannot hold.

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

    /// Stores a server's response, including its nulls.
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

        // The next launch: every change was saved, and a null is still a null.
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
        // Concurrent increments lose no step.
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
