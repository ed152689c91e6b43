// SPDX-License-Identifier: Apache-2.0
internal import VaultCrypto

/// A kind of credential (CXF, section 3.3) whose members are texts.
///
/// A credential without a counterpart in a login becomes fields: `wifi.ssid`, `wifi.passphrase` and so on, and for a
/// second one of the kind `wifi.2.ssid`, …. An export makes credentials of these fields.
struct CXFCredential: Sendable {
    enum Form: Sendable {
        case field(String)
        case text
        case json
    }

    let type: String
    let members: [(name: String, form: Form)]

    /// - Parameter members: their names, each with a mark behind it unless it is an EditableField with a string: `*`
    ///   for a concealed string, `:` and another type of field, `=` for a text, and `{}` for JSON.
    private init(_ type: String, _ members: String) {
        self.type = type
        self.members = members.split(separator: " ").map { member in
            let name = String(member.prefix { $0.isLetter || $0.isNumber })
            switch member.dropFirst(name.count) {
            case "": return (name, .field("string"))
            case "*": return (name, .field("concealed-string"))
            case "=": return (name, .text)
            case "{}": return (name, .json)
            case let type: return (name, .field(String(type.dropFirst())))
            }
        }
    }

    static let basic = CXFCredential("basic-auth", "username password*")
    static let note = CXFCredential("note", "content")
    static let card = CXFCredential(
        "credit-card",
        "number* fullName cardType verificationNumber* pin* expiryDate:year-month validFrom:year-month")
    static let person = CXFCredential(
        "person-name", "title given givenInformal given2 surnamePrefix surname surname2 credentials generation")
    static let address = CXFCredential(
        "address", "streetAddress postalCode city territory:subdivision-code country:country-code tel")
    static let sshKey = CXFCredential(
        "ssh-key", "keyType= privateKey= keyComment= creationDate:date expiryDate:date keyGenerationSource")
    static let passkey = CXFCredential(
        "passkey", "credentialId= rpId= username= userDisplayName= userHandle= key= fido2Extensions{}")
    private static let document =
        " nationality fullName birthDate:date birthPlace sex issueDate:date expiryDate:date issuingAuthority"

    static let all = [
        basic, note, card, person, address, sshKey, passkey,
        CXFCredential("api-key", "key* username keyType url validFrom:date expiryDate:date"),
        CXFCredential(
            "drivers-license",
            "fullName birthDate:date issueDate:date expiryDate:date issuingAuthority territory:subdivision-code "
                + "country:country-code licenseNumber licenseClass"),
        CXFCredential("generated-password", "password="),
        CXFCredential(
            "identity-document", "issuingCountry:country-code documentNumber identificationNumber" + document),
        CXFCredential(
            "passport",
            "issuingCountry:country-code passportType passportNumber nationalIdentificationNumber" + document),
        CXFCredential("wifi", "ssid networkSecurityType:wifi-network-security-type passphrase* hidden:boolean"),
    ]

    static func named(_ type: String) -> CXFCredential? { all.first { $0.type == type } }

    /// Returns the prefix of the fields of the credential with this number among those of its kind.
    func prefix(_ number: Int) -> String { CXFNames.numbered(type, number) + "." }

    /// The kind of an entry whose fields have Bitwarden's names, and these names, where they differ.
    private static let kinds: [String: (kind: String, names: [String: String])] = [
        card.type: ("card", ["fullName": "cardholderName", "cardType": "brand", "verificationNumber": "code"]),
        person.type: ("identity", ["given": "firstName", "given2": "middleName", "surname": "lastName"]),
        address.type: ("identity", ["streetAddress": "address1", "territory": "state", "tel": "phone"]),
    ]

    /// The kind of entry that such a credential makes; `nil` if its fields have names of their own.
    var kind: String? { CXFCredential.kinds[type]?.kind }

    /// Whether the first such credential is a part of the login itself.
    var isOfLogin: Bool { ["basic-auth", "note", "passkey"].contains(type) }

    func name(of member: String) -> String { CXFCredential.kinds[type]?.names[member] ?? member }

    /// Returns the text of a member: the value of an EditableField, or the member itself.
    static func value(of member: JSONValue?) throws(ImportError) -> Secret? {
        try (member?.isObject == true ? member?["value"] ?? member : member)?.secretOrSource()
    }

    /// Returns the credential with the members that have a value, each of which is UTF-8.
    func value(_ values: [String: Secret]) -> JSONOutput {
        let present = members.map { name, form -> (String, JSONOutput?) in
            guard let value = values[name] else { return (name, nil) }
            switch form {
            case .field(let type): return (name, .object([("fieldType", .text(type)), ("value", .secret(value))]))
            case .json where value.isShallowJSON(): return (name, .source(value))
            case .text, .json: return (name, .secret(value))
            }
        }
        return .object(present: [("type", .text(type))] + present)
    }
}

/// The month of an expiry: `2027-04` in CXF, and two fields of a card as Bitwarden has it.
enum CXFMonth {
    static let member = "expiryDate"
    static let year = "expYear"
    static let month = "expMonth"

    /// Returns the year, and the month without a leading zero; `nil` for a text in another form.
    static func parts(of text: Secret) throws(ImportError) -> (year: Secret, month: Secret)? {
        let start = text.withBytes { bytes -> Int? in
            guard bytes.count == 7, bytes[4] == UInt8(ascii: "-"), number(bytes, 0..<4) != nil,
                let month = number(bytes, 5..<7), (1...12).contains(month)
            else { return nil }
            return month < 10 ? 6 : 5
        }
        return try start.map { start throws(ImportError) in (try text.part(0..<4), try text.part(start..<7)) }
    }

    /// Returns the text; `nil` if ``parts(of:)`` would not return the same.
    static func text(year: Secret, month: Secret) throws(ImportError) -> Secret? {
        let isYear = year.withBytes { $0.count == 4 && number($0, 0..<4) != nil }
        let isMonth = month.withBytes { bytes in
            (1...2).contains(bytes.count) && bytes[0] != UInt8(ascii: "0")
                && number(bytes, 0..<bytes.count).map { (1...12).contains($0) } ?? false
        }
        guard isYear, isMonth else { return nil }
        return try .assembled(capacity: 8) { text throws(CryptoError) in
            try text.append(year)
            try text.append(month.count == 1 ? "-0" : "-")
            try text.append(month)
        }
    }

    private static func number(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Int? {
        guard range.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(bytes[$0]) }) else { return nil }
        return range.reduce(0) { $0 * 10 + Int(bytes[$1] - UInt8(ascii: "0")) }
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
