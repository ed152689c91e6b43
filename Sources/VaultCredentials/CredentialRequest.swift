// SPDX-License-Identifier: Apache-2.0
internal import VaultFormat

/// The credential that a unit of systemd requests. systemd binds its socket to a name that says so: `\0 RANDOM /unit/
/// UNIT / ID` (systemd.exec(5), LoadCredential=).
struct CredentialRequest: Equatable {
    let unit: String
    let id: String

    /// The access group of the items: the service is a unit, the account a credential's ID.
    static let group = "systemd"
    /// The service of items for every unit.
    private static let anyUnit = "*"
    private static let suffixes = [
        "automount", "device", "mount", "path", "scope", "service", "slice", "socket", "swap", "target", "timer",
    ]

    /// Fails for a name that systemd would not bind.
    init?(_ name: [UInt8]) {
        guard name.first == 0, let text = String(validating: name.dropFirst(), as: UTF8.self) else { return nil }
        let parts = text.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 4, parts[1] == "unit", CredentialRequest.isRandom(parts[0]),
            CredentialRequest.isUnit(parts[2]), CredentialRequest.isID(parts[3])
        else { return nil }
        (unit, id) = (parts[2], parts[3])
    }

    /// Returns whether a text is a 64-bit number in hexadecimal, without leading zeros.
    private static func isRandom(_ text: String) -> Bool {
        (1...16).contains(text.utf8.count) && text.utf8.allSatisfy { "0123456789abcdef".utf8.contains($0) }
    }

    /// Returns whether systemd accepts a name of a unit (systemd.unit(5)).
    private static func isUnit(_ text: String) -> Bool {
        guard text.utf8.count <= 255, let dot = text.utf8.lastIndex(of: UInt8(ascii: ".")), dot > text.startIndex,
            suffixes.contains(String(text[text.index(after: dot)...]))
        else { return false }
        return text.utf8.allSatisfy { $0.isASCIIAlphanumeric || ":-_.\\@".utf8.contains($0) }
    }

    /// Returns whether systemd accepts a file name as the ID of a credential.
    private static func isID(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.count <= 255 && text != "." && text != ".."
            && text.utf8.allSatisfy { (0x20..<0x7f).contains($0) && $0 != UInt8(ascii: ":") }
    }

    /// The services of the candidate items, in order of preference.
    var services: [String] {
        var services = [unit]
        // The template of an instance.
        if let at = unit.utf8.firstIndex(of: UInt8(ascii: "@")), let dot = unit.utf8.lastIndex(of: UInt8(ascii: ".")),
            at < dot
        {
            services.append(String(unit[...at]) + String(unit[dot...]))
        }
        return services + [CredentialRequest.anyUnit]
    }
}
