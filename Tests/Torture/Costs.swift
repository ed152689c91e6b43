// SPDX-License-Identifier: Apache-2.0
import Foundation
import TestSupport
import Vault
import VaultCrypto

/// Runs a single verb a given number of times, for `Scripts/instructions` to count the instructions.
struct Costs {
    let directory: String
    let items: Int

    private static let itemsPerService = 100

    private var path: FilePath { FilePath(directory).appending("cost.vault") }

    private func keyFile() throws -> KeyFile {
        try KeyFile(SecretBytes(copying: [UInt8](repeating: 7, count: 32).span))
    }

    private func secret() throws -> Secret { try Secret(bytes: [UInt8](repeating: 0x73, count: 256)) }

    private func item(_ number: Int, _ secret: Secret) -> Item {
        Item(
            .genericPassword(service: "service \(number / Costs.itemsPerService)", account: "account \(number)"),
            attributes: [.label: .string("label \(number)")], secret: secret)
    }

    func make() throws {
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        let vault = try Vault.create(at: path, keyFile: keyFile())
        let secret = try secret()
        try vault.store((0..<items).map { item($0, secret) }, replacing: false)
        try vault.compact()
        vault.close()
    }

    /// - Returns: `false` for an unknown verb.
    func run(_ verb: String, _ count: Int) throws -> Bool {
        func open() throws -> Vault { try LockedVault(at: path).unlock(with: .keyFile(keyFile())) }
        let secret = try secret()
        switch verb {
        case "open":
            for _ in 0..<count { _ = try open() }
        case "add":
            let vault = try open()
            for number in 0..<count { try vault.add(item(items + number, secret)) }
        case "batch":
            let vault = try open()
            try vault.store((0..<count).map { item(items + $0, secret) }, replacing: false)
        case "get":
            let vault = try open()
            for number in 0..<count {
                let service = "service \(number % items / Costs.itemsPerService)"
                var query = Query(.genericPassword, service: service, account: "account \(number % items)")
                query.returnsSecrets = true
                guard try vault.copyMatching(query).first?.secret?.count == 256 else { return false }
            }
        case "query":
            let vault = try open()
            for number in 0..<count {
                let found = try vault.copyMatching(
                    Query(.genericPassword, service: "service \(number % (items / Costs.itemsPerService))"))
                guard found.count == Costs.itemsPerService,
                    found.allSatisfy({ $0[.account] != nil && $0[.label] != nil })
                else {
                    return false
                }
            }
        case "compact":
            let vault = try open()
            for _ in 0..<count { try vault.compact() }
        default: return false
        }
        // Exits without closing the vault: the marks and the rest of an orderly end are not part of the verb.
        exit(0)
    }
}
