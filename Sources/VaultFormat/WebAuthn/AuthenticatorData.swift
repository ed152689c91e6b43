// SPDX-License-Identifier: Apache-2.0

/// The data of an authenticator that each signature covers (WebAuthn, 6.1): hash of the rpId 32, flags 1, counter 4
/// big-endian, in a registration the credential, then extensions.
package struct AuthenticatorData: Hashable, Sendable {
    package struct Flags: OptionSet, Hashable, Sendable {
        package let rawValue: UInt8

        package init(rawValue: UInt8) { self.rawValue = rawValue }

        /// UP: a person was there.
        package static let userPresent = Flags(rawValue: 1 << 0)
        /// UV: that person was recognized as the user.
        package static let userVerified = Flags(rawValue: 1 << 2)
        /// BE: the key may leave this device.
        package static let backupEligible = Flags(rawValue: 1 << 3)
        /// BS: another device or a backup has the key.
        package static let backedUp = Flags(rawValue: 1 << 4)

        fileprivate static let hasCredential = Flags(rawValue: 1 << 6)
        fileprivate static let hasExtensions = Flags(rawValue: 1 << 7)
        fileprivate static let reserved = Flags(rawValue: 1 << 1 | 1 << 5)
    }

    /// SHA-256 of the rpId.
    package let relyingPartyHash: Bytes32
    /// Without those that follow from the other properties.
    package let flags: Flags
    /// 0 for a key that several devices may use, which therefore cannot count.
    package let counter: UInt32
    package let credential: AttestedCredential?
    /// A map; `nil` if there are none.
    package let extensions: CBORValue?

    package init(
        relyingPartyHash: Bytes32, flags: Flags, counter: UInt32 = 0, credential: AttestedCredential? = nil,
        extensions: CBORValue? = nil
    ) {
        self.relyingPartyHash = relyingPartyHash
        self.flags = flags.subtracting([.hasCredential, .hasExtensions, .reserved])
        (self.counter, self.credential, self.extensions) = (counter, credential, extensions)
    }

    private static let headLength = 37

    package var encoded: [UInt8] {
        var output: [UInt8] = []
        output.append(relyingPartyHash.bytes)
        var flags = flags
        if credential != nil { flags.insert(.hasCredential) }
        if extensions != nil { flags.insert(.hasExtensions) }
        output.append(flags.rawValue)
        output.append(integer: counter.byteSwapped)
        credential?.append(to: &output)
        extensions?.append(to: &output)
        return output
    }

    /// Fails for bytes that ``encoded`` does not produce, an unknown key, and a backup of a key that may not leave the
    /// device (WebAuthn, 6.1.3).
    package init?(_ bytes: Span<UInt8>) {
        guard bytes.count >= AuthenticatorData.headLength else { return nil }
        let flags = Flags(rawValue: bytes[32])
        guard flags.isDisjoint(with: .reserved), !flags.contains(.backedUp) || flags.contains(.backupEligible) else {
            return nil
        }
        var offset = AuthenticatorData.headLength
        var credential: AttestedCredential?
        if flags.contains(.hasCredential) {
            credential = AttestedCredential(bytes, at: &offset)
            guard credential != nil else { return nil }
        }
        var extensions: CBORValue?
        if flags.contains(.hasExtensions) {
            var reader = CBORReader(at: offset)
            guard let value = try? reader.value(of: bytes), case .map = value else { return nil }
            (extensions, offset) = (value, reader.offset)
        }
        guard offset == bytes.count else { return nil }
        self.init(
            relyingPartyHash: Bytes32(bytes), flags: flags,
            counter: bytes.integer(at: 33, as: UInt32.self).byteSwapped, credential: credential, extensions: extensions)
    }
}

/// The new credential in the data of a registration (WebAuthn, 6.5.1): AAGUID 16, length of the identifier 2
/// big-endian, identifier, public key in COSE.
package struct AttestedCredential: Hashable, Sendable {
    /// The AAGUID of this vault's passkeys, a random constant: it tells a site which product made a key, not which
    /// device. 16fe5721-936f-42e6-949d-b3c090fc7bec.
    package static let vault = Bytes16([
        0x16, 0xfe, 0x57, 0x21, 0x93, 0x6f, 0x42, 0xe6, 0x94, 0x9d, 0xb3, 0xc0, 0x90, 0xfc, 0x7b, 0xec,
    ])
    /// The maximum length of a credential's identifier, in bytes (WebAuthn, 4).
    package static let longestID = 1023

    package let model: Bytes16
    /// 1 to 1,023 bytes.
    package let id: [UInt8]
    package let key: COSEKey

    /// Fails for an identifier of another length.
    package init?(model: Bytes16 = vault, id: [UInt8], key: COSEKey) {
        guard (1...AttestedCredential.longestID).contains(id.count) else { return nil }
        (self.model, self.id, self.key) = (model, id, key)
    }

    /// Reads a credential and moves the offset to its end.
    fileprivate init?(_ bytes: Span<UInt8>, at offset: inout Int) {
        let start = offset + Bytes16.length + 2
        guard start <= bytes.count else { return nil }
        let count = Int(bytes[start - 2]) << 8 | Int(bytes[start - 1])
        guard count <= bytes.count - start else { return nil }
        var reader = CBORReader(at: start + count)
        guard let value = try? reader.value(of: bytes), let key = COSEKey(value) else { return nil }
        let model = Bytes16(bytes.extracting(offset..<offset + Bytes16.length))
        self.init(model: model, id: bytes.array(start..<start + count), key: key)
        offset = reader.offset
    }

    fileprivate func append(to output: inout [UInt8]) {
        output.append(model.bytes)
        output.append(integer: UInt16(id.count).byteSwapped)
        output += id
        key.value.append(to: &output)
    }
}
