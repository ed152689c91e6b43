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
    static let version: UInt8 = 4

    package let kind: UInt8
    package let number: UInt32
    package let body: [UInt8]
    package let secrets: [Secret]

    init(kind: UInt8, number: UInt32, _ writer: consuming MessageWriter) {
        self.kind = kind
        self.number = number
        body = writer.body
        secrets = writer.secrets
    }

    /// Makes a frame from received parts. All its secrets are one run of bytes.
    package init(_ head: MessageHead, body: [UInt8], secrets: Secret?) {
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
        bytes.append(Frame.version)
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
    package let kind: UInt8
    package let number: UInt32

    /// - Parameter bytes: the 16 bytes.
    /// - Throws: an error before memory for the stated lengths is allocated.
    package init(_ bytes: Span<UInt8>) throws(MessageError) {
        guard bytes.count == Frame.headLength else { throw .truncated }
        let body = bytes.integer(at: 0, as: UInt32.self)
        let secrets = bytes.integer(at: 4, as: UInt32.self)
        guard bytes[8] == Frame.version else { throw .unsupportedVersion }
        guard body <= UInt32(Frame.longestBody), secrets <= UInt32(Frame.longestSecrets) else { throw .tooLong }
        guard bytes[10] == 0, bytes[11] == 0 else { throw .invalid }
        bodyLength = Int(body)
        secretsLength = Int(secrets)
        kind = bytes[9]
        number = bytes.integer(at: 12, as: UInt32.self)
    }
}

/// The reason why bytes are not a message.
package enum MessageError: Error, Equatable, Sendable {
    case unsupportedVersion, tooLong, truncated, invalid
    /// Nothing has arrived before the timeout.
    case late
}
