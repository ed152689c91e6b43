// SPDX-License-Identifier: Apache-2.0
internal import Foundation
@_implementationOnly import Vault
@_implementationOnly import VaultCrypto

/// The second dictionary of SecItemUpdate: attributes and data alone.
struct Changes {
    private var attributes: [Attribute: AttributeValue] = [:]
    private var data: NSData?
    private(set) var flaw: VaultError?
    /// As ``Request/refusal``.
    private(set) var refusal: VaultError?

    init(_ dictionary: NSDictionary) {
        for (key, value) in dictionary.entries {
            do throws(VaultError) { try take(key, value) } catch {
                flaw = flaw ?? error
                if key as? String == "accc" { refusal = error }
            }
        }
    }

    private mutating func take(_ key: Any, _ value: Any) throws(VaultError) {
        guard let name = (key as? NSString).map({ $0 as String }) else { throw .parameter(.key("")) }
        switch name {
        case "v_Data":
            guard let bytes = value as? NSData else { throw .parameter(.key(name)) }
            data = bytes
        case "ggrp": throw .parameter(.key(name))
        case _ where name.utf8.count == 4: try takeAttribute(name, value, into: &attributes)
        default: throw .noSuchAttribute(name)
        }
    }

    /// The changes for the engine.
    func changes() throws(VaultError) -> ItemChanges {
        ItemChanges(
            attributes: attributes, secret: try data.map { data throws(VaultError) in try Secret(copying: data) })
    }
}

extension Secret {
    /// Apple's signature has the secret in ordinary memory already; this is the copy that the vault keeps.
    convenience init(copying data: NSData) throws(VaultError) {
        // The bytes stay where they are as long as the data is held.
        let bytes = unsafe UnsafeRawBufferPointer(start: data.bytes, count: data.length)
        do throws(CryptoError) { self.init(try SecretBytes(copying: unsafe Span<UInt8>(_unsafeBytes: bytes))) } catch {
            throw .storage(StorageError(error))
        }
    }
}
