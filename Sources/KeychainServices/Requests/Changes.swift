// SPDX-License-Identifier: Apache-2.0
internal import Foundation
@_implementationOnly import Vault
@_implementationOnly import VaultCrypto

/// The second dictionary of SecItemUpdate: only attributes and data.
struct Changes {
    private var attributes: [Attribute: AttributeValue] = [:]
    private var data: NSData?
    private(set) var flaw: VaultError?
    /// The early refusal, as in ``Request/refusal``.
    private(set) var refusal: VaultError?
    private var reference: ItemReference?

    init(_ dictionary: NSDictionary) {
        for (key, value) in dictionary.entries {
            do throws(VaultError) { try take(key, value) } catch {
                flaw = flaw ?? error
                if key as? String == "accc" { refusal = error }
            }
        }
        guard let reference else { return }
        do throws(VaultError) {
            attributes.merge(try reference.attributes(isQuery: false)) { given, _ in given }
        } catch { flaw = flaw ?? error }
    }

    private mutating func take(_ key: Any, _ value: Any) throws(VaultError) {
        guard let name = (key as? NSString).map({ $0 as String }) else { throw .parameter(.key("")) }
        switch name {
        case "v_Data":
            guard let bytes = value as? NSData else { throw .parameter(.key(name)) }
            data = bytes
        case "v_Ref":
            reference = ItemReference(value)
            guard reference != nil else { throw .parameter(.key(name)) }
        case "ggrp": throw .parameter(.key(name))
        case _ where name.utf8.count == 4: try takeAttribute(name, value, into: &attributes)
        default: throw .noSuchAttribute(name)
        }
    }

    /// Returns the changes for the engine.
    ///
    /// - Parameter itemClass: the class of the items to be changed.
    func changes(of itemClass: ItemClass?) throws(VaultError) -> ItemChanges {
        let secret = try Secret.toStore(data, else: reference)
        var changes = ItemChanges(attributes: attributes, secret: secret)
        // Only the type of a given date is checked; the vault sets the date itself.
        if case .date = attributes[.modificationDate] { changes.attributes[.modificationDate] = nil }
        if let secret, itemClass == .key {
            let key = SecKey.privateKey(secret, isRSA: true) ?? SecKey.privateKey(secret, isRSA: false)
            changes.userAttributes[SecKey.publicAttribute] = .some(key?.publicText)
        }
        return changes
    }
}
