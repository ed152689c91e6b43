// SPDX-License-Identifier: Apache-2.0
internal import Foundation
@_implementationOnly import Vault
@_implementationOnly import VaultCrypto

/// The location of a key's bytes, whose use requires the user's consent.
final class ClosedKey: @unchecked Sendable {
    private let record: ItemRecord
    /// The settings of the query that found the key. Its context, if any, is of a class with a lock of its own.
    private let people: Request.People

    init(_ record: ItemRecord, _ people: Request.People) { (self.record, self.people) = (record, people) }

    /// Reads the bytes, with the user's consent.
    func secret() throws(StatusError) -> Secret {
        let secret: Secret?
        do throws(VaultError) { secret = try DefaultStore.secret(of: record, for: people) } catch {
            throw StatusError(status: error.status)
        }
        guard let secret else { throw StatusError(status: errSecItemNotFound) }
        return secret
    }
}

extension SecKey {
    /// The attribute with the public half of a private key, which the calls cannot access: it lets a program use the
    /// public half without a prompt, if use of the private half requires the user's consent.
    static let publicAttribute = "vault.public-key"

    /// The value of ``publicAttribute`` for the key.
    var publicText: String { Data(publicRepresentation).base64EncodedString() }

    /// Adds the attribute that lets the item's key be found without its secret, now or when it is protected later.
    static func describe(_ item: inout Item) {
        guard item.itemClass == .key, let key = of(item), key.isPrivate else { return }
        item.userAttributes[publicAttribute] = key.publicText
    }

    /// Returns the key of an item whose secret requires the user's consent.
    static func closed(_ item: Item, _ people: Request.People) -> SecKey? {
        guard let record = item.record, let isRSA = KeyNumber.isRSA(item[.type]),
            let text = item.userAttributes[publicAttribute], let bytes = Data(base64Encoded: text)
        else { return nil }
        return closedKey(Array(bytes), isRSA: isRSA, ClosedKey(record, people))
    }
}
