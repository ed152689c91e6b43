// SPDX-License-Identifier: Apache-2.0
internal import VaultFormat
internal import VaultStorage

/// A query for identities: pairs of a certificate and a private key, of which the public one is the certificate's.
///
/// No record is one: a pair is found by the hash of its public key, which both have as an attribute.
struct IdentityQuery {
    let certificates: ParsedQuery
    let keys: ParsedQuery
    private let limit: Query.Limit

    /// What is looked for in the certificate; all else that a key has, in the key.
    private static let ofCertificate: Set<Attribute> = [
        .label, .issuer, .serialNumber, .subjectKeyID, .tokenID, .subject,
    ]

    /// - Parameter flaw: what a door found wrong that has no form in a query.
    init(_ query: Query, groups: AccessGroups, flaw: VaultError? = nil) throws(VaultError) {
        guard !groups.isEmpty else { throw .accessGroupDenied }
        var (certificates, keys) = (query, query)
        (certificates.findsIdentities, keys.findsIdentities) = (false, false)
        (certificates.itemClass, keys.itemClass) = (.certificate, .key)
        (certificates.limit, keys.limit) = (.all, .all)
        (certificates.attributes, keys.attributes) = ([:], [:])
        for (attribute, value) in query.attributes {
            let (ofCertificate, ofKey) = (attribute.belongs(to: .certificate), attribute.belongs(to: .key))
            guard ofCertificate || ofKey else { throw .noSuchAttribute(attribute.name) }
            // Both halves of a pair are synchronizable, or neither.
            if attribute == .synchronizable || IdentityQuery.ofCertificate.contains(attribute) || !ofKey {
                certificates.attributes[attribute] = value
            }
            if ofKey, !IdentityQuery.ofCertificate.contains(attribute) { keys.attributes[attribute] = value }
        }
        // What is asked of the certificate says nothing of the key.
        (keys.text, keys.userAttributes, keys.persistentReference, keys.conditions) = (nil, [:], nil, [])
        if let reference = query.persistentReference {
            guard [20, 36].contains(reference.count), reference.starts(with: "idnt".utf8) else {
                throw .parameter(.persistentReference)
            }
            certificates.persistentReference = Array(ItemClass.certificate.rawValue.utf8) + reference[4..<20]
            // Of two copies of the key the one that is meant.
            if reference.count == 36 {
                keys.persistentReference = Array(ItemClass.key.rawValue.utf8) + reference[20...]
            }
            keys.synchronizableAny = true
        }
        if keys.persistentReference == nil {
            keys.attributes[.keyClass] = .number(1)
            keys.attributes[.isPrivate] = .number(1)
        }
        limit = query.limit ?? .all
        self.certificates = try ParsedQuery(certificates, groups: groups, flaw: flaw)
        self.keys = try ParsedQuery(keys, groups: groups)
    }

    /// A certificate and its key, again and again, in the order of the certificates' creation. Of two copies of a key
    /// the older one counts.
    func find(in records: some RecordSource, _ index: ItemIndex) throws(VaultError) -> [Record] {
        let maximum = limit.maximum
        var keys: [[UInt8]: Record] = [:]
        for key in try self.keys.find(in: records, index) {
            guard let hash = key.bytes(of: .applicationLabel), keys[hash] == nil else { continue }
            keys[hash] = key
        }
        var found: [Record] = []
        guard !keys.isEmpty, maximum > 0 else { return found }
        for certificate in try certificates.find(in: records, index) {
            guard let hash = certificate.bytes(of: .publicKeyHash), let key = keys[hash] else { continue }
            found += [certificate, key]
            if found.count / 2 >= maximum { break }
        }
        return found
    }
}

extension Query {
    /// One for certificates and one for keys, both with all that this query for identities asks, but for a reference.
    var halves: [Query] {
        [ItemClass.certificate, .key].map { itemClass in
            var half = self
            (half.findsIdentities, half.itemClass, half.persistentReference) = (false, itemClass, nil)
            return half
        }
    }
}

extension Record {
    /// Nil: the record has not the attribute, or it is no bytes.
    func bytes(of attribute: Attribute) -> [UInt8]? {
        guard let (_, range) = attributes.payload(of: attribute.tag), !range.isEmpty else { return nil }
        return Array(attributes.bytes[range])
    }
}
