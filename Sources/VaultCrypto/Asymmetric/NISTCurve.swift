// SPDX-License-Identifier: Apache-2.0

/// The prime curves of FIPS 186-4, each by the bits of its numbers.
package enum NISTCurve: Int32, Sendable, CaseIterable {
    case p256 = 256
    case p384 = 384
    case p521 = 521

    /// The length of its numbers in bytes: 32, 48 or 66.
    package var length: Int { (Int(rawValue) + 7) / 8 }
    /// The length of a point in bytes (SEC 1, 2.3.3): 4, x and y.
    package var pointLength: Int { 1 + 2 * length }
}
