// SPDX-License-Identifier: Apache-2.0
internal import VaultCrypto
internal import VaultFormat

/// The seed of time-based one-time passwords in CXF's parts (`totp`), and in the text that items contain: an
/// `otpauth://` URI, or base32 alone if there is nothing else to state.
struct CXFTimeCode {
    static let type = "totp"
    static let members = ["type", "secret", "period", "digits", "username", "algorithm", "issuer"]

    private struct Parameters: Equatable {
        var algorithm = "sha1"
        var digits = 6
        var period = 30
        var issuer = ""
        var account = ""
    }

    /// In base32, in capitals and without padding.
    private let seed: Secret
    private var parameters = Parameters()

    /// - Returns: `nil` for a credential that makes no passwords here, such as one with another algorithm.
    init?(_ credential: JSONValue) throws(ImportError) {
        guard let seed = try credential["secret"]?.secret(),
            let clean = try CXFTimeCode.cleaned(seed, 0..<seed.count)
        else { return nil }
        self.seed = clean
        func number(_ member: String, _ usual: Int) -> Int {
            credential[member].map { $0.text.flatMap { Int($0) } ?? -1 } ?? usual
        }
        parameters = Parameters(
            algorithm: credential["algorithm"]?.text?.lowercased() ?? parameters.algorithm,
            digits: number("digits", parameters.digits), period: number("period", parameters.period),
            issuer: credential["issuer"]?.text ?? "", account: credential["username"]?.text ?? "")
        guard ["sha1", "sha256", "sha512"].contains(parameters.algorithm), CXFTimeCode.isUsable(try text()) else {
            return nil
        }
    }

    /// - Returns: `nil` for other one-time passwords, such as counted ones.
    init?(_ text: Secret) throws(ImportError) {
        guard CXFTimeCode.isUsable(text), text.isUTF8 else { return nil }
        let isURI = text.withBytes { OneTimePassword.isURI($0) }
        let uri = isURI ? text.withBytes { OTPAuth.Places($0, 0..<$0.count) } : nil
        let place = isURI ? uri?.parameters.last { $0.name == "secret" }?.value : 0..<text.count
        guard let place, let seed = try CXFTimeCode.cleaned(text, place) else { return nil }
        self.seed = seed
        guard let uri else { return }
        for (name, range) in uri.parameters where name != "secret" {
            let value = text.withBytes { $0.text(range) }
            switch name {
            case "algorithm": parameters.algorithm = value.lowercased()
            case "digits": parameters.digits = Int(value) ?? parameters.digits
            case "period": parameters.period = Int(value) ?? parameters.period
            case "issuer": parameters.issuer = PercentCoding.repaired(value)
            default: break
            }
        }
        let label = CXFTimeCode.names(text.withBytes { $0.text(uri.label) })
        if parameters.issuer.isEmpty { parameters.issuer = label.issuer }
        // A label that only repeats the issuer names no account.
        let isRepeated = label.issuer.isEmpty && label.account == parameters.issuer
        parameters.account = isRepeated ? "" : label.account
    }

    static func isUsable(_ text: Secret) -> Bool {
        text.withBytes { bytes in
            do throws(OneTimePasswordError) {
                _ = try OneTimePassword(bytes)
                return true
            } catch { return false }
        }
    }

    /// Returns the letters and digits of a seed; `nil` if there are none.
    private static func cleaned(_ text: Secret, _ range: Range<Int>) throws(ImportError) -> Secret? {
        let clean = try Secret.assembled(capacity: range.count) { clean throws(CryptoError) in
            try text.withBytes { bytes throws(CryptoError) in
                for index in range {
                    switch bytes[index] {
                    case UInt8(ascii: " "), UInt8(ascii: "-"): continue
                    // Padding, as such or in a URI.
                    case UInt8(ascii: "="), UInt8(ascii: "%"): return
                    case UInt8(ascii: "a")...UInt8(ascii: "z"): try clean.append(bytes[index] & ~0x20)
                    case let byte: try clean.append(byte)
                    }
                }
            }
        }
        return clean.isEmpty ? nil : clean
    }

    /// Splits a label, `ISSUER:ACCOUNT`, whose colon some writers encode.
    private static func names(_ label: String) -> (issuer: String, account: String) {
        let isEncoded = !label.utf8.contains(UInt8(ascii: ":"))
        let text = isEncoded ? PercentCoding.repaired(label) : label
        guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else { return ("", text) }
        let parts = [text[..<colon], text[text.utf8.index(after: colon)...]].map { part in
            isEncoded ? String(part) : PercentCoding.repaired(part)
        }
        return (parts[0], String(parts[1].drop { $0 == " " }))
    }

    func text() throws(ImportError) -> Secret {
        let (own, usual) = (parameters, Parameters())
        let others = [
            ("algorithm", own.algorithm == usual.algorithm ? "" : own.algorithm.uppercased()),
            ("digits", own.digits == usual.digits ? "" : String(own.digits)),
            ("period", own.period == usual.period ? "" : String(own.period)), ("issuer", own.issuer),
        ]
        if own == usual { return seed }
        let names = own.issuer.isEmpty ? (own.account, "") : (own.issuer, own.account)
        return try OTPAuth.uri(issuer: names.0, account: names.1, key: seed, others)
    }

    func isEqual(to other: CXFTimeCode) -> Bool { seed.isEqual(to: other.seed) && parameters == other.parameters }

    var value: JSONOutput {
        let (issuer, account) = (parameters.issuer, parameters.account)
        return .object(present: [
            ("type", .text(CXFTimeCode.type)), ("secret", .secret(seed)), ("period", .number(parameters.period)),
            ("digits", .number(parameters.digits)), ("username", account.isEmpty ? nil : .text(account)),
            ("algorithm", .text(parameters.algorithm)), ("issuer", issuer.isEmpty ? nil : .text(issuer)),
        ])
    }
}
