// SPDX-License-Identifier: Apache-2.0
internal import Foundation
@_implementationOnly import Vault

/// An item that a call found or added, or an identity, which is a certificate with its key.
struct FoundItem {
    /// The item; for an identity, its certificate.
    private let item: Item
    private let key: Item?
    /// How to ask for the user's consent, if the key requires it.
    private let people: Request.People

    init(_ item: Item, key: Item? = nil, _ people: Request.People = Request.People()) {
        (self.item, self.key, self.people) = (item, key, people)
    }

    /// - Parameter arePairs: whether every two consecutive items form an identity.
    static func all(_ items: [Item], arePairs: Bool, _ people: Request.People) -> [FoundItem] {
        guard arePairs else { return items.map { FoundItem($0, people) } }
        return stride(from: 0, to: items.count - 1, by: 2).map { FoundItem(items[$0], key: items[$0 + 1], people) }
    }

    var className: String { key == nil ? item.itemClass.rawValue : "idnt" }

    /// The attributes. For an identity those of the key take precedence, except label and token, which are the
    /// certificate's.
    var attributes: [Attribute: AttributeValue] {
        guard let key else { return item.attributes }
        return key.attributes.merging(item.attributes) { ofKey, _ in ofKey }
            .merging(item.attributes.filter { FoundItem.ofCertificate.contains($0.key) }) { $1 }
    }

    private static let ofCertificate: Set<Attribute> = [.label, .tokenID]

    /// The secret, copied here once into ordinary memory, since Apple's signature requires it.
    var data: NSData? { (key ?? item).secret?.bytes.leaving() }

    var persistentReference: NSData? {
        guard let reference = item.record?.persistentReference else { return nil }
        return Data(Array(className.utf8) + reference.dropFirst(4)) as NSData
    }

    /// The reference of an identity, which includes that of the key, since there may be copies of it.
    var pairReference: [UInt8]? {
        guard let certificate = item.record?.persistentReference, let key = key?.record?.persistentReference else {
            return nil
        }
        return Array("idnt".utf8) + certificate.dropFirst(4) + key.dropFirst(4)
    }

    var accessibility: Accessibility? { (key ?? item)[.accessible]?.text.flatMap(Accessibility.init) }

    /// The object; `nil` for passwords, which have none on Apple's systems either, and for invalid bytes.
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
        // Also if the item came with its secret: the user's consent was for this call only.
        item.asksForPresence ? SecKey.closed(item, people) : SecKey.of(item)
    }

    /// The certificate; `nil` if the item is not a certificate, or its secret was not requested.
    var certificate: SecCertificate? { certificate(item.secret) }

    /// Returns the certificate, and reads it now if it was not requested.
    func certificate(from store: any ItemStore) throws(VaultError) -> SecCertificate? {
        if item.secret == nil, let record = item.record { return certificate(try store.secret(of: record)) }
        return certificate
    }

    private func certificate(_ secret: Secret?) -> SecCertificate? {
        guard item.itemClass == .certificate else { return nil }
        return secret.flatMap { SecCertificate($0.bytes.leaving() as Data) }
    }
}
