// SPDX-License-Identifier: Apache-2.0
internal import Foundation
@_implementationOnly import Vault
@_implementationOnly import VaultCrypto

/// The value of `kSecValueRef`: an object that stands for its attributes, which the caller's own attributes override.
enum ItemReference {
    case certificate(SecCertificate)
    case key(SecKey)
    case identity(SecIdentity)

    /// Fails for an object of another type. Passwords have no object, on Apple's systems either.
    init?(_ value: Any) {
        switch value {
        case let certificate as SecCertificate: self = .certificate(certificate)
        case let key as SecKey: self = .key(key)
        case let identity as SecIdentity: self = .identity(identity)
        default: return nil
        }
    }

    /// The class; `nil` for identities, which are not items of their own.
    var itemClass: ItemClass? {
        switch self {
        case .certificate: .certificate
        case .key: .key
        case .identity: nil
        }
    }

    var identity: SecIdentity? { if case .identity(let identity) = self { identity } else { nil } }

    /// Returns the attributes to store for the object, or to search by. An identity is found by its certificate, and
    /// stored as its two items.
    ///
    /// - Parameter isQuery: whether to omit attributes that do not identify an item.
    func attributes(isQuery: Bool) throws(VaultError) -> [Attribute: AttributeValue] {
        do throws(StatusError) {
            switch self {
            case .certificate(let certificate):
                let attributes = try certificate.itemAttributes
                return isQuery ? attributes.filter { $0.key != .label } : attributes
            case .key(let key):
                let attributes = try key.itemAttributes
                return isQuery ? attributes.filter { !SecKey.attributesOutsideQueries.contains($0.key) } : attributes
            case .identity(let identity):
                return isQuery ? try identity.certificate.itemAttributes.filter { $0.key != .label } : [:]
            }
        } catch { throw error.status == errSecUnimplemented ? .unimplemented : .parameter(.key("v_Ref")) }
    }

    /// Returns the bytes that its item contains; for an identity, those of the key.
    func secret() throws(VaultError) -> Secret {
        do throws(StatusError) {
            switch self {
            case .certificate(let certificate):
                return try converting { () throws(CryptoError) in try Secret(copying: certificate.data as NSData) }
            case .key(let key): return try key.storedSecret()
            case .identity(let identity): return try identity.key.storedSecret()
            }
        } catch { throw VaultError(error) }
    }
}

extension VaultError {
    /// Maps the reason why a key's bytes could not be read, which may require the user's consent.
    fileprivate init(_ error: StatusError) {
        switch error.status {
        case errSecAllocate: self = .storage(.resourceUnavailable)
        case errSecInteractionNotAllowed: self = .presenceRequired
        case errSecUserCanceled: self = .cancelled
        case errSecAuthFailed: self = .storage(.wrongPassphrase)
        case errSecItemNotFound: self = .itemNotFound
        default: self = .unimplemented
        }
    }
}
