// SPDX-License-Identifier: Apache-2.0

/// The actions that an extension can request.
enum BrowserAction: String, CaseIterable {
    case changePublicKeys = "change-public-keys"
    case getDatabaseHash = "get-databasehash"
    case associate
    case testAssociate = "test-associate"
    case getLogins = "get-logins"
    case setLogin = "set-login"
    case generatePassword = "generate-password"
    case getDatabaseGroups = "get-database-groups"
    case createNewGroup = "create-new-group"
    case getTOTP = "get-totp"
    case lockDatabase = "lock-database"
    case passkeysRegister = "passkeys-register"
    case passkeysGet = "passkeys-get"
    /// Auto-type: the host would have to type into other programs.
    case requestAutotype = "request-autotype"

    /// The name of the action inside the box of the answer.
    var answerName: String { self == .getDatabaseHash ? "hash" : rawValue }
}
