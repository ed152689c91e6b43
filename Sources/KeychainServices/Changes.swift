// SPDX-License-Identifier: Apache-2.0
internal import Foundation
@_implementationOnly import Vault
@_implementationOnly import VaultCrypto

/// The second dictionary of SecItemUpdate: attributes and data alone.
struct Changes {
    private var attributes: [Attribute: AttributeValue] = [:]
    private var data: Data?
    private var flaw: VaultError?

    init(_ dictionary: NSDictionary) {
        for (key, value) in dictionary.entries {
            do throws(VaultError) { try take(key, value) } catch { flaw = flaw ?? error }
        }
    }

    private mutating func take(_ key: Any, _ value: Any) throws(VaultError) {
        guard let name = (key as? NSString).map({ $0 as String }) else { throw .parameter(.key("")) }
        switch name {
        case "v_Data":
            guard let bytes = value as? Data else { throw .parameter(.key(name)) }
            data = bytes
        case "ggrp": throw .parameter(.key(name))
        case _ where name.utf8.count == 4: try takeAttribute(name, value, into: &attributes)
        default: throw .noSuchAttribute(name)
        }
    }

    /// The changes for the engine.
    func changes() throws(VaultError) -> ItemChanges {
        var changes = ItemChanges(attributes: attributes, secret: try data.map(Secret.init(copying:)))
        changes.flaw = flaw
        return changes
    }
}

extension Secret {
    /// Apple's signature has the secret in ordinary memory already; this is the copy that the vault keeps.
    convenience init(copying data: Data) throws(VaultError) {
        do throws(CryptoError) { self.init(try SecretBytes(copying: data.span)) } catch { throw .storage(StorageError(error)) }
    }
}
