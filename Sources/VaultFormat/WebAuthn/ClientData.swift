// SPDX-License-Identifier: Apache-2.0

/// The client data of a ceremony (WebAuthn, 5.8.1), whose SHA-256 is signed.
package struct ClientData: Hashable, Sendable {
    package enum Ceremony: String, Sendable {
        case create = "webauthn.create"
        case get = "webauthn.get"
    }

    package let ceremony: Ceremony
    package let challenge: [UInt8]
    /// As browsers serialize it: scheme, host in ASCII, and an unusual port.
    package let origin: String
    /// Whether the page is a frame in a page of another origin.
    package let isCrossOrigin: Bool

    package init(_ ceremony: Ceremony, challenge: [UInt8], origin: String, isCrossOrigin: Bool = false) {
        (self.ceremony, self.challenge, self.origin) = (ceremony, challenge, origin)
        self.isCrossOrigin = isCrossOrigin
    }

    /// The JSON text (WebAuthn, 5.8.1.1): verifiers without a JSON parser compare it byte by byte.
    package var json: [UInt8] {
        var output = Array("{\"type\":".utf8)
        ClientData.append(ceremony.rawValue, to: &output)
        output += ",\"challenge\":".utf8
        ClientData.append(Base64URL.encoded(challenge), to: &output)
        output += ",\"origin\":".utf8
        ClientData.append(origin, to: &output)
        output += ",\"crossOrigin\":\(isCrossOrigin)}".utf8
        return output
    }

    /// Appends a string: the CCDToString of the specification.
    static func append(_ text: String, to output: inout [UInt8]) {
        output.append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): output += [UInt8(ascii: "\\"), byte]
            case ..<0x20: output += "\\u00\(hexadecimal([byte]))".utf8
            default: output.append(byte)
            }
        }
        output.append(UInt8(ascii: "\""))
    }
}
