// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import VaultSyncPostgres

struct RemoteSQL: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sql",
        abstract: "Print the SQL that makes a PostgreSQL database a remote.",
        discussion: """
            An administrator of the database runs it once: 'vault remote sql | psql -1 DATABASE'. The statements \
            create the table vault.record and two roles. Users who sync get vault_sync: 'GRANT vault_sync TO ada'. \
            Users with vault_trim also remove superseded records; without such a user the database grows.
            """)

    func run() throws { try Output.write(PostgresSchema.text) }
}
