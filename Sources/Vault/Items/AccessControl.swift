// SPDX-License-Identifier: Apache-2.0

/// Apple's `SecAccessControl`: when an item can be read, and what its user must do for each access.
///
/// As the value of ``Attribute/accessControl`` it is data: the raw value of the accessibility, a zero byte, and the
/// constraints, if any, as 8 bytes, little-endian.
package struct AccessControl: Hashable, Sendable {
    package let accessibility: Accessibility
    /// The bits of `SecAccessControlCreateFlags`. `nil` if derived from an item's accessibility, and so equal to it; 0
    /// if no bit is set in a given access control.
    package let constraints: UInt64?

    package init(_ accessibility: Accessibility, constraints: UInt64? = nil) {
        self.accessibility = accessibility
        self.constraints = constraints
    }

    /// An access control that demands a person before each read.
    package init(requiringPresence accessibility: Accessibility) {
        self.init(accessibility, constraints: Constraint.userPresence)
    }

    /// The demand of the constraints for an item of the class; `nil` for constraints that the vault does not support or
    /// enforce.
    func demand(of itemClass: ItemClass) -> Demand? {
        var rest = constraints ?? 0
        guard rest != 0 else { return .nothing }
        let takesConstraints = [ItemClass.key, .genericPassword, .internetPassword].contains(itemClass)
        guard takesConstraints, rest & ~Constraint.known == 0 else { return nil }
        // A private key in Apple's chips can be used but not read, so this constraint demands nothing.
        if itemClass == .key {
            rest &= ~Constraint.privateKeyUsage
            guard rest != 0 else { return .nothing }
        }
        // An application password is required in addition to the other constraints and is no alternative to them.
        guard rest & (Constraint.privateKeyUsage | Constraint.applicationPassword) == 0 else { return nil }
        let met = rest & (Constraint.userPresence | Constraint.devicePasscode)
        let others = rest & ~(met | Constraint.or | Constraint.and)
        return met != 0 && (others == 0 || rest & Constraint.or != 0) ? .presence : nil
    }

    /// Whether an item stored with this access control requires user presence before it is read. Constraints unknown to
    /// this version, written by another one, require presence as well.
    static func asksForPresence(_ stored: [UInt8], _ itemClass: ItemClass) -> Bool {
        AccessControl(parsing: stored)?.demand(of: itemClass) != .nothing
    }

    /// The condition for reading an item.
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

    /// Whether the vault supports the constraints for some item class: no demand, or the vault's passphrase.
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
