// SPDX-License-Identifier: Apache-2.0
internal import Foundation
@_implementationOnly import Vault
@_implementationOnly import VaultCrypto

/// Where the bytes of a key lie that a person has to allow the use of.
final class ClosedKey: @unchecked Sendable {
    private let record: ItemRecord
    /// What the query said that found it. Its context, if it has one, is of a class that locks.
    private let people: Request.People

    init(_ record: ItemRecord, _ people: Request.People) { (self.record, self.people) = (record, people) }

    /// Opens the bytes, when a person has allowed it.
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
    /// Under this name a private key has its public half among the attributes that are out of reach of the calls: a
    /// program that is given a key that a person has to allow the use of gets that half without a question.
    static let publicAttribute = "vault.public-key"

    /// What ``publicAttribute`` holds for the key.
    var publicText: String { Data(publicRepresentation).base64EncodedString() }

    /// What an item needs for its key to be found without its secret, now or when it is protected later.
    static func describe(_ item: inout Item) {
        guard item.itemClass == .key, let key = of(item), key.isPrivate else { return }
        item.userAttributes[publicAttribute] = key.publicText
    }

    /// The key of an item whose secret a person has to allow the reading of.
    static func closed(_ item: Item, _ people: Request.People) -> SecKey? {
        guard let record = item.record, let isRSA = KeyNumber.isRSA(item[.type]),
            let text = item.userAttributes[publicAttribute], let bytes = Data(base64Encoded: text)
        else { return nil }
        return closedKey(Array(bytes), isRSA: isRSA, ClosedKey(record, people))
    }
}
