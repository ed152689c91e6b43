// SPDX-License-Identifier: Apache-2.0

/// The errors that an extension receives instead of an answer, with KeePassXC's codes.
enum BrowserError: Int, Error {
    case failed = 0
    case notOpen = 1
    case noPublicKey = 3
    case cannotDecrypt = 4
    case denied = 6
    case notAssociated = 8
    case keyChangeFailed = 9
    case keyNotRecognized = 10
    case incorrectAction = 12
    case emptyMessage = 13
    case noURL = 14
    case noLogins = 15
    case noNewGroup = 17
    case noUUID = 18

    /// The message that the extension shows.
    var text: String {
        switch self {
        case .failed: "The vault could not do that"
        case .notOpen: "The vault is locked, or there is none"
        case .noPublicKey: "No keys were exchanged"
        case .cannotDecrypt: "The message cannot be read"
        case .denied: "Not allowed"
        case .notAssociated: "The browser is not associated with this vault"
        case .keyChangeFailed: "The keys could not be exchanged"
        case .keyNotRecognized: "The key is not that of the association"
        case .incorrectAction: "The vault does not do that"
        case .emptyMessage: "The message is empty"
        case .noURL: "The address names no page"
        case .noLogins: "There are no logins for the page"
        case .noNewGroup: "The group cannot have this name"
        case .noUUID: "There is no such login of a page"
        }
    }
}
