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

    /// What the constraints demand for an item of the class; nil: what is not built, and nobody would enforce.
    func demand(of itemClass: ItemClass) -> Demand? {
        var rest = constraints ?? 0
        guard rest != 0 else { return .nothing }
        let takesConstraints = [ItemClass.key, .genericPassword, .internetPassword].contains(itemClass)
        guard takesConstraints, rest & ~Constraint.known == 0 else { return nil }
        // Using a private key instead of reading it is all that can be done with one in Apple's chips.
        if itemClass == .key {
            rest &= ~Constraint.privateKeyUsage
            guard rest != 0 else { return .nothing }
        }
        // A password of the application's is no alternative to the others: it is wanted as well.
        guard rest & (Constraint.privateKeyUsage | Constraint.applicationPassword) == 0 else { return nil }
        let met = rest & (Constraint.userPresence | Constraint.devicePasscode)
        let others = rest & ~(met | Constraint.or | Constraint.and)
        return met != 0 && (others == 0 || rest & Constraint.or != 0) ? .presence : nil
    }

    /// Whether a person has to allow it before an item that is stored with this is read. What this version does not
    /// know, and another may have written, takes a person as well.
    static func asksForPresence(_ stored: [UInt8], _ itemClass: ItemClass) -> Bool {
        AccessControl(parsing: stored)?.demand(of: itemClass) != .nothing
    }

    /// What has to happen before an item can be read.
    enum Demand {
        case nothing
        /// A person types the vault's passphrase.
        case presence
    }

    /// The bits of `SecAccessControlCreateFlags`.
    private enum Constraint {
        static let userPresence: UInt64 = 1 << 0
        static let biometryAny: UInt64 = 1 << 1
        static let biometryCurrentSet: UInt64 = 1 << 3
        static let devicePasscode: UInt64 = 1 << 4
        static let companion: UInt64 = 1 << 5
        static let or: UInt64 = 1 << 14
        static let and: UInt64 = 1 << 15
        static let privateKeyUsage: UInt64 = 1 << 30
        static let applicationPassword: UInt64 = 1 << 31

        static let known =
            userPresence | biometryAny | biometryCurrentSet | devicePasscode | companion | or | and | privateKeyUsage
            | applicationPassword
    }

    /// Whether what the constraints demand is built for an item of some class: nothing, or the vault's passphrase.
    package var isMetByPassphrase: Bool { demand(of: .key) != nil }

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
