// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import FoundationEssentials
internal import Vault
internal import VaultFormat
internal import VaultStorage

struct Status: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Say what is known of a vault without its passphrase.")

    @OptionGroup var file: VaultFileOptions

    @Flag(help: "Print JSON.")
    var json = false

    func run() throws {
        let store = try LockedStore(file.path(), environment: .system)
        let summary = Summary(store, size: try store.fileSize())
        guard json else { return try Output.write(summary.text) }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        try Output.write(Array(try encoder.encode(summary)).span)
        try Output.write("\n")
    }

    private struct Summary: Encodable {
        struct Slot: Encodable {
            var name: String
            var type: String
            var kdf: String
            var memoryBytes: UInt64?
            var passes: UInt32?
        }

        var path: String
        var format: String
        var vaultID: String
        var generation: UInt64
        var size: Int
        var slots: [Slot]

        init(_ store: LockedStore, size: Int) {
            path = store.path.string
            format = "\(Header.major).\(store.header.minor)"
            vaultID = store.header.vaultID.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
            generation = store.header.generation
            self.size = size
            slots = store.header.slots.map { slot in
                var summary = Slot(name: slot.name, type: "\(slot.kind.label)", kdf: "blake2b")
                if case .argon2id(let passes, let memoryBytes) = slot.stretching {
                    summary.kdf = "argon2id"
                    summary.memoryBytes = memoryBytes
                    summary.passes = passes
                }
                return summary
            }
        }

        var text: String {
            var lines = [
                "path        \(path.printable)", "format      VLT \(format)", "vault       \(vaultID)", "generation  \(generation)",
                "size        \(size) bytes",
            ]
            for slot in slots {
                var line = "unlock      \(slot.type)"
                if let memory = slot.memoryBytes, let passes = slot.passes {
                    line += ": \(slot.kdf), \(memory >> 20) MiB, \(passes) \(passes == 1 ? "pass" : "passes")"
                }
                lines.append(line)
            }
            return lines.joined(separator: "\n") + "\n"
        }
    }
}

extension KeySlot.Kind {
    var label: String {
        switch self {
        case .passphrase: "passphrase"
        case .recoveryCode: "recovery code"
        case .passphraseAndKeyFile: "passphrase and key file"
        case .external: "external secret"
        case .keyFile: "key file"
        }
    }
}
