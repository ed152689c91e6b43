// SPDX-License-Identifier: Apache-2.0
public import Foundation

/// Bytes that tests need of the world outside.
public enum Samples {
    /// DER with the three parts of a certificate (RFC 5280), each nearly empty.
    public static let certificate = Data([0x30, 0x09, 0x30, 0x01, 0x00, 0x30, 0x00, 0x03, 0x02, 0x00, 0x01])

    /// A distinguished name in DER: an empty RDNSequence.
    public static let name = Data([0x30, 0x00])
}
