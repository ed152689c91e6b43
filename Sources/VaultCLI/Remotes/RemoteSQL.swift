// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import VaultSyncPostgres

struct RemoteSQL: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sql",
        abstract: "Print what makes a PostgreSQL database a remote.",
        discussion: """
            An administrator of the database runs it once: 'vault remote sql | psql -1 DATABASE'. It makes the table \
            vault.record and two roles. Users who sync get vault_sync: 'GRANT vault_sync TO ada'. Those of vault_trim \
            also remove what is superseded; without one the database grows.
            """)

    func run() throws { try Output.write(PostgresSchema.text) }
}
