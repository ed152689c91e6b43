// SPDX-License-Identifier: Apache-2.0
internal import Foundation
@_implementationOnly import Vault

/// What a call found or added: an item, or an identity, which is a certificate with its key.
struct FoundItem {
    /// Of an identity its certificate.
    private let item: Item
    private let key: Item?
    /// What becomes of a key that a person has to allow the use of.
    private let people: Request.People

    init(_ item: Item, key: Item? = nil, _ people: Request.People = Request.People()) {
        (self.item, self.key, self.people) = (item, key, people)
    }

    /// - Parameter arePairs: whether each two items are an identity.
    static func all(_ items: [Item], arePairs: Bool, _ people: Request.People) -> [FoundItem] {
        guard arePairs else { return items.map { FoundItem($0, people) } }
        return stride(from: 0, to: items.count - 1, by: 2).map { FoundItem(items[$0], key: items[$0 + 1], people) }
    }

    var className: String { key == nil ? item.itemClass.rawValue : "idnt" }

    /// Of an identity the key's, and the certificate's where the key has none or it is found by the certificate's.
    var attributes: [Attribute: AttributeValue] {
        guard let key else { return item.attributes }
        return key.attributes.merging(item.attributes) { ofKey, _ in ofKey }
            .merging(item.attributes.filter { FoundItem.ofCertificate.contains($0.key) }) { $1 }
    }

    private static let ofCertificate: Set<Attribute> = [.label, .tokenID]

    /// The secret, which leaves its protection here, once, because Apple's signature says so.
    var data: NSData? { (key ?? item).secret?.bytes.leaving() }

    var persistentReference: NSData? {
        guard let reference = item.record?.persistentReference else { return nil }
        return Data(Array(className.utf8) + reference.dropFirst(4)) as NSData
    }

    /// Of an identity: names its key, too, of which there may be copies.
    var pairReference: [UInt8]? {
        guard let certificate = item.record?.persistentReference, let key = key?.record?.persistentReference else {
            return nil
        }
        return Array("idnt".utf8) + certificate.dropFirst(4) + key.dropFirst(4)
    }

    var accessibility: Accessibility? { (key ?? item)[.accessible]?.text.flatMap(Accessibility.init) }

    /// Nil of passwords, which have no object on Apple's systems either, and of bytes that are no such object.
    var object: NSObject? {
        switch item.itemClass {
        case .genericPassword, .internetPassword: return nil
        case .key: return secKey(of: item)
        case .certificate:
            guard let certificate, let key else { return certificate }
            return secKey(of: key).map { SecIdentity(certificate: certificate, key: $0) }
        }
    }

    private func secKey(of item: Item) -> SecKey? {
        // Also of one that came with its secret, which a person has allowed this once.
        item.asksForPresence ? SecKey.closed(item, people) : SecKey.of(item)
    }

    /// Nil: the item is no certificate's, or its secret was not asked for.
    var certificate: SecCertificate? { certificate(item.secret) }

    /// The certificate, read now if it was not asked for.
    func certificate(from store: any ItemStore) throws(VaultError) -> SecCertificate? {
        if item.secret == nil, let record = item.record { return certificate(try store.secret(of: record)) }
        return certificate
    }

    private func certificate(_ secret: Secret?) -> SecCertificate? {
        guard item.itemClass == .certificate else { return nil }
        return secret.flatMap { SecCertificate($0.bytes.leaving() as Data) }
    }
}
