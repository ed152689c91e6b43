// SPDX-License-Identifier: Apache-2.0
package import VaultCrypto
internal import VaultFormat

/// A secret of an item's state: received from another device, or stored and opened on demand.
package enum ReplicaSecret: Sendable {
    case given(Secret)
    /// A part of a stored value; `nil` for the main part.
    indirect case stored(Record, part: String?)

    /// The record whose value contains the secret as this part.
    func record(part: String?) -> Record? {
        guard case .stored(let record, let own) = self, own == part else { return nil }
        return record
    }
}

/// A secret of a state that the vault accepts.
package protocol StateSecret: Sendable {
    var replicaSecret: ReplicaSecret { get }
}

extension ReplicaSecret: StateSecret {
    package var replicaSecret: ReplicaSecret { self }
}

extension Secret: StateSecret {
    package var replicaSecret: ReplicaSecret { .given(self) }
}

extension ItemEngine {
    func open(_ secret: ReplicaSecret) throws(VaultError) -> Secret {
        switch secret {
        case .given(let secret): return secret
        case .stored(let record, let part):
            let value = try records.value(of: record)
            let found = try value.map { value throws(VaultError) in
                try ItemValue.part(part, of: value, record.attributes.fields)
            }
            guard let found, let found else { throw .itemChanged }
            return found
        }
    }
}
