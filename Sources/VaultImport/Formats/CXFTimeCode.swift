// SPDX-License-Identifier: Apache-2.0
internal import VaultCrypto
internal import VaultFormat

/// The seed of time-based one-time passwords in CXF's parts (`totp`), and in the text that items contain: an
/// `otpauth://` URI, or base32 alone if there is nothing else to state.
struct CXFTimeCode {
    static let type = "totp"
    static let members = ["type", "secret", "period", "digits", "username", "algorithm", "issuer"]

    private enum Standard {
        static let algorithm = "sha1"
        static let digits = 6
        static let period = 30
    }

    private static let algorithms = [Standard.algorithm, "sha256", "sha512"]

    /// In base32, in capitals and without padding.
    private let seed: Secret
    private var algorithm = Standard.algorithm
    private var digits = Standard.digits
    private var period = Standard.period
    private var issuer = ""
    private var account = ""

    // MARK: Reading

    /// - Returns: `nil` for a credential that makes no passwords here, such as one with another algorithm.
    init?(_ credential: JSONValue) throws(ImportError) {
        guard let seed = try credential["secret"]?.secret(),
            let clean = try secured(try CXFTimeCode.cleaned(seed, 0..<seed.count))
        else { return nil }
        self.seed = clean
        issuer = credential["issuer"]?.text ?? ""
        account = credential["username"]?.text ?? ""
        algorithm = credential["algorithm"]?.text?.lowercased() ?? algorithm
        digits = credential["digits"].map { $0.text.flatMap { Int($0) } ?? -1 } ?? digits
        period = credential["period"].map { $0.text.flatMap { Int($0) } ?? -1 } ?? period
        guard CXFTimeCode.algorithms.contains(algorithm), CXFTimeCode.isUsable(try text()) else { return nil }
    }

    /// - Parameter text: that of an item.
    /// - Returns: `nil` for other one-time passwords, such as counted ones.
    init?(_ text: Secret) throws(CryptoError) {
        guard CXFTimeCode.isUsable(text), text.isUTF8 else { return nil }
        guard text.withBytes({ OneTimePassword.isURI($0) }) else {
            guard let seed = try CXFTimeCode.cleaned(text, 0..<text.count) else { return nil }
            self.seed = seed
            return
        }
        guard let place = CXFTimeCode.places(text), let seed = try CXFTimeCode.cleaned(text, place.seed) else {
            return nil
        }
        self.seed = seed
        for (name, value) in place.others {
            switch name {
            case "algorithm": algorithm = value.lowercased()
            case "digits": digits = Int(value) ?? digits
            case "period": period = Int(value) ?? period
            case "issuer": issuer = PercentCoding.repaired(value)
            default: break
            }
        }
        let label = CXFTimeCode.names(place.label)
        if issuer.isEmpty { issuer = label.issuer }
        // A label that only repeats the issuer names no account.
        account = label.issuer.isEmpty && label.account == issuer ? "" : label.account
    }

    /// Returns whether a text makes one-time passwords.
    static func isUsable(_ text: Secret) -> Bool {
        text.withBytes { bytes in
            do throws(OneTimePasswordError) {
                _ = try OneTimePassword(bytes)
                return true
            } catch { return false }
        }
    }

    /// Returns the letters and digits of a seed; `nil` if there are none.
    private static func cleaned(_ text: Secret, _ range: Range<Int>) throws(CryptoError) -> Secret? {
        var clean = try SecretBuffer(capacity: range.count)
        try text.withBytes { bytes throws(CryptoError) in
            for index in range {
                switch bytes[index] {
                case UInt8(ascii: " "), UInt8(ascii: "-"): continue
                // Padding, as such or in a URI.
                case UInt8(ascii: "="), UInt8(ascii: "%"): return
                case let byte where (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte):
                    try clean.append(byte & ~0x20)
                case let byte: try clean.append(byte)
                }
            }
        }
        return clean.count == 0 ? nil : Secret(try clean.take())
    }

    /// Returns the parts of a URI, as written; only the seed is secret.
    private static func places(_ uri: Secret) -> (label: String, seed: Range<Int>, others: [(String, String)])? {
        uri.withBytes { bytes in
            func text(_ range: Range<Int>) -> String { String(decoding: bytes.array(range), as: UTF8.self) }
            let start = "otpauth://totp/".utf8.count
            let whole = start..<(bytes.firstIndex(of: UInt8(ascii: "#"), in: start..<bytes.count) ?? bytes.count)
            guard let question = bytes.firstIndex(of: UInt8(ascii: "?"), in: whole) else { return nil }
            var seed: Range<Int>?
            var others: [(String, String)] = []
            var next = question + 1
            while next < whole.upperBound {
                let end = bytes.firstIndex(of: UInt8(ascii: "&"), in: next..<whole.upperBound) ?? whole.upperBound
                let split = bytes.firstIndex(of: UInt8(ascii: "="), in: next..<end) ?? end
                let value = min(split + 1, end)..<end
                if text(next..<split) == "secret" {
                    seed = value
                } else {
                    others.append((text(next..<split), text(value)))
                }
                next = end + 1
            }
            return seed.map { (text(start..<question), $0, others) }
        }
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

    // MARK: Writing

    /// Returns the text for an item.
    func text() throws(ImportError) -> Secret {
        let parameters = [
            ("algorithm", algorithm == Standard.algorithm ? "" : algorithm.uppercased()),
            ("digits", digits == Standard.digits ? "" : String(digits)),
            ("period", period == Standard.period ? "" : String(period)), ("issuer", issuer),
        ]
        if account.isEmpty, parameters.allSatisfy({ $0.1.isEmpty }) { return seed }
        let names = issuer.isEmpty ? (account, "") : (issuer, account)
        return try OTPAuth.uri(issuer: names.0, account: names.1, key: seed, parameters)
    }

    /// Returns whether both make the same passwords under the same names.
    func isEqual(to other: CXFTimeCode) -> Bool {
        seed.isEqual(to: other.seed)
            && (algorithm, digits, period) == (other.algorithm, other.digits, other.period)
            && (issuer, account) == (other.issuer, other.account)
    }

    var value: JSONOutput {
        var members: [(String, JSONOutput)] = [
            ("type", .text(CXFTimeCode.type)), ("secret", .secret(seed)), ("period", .json(String(period))),
            ("digits", .json(String(digits))),
        ]
        if !account.isEmpty { members.append(("username", .text(account))) }
        members.append(("algorithm", .text(algorithm)))
        if !issuer.isEmpty { members.append(("issuer", .text(issuer))) }
        return .object(members)
    }
}
