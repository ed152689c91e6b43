// SPDX-License-Identifier: Apache-2.0
import Foundation
import SystemPackage
import TestSupport
import Testing
import VaultCrypto
import VaultFormat

@testable import VaultStorage

/// A file with a single failure each: a text head (`expect`, `passphrase`, `comment`), an empty line, the bytes of a
/// vault.
///
/// `VAULT_WRITE_VECTORS=1 swift test --filter VectorTests` regenerates them; the bytes are the same each time.
struct VectorTests {
    @Test(arguments: VectorCase.all) func `every vector is what its recipe makes`(vector: VectorCase) throws {
        let expected = try vector.file()
        if Vectors.isWriting { try Vectors.write(expected, to: "vaults/\(vector.name).vlt") }
        #expect(try Vectors.bytes("vaults/\(vector.name).vlt") == expected)
    }

    @Test(arguments: Vectors.names("vaults", suffix: ".vlt")) func `every vector ends as it expects`(name: String)
        throws
    {
        let file = try Vectors.bytes(name)
        let split = try #require(file.indices.dropLast().first { file[$0] == 0x0a && file[$0 + 1] == 0x0a })
        var fields: [String: String] = [:]
        for line in String(decoding: file[..<split], as: UTF8.self).split(separator: "\n") {
            let parts = line.split(separator: ":", maxSplits: 1)
            fields[String(parts[0])] = String(parts[1].dropFirst())
        }
        let disk = SimulatedDisk()
        disk.put(Array(file[(split + 2)...]), as: VaultBuilder.name)
        let outcome = VectorCase.open(disk, passphrase: try #require(fields["passphrase"]))
        #expect(outcome == fields["expect"])
        // A reader never changes a file.
        #expect(disk.inode(VaultBuilder.name)?.bytes == Array(file[(split + 2)...]))
    }

    @Test func `there are enough of them`() { #expect(Vectors.names("vaults", suffix: ".vlt").count >= 60) }
}

/// A vector and its recipe.
struct VectorCase: Sendable, CustomTestStringConvertible {
    let name: String
    let expect: String
    var passphrase = VaultBuilder.passphrase
    let make: @Sendable (inout VaultBuilder) throws -> Void

    var testDescription: String { name }

    init(
        _ name: String, _ expect: String, passphrase: String = VaultBuilder.passphrase,
        _ make: @escaping @Sendable (inout VaultBuilder) throws -> Void
    ) {
        self.name = name
        self.expect = expect
        self.passphrase = passphrase
        self.make = make
    }

    func vault() throws -> [UInt8] {
        var builder = try VaultBuilder()
        try make(&builder)
        return builder.bytes
    }

    func file() throws -> [UInt8] { try Array("expect: \(expect)\npassphrase: \(passphrase)\n\n".utf8) + vault() }

    /// Opens, reads every value and verifies; returns the result in the words of the vectors.
    static func open(_ disk: SimulatedDisk, passphrase: String) -> String {
        do throws(StorageError) {
            let locked = try LockedStore(
                disk.root.appending(VaultBuilder.name), environment: .seeded("reader", on: disk))
            guard let typed = try? Passphrase.of(passphrase) else { return "refused passphrase" }
            let store = try locked.open(with: try locked.unlock(with: typed))
            var values: [String] = []
            for operation in store.records.sorted.sorted(by: { $0.ordinal < $1.ordinal }) {
                guard let value = try store.openValue(of: operation) else {
                    values.append("-")
                    continue
                }
                values.append(String(decoding: value.exposed, as: UTF8.self))
            }
            _ = try store.verify(deep: true)
            return "success " + values.joined(separator: ", ")
        } catch {
            switch error {
            case .damaged(let damage): return "damaged \(describe(damage))"
            case .unsupported(let field): return "unsupported \(field.rawValue)"
            case .wrongPassphrase: return "wrong passphrase"
            case .noMatchingSlot: return "no matching slot"
            default: return "\(error)"
            }
        }
    }

    private static func describe(_ damage: Damage) -> String {
        switch damage {
        case .notAVault: "not a vault"
        case .headerChecksum: "header checksum"
        case .header(let error): "header \(error)"
        case .headerMAC: "header MAC"
        case .keySlot: "key slot"
        case .marks: "marks"
        case .markMismatch: "mark mismatch"
        case .missingCommits(let found, let expected): "missing commits \(found) of \(expected)"
        case .frame(let sequence, let error): "frame \(sequence) \(error.map { "\($0)" } ?? "")"
        case .values(let sequence): "values of frame \(sequence)"
        case .value: "value"
        case .readBack: "read back"
        }
    }
}

/// A box that opens under two keys, to two texts.
struct TwoKeyBox {
    let nonce, box, key1, key2, plain1, plain2: [UInt8]

    init() throws {
        let text = String(decoding: try Vectors.bytes("two-key-box.json"), as: UTF8.self)
        func field(_ name: String) -> [UInt8] {
            guard let start = text.range(of: "\"\(name)\": \"")?.upperBound,
                let end = text[start...].firstIndex(of: "\"")
            else {
                return []
            }
            return [UInt8](hexadecimal: String(text[start..<end]))
        }
        (nonce, box) = (field("nonce"), field("box"))
        (key1, key2) = (field("key1"), field("key2"))
        (plain1, plain2) = (field("plain1"), field("plain2"))
    }
}

struct TwoKeyBoxTests {
    @Test func `a secretbox does not commit to its key, which is why a slot has a commitment`() throws {
        let vector = try TwoKeyBox()
        for (key, plain) in [(vector.key1, vector.plain1), (vector.key2, vector.plain2)] {
            let secret = try Secret(bytes: key)
            let opened = try Secret(SecretBox.open(vector.box.span, nonce: vector.nonce.span, key: secret.bytes))
            #expect(opened.exposed == plain)
        }
    }
}
