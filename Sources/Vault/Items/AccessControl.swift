// SPDX-License-Identifier: Apache-2.0

/// Apple's `SecAccessControl`: when an item can be read, and what its user must do for it each time.
///
/// As the value of ``Attribute/accessControl`` it is data: the raw value of the accessibility, a zero byte, and the
/// constraints as 8 bytes, little-endian, if there are any.
package struct AccessControl: Hashable, Sendable {
    package let accessibility: Accessibility
    /// The bits of `SecAccessControlCreateFlags`. Nil: made of an item's accessibility, and so equal to it; 0 has no
    /// bit, but was given as one.
    package let constraints: UInt64?

    package init(_ accessibility: Accessibility, constraints: UInt64? = nil) {
        self.accessibility = accessibility
        self.constraints = constraints
    }

    package init?(parsing bytes: [UInt8]) {
        let parts = bytes.split(separator: 0, maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, let accessibility = Accessibility(rawValue: String(decoding: parts[0], as: UTF8.self)),
            parts[1].isEmpty || parts[1].count == 8
        else { return nil }
        self.accessibility = accessibility
        constraints = parts[1].isEmpty ? nil : parts[1].reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }

    package var encoded: [UInt8] {
        Array(accessibility.rawValue.utf8) + [0]
            + (constraints.map { bits in (0..<8).map { UInt8(truncatingIfNeeded: bits >> ($0 * 8)) } } ?? [])
    }
}
