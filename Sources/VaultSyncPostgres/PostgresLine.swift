// SPDX-License-Identifier: Apache-2.0
internal import Synchronization
internal import SystemPackage
internal import VaultFormat
internal import VaultSync

/// A connection that is opened when it is needed, and again when it was broken.
///
/// Secrets are not kept here: who has a password shows it when there is no connection.
final class PostgresLine: Sendable {
    private let files: [FilePath?]
    private let connection = Mutex<(open: PostgresConnection?, known: PostgresHeads)>((nil, PostgresHeads()))

    init(_ credentials: RemoteCredentials) { files = Self.files(of: credentials) }

    /// Whether the connection is one that a device with these credentials would open.
    func isFor(_ credentials: RemoteCredentials) -> Bool { files == Self.files(of: credentials) }

    private static func files(of credentials: RemoteCredentials) -> [FilePath?] {
        [credentials.authorities, credentials.certificate, credentials.key]
    }

    /// Runs what may run twice: a connection from before may have ended unnoticed.
    func use<R>(
        _ remote: RemoteAccess, _ patience: PostgresPatience,
        _ body: (PostgresConnection, inout PostgresHeads) throws(PostgresError) -> R
    ) throws(RecordStoreError) -> R {
        let result = connection.withLock { state -> Result<R, PostgresError> in
            do throws(PostgresError) {
                if let open = state.open, open.isAlive() {
                    do throws(PostgresError) { return .success(try body(open, &state.known)) } catch {
                        guard case .lost = error, !open.isUsable else { throw error }
                    }
                }
                // What was known of a connection ends with it.
                state = (nil, PostgresHeads())
                let new = try PostgresConnection.open(remote, patience)
                state.open = new
                return .success(try body(new, &state.known))
            } catch {
                if state.open?.isUsable != true { state = (nil, PostgresHeads()) }
                return .failure(error)
            }
        }
        do throws(PostgresError) { return try result.get() } catch { throw RecordStoreError(error, at: remote.url) }
    }
}
