// SPDX-License-Identifier: Apache-2.0
public import FoundationEssentials
internal import VaultCrypto

// Identifiers of the device: random, made once, and then always the same. They live in the vault, so they outlast the application.

extension Vault {
    /// The device's identifier under this name, made now if there is none: a random version-4 UUID (RFC 9562).
    ///
    /// It is a generic password of the service `device-identifier`, whose account is the name, readable after the first unlock. There is one for
    /// each name and access group, however many threads and processes ask for it first.
    ///
    /// - Parameters:
    ///   - name: the application's, such as its bundle identifier; empty for the device's own.
    ///   - thisDeviceOnly: another identifier of the same name, bound to this machine: in a copy of the vault on another one it is absent, and a
    ///     new one is made.
    /// - Throws: `.notADeviceIdentifier` when something else is stored in its place.
    public func deviceIdentifier(for name: String = "", thisDeviceOnly: Bool = false) throws(VaultError) -> UUID {
        try deviceIdentifier(DeviceIdentifier(name: name, isBound: thisDeviceOnly, group: firstAccessGroup))
    }

    /// Makes a new identifier under this name.
    @discardableResult
    public func resetDeviceIdentifier(for name: String = "", thisDeviceOnly: Bool = false) throws(VaultError) -> UUID {
        try resetDeviceIdentifier(DeviceIdentifier(name: name, isBound: thisDeviceOnly, group: firstAccessGroup))
    }
}

/// Which identifier.
package struct DeviceIdentifier: Sendable {
    package static let service = "device-identifier"
    /// A service of its own: both kinds can have the same name.
    package static let boundService = "device-identifier.this-device"

    var name: String
    var isBound: Bool
    /// Nil: the one that the store adds to.
    var group: String?

    package init(name: String, isBound: Bool, group: String?) {
        self.name = name
        self.isBound = isBound
        self.group = group
    }

    private var service: String { isBound ? DeviceIdentifier.boundService : DeviceIdentifier.service }

    fileprivate var query: Query {
        var query = Query(.genericPassword, service: service, account: name)
        if let group { query.attributes[.accessGroup] = .string(group) }
        query.returnsSecrets = true
        return query
    }

    /// - Parameter identifier: is no secret; its copies are not wiped.
    fileprivate func item(_ identifier: UUID) throws(VaultError) -> Item {
        let text = Array(identifier.uuidString.lowercased().utf8)
        let secret: Secret
        do throws(CryptoError) { secret = Secret(try SecretBytes(copying: text.span)) } catch { throw .storage(.init(error)) }
        var attributes: [Attribute: AttributeValue] = [.label: .string("Device identifier")]
        if let group { attributes[.accessGroup] = .string(group) }
        return Item(
            .genericPassword(service: service, account: name), attributes: attributes,
            accessible: isBound ? .afterFirstUnlockThisDeviceOnly : .afterFirstUnlock, secret: secret)
    }
}

extension ItemStore {
    package func deviceIdentifier(_ which: DeviceIdentifier) throws(VaultError) -> UUID {
        if let found = try find(which) { return found }
        let made = UUID()
        do throws(VaultError) {
            try add(which.item(made))
            return made
        } catch {
            guard error == .duplicateItem else { throw error }
        }
        // Somebody was faster.
        guard let found = try find(which) else { throw .itemChanged }
        return found
    }

    package func resetDeviceIdentifier(_ which: DeviceIdentifier) throws(VaultError) -> UUID {
        let made = UUID()
        try set(which.item(made))
        return made
    }

    private func find(_ which: DeviceIdentifier) throws(VaultError) -> UUID? {
        let items: [Item]
        do throws(VaultError) { items = try copyMatching(which.query) } catch {
            guard error == .itemNotFound else { throw error }
            return nil
        }
        let text = items.first?.secret?.withBytes { bytes in
            bytes.count == 36 ? String(validating: bytes.indices.map { bytes[$0] }, as: UTF8.self) : nil
        }
        guard let text, let identifier = UUID(uuidString: text) else { throw .notADeviceIdentifier }
        return identifier
    }
}
