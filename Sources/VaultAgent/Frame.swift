// SPDX-License-Identifier: Apache-2.0
package import VaultCrypto
internal import VaultFormat

/// A message on the socket: a head, a body, and the secrets that the body refers to, in their order.
///
/// `bodyLength u32, secretsLength u32, version u8, kind u8, reserved u16 = 0, number u32, body, secrets`. A reply has
/// the number of its request. Secrets are separate, so that each side moves them only between the socket and locked
/// memory.
package struct Frame: Sendable {
    package static let headLength = 16
    /// The longest body; longer content is split into several frames.
    package static let longestBody = 256 << 10
    /// The most bytes of secrets in one frame: the longest value and 1 MiB.
    package static let longestSecrets = Layout.valueLimit + (1 << 20)
    static let longest = headLength + longestBody + longestSecrets
    /// The version of the protocol that this program speaks. Every version has it in byte 8 of a frame, and gives the
    /// control frames of ``AgentControl`` the same numbers and bodies; it may append to them.
    package static let version: UInt8 = 4

    package let version: UInt8
    package let kind: UInt8
    package let number: UInt32
    package let body: [UInt8]
    package let secrets: [Secret]

    init(version: UInt8, kind: UInt8, number: UInt32, _ writer: consuming MessageWriter) {
        (self.version, self.kind, self.number) = (version, kind, number)
        body = writer.body
        secrets = writer.secrets
    }

    /// Makes a frame from received parts. All its secrets are one run of bytes.
    package init(_ head: MessageHead, body: [UInt8], secrets: Secret?) {
        version = head.version
        kind = head.kind
        number = head.number
        self.body = body
        self.secrets = secrets.map { [$0] } ?? []
    }

    package var secretsLength: Int { secrets.reduce(0) { $0 + $1.count } }

    /// The bytes before the secrets.
    package var open: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Frame.headLength + body.count)
        bytes.append(integer: UInt32(body.count))
        bytes.append(integer: UInt32(secretsLength))
        bytes.append(version)
        bytes.append(kind)
        bytes.append(integer: 0 as UInt16)
        bytes.append(integer: number)
        bytes.append(body.span)
        return bytes
    }
}

/// The first 16 bytes of a frame. The lengths are within their bounds.
package struct MessageHead: Sendable {
    package let bodyLength: Int
    package let secretsLength: Int
    package let version: UInt8
    package let kind: UInt8
    package let number: UInt32

    /// - Parameters:
    ///   - bytes: the 16 bytes.
    ///   - version: the version that is spoken on the connection.
    /// - Throws: `.otherVersion`, or another error before memory for the stated lengths is allocated.
    package init(_ bytes: Span<UInt8>, version: UInt8 = Frame.version) throws(MessageError) {
        guard bytes.count == Frame.headLength else { throw .truncated }
        let body = bytes.integer(at: 0, as: UInt32.self)
        let secrets = bytes.integer(at: 4, as: UInt32.self)
        guard bytes[8] == version else { throw .otherVersion(bytes[8]) }
        guard body <= UInt32(Frame.longestBody), secrets <= UInt32(Frame.longestSecrets) else { throw .tooLong }
        guard bytes[10] == 0, bytes[11] == 0 else { throw .invalid }
        bodyLength = Int(body)
        secretsLength = Int(secrets)
        self.version = version
        kind = bytes[9]
        number = bytes.integer(at: 12, as: UInt32.self)
    }
}

/// The reason why bytes are not a message.
package enum MessageError: Error, Equatable, Sendable {
    case tooLong, truncated, invalid
    /// The sender has another version of the protocol, which is given.
    case otherVersion(UInt8)
    /// Nothing has arrived before the timeout.
    case late
}
