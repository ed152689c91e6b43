// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials

@testable import Vault

/// Untrusted property lists and archives: no input traps, and a parsed value that can be written reads back equal.
enum FuzzedValue {
    static var seeds: [[UInt8]] {
        let values: [SecretValue] = [
            [
                "a": [1, 2.5, true, "é", "x"], "b": .data(Data([1])),
                "c": .date(Date(timeIntervalSinceReferenceDate: 5)),
            ],
            [[], [:], ""], .integer(.min), .unsigned(.max), .array((0..<20).map { .integer($0) }),
        ]
        return values.flatMap { value in
            [SecretValue.PropertyListFormat.binary, .xml].compactMap { format in
                (try? value.propertyList(format)).map { [UInt8]($0) }
            }
        }
    }

    static func holds(_ input: [UInt8]) -> Bool {
        _ = BinaryPropertyListReader.isOfFoundation(input)
        _ = try? SecretValue(archive: input)
        guard let value = try? SecretValue(propertyList: input) else { return true }
        // A null has no form in a standard property list.
        guard let written = try? value.propertyList() else { return true }
        // NaN equals nothing, so the bytes are compared.
        guard let again = try? SecretValue(propertyList: written) else { return false }
        return (try? again.propertyList()) == written
    }
}
