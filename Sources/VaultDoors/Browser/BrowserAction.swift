// SPDX-License-Identifier: Apache-2.0

/// What an extension can ask for.
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
    /// It would have the host type into other programs.
    case requestAutotype = "request-autotype"

    /// As the answer names it in its box.
    var answerName: String { self == .getDatabaseHash ? "hash" : rawValue }
}
