// SPDX-License-Identifier: Apache-2.0
internal import VaultFormat
internal import VaultStorage

/// A query for identities: pairs of a certificate and the private key that belongs to its public key.
///
/// No record holds a pair: the two are matched by the hash of the public key, which both have as an attribute.
struct IdentityQuery {
    let certificates: ParsedQuery
    let keys: ParsedQuery
    private let limit: Query.Limit

    /// The attributes that are matched in the certificate; all others that a key has are matched in the key.
    private static let ofCertificate: Set<Attribute> = [
        .label, .issuer, .serialNumber, .subjectKeyID, .tokenID, .subject,
    ]

    /// - Parameter flaw: an error found by a front end that a query cannot express.
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
        // These conditions concern the certificate only.
        (keys.text, keys.userAttributes, keys.persistentReference, keys.conditions) = (nil, [:], nil, [])
        if let reference = query.persistentReference {
            guard [20, 36].contains(reference.count), reference.starts(with: "idnt".utf8) else {
                throw .parameter(.persistentReference)
            }
            certificates.persistentReference = Array(ItemClass.certificate.rawValue.utf8) + reference[4..<20]
            // The reference names one of two copies of the key.
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

    /// Finds pairs in the order of the certificates' creation. Of two copies of a key the older one counts.
    func find(in records: VaultStore, _ index: ItemIndex) throws(VaultError) -> [Record] {
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
    /// A query for certificates and one for keys, both with all conditions of this query for identities except a
    /// reference.
    var halves: [Query] {
        [ItemClass.certificate, .key].map { itemClass in
            var half = self
            (half.findsIdentities, half.itemClass, half.persistentReference) = (false, itemClass, nil)
            return half
        }
    }
}

extension Record {
    /// `nil` if the record does not have the attribute, or its value is not bytes.
    func bytes(of attribute: Attribute) -> [UInt8]? {
        guard let (_, range) = attributes.payload(of: attribute.tag), !range.isEmpty else { return nil }
        return Array(attributes.bytes[range])
    }
}
