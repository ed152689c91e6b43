// SPDX-License-Identifier: Apache-2.0

/// The classes of items, with Apple's raw values for `kSecClass`.
public enum ItemClass: String, Sendable, CaseIterable {
    /// `kSecClassGenericPassword`: keyed by service and account.
    case genericPassword = "genp"
    /// `kSecClassInternetPassword`: keyed by server, account, protocol and more.
    case internetPassword = "inet"
    /// `kSecClassCertificate`: keyed by issuer and serial number.
    case certificate = "cert"
    /// `kSecClassKey`: keyed by application label, tag and the key's properties.
    case key = "keys"

    /// The class's number in the file, where 0 stands for the vault's own records, which are not items.
    @inlinable package var number: UInt8 {
        switch self {
        case .genericPassword: 1
        case .internetPassword: 2
        case .certificate: 3
        case .key: 4
        }
    }

    @inlinable package init?(number: UInt8) {
        switch number {
        case 1: self = .genericPassword
        case 2: self = .internetPassword
        case 3: self = .certificate
        case 4: self = .key
        default: return nil
        }
    }
}

/// The times at which an item can be read, with Apple's raw values for `kSecAttrAccessible`.
public enum Accessibility: String, Sendable, CaseIterable {
    /// While the vault is unlocked. The default, except for certificates.
    case whenUnlocked = "ak"
    /// After the first unlock, also while locked again, until the agent ends.
    case afterFirstUnlock = "ck"
    /// As ``afterFirstUnlock``.
    case always = "dk"
    /// While the vault is unlocked, on this device.
    case whenUnlockedThisDeviceOnly = "aku"
    /// After the first unlock, on this device.
    case afterFirstUnlockThisDeviceOnly = "cku"
    /// As ``afterFirstUnlockThisDeviceOnly``.
    case alwaysThisDeviceOnly = "dku"
    /// While the vault is unlocked, on this device, and as long as the vault has a passphrase.
    case whenPasscodeSetThisDeviceOnly = "akpu"

    /// The number in the file: the item's protection class.
    @inlinable package var number: UInt8 {
        switch self {
        case .whenUnlocked: 1
        case .afterFirstUnlock: 2
        case .always: 3
        case .whenUnlockedThisDeviceOnly: 4
        case .afterFirstUnlockThisDeviceOnly: 5
        case .alwaysThisDeviceOnly: 6
        case .whenPasscodeSetThisDeviceOnly: 7
        }
    }

    @inlinable package init?(number: UInt8) {
        switch number {
        case 1: self = .whenUnlocked
        case 2: self = .afterFirstUnlock
        case 3: self = .always
        case 4: self = .whenUnlockedThisDeviceOnly
        case 5: self = .afterFirstUnlockThisDeviceOnly
        case 6: self = .alwaysThisDeviceOnly
        case 7: self = .whenPasscodeSetThisDeviceOnly
        default: return nil
        }
    }

    package var isThisDeviceOnly: Bool { number >= Accessibility.whenUnlockedThisDeviceOnly.number }
}
