// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing
import VaultCrypto
import VaultFormat

@testable import VaultSync

/// A search for data that only devices may know.
enum Traces {
    /// The forms in which the bytes could appear.
    private static func forms(_ bytes: [UInt8]) -> [[UInt8]] {
        var forms = [bytes, Array(bytes.reversed())]
        if bytes.count == 16 { forms.append(Array(bytes[..<8].reversed()) + bytes[8...].reversed()) }
        for form in forms {
            let digits = hexadecimal(form)
            forms += [Array(digits.utf8), Array(digits.uppercased().utf8)]
        }
        // At each of the three possible offsets in base64, without the characters that depend on neighbouring bytes.
        for skipped in 0..<3 where bytes.count >= 9 {
            let whole = Array(bytes[skipped...].prefix((bytes.count - skipped) / 3 * 3))
            let text = Data(whole).base64EncodedString()
            forms.append(Array(text.utf8))
            forms.append(Array(text.replacing("+", with: "-").replacing("/", with: "_").utf8))
        }
        return forms
    }

    static func expectAbsent(_ what: [UInt8], _ name: String, in found: [[UInt8]]) {
        for form in forms(what) { #expect(!found.contains { contains($0, form) }, "\(name)") }
    }

    static func contains(_ bytes: [UInt8], _ what: [UInt8]) -> Bool {
        Data(bytes).range(of: Data(what)) != nil
    }
}
