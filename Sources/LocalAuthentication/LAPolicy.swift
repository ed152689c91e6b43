// SPDX-License-Identifier: Apache-2.0
public import Foundation

/// What a person is to be asked for. Here that is the passphrase of the vault, or nothing.
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

public enum LABiometryType: Int, Sendable {
    case none = 0
    case touchID, faceID, opticID
}

/// What is to be done with an item or a key.
public enum LAAccessControlOperation: Int, Sendable {
    case createItem = 0
    case useItem, createKey, useKeySign, useKeyDecrypt, useKeyKeyExchange
}

public enum LACredentialType: Int, Sendable {
    case applicationPassword = 0
    case smartCardPIN = -3
}

/// For how many seconds Apple's systems let one touch count. Here it has no effect.
public let LATouchIDAuthenticationMaximumAllowableReuseDuration: TimeInterval = 300

/// Foundation has it on Apple's systems alone.
public typealias NSErrorPointer = UnsafeMutablePointer<NSError?>?
