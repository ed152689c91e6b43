// SPDX-License-Identifier: Apache-2.0
import KeychainServices
import Testing
import Vault

struct StatusTests {
    @Test(
        arguments: [
            (.parameter(.limit), errSecParam), (.noSuchAttribute("a"), errSecNoSuchAttr),
            (.noSuchClass, errSecNoSuchClass), (.duplicateItem, errSecDuplicateItem),
            (.itemNotFound, errSecItemNotFound), (.accessGroupDenied, errSecMissingEntitlement),
            (.locked, errSecInteractionNotAllowed), (.presenceRequired, errSecInteractionNotAllowed),
            (.unimplemented, errSecUnimplemented), (.versionMismatch, errSecInternal), (.itemChanged, errSecInternal),
            (.notADeviceIdentifier, errSecInternal), (.insideTransaction, errSecInternal),
            (.valueMismatch(path: ""), errSecDecode), (.cancelled, errSecUserCanceled),
            (.closed, errSecNotAvailable), (.agent(.refused), errSecMissingEntitlement),
            (.agent(.unanswered), errSecUserCanceled), (.agent(.gone), errSecNotAvailable),
            (.storage(.wrongPassphrase), errSecAuthFailed), (.storage(.unacceptableKeyFile), errSecAuthFailed),
            (.storage(.valueTooLarge), errSecDataTooLarge), (.storage(.attributesTooLarge), errSecDataTooLarge),
            (.storage(.resourceUnavailable), errSecAllocate), (.storage(.locked), errSecInteractionNotAllowed),
            (.storage(.inputOutput(.readOnlyFileSystem, .write)), errSecReadOnly),
            (.storage(.inputOutput(.permissionDenied, .write)), errSecReadOnly),
            (.storage(.inputOutput(.ioError, .read)), errSecIO), (.storage(.indeterminate(.noSpace)), errSecIO),
            (.storage(.inputOutput(.noSpace, .write)), errSecNotAvailable), (.storage(.busy), errSecNotAvailable),
            (.storage(.damaged(.marks)), errSecNotAvailable),
        ] as [(VaultError, OSStatus)]) func `an error of a vault has Apple's number`(
            error: VaultError, number: OSStatus
        )
    {
        #expect(error.status == number)
    }
}
