// SPDX-License-Identifier: Apache-2.0
internal import VaultCrypto

/// A kind of credential (CXF, section 3.3) whose members are texts.
///
/// A credential without a counterpart in a login becomes fields: `wifi.ssid`, `wifi.passphrase` and so on, and for a
/// second one of the kind `wifi.2.ssid`, …. An export makes credentials of these fields.
struct CXFCredential: Sendable {
    /// The form of a member.
    enum Form: Sendable {
        /// An EditableField with this type.
        case field(String)
        /// A string.
        case text
        /// An object or array.
        case json
    }

    let type: String
    let members: [(name: String, form: Form)]

    private init(_ type: String, _ members: [(String, Form)]) {
        self.type = type
        self.members = members.map { (name: $0.0, form: $0.1) }
    }

    private static let string = Form.field("string")
    private static let concealed = Form.field("concealed-string")
    private static let date = Form.field("date")
    private static let month = Form.field("year-month")
    private static let territory = Form.field("subdivision-code")
    private static let country = Form.field("country-code")

    static let basic = CXFCredential("basic-auth", [("username", string), ("password", concealed)])
    static let note = CXFCredential("note", [("content", string)])
    static let card = CXFCredential(
        "credit-card",
        [
            ("number", concealed), ("fullName", string), ("cardType", string), ("verificationNumber", concealed),
            ("pin", concealed), ("expiryDate", month), ("validFrom", month),
        ])
    static let person = CXFCredential(
        "person-name",
        [
            ("title", string), ("given", string), ("givenInformal", string), ("given2", string),
            ("surnamePrefix", string), ("surname", string), ("surname2", string), ("credentials", string),
            ("generation", string),
        ])
    static let address = CXFCredential(
        "address",
        [
            ("streetAddress", string), ("postalCode", string), ("city", string), ("territory", territory),
            ("country", country), ("tel", string),
        ])
    static let sshKey = CXFCredential(
        "ssh-key",
        [
            ("keyType", .text), ("privateKey", .text), ("keyComment", .text), ("creationDate", date),
            ("expiryDate", date), ("keyGenerationSource", string),
        ])
    static let passkey = CXFCredential(
        "passkey",
        [
            ("credentialId", .text), ("rpId", .text), ("username", .text), ("userDisplayName", .text),
            ("userHandle", .text), ("key", .text), ("fido2Extensions", .json),
        ])
    private static let document: [(String, Form)] = [
        ("nationality", string), ("fullName", string), ("birthDate", date), ("birthPlace", string), ("sex", string),
        ("issueDate", date), ("expiryDate", date), ("issuingAuthority", string),
    ]

    static let all = [
        basic, note, card, person, address, sshKey, passkey,
        CXFCredential(
            "api-key",
            [
                ("key", concealed), ("username", string), ("keyType", string), ("url", string), ("validFrom", date),
                ("expiryDate", date),
            ]),
        CXFCredential(
            "drivers-license",
            [
                ("fullName", string), ("birthDate", date), ("issueDate", date), ("expiryDate", date),
                ("issuingAuthority", string), ("territory", territory), ("country", country),
                ("licenseNumber", string), ("licenseClass", string),
            ]),
        CXFCredential("generated-password", [("password", .text)]),
        CXFCredential(
            "identity-document",
            [("issuingCountry", country), ("documentNumber", string), ("identificationNumber", string)] + document),
        CXFCredential(
            "passport",
            [
                ("issuingCountry", country), ("passportType", string), ("passportNumber", string),
                ("nationalIdentificationNumber", string),
            ] + document),
        CXFCredential(
            "wifi",
            [
                ("ssid", string), ("networkSecurityType", .field("wifi-network-security-type")),
                ("passphrase", concealed), ("hidden", .field("boolean")),
            ]),
    ]

    static func named(_ type: String) -> CXFCredential? { all.first { $0.type == type } }

    /// Returns the prefix of the fields of the credential with this number among those of its kind.
    func prefix(_ number: Int) -> String { CXFNames.numbered(type, number) + "." }

    /// The kind of an entry whose fields have Bitwarden's names, and these names, where they differ.
    private static let kinds: [String: (kind: String, names: [String: String])] = [
        card.type: (
            "card", ["fullName": "cardholderName", "cardType": "brand", "verificationNumber": "code"]
        ),
        person.type: ("identity", ["given": "firstName", "given2": "middleName", "surname": "lastName"]),
        address.type: (
            "identity", ["streetAddress": "address1", "territory": "state", "tel": "phone"]
        ),
    ]

    /// The kind of entry that such a credential makes; `nil` if its fields have names of their own.
    var kind: String? { CXFCredential.kinds[type]?.kind }

    /// Whether the first such credential is a part of the login itself.
    var isOfLogin: Bool {
        [CXFCredential.basic.type, CXFCredential.note.type, CXFCredential.passkey.type].contains(type)
    }

    /// Returns the field of a member in an entry of that kind.
    func name(of member: String) -> String { CXFCredential.kinds[type]?.names[member] ?? member }

    /// Returns the text of a member: the value of an EditableField, or the member itself.
    static func value(of member: JSONValue) throws(ImportError) -> Secret? {
        try (member.isObject ? member["value"] ?? member : member).secretOrSource()
    }

    /// Returns the credential with the members that have a value, each of which is UTF-8.
    func value(_ values: [String: Secret]) -> JSONOutput {
        .object(
            [("type", .text(type))]
                + members.compactMap { name, form in
                    values[name].map { value in
                        switch form {
                        case .field(let type):
                            (name, .object([("fieldType", .text(type)), ("value", .secret(value))]))
                        case .json where value.isShallowJSON(): (name, .source(value))
                        case .text, .json: (name, .secret(value))
                        }
                    }
                })
    }
}

/// The month of an expiry: `2027-04` in CXF, and two fields of a card as Bitwarden has it.
enum CXFMonth {
    static let member = "expiryDate"
    static let year = "expYear"
    static let month = "expMonth"

    /// Returns the year, and the month without a leading zero; `nil` for a text in another form.
    static func parts(of text: Secret) throws(ImportError) -> (year: Secret, month: Secret)? {
        let isMonth = text.withBytes { bytes in
            bytes.count == 7 && bytes[4] == UInt8(ascii: "-") && isNumber(bytes.extracting(0..<4))
                && isNumber(bytes.extracting(5..<7)) && (1...12).contains(number(bytes.extracting(5..<7)))
        }
        guard isMonth else { return nil }
        let start = text.withBytes { $0[5] == UInt8(ascii: "0") ? 6 : 5 }
        return (try text.part(0..<4), try text.part(start..<7))
    }

    /// Returns the text; `nil` if ``parts(of:)`` would not return the same.
    static func text(year: Secret, month: Secret) throws(CryptoError) -> Secret? {
        let isYear = year.withBytes { $0.count == 4 && isNumber($0) }
        let isMonth = month.withBytes { bytes in
            (1...2).contains(bytes.count) && isNumber(bytes) && bytes[0] != UInt8(ascii: "0")
                && (1...12).contains(number(bytes))
        }
        guard isYear, isMonth else { return nil }
        var text = try SecretBuffer(capacity: 8)
        try year.withBytes { bytes throws(CryptoError) in try text.append(bytes) }
        try text.append(month.count == 1 ? "-0" : "-")
        try month.withBytes { bytes throws(CryptoError) in try text.append(bytes) }
        return Secret(try text.take())
    }

    private static func isNumber(_ bytes: Span<UInt8>) -> Bool {
        bytes.indices.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(bytes[$0]) }
    }

    private static func number(_ bytes: Span<UInt8>) -> Int {
        bytes.indices.reduce(0) { $0 * 10 + Int(bytes[$1] - UInt8(ascii: "0")) }
    }
}

extension Secret {
    /// The deepest nesting that is written inside an item, so that the whole file can be read again.
    private static let depthLimit = 40

    /// Returns whether the text is a JSON value that may be part of an item, and nothing else.
    func isShallowJSON(where isFitting: (JSONValue) -> Bool = { _ in true }) -> Bool {
        guard let document = try? Document(self), let value = try? JSONValue(document),
            let source = try? value.source()
        else { return false }
        return value.depth <= Secret.depthLimit && source.count == count && isFitting(value)
    }
}

extension JSONValue {
    /// The number of values around the innermost one, and that one.
    fileprivate var depth: Int { 1 + ((elements + members.map(\.value)).map(\.depth).max() ?? 0) }
}
