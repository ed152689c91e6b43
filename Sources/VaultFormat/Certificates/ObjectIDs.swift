// SPDX-License-Identifier: Apache-2.0

/// The contents of the object identifiers used in certificates and keys.
enum ObjectIDs {
    // Attributes of names: X.520, and RFC 2985 for the address.
    static let commonName: [UInt8] = [0x55, 0x04, 0x03]
    static let organization: [UInt8] = [0x55, 0x04, 0x0a]
    static let organizationalUnit: [UInt8] = [0x55, 0x04, 0x0b]
    static let description: [UInt8] = [0x55, 0x04, 0x0d]
    static let emailAddress: [UInt8] = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x01]

    // Extensions: RFC 5280, 4.2.1.
    static let subjectKeyID: [UInt8] = [0x55, 0x1d, 0x0e]
    static let subjectAlternativeName: [UInt8] = [0x55, 0x1d, 0x11]

    // Keys: RFC 3279, RFC 5480 and RFC 8410.
    static let rsaEncryption: [UInt8] = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01]
    static let ecPublicKey: [UInt8] = [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01]
    static let ed25519: [UInt8] = [0x2b, 0x65, 0x70]
    static let p256: [UInt8] = [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07]
    static let p384: [UInt8] = [0x2b, 0x81, 0x04, 0x00, 0x22]
    static let p521: [UInt8] = [0x2b, 0x81, 0x04, 0x00, 0x23]

    /// The field size in bits of a named curve.
    static func curveBits(_ identifier: [UInt8]) -> Int? {
        switch identifier {
        case p256: 256
        case p384: 384
        case p521: 521
        default: nil
        }
    }
}
