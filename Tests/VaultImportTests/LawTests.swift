// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing
import VaultCrypto

@testable import Vault
@testable import VaultImport

/// What comes back from a file: the same items, and nothing twice.
struct LawTests {
    private static let groups: AccessGroups = ["default", "*"]

    private static func vault(_ seed: UInt64) throws -> any ItemStore {
        let vault = try Vault.inMemory(accessGroups: groups).attended()
        let maker = MovedVault(seed: seed)
        for kind in 0..<MovedVault.kinds { _ = try? vault.add(maker.item(kind)) }
        return vault
    }

    private static func report(
        _ logins: ImportedLogins, of source: String, into vault: any ItemStore, _ trust: ImportTrust = ImportTrust()
    ) throws -> ImportReport {
        var plan = try ImportPlan(logins, of: source, in: vault, group: "default", within: trust, replaces: false)
        try plan.carryOut { _ in }
        return plan.report
    }

    @Test(arguments: Road.allCases.filter(\.isWhole), 0..<8)
    func `a vault comes back from a file as it was`(road: Road, seed: Int) throws {
        let vault = try Self.vault(UInt64(seed))
        let items = try vault.all().filter { try road.canCarry($0) }
        let (logins, source, exported) = try road.carried(items)
        let other = try Vault.inMemory(accessGroups: Self.groups).attended()
        let report = try Self.report(logins, of: source, into: other, ImportTrust(isBackup: true))
        var moved: [String: MovedItem] = [:]
        for item in try other.all() { moved["\(item.importKey)"] = try MovedItem(item) }
        var lost: [String] = []
        for item in items {
            var parts = try MovedItem(item).parts
            // A file of pass has no date.
            if road == .pass {
                for name in ["\(Attribute.creationDate)", "\(Attribute.modificationDate)"] { parts[name] = nil }
            }
            guard var found = moved["\(item.importKey)"]?.parts else {
                lost.append("no item: \(parts.prefix(9))")
                continue
            }
            if road == .pass {
                for name in ["\(Attribute.creationDate)", "\(Attribute.modificationDate)"] { found[name] = nil }
            }
            // An item whose maker is not known is known as imported.
            if parts["attribute \(ItemNames.made)"] == nil { found["attribute \(ItemNames.made)"] = nil }
            lost += MovedItem(parts).differences(from: MovedItem(found))
        }
        #expect(lost == [])
        #expect(report.count(.skipped) + report.count(.differs) == 0)
        #expect(exported.leftOut.isEmpty, "\(exported.leftOut)")
    }

    @Test(arguments: Road.allCases, 0..<8)
    func `the import of a vault's own export changes nothing`(road: Road, seed: Int) throws {
        let vault = try Self.vault(UInt64(seed) + 100)
        let items = try vault.all().filter { try road.canCarry($0) }
        let (logins, source, _) = try road.carried(items)
        let sequence = try vault.sequence
        let report = try Self.report(logins, of: source, into: vault)
        let changed = report.lines.filter { $0.outcome != .unchanged }
        #expect(changed.map { "\($0.outcome) \($0.service) \($0.account) \($0.reason ?? "")" } == [])
        #expect(try vault.sequence == sequence)
    }
}
