// SPDX-License-Identifier: Apache-2.0
import Foundation
import Glibc
import Vault

/// Vaults of several sizes in one directory. A key file opens them, so that no key derivation is measured.
struct World {
    let directory: String

    static let valueLength = 256
    /// The number of items of one service, which a query finds together.
    static let itemsPerService = 100

    func path(_ count: Int) -> FilePath { FilePath(directory).appending("vault-\(count).vault") }

    private func keyFile() throws -> KeyFile {
        try KeyFile(SecretBytes(copying: [UInt8](repeating: 7, count: 32).span))
    }

    func open(_ count: Int) throws -> Vault { try open(path(count)) }

    func open(_ path: FilePath) throws -> Vault {
        try LockedVault(at: path).unlock(with: .keyFile(keyFile()), accessGroups: .standard)
    }

    /// Makes a vault with items of about 100 bytes of attributes.
    func make(_ count: Int) throws -> Vault {
        let vault = try Vault.create(at: path(count), keyFile: keyFile(), accessGroups: .standard)
        var next = 0
        while next < count {
            let end = min(next + 10_000, count)
            try add(next..<end, to: vault)
            next = end
        }
        return vault
    }

    /// Adds items in one transaction.
    func add(_ numbers: Range<Int>, to vault: Vault) throws {
        let secret = try Self.secret()
        try vault.store(numbers.map { Self.item($0, secret) }, replacing: false)
    }

    func makeLarge(_ path: FilePath) throws {
        let vault = try Vault.create(at: path, keyFile: keyFile(), accessGroups: .standard)
        let secret = try Self.secret(4000)
        for start in stride(from: 0, to: 24_000, by: 2000) {
            try vault.store((start..<start + 2000).map { Self.item($0, secret) }, replacing: false)
        }
        vault.close()
    }

    func salvage(_ path: FilePath, to other: FilePath) throws {
        let damaged = try DamagedVault(at: path)
        guard try damaged.salvage(with: .keyFile(keyFile()), to: other).salvage.whole == 24_000 else {
            throw CocoaError(.fileReadCorruptFile)
        }
    }

    static func secret(_ length: Int = valueLength) throws -> Secret {
        Secret(try SecretBytes(copying: [UInt8](repeating: 0x73, count: length).span))
    }

    static func key(_ number: Int) -> ItemKey {
        .genericPassword(service: "service \(number / itemsPerService)", account: "account \(number)")
    }

    static func item(_ number: Int, _ secret: Secret) -> Item {
        Item(key(number), attributes: [.label: .string("label \(number)")], secret: secret)
    }

    static func query(_ number: Int) -> Query {
        Query(.genericPassword, service: "service \(number / itemsPerService)", account: "account \(number)")
    }
}

/// Returns the resident memory of this process, in bytes.
func residentBytes() -> Int {
    let text = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
    return (text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) * Int(getpagesize())
}
