// SPDX-License-Identifier: Apache-2.0
import Foundation
import TestSupport
import Vault

/// Compares the items of the homes with each other and with the acknowledged writes.
struct FleetVerdict {
    /// The items of one home.
    private struct Content {
        /// The values of the service with known values, by account.
        var values: [String: String] = [:]
        /// Values in conflict with the current value.
        var conflicts: [String: Set<String>] = [:]
        /// All items.
        var lines: Set<String> = []

        init(of home: Home) throws {
            let vault = try home.open()
            defer { vault.close() }
            for item in try vault.allMatching(Query(.genericPassword)) {
                let (service, account) = (item[.service]?.text ?? "", item[.account]?.text ?? "")
                let text = try item.text
                lines.insert("\(service) \(account) \(text)")
                if service == Write.service { values[account] = text }
            }
            for conflict in try vault.conflicts() where conflict.item[.service]?.text == Write.service {
                let texts = conflict.values.compactMap { value in
                    value.secret?.withBytes { bytes in
                        String(decoding: (0..<bytes.count).map { bytes[$0] }, as: UTF8.self)
                    }
                }
                conflicts[conflict.item[.account]?.text ?? "", default: []].formUnion(texts)
            }
        }

        func has(_ account: String, _ ledger: Ledger) -> Bool {
            guard let value = values[account] else { return false }
            return ledger.allows(value, for: account)
                || conflicts[account]?.contains { ledger.allows($0, for: account) } == true
        }
    }

    /// The number of acknowledged writes that at least one home lacks.
    private(set) var lost = 0
    /// The number of lost writes that only their own home has.
    private(set) var untold = 0
    /// The number of lost writes that no home has.
    private(set) var gone = 0
    /// The number of values that no command wrote for their account.
    private(set) var wrong = 0
    /// The number of items that exist despite an acknowledged deletion.
    private(set) var revived = 0
    private(set) var areSame = true

    var isRight: Bool { lost == 0 && wrong == 0 && revived == 0 && areSame }

    var text: String {
        "\(areSame ? "the same items" : "different items"), \(wrong) wrong, \(revived) revived, \(lost) lost "
            + "(\(untold) only at home, \(gone) nowhere)"
    }

    init(_ homes: [Home], _ ledger: Ledger, _ journal: [Int: [Int: String]]) throws {
        let contents = try homes.map { try Content(of: $0) }
        for (account, home, round) in ledger.acknowledged {
            let lacking = homes.indices.filter { !contents[$0].has(account, ledger) }
            guard !lacking.isEmpty else { continue }
            lost += 1
            if lacking.count == homes.count { gone += 1 }
            if lacking.count == homes.count - 1, !lacking.contains(home) { untold += 1 }
            say(
                """
                fleet: lost: \(account), acknowledged in home \(home) in round \(round) (\
                \(journal[round]?[home] ?? "")), is not in \(lacking.map { "\($0)" }.joined(separator: ", "))
                """)
        }
        for (home, content) in zip(homes, contents) {
            for (account, value) in content.values.sorted(by: { $0.key < $1.key })
            where !Self.isWhole(value, of: account) {
                wrong += 1
                say("fleet: wrong: \(account) of home \(home.number) has the value '\(value.prefix(60))'")
            }
        }
        for account in ledger.deleted.sorted() {
            let having = homes.indices.filter { contents[$0].values[account] != nil }
            guard !having.isEmpty else { continue }
            revived += 1
            say("fleet: revived: \(account) was deleted, and is in \(having.map { "\($0)" }.joined(separator: ", "))")
        }
        areSame = contents.allSatisfy { $0.lines == contents[0].lines }
        for (home, content) in zip(homes, contents) where content.lines != contents[0].lines {
            let more = content.lines.subtracting(contents[0].lines).count
            let fewer = contents[0].lines.subtracting(content.lines).count
            say("fleet: home \(home.number) has \(more) items that home 0 has not, and lacks \(fewer)")
        }
    }

    /// Whether a value names its account and version, acknowledged or not.
    private static func isWhole(_ value: String, of account: String) -> Bool {
        let version = value.dropFirst(account.utf8.count + 1).prefix(while: \.isNumber)
        return Int(version).map { Write.value(account, version: $0) == value } ?? false
    }
}
