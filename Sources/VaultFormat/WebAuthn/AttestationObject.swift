// SPDX-License-Identifier: Apache-2.0

/// The answer to a registration (WebAuthn, 6.5.4), without an attestation: format `none` (8.7). An attestation would
/// tell every site the same thing about the device, and a program without a chip has nothing to attest.
package struct AttestationObject: Hashable, Sendable {
    package let data: AuthenticatorData

    package init(_ data: AuthenticatorData) { self.data = data }

    package var encoded: [UInt8] {
        CBORValue(["fmt": .text("none"), "attStmt": .map([]), "authData": .bytes(data.encoded)]).encoded
    }

    /// Fails for bytes that ``encoded`` does not produce, or data without a credential.
    package init?(_ bytes: Span<UInt8>) {
        guard let value = try? CBORReader.read(bytes), case .map(let pairs) = value, pairs.count == 3,
            value["fmt"] == .text("none"), value["attStmt"] == .map([]),
            let content = value["authData"]?.byteString, let data = AuthenticatorData(content.span),
            data.credential != nil
        else { return nil }
        self.data = data
    }
}
