// SPDX-License-Identifier: Apache-2.0

/// The number of an error on the wire. The associated values follow in their order. A number is never reused.
enum ErrorCode: UInt16, CaseIterable {
    case noSuchClass = 1
    case duplicateItem = 2
    case itemNotFound = 3
    case accessGroupDenied = 4
    case locked = 5
    case unimplemented = 6
    case versionMismatch = 7
    case itemChanged = 8
    case notADeviceIdentifier = 9
    case closed = 10
    case insideTransaction = 11
    case noSuchAttribute = 12
    case agent = 13
    case valueMismatch = 14
    case cancelled = 15
    case presenceRequired = 16
    // Flaws of a query or an item.
    case classMissing = 20
    case attributeValue = 21
    case persistentReference = 22
    case attributesWithReference = 23
    case limit = 24
    case matchKey = 25
    case key = 26
    case userAttributeName = 27
    case fieldName = 28
    // Errors of the file, or of the secret that should open it.
    case noVault = 40
    case alreadyExists = 41
    case wrongPassphrase = 42
    case unacceptableKeyFile = 43
    case noMatchingSlot = 44
    case busy = 45
    case resourceUnavailable = 46
    case poisoned = 47
    case rekeyed = 48
    case rolledBack = 49
    case storageLocked = 50
    case forked = 51
    case valueTooLarge = 52
    case attributesTooLarge = 53
    case noStateDirectory = 54
    case refused = 55
    case unsupported = 56
    case unacceptablePassphrase = 57
    case recoveryCodeLength = 58
    case recoveryCodeGroup = 59
    case slot = 60
    case machineSecret = 61
    case inputOutput = 62
    case indeterminate = 63
    // Damage.
    case notAVault = 80
    case headerChecksum = 81
    case headerMAC = 82
    case keySlot = 83
    case marks = 84
    case readBack = 85
    case header = 86
    case markMismatch = 87
    case missingCommits = 88
    case frame = 89
    case values = 90
    case value = 91
}
