// SPDX-License-Identifier: Apache-2.0
internal import Foundation
@_implementationOnly import Vault
@_implementationOnly import VaultCrypto

/// The parameters of a new key pair.
struct KeyOrder {
    private let isRSA: Bool
    private let bits: Int
    /// The attributes of each key to be stored, including those given for both.
    private var items: [(isPrivate: Bool, attributes: [String: Any])] = []

    init(_ parameters: NSDictionary) throws(StatusError) {
        guard let isRSA = KeyNumber.isRSA(parameters[kSecAttrKeyType]),
            let bits = KeyNumber.parse(parameters[kSecAttrKeySizeInBits])
        else { throw .parameter }
        guard isRSA ? SecKey.rsaSizes.contains(bits) : NISTCurve(rawValue: Int32(clamping: bits)) != nil else {
            throw .parameter
        }
        (self.isRSA, self.bits) = (isRSA, bits)
        let names = [kSecPrivateKeyAttrs as String, kSecPublicKeyAttrs as String]
        var common: [String: Any] = [:]
        for (key, value) in parameters.entries {
            guard let key = (key as? NSString).map({ $0 as String }) else { throw .parameter }
            if !names.contains(key) { common[key] = value }
        }
        for name in names {
            let own = parameters[name as NSString]
            guard own == nil || own is NSDictionary else { throw .parameter }
            var attributes = common
            for (key, value) in (own as? NSDictionary ?? [:]).entries {
                guard let key = (key as? NSString).map({ $0 as String }) else { throw .parameter }
                attributes[key] = value
            }
            // There is no token; a software key would not match the request.
            guard attributes["tkid"] == nil else { throw StatusError(status: errSecUnimplemented) }
            guard let isPermanent = attributes["perm"] as? NSNumber, isBoolean(isPermanent), isPermanent.boolValue
            else { continue }
            items.append((name == names[0], attributes))
        }
    }

    /// Generates the private key.
    func make() throws(StatusError) -> SecKey {
        let secret = try converting { () throws(CryptoError) in
            if isRSA {
                let numbers = try AsymmetricKey.make(curve: nil, bits: bits)
                return Secret(try KeyRepresentation.pkcs1(numbers))
            }
            return Secret(try AsymmetricKey.make(curve: NISTCurve(rawValue: Int32(bits)), bits: bits))
        }
        guard let key = SecKey.privateKey(secret, isRSA: isRSA) else { throw StatusError(status: errSecInternal) }
        return key
    }

    /// Stores the keys that are to be stored, all or none.
    ///
    /// - Returns: the private key, without its bytes if its use requires the user's consent from now on.
    func store(_ key: SecKey) throws(StatusError) -> SecKey {
        guard !items.isEmpty else { return key }
        var dictionaries: [NSDictionary] = []
        for (isPrivate, attributes) in items {
            var attributes = attributes
            attributes["v_Ref"] = isPrivate ? key : key.publicKey
            attributes["class"] = kSecClassKey
            dictionaries.append(attributes as NSDictionary)
        }
        let status = addAll(dictionaries)
        guard status == errSecSuccess else { throw StatusError(status: status) }
        guard let stored = items.first(where: \.isPrivate)?.attributes,
            let control = stored["accc"] as? SecAccessControl,
            Item(ItemKey(.key, [.accessControl: .data(control.encoded)])).asksForPresence
        else { return key }
        var found: CFTypeRef?
        // The caller's attributes may differ from those of the key.
        var query: [String: Any] = ["class": kSecClassKey, "kcls": 1, "r_Ref": true, "sync": kSecAttrSynchronizableAny]
        query["klbl"] = Data(try key.applicationLabel)
        for name in ["klbl", "atag", "agrp"] { query[name] = stored[name] ?? query[name] }
        unsafe SecItemCopyMatching(query as NSDictionary, &found)
        guard let closed = found as? SecKey else { throw StatusError(status: errSecInternal) }
        return closed
    }
}
