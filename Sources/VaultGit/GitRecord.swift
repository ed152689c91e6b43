// SPDX-License-Identifier: Apache-2.0
package import VaultCrypto
internal import VaultFormat

/// A message between git and a credential helper: lines `key=value` up to a blank one or the end (git-credential(1)).
package struct GitRecord: Sendable {
    /// The reason why a received record is unusable.
    package enum Flaw: Error, Equatable {
        case tooLong, zeroByte, cutLine, noEquals, notText, noMemory
    }

    package var protocolName = ""
    /// The host, with the port if one was given; empty if absent.
    package var host = ""
    package var path: String?
    package var user: String?
    package var password: Secret?
    /// The scheme of `credential`, such as Bearer (RFC 9110, 11.1).
    package var authenticationType: String?
    package var credential: Secret?
    /// Whether the credential is valid only once, and must not be stored.
    package var isEphemeral = false
    /// The expiry time, in seconds since 1970.
    package var expiry: Int64?
    package var refreshToken: Secret?
    package var capabilities: [String] = []
    /// The states that helpers sent with the credential.
    package var states: [String] = []

    /// The maximum length that is read, in bytes: git also forwards the headers of a server.
    package static let limit = 1 << 20

    package init() {}

    package init(_ text: Secret) throws(Flaw) {
        try text.withBytes { bytes throws(Flaw) in
            guard bytes.count <= GitRecord.limit else { throw .tooLong }
            var start = 0
            while start < bytes.count {
                guard let end = GitRecord.index(of: 0x0a, in: bytes, start..<bytes.count) else { throw .cutLine }
                if end == start { return }
                try take(bytes, start..<end)
                start = end + 1
            }
        }
    }

    private mutating func take(_ bytes: Span<UInt8>, _ line: Range<Int>) throws(Flaw) {
        guard GitRecord.index(of: 0, in: bytes, line) == nil else { throw .zeroByte }
        guard let split = GitRecord.index(of: UInt8(ascii: "="), in: bytes, line), split > line.lowerBound else {
            throw .noEquals
        }
        let value = split + 1..<line.upperBound
        switch String(decoding: bytes.array(line.lowerBound..<split), as: UTF8.self) {
        case "password": password = try GitRecord.secret(bytes, value)
        case "credential": credential = try GitRecord.secret(bytes, value)
        case "oauth_refresh_token": refreshToken = try GitRecord.secret(bytes, value)
        case "protocol": protocolName = try GitRecord.text(bytes, value)
        case "host": host = try GitRecord.text(bytes, value)
        case "path": path = try GitRecord.text(bytes, value)
        case "username": user = try GitRecord.text(bytes, value)
        case "authtype": authenticationType = try GitRecord.text(bytes, value)
        case "ephemeral": isEphemeral = ["1", "true", "yes", "on"].contains(try GitRecord.text(bytes, value))
        case "password_expiry_utc": expiry = Int64(try GitRecord.text(bytes, value))
        case "capability[]": GitRecord.extend(&capabilities, try GitRecord.text(bytes, value))
        case "state[]": GitRecord.extend(&states, try GitRecord.text(bytes, value))
        // Later versions of git send further keys.
        default: break
        }
    }

    /// Appends a value to a list; an empty value clears the list.
    private static func extend(_ list: inout [String], _ value: String) {
        if value.isEmpty { list = [] } else { list.append(value) }
    }

    private static func text(_ bytes: Span<UInt8>, _ range: Range<Int>) throws(Flaw) -> String {
        guard let text = String(validating: bytes.array(range), as: UTF8.self) else { throw .notText }
        return text
    }

    private static func secret(_ bytes: Span<UInt8>, _ range: Range<Int>) throws(Flaw) -> Secret {
        do throws(CryptoError) { return Secret(try SecretBytes(copying: bytes.extracting(range))) } catch {
            throw .noMemory
        }
    }

    private static func index(of byte: UInt8, in bytes: Span<UInt8>, _ range: Range<Int>) -> Int? {
        range.first { bytes[$0] == byte }
    }

    /// Serializes the record as a helper's answer, in locked memory.
    package func text() throws(CryptoError) -> SecretBytes {
        var buffer = try SecretBuffer()
        // Capabilities precede the values that depend on them.
        for capability in capabilities { try GitRecord.add("capability[]", capability, to: &buffer) }
        try GitRecord.add("username", user, to: &buffer)
        try GitRecord.add("password", password, to: &buffer)
        try GitRecord.add("authtype", authenticationType, to: &buffer)
        try GitRecord.add("credential", credential, to: &buffer)
        try GitRecord.add("password_expiry_utc", expiry.map(String.init), to: &buffer)
        try GitRecord.add("oauth_refresh_token", refreshToken, to: &buffer)
        for state in states { try GitRecord.add("state[]", state, to: &buffer) }
        return try buffer.bytes()
    }

    private static func add(_ key: String, _ value: String?, to buffer: inout SecretBuffer) throws(CryptoError) {
        if let value { try buffer.append("\(key)=\(value)\n") }
    }

    private static func add(_ key: String, _ value: Secret?, to buffer: inout SecretBuffer) throws(CryptoError) {
        guard let value else { return }
        try buffer.append(key + "=")
        try value.withBytes { bytes throws(CryptoError) in try buffer.append(bytes) }
        try buffer.append(0x0a)
    }
}
