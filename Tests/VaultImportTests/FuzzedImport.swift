// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Vault
import VaultCrypto

@testable import VaultImport

/// Every parser of other products' files. The vault accepts the items of an accepted input, and an export in the same
/// format reads back equal.
enum FuzzedImport: UInt8, CaseIterable {
    case csv, bitwarden, onePassword, aegis, keePass, pass, otpauth, environment
    case gitCredentials, netrc, docker, gh, cargo, aws, pgpass, address
    // Behind the others, whose numbers are in the cases that were found.
    case cxf

    static var seeds: [[UInt8]] {
        let texts: [(FuzzedImport, String)] = [
            (.csv, "name,url,username,password,note\r\n\"a\"\"b\",https://example.com/,ada,pw,\"n\nm\"\r\n"),
            (
                .csv,
                "Title,URL,Username,Password,Notes,OTPAuth\nA,https://example.com/,ada,pw,n,otpauth://totp/x?secret=A\n"
            ),
            (.bitwarden, ImportSamples.bitwarden), (.keePass, ImportSamples.keePass),
            (.pass, "pw\nlogin: ada\nurl: https://example.com\nnote\n"),
            (.otpauth, "otpauth://totp/A:b%20c?secret=A\n"),
            (.environment, "export A=1\nB=\"x\\n\" # c\n"), (.gitCredentials, "https://a:b%40@example.com:1/x\n"),
            (.netrc, "machine a login b password \"c d\"\nmacdef x\n y\n\ndefault login e password f\n"),
            (.docker, #"{"auths": {"a": {"auth": "YTpi"}, "b": {"identitytoken": "c"}}}"#),
            (.gh, "a:\n  users:\n    b:\n      oauth_token: c\n  oauth_token: c\n  user: b\n"),
            (.cargo, "[registry]\ntoken = \"a\"\n"), (.aws, "[a]\naws_access_key_id=b\naws_secret_access_key = c\n"),
            (.pgpass, "a\\:b:1:*:c:d\\\\e\n"), (.address, "https://a:b@example.com:8443/c?d#e"),
        ]
        let files: [(FuzzedImport, String)] = [
            (.onePassword, "1pux.json"), (.aegis, "aegis-plain.json"), (.aegis, "aegis-encrypted.json"),
            (.bitwarden, "bitwarden-pbkdf2.json"), (.bitwarden, "bitwarden-passkey.json"),
            (.cxf, "../cxf/header.json"), (.cxf, "../cxf/accounts.json"),
        ]
        return texts.map { [$0.rawValue] + Array($1.utf8) }
            + files.compactMap { kind, name in (try? Vectors.bytes("import/" + name)).map { [kind.rawValue] + $0 } }
    }

    static func holds(_ input: [UInt8]) -> Bool {
        guard let first = input.first, let text = try? Secret(bytes: Array(input.dropFirst())) else { return true }
        // The format is guessed for every input.
        _ = FormatGuess.format(of: text)
        let kind = allCases[Int(first) % allCases.count]
        do { return try kind.holds(text) } catch { return error is ImportError }
    }

    private func holds(_ text: Secret) throws -> Bool {
        switch self {
        case .address:
            guard let address = WebAddress(String(decoding: text.exposed, as: UTF8.self)) else { return true }
            return WebAddress(address.text)?.text == address.text
        case .keePass:
            let reader = try KeePassXML()
            try reader.parse { take in
                for start in stride(from: 0, to: text.count, by: 13) {
                    try text.withBytes { try take($0.extracting(start..<min(start + 13, $0.count))) }
                }
            }
            return try comeBack(reader.imported) { entries in
                let again = try KeePassXML()
                let xml = try KeePassExport.text(&entries)
                try again.parse { take in try xml.withBytes { try take($0) } }
                return again.imported.logins.count
            }
        case .pass:
            var imported = ImportedLogins()
            imported.logins = [try PassStore.login(text, path: "a/b", place: "entry")]
            return try comeBack(imported) { _ in 1 }
        default: break
        }
        let document = try Document(text)
        switch self {
        case .csv:
            return try comeBack(CSVLogins.logins(document)) { entries in
                guard let layout = CSVLayout.named("apple") else { return 0 }
                return try CSVLogins.logins(Document(CSVExport.text(&entries, for: layout))).logins.count
            }
        case .bitwarden:
            return try comeBack(Bitwarden.logins(document) { throw ImportError.wrongPassphrase }) { entries in
                let written = try Document(BitwardenExport.text(&entries))
                return try Bitwarden.logins(written) { throw ImportError.wrongPassphrase }.logins.count
            }
        case .cxf:
            return try comeBack(CXF.logins(document)) { entries in
                try CXF.logins(Document(CXFExport.text(&entries))).logins.count
            }
        case .onePassword: return try comeBack(OnePassword.logins(document) { _ in .absent }) { _ in nil }
        case .aegis: return try comeBack(Aegis.logins(document) { throw ImportError.wrongPassphrase }) { _ in nil }
        case .otpauth: return try comeBack(OTPAuth.logins(document)) { _ in nil }
        case .environment: return try comeBack(EnvironmentVariables.logins(document, service: "s")) { _ in nil }
        default:
            let format = Plaintext.all[Int(rawValue - FuzzedImport.gitCredentials.rawValue)]
            let found = try format.logins(document)
            let ranges = found.ranges.flatMap { $0 }
            guard ranges.allSatisfy({ $0.lowerBound >= 0 && $0.upperBound <= document.count }) else { return false }
            _ = try Plaintext.removing(ranges, from: document)
            return try comeBack(found.imported) { _ in nil }
        }
    }

    /// - Parameter written: Returns the number of entries read back from an export; `nil` if the format is not
    ///   exported.
    private func comeBack(_ imported: ImportedLogins, written: (inout ExportedEntries) throws -> Int?) throws -> Bool {
        var items: [Item] = []
        for login in imported.logins.prefix(20) {
            items += try login.items(of: "fuzz")
            let source = login.source(of: "fuzz") + ItemNames.passkeySuffix
            items += login.passkeys.map { $0.item(source: source, created: nil, in: nil) }
        }
        var entries = try ExportedEntries(items)
        guard let count = try written(&entries) else { return true }
        let whole = entries.entries.count
        // Entries that a format cannot express are counted, and none appears twice.
        return count == whole || count < whole && !entries.leftOut.isEmpty || self == .pass
    }
}
