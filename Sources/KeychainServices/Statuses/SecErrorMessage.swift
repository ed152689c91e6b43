// SPDX-License-Identifier: Apache-2.0
public import Foundation

/// Returns the meaning of a status, as a sentence for display.
///
/// - Parameter reserved: pass `nil`.
/// - Returns: `OSStatus -1` and the like for a status that Apple's headers do not name.
public func SecCopyErrorMessageString(_ status: OSStatus, _ reserved: UnsafeMutableRawPointer?) -> CFString? {
    let message = messages[status] ?? cssmMessage(status) ?? "OSStatus \(status)"
    return message as NSString
}

/// Returns a message derived from the name of the status: `-67613`, errSecCRLExpired, is "CRL expired
/// (errSecCRLExpired)".
private func cssmMessage(_ status: OSStatus) -> String? {
    let names = namesOfCSSMStatuses.description.split(separator: " ")
    let index = Int(-67585) - Int(status)
    guard names.indices.contains(index) else { return nil }
    return "\(words(of: names[index])) (errSec\(names[index]))"
}

/// `InvalidCRLIndex` becomes `Invalid CRL index`.
private func words(of name: Substring) -> String {
    var words: [String] = []
    let characters = Array(name)
    for (index, character) in characters.enumerated() {
        let startsWord =
            character.isUppercase
            && (index == 0 || !characters[index - 1].isUppercase
                || index + 1 < characters.count && characters[index + 1].isLowercase)
        if startsWord { words.append("") }
        words[words.count - 1].append(character)
    }
    return words.enumerated().map { index, word in
        index == 0 || word.dropFirst().contains(where: \.isUppercase) ? word : word.lowercased()
    }.joined(separator: " ")
}

private let messages: [OSStatus: String] = [
    errSecSuccess: "No error",
    errSecUnimplemented: "This is not implemented here",
    errSecDiskFull: "The disk is full",
    errSecIO: "A read or a write failed",
    errSecOpWr: "The file is already open for writing",
    errSecParam: "A parameter is missing or not valid",
    errSecWrPerm: "Writing is not permitted",
    errSecAllocate: "There is not enough memory",
    errSecUserCanceled: "The user cancelled the operation",
    errSecBadReq: "A parameter is wrong, or this is not the time for the operation",
    errSecInternalComponent: "An internal component failed",
    errSecCoreFoundationUnknown: "Core Foundation reported an error that is not known",
    errSecACLNotSimple: "The access control list has a form that this call does not take",
    errSecPolicyNotFound: "The policy was not found",
    errSecInvalidTrustSetting: "The trust setting is not valid",
    errSecNoAccessForItem: "The item has no access control",
    errSecInvalidOwnerEdit: "The owner of the item cannot be changed like this",
    errSecTrustNotAvailable: "No result of a trust evaluation is available",
    errSecUnsupportedFormat: "The format cannot be imported or exported",
    errSecUnknownFormat: "The format of what is imported is not known",
    errSecKeyIsSensitive: "The key must be wrapped before it is exported",
    errSecMultiplePrivKeys: "More than one private key was to be imported",
    errSecPassphraseRequired: "Import and export need a passphrase",
    errSecInvalidPasswordRef: "The reference to a password is not valid",
    errSecInvalidTrustSettings: "The trust settings are damaged",
    errSecNoTrustSettings: "There are no trust settings",
    errSecPkcs12VerifyFailure: "The PKCS#12 file does not verify; perhaps the passphrase is another",
    errSecNotAvailable: "No vault is available",
    errSecReadOnly: "The vault cannot be changed",
    errSecAuthFailed: "The passphrase is not the right one",
    errSecNoSuchKeychain: "There is no such keychain",
    errSecInvalidKeychain: "The file is no valid keychain",
    errSecDuplicateKeychain: "A keychain of this name exists already",
    errSecDuplicateCallback: "The callback is installed already",
    errSecInvalidCallback: "The callback is not valid",
    errSecDuplicateItem: "The item exists already",
    errSecItemNotFound: "The item was not found",
    errSecBufferTooSmall: "The buffer is too small",
    errSecDataTooLarge: "The data is too large",
    errSecNoSuchAttr: "Items of this class have no such attribute",
    errSecInvalidItemRef: "The item is gone or is not valid",
    errSecInvalidSearchRef: "The search is not valid",
    errSecNoSuchClass: "There is no such class of items",
    errSecNoDefaultKeychain: "There is no default keychain",
    errSecInteractionNotAllowed: "The vault is locked, and nobody may be asked to unlock it",
    errSecReadOnlyAttr: "The attribute cannot be changed",
    errSecWrongSecVersion: "The keychain was made by another version",
    errSecKeySizeNotAllowed: "The key is too long or too short",
    errSecNoStorageModule: "The component that stores data is missing",
    errSecNoCertificateModule: "The component for certificates is missing",
    errSecNoPolicyModule: "The component for policies is missing",
    errSecInteractionRequired: "Somebody must be asked, which is not allowed now",
    errSecDataNotAvailable: "The content of the item cannot be had",
    errSecDataNotModifiable: "The content of the item cannot be changed",
    errSecCreateChainFailed: "A certificate that is needed to check this one is missing",
    errSecInvalidPrefsDomain: "The preferences domain is not valid",
    errSecInDarkWake: "The display is off: nobody can be asked",
    errSecNotSigner: "The certificate was not signed by its supposed issuer",
    errSecDecode: "The data cannot be decoded",
    errSecInternal: "Something failed that cannot fail",
    errSecMissingEntitlement: "The access group is not one of the caller’s, or the caller has none",
    errSecUpgradePending: "The vault needs to be unlocked once before it can be upgraded",
    errSecRestrictedAPI: "The caller is restricted and may not do this",
]
