// SPDX-License-Identifier: Apache-2.0
public import Foundation

/// The means by which the user is asked. Only the passphrase of the vault is supported.
public enum LAPolicy: Int, Sendable {
    case deviceOwnerAuthenticationWithBiometrics = 1
    /// The passphrase of the vault that the `SecItem…` calls open.
    case deviceOwnerAuthentication
    case deviceOwnerAuthenticationWithCompanion
    case deviceOwnerAuthenticationWithBiometricsOrCompanion
    case deviceOwnerAuthenticationWithWristDetection

    public static var deviceOwnerAuthenticationWithWatch: LAPolicy { .deviceOwnerAuthenticationWithCompanion }
    public static var deviceOwnerAuthenticationWithBiometricsOrWatch: LAPolicy {
        .deviceOwnerAuthenticationWithBiometricsOrCompanion
    }
}

/// The kind of biometric sensor. Always `none` here.
public enum LABiometryType: Int, Sendable {
    case none = 0
    case touchID, faceID, opticID
}

/// The intended operation on an item or a key.
public enum LAAccessControlOperation: Int, Sendable {
    case createItem = 0
    case useItem, createKey, useKeySign, useKeyDecrypt, useKeyKeyExchange
}

/// The kind of credential that a program gives to a context.
public enum LACredentialType: Int, Sendable {
    case applicationPassword = 0
    case smartCardPIN = -3
}

/// The number of seconds for which Apple's systems let one touch count. Without effect here.
public let LATouchIDAuthenticationMaximumAllowableReuseDuration: TimeInterval = 300

/// Foundation declares this type only on Apple's systems.
public typealias NSErrorPointer = UnsafeMutablePointer<NSError?>?
