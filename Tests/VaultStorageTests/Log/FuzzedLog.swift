// SPDX-License-Identifier: Apache-2.0
import TestSupport
import VaultCrypto
import VaultFormat

@testable import Vault
@testable import VaultStorage

/// Vaults built from an input: the input is the last frame or the whole log, in parts that need the key and in parts
/// that an attacker can write.
///
/// An opened vault is searched, verified, extended and compacted, and holds the same records afterwards.
enum FuzzedLog: UInt8, CaseIterable {
    /// The bytes after the header and the marks.
    case frames
    /// The operations of the last frame, correctly sealed, chained and marked.
    case operations
    /// The attributes of the last frame's operation.
    case attributes

    private static let template = try? VaultBuilder()
    private static let headLength = 16

    /// The initial inputs.
    static var seeds: [[UInt8]] {
        guard let template, let plain = try? template.lastMetadata() else { return [] }
        let operations = Array(plain.dropFirst(headLength))
        return [
            [frames.rawValue] + template.bytes[Layout.firstFrame...], [self.operations.rawValue] + operations,
            [attributes.rawValue] + operations.dropFirst(4 + Layout.operationLength),
        ]
    }

    /// Returns `false` if an opened vault differs afterwards.
    static func holds(_ input: [UInt8]) -> Bool { vault(input).map(isStable) ?? true }

    /// Returns the vault built from an input; `nil` if no vault can be built.
    static func vault(_ input: [UInt8]) -> VaultBuilder? {
        guard let first = input.first, let template else { return nil }
        return try? allCases[Int(first) % allCases.count].vault(template, Array(input.dropFirst()))
    }

    private func vault(_ template: VaultBuilder, _ bytes: [UInt8]) throws -> VaultBuilder {
        var vault = template
        switch self {
        case .frames: vault.replace(Layout.firstFrame..<vault.bytes.count, with: bytes)
        case .operations: try vault.setLastMetadata { $0.prefix(Self.headLength) + bytes }
        case .attributes:
            try vault.setLastMetadata { content in
                var operation = Array(content[Self.headLength..<Self.headLength + 4 + Layout.operationLength])
                for index in 0..<4 { operation[8 + index] = UInt8(truncatingIfNeeded: bytes.count >> (8 * index)) }
                return content.prefix(Self.headLength) + operation + bytes
            }
        }
        return vault
    }

    private static func isStable(_ vault: VaultBuilder) -> Bool {
        let disk = SimulatedDisk()
        disk.put(vault.bytes, as: VaultBuilder.name)
        do throws(StorageError) {
            let store = try open(disk, vault)
            let before = records(of: store)
            use(Vault(try open(disk, vault), .standard))
            // Damage that opening does not detect stops a rewrite.
            try store.compact()
            let after = try records(of: open(disk, vault))
            return records(of: store) == before && after == before
        } catch {
            switch error {
            case .damaged, .unsupported: return true
            default: return false
            }
        }
    }

    /// Runs queries on the vault. Their results are unspecified, but no query may stop the process.
    private static func use(_ vault: Vault) {
        for var query in [Query(.genericPassword), Query(.internetPassword), Query(.certificate), Query(.key)] {
            query.returnsSecrets = true
            let found = (try? vault.copyMatching(query)) ?? []
            for item in found { _ = try? vault.copyMatching(Query(item.itemClass, attributes: item.attributes)) }
        }
        _ = try? vault.verify(deep: true)
    }

    private static func records(of store: VaultStore) -> [String] {
        (store.records.sorted + store.records.past.values.flatMap(\.self)).map {
            "\($0.id) \($0.version) \($0.valueVersion) \($0.value?.tag.span.array(0..<16) ?? []) \($0.attributes.bytes)"
        }.sorted()
    }

    static func open(_ disk: SimulatedDisk, _ vault: VaultBuilder) throws(StorageError) -> VaultStore {
        try VaultStore.open(
            on: disk, vaultKey: vault.keys.vaultKey, environment: .seeded("log", on: disk, state: disk.root))
    }
}

extension VaultBuilder {
    /// The content of the box with the last frame's metadata, without its padding.
    fileprivate func lastMetadata() throws -> [UInt8] {
        var content: [UInt8] = []
        var copy = self
        try copy.setLastMetadata { plain in
            content = plain
            return plain
        }
        return content
    }

    /// Replaces the last frame's metadata, padded; the value area grows or shrinks by the zeros at its end.
    fileprivate mutating func setLastMetadata(_ change: ([UInt8]) -> [UInt8]) throws {
        try rewriteLastFrame { plain, _, area in
            let content = change(Array(plain[try Padding.content(of: plain.span, minimum: Layout.metadataMinimum)]))
            plain = []
            Padding.append(content.span, minimum: Layout.metadataMinimum, to: &plain)
            while area.last == 0 { area.removeLast() }
            area.appendZeros(-(Layout.frameOverhead + Layout.tagLength + plain.count + area.count) & 15)
        }
    }
}
