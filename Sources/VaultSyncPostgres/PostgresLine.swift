// SPDX-License-Identifier: Apache-2.0
internal import Synchronization
internal import SystemPackage
internal import VaultFormat
internal import VaultSync

/// A connection that is opened on demand, and again after a failure.
///
/// Secrets are not kept here: the caller provides its password whenever a connection has to be opened.
final class PostgresLine: Sendable {
    private let files: [FilePath?]
    private let connection = Mutex<(open: PostgresConnection?, known: PostgresHeads)>((nil, PostgresHeads()))

    init(_ credentials: RemoteCredentials) { files = Self.files(of: credentials) }

    /// Whether a device with these credentials would open the same connection.
    func isFor(_ credentials: RemoteCredentials) -> Bool { files == Self.files(of: credentials) }

    private static func files(of credentials: RemoteCredentials) -> [FilePath?] {
        [credentials.authorities, credentials.certificate, credentials.key]
    }

    /// Runs a body that may run twice: an earlier connection may have ended unnoticed.
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
                // The knowledge about streams ends with its connection.
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
