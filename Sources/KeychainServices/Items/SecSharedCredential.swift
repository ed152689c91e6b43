// SPDX-License-Identifier: Apache-2.0
public import Foundation
@_implementationOnly import VaultCrypto

// Passwords that an app shares with the browser, by Apple's SecSharedCredential.h. They belong to the associated
// domains of an app, which Linux does not have; the browser's logins are items that the vault's browser door serves.

/// Fails: there are no associated domains here.
///
/// - Parameter completionHandler: called once, on a global queue, with an error whose code is errSecUnimplemented.
public func SecAddSharedWebCredential(
    _ fqdn: CFString, _ account: CFString, _ password: CFString?,
    _ completionHandler: @escaping (CFError?) -> Void
) {
    let callback = Callback(completionHandler)
    DispatchQueue.global().async { callback.body(StatusError(status: errSecUnimplemented).error()) }
}

/// Fails: there are no associated domains here.
///
/// - Parameter completionHandler: called once, on a global queue, with an error whose code is errSecUnimplemented.
public func SecRequestSharedWebCredential(
    _ fqdn: CFString?, _ account: CFString?,
    _ completionHandler: @escaping (_ credentials: CFArray?, _ error: CFError?) -> Void
) {
    let callback = Callback(completionHandler)
    DispatchQueue.global().async { callback.body(nil, StatusError(status: errSecUnimplemented).error()) }
}

/// Generates a password of Apple's form: four groups of three letters and digits, joined by hyphens, with a capital
/// letter, a small letter and a digit at least (70 bits).
///
/// - Returns: the password, a plain copy that the caller owns; `nil` without memory.
public func SecCreateSharedWebCredentialPassword() -> CFString? {
    while let secret = try? RandomText.characters(12, of: RandomText.lettersAndDigits) {
        let password = secret.withBytes { bytes -> String? in
            let characters = (0..<bytes.count).map { Character(Unicode.Scalar(bytes[$0])) }
            let kinds: [(Character) -> Bool] = [\.isUppercase, \.isLowercase, \.isNumber]
            guard kinds.allSatisfy({ characters.contains(where: $0) }) else { return nil }
            return stride(from: 0, to: 12, by: 3).map { String(characters[$0..<$0 + 3]) }.joined(separator: "-")
        }
        if let password { return password as NSString }
    }
    return nil
}
