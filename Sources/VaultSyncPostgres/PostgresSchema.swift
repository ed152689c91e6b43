// SPDX-License-Identifier: Apache-2.0

/// The one-time setup of a database by its administrator.
package enum PostgresSchema {
    /// Input for `psql`: the table, and the roles of the devices. In a database with this setup, the statements fail.
    package static let text = """
        CREATE SCHEMA vault;
        CREATE TABLE vault.record (realm bytea NOT NULL CHECK (octet_length(realm) = 16),
          kind smallint NOT NULL CHECK (kind BETWEEN 0 AND 3),
          stream bytea NOT NULL CHECK (octet_length(stream) = 16), seq bigint NOT NULL CHECK (seq > 0),
          body bytea NOT NULL CHECK (octet_length(body) BETWEEN 64 AND 1048576),
          PRIMARY KEY (realm, kind, stream, seq));
        ALTER TABLE vault.record ALTER body SET STORAGE EXTERNAL;
        CREATE ROLE vault_sync NOLOGIN;
        GRANT USAGE ON SCHEMA vault TO vault_sync;
        GRANT SELECT, INSERT ON vault.record TO vault_sync;
        CREATE ROLE vault_trim NOLOGIN IN ROLE vault_sync;
        GRANT DELETE ON vault.record TO vault_trim;      -- without it trims wait

        """
}
