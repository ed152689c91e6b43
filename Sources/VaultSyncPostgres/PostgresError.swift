// SPDX-License-Identifier: Apache-2.0
internal import SystemPackage
internal import VaultSync

/// The reason why a server did not do its task.
enum PostgresError: Error, Equatable {
    /// libpq is missing or too old.
    case noLibrary(isTooOld: Bool)
    /// There is no connection, or it has ended.
    ///
    /// - Parameter why: a bounded text without control characters.
    case lost(_ why: String)
    /// An answer that no PostgreSQL server gives.
    case malformed
    case refused(PostgresRefusal)
}

/// A server's refusal of a statement or a user.
struct PostgresRefusal: Error, Equatable {
    /// SQLSTATE: five characters, or empty.
    let state: String
    /// The server's message: bounded, without control characters.
    let message: String

    /// Whether a row with this key exists already.
    var isOfKey: Bool { state == "23505" }

    /// The text for a known code; `nil` if the server's message must do.
    private var reason: String? {
        switch state {
        case "42P01", "3F000":
            "the database has no table vault.record: 'vault remote sql' prints what an administrator runs"
        case "42501":
            "the user needs the role vault_sync, and vault_trim to remove records ('vault remote sql')"
        case "28P01": "the password of the URL's user is wrong, or missing"
        case "28000": "the server lets this user in neither from here nor in this way (see its pg_hba.conf)"
        case "3D000": "there is no such database"
        case "25006": "the database can only be read"
        case "53300": "the server has no room for one more connection"
        case "57P01", "57P02", "57P03": "the server is starting or shutting down"
        default: nil
        }
    }

    var words: String {
        reason ?? "the server refuses" + (message.isEmpty ? "" : ": \(message)") + (state.isEmpty ? "" : " (\(state))")
    }
}

extension RecordStoreError {
    /// - Parameter url: the URL of the remote.
    init(_ error: PostgresError, at url: RemoteURL) {
        switch error {
        case .noLibrary(let isTooOld):
            self = .unreachable(
                isTooOld
                    ? "PostgreSQL's libpq is too old; that of PostgreSQL 14 will do (package libpq5)"
                    : "PostgreSQL's libpq is missing; install the package libpq5")
        case .lost(let why): self = .unreachable("\(url.text): \(why)")
        case .malformed: self = .unreachable("\(url.text): what answers there is no database of records")
        case .refused(let refusal):
            switch refusal.state {
            case "42501": self = .denied("\(url.text): \(refusal.words)")
            case "53100": self = .inputOutput(.noSpace, url.text)
            case "23514": self = .invalid("the table vault.record has bounds of its own")
            default: self = .unreachable("\(url.text): \(refusal.words)")
            }
        }
    }
}
