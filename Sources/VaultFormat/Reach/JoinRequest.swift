// SPDX-License-Identifier: Apache-2.0

/// A device's request to join the realm: the first message of its mailbox, without the signature.
///
/// `version u16 = 1, kind u8 = 3, u8 1, signing key 32, box key 32, u8 nameLength, name`
package struct JoinRequest: Hashable, Sendable {
    static let message: UInt8 = 1

    /// Ed25519.
    package var signingKey: Bytes32
    /// X25519.
    package var boxKey: Bytes32
    /// A valid name for a device of the roster.
    package var name: String

    package init(signingKey: Bytes32, boxKey: Bytes32, name: String) {
        (self.signingKey, self.boxKey, self.name) = (signingKey, boxKey, name)
    }

    /// - Throws: for anything that ``encoded()`` does not produce.
    package init(parsing body: Span<UInt8>) throws(FormatError) {
        var reader = SpanReader(body)
        try BodyHead.parse(.mailbox, JoinRequest.message, &reader, of: body)
        signingKey = try reader.thirtyTwo(of: body, .device)
        boxKey = try reader.thirtyTwo(of: body, .device)
        name = try reader.name(of: body, .device)
        guard RosterDevice.isName(name) else { throw .invalid(.device) }
        try reader.expectEnd(.body)
    }

    /// - Throws: `.invalid(.device)` for an invalid name.
    package func encoded() throws(FormatError) -> [UInt8] {
        guard RosterDevice.isName(name) else { throw .invalid(.device) }
        var output: [UInt8] = []
        BodyHead.append(.mailbox, JoinRequest.message, to: &output)
        output.append(signingKey.bytes)
        output.append(boxKey.bytes)
        output.append(UInt8(clamping: name.utf8.count))
        output += name.utf8
        return output
    }
}
