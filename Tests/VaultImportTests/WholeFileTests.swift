// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import TestSupport
import Testing
import Vault
import VaultCrypto

@testable import VaultImport

/// Files with every part of their format set, of which nothing may be lost in silence.
///
/// A planted value is a word: `plantWord` for what may be visible, `SplantWord` for a secret.
struct WholeFileTests {
    struct Sample: Sendable, CustomTestStringConvertible {
        let format: String
        let text: String
        let read: @Sendable (Document) throws -> ImportedLogins

        var testDescription: String { format }

        /// The planted words.
        var words: Set<String> {
            var words: Set<String> = []
            for prefix in ["plant", "Splant"] {
                for part in text.split(separator: prefix, omittingEmptySubsequences: false).dropFirst() {
                    let rest = part.prefix { $0.isASCII && ($0.isLetter || $0.isNumber) }
                    guard prefix == "Splant" || !text.contains("S\(prefix)\(rest)") else { continue }
                    words.insert(prefix + rest)
                }
            }
            return words
        }
    }

    private static func field(_ name: String, _ type: Int, _ value: String) -> String {
        #"{"name": "\#(name)", "value": "\#(value)", "type": \#(type)}"#
    }

    private static let seed = "otpauth://totp/x?secret=SplantSeed"

    private static let bitwarden = Sample(
        format: "bitwarden",
        text: #"""
            {"encrypted": false, "folders": [{"id": "f", "name": "plantFolder"}], "items": [
             {"id": "a", "folderId": "f", "type": 1, "name": "plantTitle", "notes": "plantNotes", "favorite": true,
              "fields": [\#(field("text", 0, "plantText")), \#(field("hidden", 1, "SplantHidden")),
                         \#(field("code", 0, seed))],
              "login": {"uris": [{"uri": "https://plantone.example/"}, {"uri": "https://planttwo.example/plantPath"}],
                        "username": "plantUser", "password": "SplantPassword"}},
             {"id": "b", "type": 2, "name": "plantNote", "notes": "SplantNote", "secureNote": {"type": 0}},
             {"id": "c", "type": 3, "name": "plantCard", "notes": "plantCardNotes", "card": {"number": "Splant4111",
              "code": "Splant123", "cardholderName": "SplantHolder", "brand": "SplantBrand", "expMonth": "Splant10"}},
             {"id": "d", "type": 4, "name": "plantMe", "identity": {"firstName": "SplantAda", "ssn": "SplantSSN"}},
             {"id": "e", "type": 5, "name": "plantKey", "sshKey": {"privateKey": "SplantKey", "publicKey": "SplantPub"}}
            ]}
            """#
    ) { try Bitwarden.logins($0) { throw ImportError.wrongPassphrase } }

    private static let onePassword = Sample(
        format: "1pux",
        text: #"""
            {"accounts": [{"vaults": [{"attrs": {"name": "plantVault"}, "items": [
             {"uuid": "a", "categoryUuid": "001", "overview": {"title": "plantTitle",
              "url": "https://plantone.example/", "urls": [{"url": "https://planttwo.example/"}], "tags": ["plantTag"]},
              "details": {"notesPlain": "plantNotes",
               "loginFields": [{"designation": "username", "value": "plantUser"},
                {"designation": "password", "value": "SplantPassword"}, {"name": "other", "value": "SplantInput"}],
               "sections": [{"fields": [{"title": "text", "value": {"string": "plantText"}},
                {"title": "hidden", "value": {"concealed": "SplantHidden"}},
                {"title": "otp", "value": {"totp": "\#(seed)"}},
                {"title": "number", "value": {"creditCardNumber": "SplantNumber"}},
                {"title": "home", "value": {"address": {"street": "SplantStreet", "city": "SplantCity"}}},
                {"title": "file", "value": {"file": {"fileName": "plantFile", "documentId": "d"}}}]}]}}
            ]}]}]}
            """#
    ) { try OnePassword.logins($0) { _ in .absent } }

    private static let cxf = Sample(
        format: "cxf",
        text: #"""
            {"collections": [{"title": "plantFolder", "items": [{"item": "a"}]}], "items": [
             {"id": "a", "title": "plantTitle", "subtitle": "plantSubtitle", "tags": ["plantTag"],
              "scope": {"urls": ["https://plantone.example/", "https://planttwo.example/"],
                        "androidApps": [{"bundleId": "plantApp"}]},
              "credentials": [
               {"type": "basic-auth", "username": {"value": "plantUser"}, "password": {"value": "SplantPassword"}},
               {"type": "note", "content": {"value": "plantNotes"}},
               {"type": "custom-fields", "label": "plantSection", "fields": [
                {"label": "plantLabel", "fieldType": "string", "value": "plantText"},
                {"label": "hidden", "fieldType": "concealed-string", "value": "SplantHidden"},
                {"label": "code", "fieldType": "string", "value": "\#(seed)"}]},
               {"type": "wifi", "ssid": {"value": "SplantSSID"}, "passphrase": {"value": "SplantWifi"}},
               {"type": "credit-card", "number": {"value": "Splant4111"}, "fullName": {"value": "SplantHolder"}},
               {"type": "api-key", "key": {"value": "SplantKey"}}, {"type": "plantKind", "x": "SplantUnknown"},
               {"type": "item-reference", "reference": {"item": "plantItem"}}]}
            ]}
            """#
    ) { try CXF.logins($0) }

    private static let keePass = Sample(
        format: "kdbx",
        text: ImportSamples.file(
            "<Entry><UUID>u</UUID><Tags>plantTag</Tags>" + ImportSamples.string("Title", "plantTitle")
                + ImportSamples.string("UserName", "plantUser") + ImportSamples.string("Notes", "plantNotes")
                + ImportSamples.string("Password", "SplantPassword", " ProtectInMemory=\"True\"")
                + ImportSamples.string("URL", "https://plantone.example/")
                + ImportSamples.string("KP2A_URL", "https://planttwo.example/")
                + ImportSamples.string("hidden", "SplantHidden", " ProtectInMemory=\"True\"")
                + ImportSamples.string("text", "plantText") + ImportSamples.string("code", seed)
                + ImportSamples.string("TimeOtp-Secret", "SplantOther") + "<Binary><Key>plantFile</Key>"
                + "<Value Ref=\"0\"/></Binary><Binary><Key>plantGone</Key><Value Ref=\"7\"/></Binary></Entry>",
            meta: "<Binaries><Binary ID=\"0\">AAEC</Binary></Binaries>")
    ) { document in
        let reader = try KeePassXML()
        try reader.parse { take in try document.content.withBytes { try take($0) } }
        // The command fetches these, or skips them by name.
        var imported = reader.imported
        for attachment in reader.missing { imported.skip("entry", attachment.name) }
        return imported
    }

    private static let csv: [Sample] = CSVLayout.all.filter { $0.product != CSVLayout.own }.map { layout in
        let cells = layout.columns.map { column in
            switch column.column {
            case .title: "plantTitle"
            case .url, .urls: "https://plant\(column.name.lowercased().filter { $0.isLetter }).example/"
            case .user: "plantUser"
            case .password: "SplantPassword"
            case .notes: "plantNotes"
            case .otp: "SplantOtp\(column.name)"
            case .folder: "plantFolder"
            case .id: "plantId"
            case .email: "plantEmail"
            case .custom: #""[{""label"":""l"",""type"":""hidden"",""value"":""SplantCustom""}]""#
            case .attribute("reprompt"): "1"
            case .attribute(let name): "plant\(name.filter { $0.isLetter })"
            case .field(let name): "Splant\(name.filter { $0.isLetter })"
            case .created, .modified, .ignored, .kind: ""
            }
        }
        let header = layout.columns.map(\.name).joined(separator: ",") + ",unknown"
        return Sample(
            format: layout.product, text: header + "\n" + cells.joined(separator: ",") + ",SplantUnknown\n"
        ) { try CSVLogins.logins($0) }
    }

    private static let lists: [Sample] = [
        Sample(
            format: "otpauth",
            text: "otpauth://totp/plantIssuer:plantUser?secret=SplantSeed&issuer=plantIssuer\nplantNonsense\n"
        ) { document in
            var imported = try OTPAuth.logins(document)
            // A line that is none is named by its place.
            if imported.skipped.contains(where: { $0.place == "line 2" }) { imported.skip("", "plantNonsense") }
            return imported
        },
        Sample(
            format: "aegis",
            text:
                #"{"header": {}, "db": {"groups": [{"uuid": "g", "name": "plantGroup"}], "entries": [{"type": "totp", "#
                + #""uuid": "u", "name": "plantUser", "issuer": "plantIssuer", "note": "plantNote", "groups": ["g"], "#
                + #""info": {"secret": "SplantSeed", "pin": "SplantPin"}}]}}"#
        ) { try Aegis.logins($0) { throw ImportError.wrongPassphrase } },
        Sample(
            format: "pass",
            text: "SplantPassword\nlogin: plantUser\nurl: https://planturl.example/\npin: SplantPin\n\(seed)\n"
                + "key: otpauth://totp/y?secret=SplantSecond\nSplantText and more\n"
        ) { document in
            var imported = ImportedLogins()
            imported.logins = [try PassStore.login(document.content, path: "plantFolder/plantName", place: "entry")]
            return imported
        },
        Sample(format: "env", text: "plantName=SplantValue\n") {
            try EnvironmentVariables.logins($0, service: "s")
        },
    ]

    private static let plaintext: [(Plaintext, String)] = [
        (.gitCredentials, "https://plantUser:SplantPassword@plantone.example:8443/plantPath\n"),
        (.netrc, "machine plantone.example login plantUser password SplantPassword account SplantAccount\n"),
        (
            .docker,
            #"{"auths": {"plantone.example": {"username": "plantUser", "password": "SplantPassword"}, "#
                + #""planttwo.example": {"identitytoken": "SplantToken", "auth": "YWRhOnB3"}}}"#
        ),
        (.gh, "plantone.example:\n    user: plantUser\n    oauth_token: SplantToken\n"),
        (.cargo, "[registries.plantname]\ntoken = 'SplantToken'\n"),
        (
            .aws,
            "[plantProfile]\naws_access_key_id = plantId\naws_secret_access_key = SplantSecret\n"
                + "aws_session_token = SplantToken\n"
        ),
        (.pgpass, "plantone.example:5432:plantBase:plantUser:SplantPassword\n"),
    ]

    static let all =
        [bitwarden, onePassword, cxf, keePass] + csv + lists
        + plaintext.map { format, text in
            Sample(format: format.name, text: text) { try format.logins($0).imported }
        }

    @Test(arguments: all) func `every value is in an item, or in the report, and no secret is visible`(_ sample: Sample)
        throws
    {
        let vault = try Vault.inMemory(accessGroups: .standard)
        let report = try sample.read(Document(text: sample.text)).stored(in: vault, of: sample.format)
        #expect(report.count(.added) > 0 && report.count(.differs) == 0)
        var (visible, secret) = (report.lines.map { $0.reason ?? "" } + report.remarks, [String]())
        for item in try vault.all() {
            visible += item.attributes.values.compactMap(\.text) + item.userAttributes.flatMap { [$0.key, $0.value] }
            visible += item.fieldNames
            for name in [nil] + item.fieldNames.filter({ $0 != ItemNames.fingerprint }) {
                secret.append(try item.openedSecret(field: name)?.text ?? "")
            }
            if item.fieldNames.contains("otp") {
                #expect(try item.openedSecret(field: "otp")?.text.contains("Splant") == true)
            }
        }
        let (shown, hidden) = (visible.joined(separator: "\n"), secret.joined(separator: "\n"))
        #expect(sample.words.count > 1 && sample.words.contains { $0.hasPrefix("S") })
        for word in sample.words where word.hasPrefix("S") {
            #expect(hidden.contains(word), "\(word) is lost")
            #expect(!shown.contains(word), "\(word) is visible")
        }
        // The host of a URL is in lower case.
        for word in sample.words where !word.hasPrefix("S") {
            #expect(shown.contains(word) || hidden.contains(word), "\(word) is lost")
        }
    }

    @Test(arguments: all) func `a whole file imported again changes nothing`(_ sample: Sample) throws {
        let vault = try Vault.inMemory(accessGroups: .standard)
        let document = try Document(text: sample.text)
        let first = try sample.read(document).stored(in: vault, of: sample.format)
        let sequence = try vault.sequence
        let second = try sample.read(document).stored(in: vault, of: sample.format)
        #expect(second.count(.unchanged) == first.count(.added) && second.count(.skipped) == first.count(.skipped))
        #expect(try vault.sequence == sequence)
    }
}
