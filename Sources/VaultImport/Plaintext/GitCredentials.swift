// SPDX-License-Identifier: Apache-2.0
internal import Vault
internal import VaultCrypto
internal import VaultFormat

/// `~/.git-credentials`: one URL per line, with user and password, percent-encoded (git-credential-store).
enum GitCredentials {
    static func logins(_ document: Document) throws(ImportError) -> Plaintext.Found {
        var found = Plaintext.Found()
        for (index, (line, whole)) in zip(document.lines, document.wholeLines).enumerated() {
            let isComment = document.bytes.withBytes { bytes in
                bytes.trimmed(line).isEmpty || bytes[line.lowerBound] == UInt8(ascii: "#")
            }
            guard !isComment else { continue }
            let place = "line \(index + 1)"
            let (scheme, split, at) = document.bytes.withBytes { bytes -> (Int?, Int?, Int?) in
                var scheme = bytes.firstIndex(of: UInt8(ascii: ":"), in: line)
                if let start = scheme, !bytes.starts(start..<line.upperBound, with: "://") { scheme = nil }
                guard let start = scheme.map({ $0 + 3 }) else { return (nil, nil, nil) }
                let at = bytes.firstIndex(of: UInt8(ascii: "@"), in: start..<line.upperBound)
                let split = at.flatMap { bytes.firstIndex(of: UInt8(ascii: ":"), in: start..<$0) }
                return (scheme, split, at)
            }
            guard let scheme, let at else { throw .malformed(place, "this is no URL with a user") }
            let text = document.text(line.lowerBound..<scheme + 3) + document.text(at + 1..<line.upperBound)
            guard let address = WebAddress(text) else { throw .malformed(place, "this is no URL with a user") }
            let user = PercentCoding.repaired(document.text(scheme + 3..<(split ?? at)))
            var login = Login(id: "\(address.text) \(user)", place: place)
            login.user = user
            login.title = address.host
            // The path as git passes it to helpers: decoded, and without its leading slash.
            var attributes = address.attributes
            attributes[.path] = address.path.map { .string(PercentCoding.repaired(String($0.dropFirst()))) }
            login.address = .internet(attributes)
            if let split { login.password = try percentDecoded(document, split + 1..<at) }
            found.append(login, [whole])
        }
        return found
    }

    private static func percentDecoded(_ document: Document, _ range: Range<Int>) throws(ImportError) -> Secret {
        try secured { () throws(CryptoError) in
            var buffer = try SecretBuffer(capacity: range.count)
            try document.bytes.withBytes { bytes throws(CryptoError) in
                _ = try PercentCoding.decode(bytes.extracting(range)) { byte throws(CryptoError) in
                    try buffer.append(byte)
                }
            }
            return Secret(try buffer.take())
        }
    }
}
