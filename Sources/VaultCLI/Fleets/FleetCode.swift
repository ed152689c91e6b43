// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import Vault
internal import VaultCrypto

/// Output of a fleet's recovery code or joining code, which is shown once.
enum FleetCode {
    /// Writes the code alone, followed by a newline.
    static func write(_ code: RecoveryCode) throws {
        try code.text().withBytes { try Output.write($0) }
        try Output.write("\n")
    }

    /// Writes a JSON object, with the code as a member if given.
    static func write(_ object: [String: String], with code: RecoveryCode?) throws {
        var output = try SecretBuffer()
        try output.append(Output.encoded(object).dropLast())
        if let code {
            try output.append(Array(",\"code\":\"".utf8))
            try code.text().withBytes { try output.append(shownEscaping: $0) }
            try output.append(Array("\"".utf8))
        }
        try output.append(Array("}\n".utf8))
        try output.take().withBytes { try Output.write($0) }
    }

    static let isShownOnce = "it is not stored and not shown again: write it down"
}
