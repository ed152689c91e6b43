// SPDX-License-Identifier: Apache-2.0
import Foundation
import Vault

// A manager of property lists with subscripts, and values that read as any type, as applications write both for
// themselves: `manager["File", "key"].stringValue`. The lists are suites of a vault, so a change writes one key and not
// the whole file, and failures are errors.

/// A value that converts to every type.
struct LenientValue {
    let value: SecretValue

    var stringValue: String { value.lenientString ?? "" }
    var intValue: Int { value.lenientInt ?? 0 }
    var doubleValue: Double { value.lenientReal ?? 0 }
    var boolValue: Bool { value.lenientBool ?? false }
    var array: [LenientValue] { (value.array ?? []).map { LenientValue(value: $0) } }
    var exists: Bool { !value.isNull }

    subscript(key: String) -> LenientValue { LenientValue(value: value[key]) }
    subscript(index: Int) -> LenientValue { LenientValue(value: value[index]) }
}

final class PlistManager {
    private let vault: any ItemStore
    /// The errors of the subscripts, which cannot throw.
    private(set) var errors: [VaultError] = []

    init(_ vault: any ItemStore) { self.vault = vault }

    private func list(_ file: String) -> SecureDefaults { SecureDefaults(suite: file, in: vault) }

    subscript(file: String, key: String) -> LenientValue {
        do throws(VaultError) { return LenientValue(value: try list(file).value(forKey: key) ?? .null) } catch {
            errors.append(error)
            return LenientValue(value: .null)
        }
    }

    func set(_ object: Any, _ file: String, _ key: String) throws(VaultError) {
        try list(file).set(any: object, forKey: key)
    }

    /// Imports a property list that was a file.
    func importFile(_ data: Data, as file: String) throws {
        let values = try SecretValue(propertyList: data).dictionary ?? [:]
        try list(file).transaction { draft in
            for (key, value) in values { draft.set(value, forKey: key) }
        }
    }

    func exportFile(_ file: String) throws -> Data {
        try SecretValue.dictionary(list(file).ownValues()).propertyList(.xml)
    }
}

enum PlistProgram {
    static func run(_ command: Command) throws -> [String] {
        let home = try Home(withVaultOf: command)
        var failures = Failures()
        let file = try PropertyListSerialization.data(
            fromPropertyList: [
                "名前": "漢字", "port": "8080", "ratio": 0.5, "isOn": true, "count": 3,
                "servers": [["host": "a", "tags": ["x", "y"]]],
            ], format: .xml, options: 0)
        var vault = try Vault.openDefault()
        try PlistManager(vault).importFile(file, as: "Config")
        vault.close()

        vault = try Vault.openDefault()
        let manager = PlistManager(vault)
        try expect(manager["Config", "名前"].stringValue == "漢字", &failures)
        try expect(manager["Config", "port"].intValue == 8080, &failures)
        try expect(manager["Config", "ratio"].doubleValue == 0.5 && manager["Config", "isOn"].boolValue, &failures)
        try expect(manager["Config", "count"].stringValue == "3", &failures)
        try expect(manager["Config", "servers"][0]["tags"][1].stringValue == "y", &failures)
        try expect(!manager["Config", "servers"][9]["host"].exists && !manager["None", "x"].exists, &failures)
        try manager.set(["a": [1, 2.5, "x"] as [Any]], "Config", "more")
        try expect(manager["Config", "more"]["a"].array.map(\.stringValue) == ["1", "2.5", "x"], &failures)
        let exported = try PropertyListSerialization.propertyList(from: manager.exportFile("Config"), format: nil)
        try expect((exported as? [String: Any])?["名前"] as? String == "漢字", &failures)
        // Each key is one item, visible to other programs.
        let listed = try command.run(["defaults", "read", "Config", "port", "--group", "dependent"], in: home)
        try expect(listed.contains("8080"), &failures)
        try vault.lock()
        try expect(manager["Config", "port"].intValue == 0 && manager.errors == [.locked], &failures)
        return failures.all
    }
}
