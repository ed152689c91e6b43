// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import FoundationEssentials
import TestSupport
import Vault
import VaultCrypto

@testable import VaultCLI

/// The parsers and writers of the command that handle untrusted input.
enum FuzzedCommand: UInt8, CaseIterable {
    /// Arguments, each terminated by a zero byte: a command, or an error whose message repeats nothing that may be a
    /// secret.
    case arguments
    /// A secret in `--json`: parsing the object gives the same bytes.
    case json

    private static let secret = "9Zq-not-an-option"

    static let seeds: [[UInt8]] =
        [
            "init --kdf interactive", "add service account --label l --attr a=b --accessible when-unlocked,this-device",
            "set --class internet example.com ada --protocol https --port 443 --path / --domain d --generate",
            "get service --json",
            "find --class internet --reveal", "update s a --new-account b --secret --file f", "delete s --all --yes",
            "passwd --passphrase-fd 3",
            "import --files d --service s --replace", "generate 20 --words", "help add", "completion bash", "--version",
        ].map { [arguments.rawValue] + $0.split(separator: " ").joined(separator: "\0").utf8 } + [
            [json.rawValue] + "a \"b\"\\\u{1}\u{20AC}".utf8
        ]

    static func holds(_ input: [UInt8]) -> Bool {
        guard let first = input.first else { return true }
        switch allCases[Int(first) % allCases.count] {
        case .arguments: return holdsArguments(Array(input.dropFirst()))
        case .json: return (try? holdsJSON(Array(input.dropFirst()))) == true
        }
    }

    private static func holdsArguments(_ bytes: [UInt8]) -> Bool {
        var arguments = bytes.split(separator: 0, omittingEmptySubsequences: false).map {
            String(decoding: $0, as: UTF8.self)
        }
        // A secret typed at a wrong position.
        arguments.insert(secret, at: bytes.count % (arguments.count + 1))
        do {
            _ = try CommandLineTool.parse(arguments)
            return true
        } catch {
            guard let failure = CommandLineTool.failure(error) else { return true }
            return !failure.message.isEmpty && !failure.message.contains("\n") && !failure.message.contains(secret)
        }
    }

    private static func holdsJSON(_ bytes: [UInt8]) throws -> Bool {
        struct Object: Decodable {
            var service: String
            var secret: String?
            var secretBase64: Data?
        }
        let item = Item(.genericPassword(service: "s\"\u{7}"))
        let text = try ItemOutput(item: item).json(revealing: Secret(bytes: bytes))
        let object = try JSONDecoder().decode(
            Object.self, from: Data(text.withBytes { span in span.indices.map { span[$0] } }))
        return object.service == "s\"\u{7}"
            && (object.secret.map { Array($0.utf8) } ?? object.secretBase64.map(Array.init)) == bytes
    }
}
