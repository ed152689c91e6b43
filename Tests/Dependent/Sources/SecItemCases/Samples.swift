// SPDX-License-Identifier: Apache-2.0
public import Foundation

/// Fixed test data from outside this package.
public enum Samples {
    /// A certificate in DER.
    public static let certificate =
        Data(base64Encoded: CertificateSamples.root, options: .ignoreUnknownCharacters) ?? Data()

    /// A distinguished name in DER: an empty RDNSequence.
    public static let name = Data([0x30, 0x00])
}
