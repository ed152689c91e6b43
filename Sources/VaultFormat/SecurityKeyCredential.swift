// SPDX-License-Identifier: Apache-2.0

/// The blob of an external slot whose secret a FIDO2 security key computes, by CTAP 2's extension hmac-secret.
///
/// Nothing in it is secret. The key computes the 32 bytes from the salt, with a key of its own for each credential.
package struct SecurityKeyCredential: Equatable, Sendable {
    /// The relying party of all credentials. A browser accepts no page under this name, which has no domain's form.
    package static let relyingParty = "vault:slot"

    /// The lengths of a credential's identifier, in bytes (CTAP 2.1, 6.1.3: up to 1,023).
    package static let identifierBounds = 16...1023

    /// Whether the key must verify its holder, by its PIN or a fingerprint, in addition to the touch.
    package var isVerified: Bool
    /// 32 random bytes.
    package var salt: [UInt8]
    /// ``identifierBounds`` bytes, chosen by the key.
    package var identifier: [UInt8]

    /// - Throws: `.outOfBounds(.annex)` for an identifier outside of ``identifierBounds``.
    package init(identifier: [UInt8], salt: [UInt8], isVerified: Bool) throws(FormatError) {
        precondition(salt.count == 32)
        guard Self.identifierBounds.contains(identifier.count) else { throw .outOfBounds(.annex) }
        (self.identifier, self.salt, self.isVerified) = (identifier, salt, isVerified)
    }

    /// - Throws: `.truncated(.annex)`; `.unsupported(.annex)` for another version or an unknown flag;
    ///   `.outOfBounds(.annex)` for a length that is not that of the rest, or outside of ``identifierBounds``.
    package init(parsing bytes: Span<UInt8>) throws(FormatError) {
        guard bytes.count >= Self.fixedLength else { throw .truncated(.annex) }
        guard bytes[0] == Self.version, bytes[1] & ~Self.verifiedFlag == 0 else { throw .unsupported(.annex) }
        let length = Int(bytes.integer(at: 2, as: UInt16.self))
        guard Self.identifierBounds.contains(length), bytes.count == Self.fixedLength + length else {
            throw .outOfBounds(.annex)
        }
        isVerified = bytes[1] & Self.verifiedFlag != 0
        salt = bytes.array(4..<Self.fixedLength)
        identifier = bytes.array(Self.fixedLength..<bytes.count)
    }

    /// 52 to 1,059 bytes.
    package var encoded: [UInt8] {
        var output = [Self.version, isVerified ? Self.verifiedFlag : 0]
        output.append(integer: UInt16(identifier.count))
        return output + salt + identifier
    }

    /// The length of the shortest encoding, in bytes.
    package static let shortestBlob = fixedLength + identifierBounds.lowerBound

    private static let version: UInt8 = 1
    private static let verifiedFlag: UInt8 = 1
    private static let fixedLength = 36
}
