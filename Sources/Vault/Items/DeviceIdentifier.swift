// SPDX-License-Identifier: Apache-2.0
public import FoundationEssentials
internal import VaultCrypto
internal import VaultFormat

// Identifiers of the device: random, created once and then constant. They are stored in the vault and so outlast the
// application.

/// A store in which a device's identifiers survive reinstallation.
public protocol DeviceIdentifying: AnyObject {
    /// The device's identifier under this name, created now if there is none: a random version-4 UUID (RFC 9562).
    ///
    /// Stored as a generic password of the service `device-identifier` with the name as its account, readable after the
    /// first unlock, in the access group `device-identifiers`: the same for all programs, whatever their groups,
    /// however many threads and processes ask for it first.
    ///
    /// - Parameters:
    ///   - name: chosen by the application, such as its bundle identifier; empty for the device's own.
    ///   - thisDeviceOnly: selects another identifier of the same name that is bound to this machine: on another
    ///     machine, a copy of the vault lacks it, and a new one is created.
    /// - Throws: `.notADeviceIdentifier` if something else is stored in its place.
    func deviceIdentifier(for name: String, thisDeviceOnly: Bool) throws(VaultError) -> UUID

    /// Creates a new identifier under this name.
    @discardableResult
    func resetDeviceIdentifier(for name: String, thisDeviceOnly: Bool) throws(VaultError) -> UUID
}

extension Vault {
    /// The device's identifier under this name, created now if there is none; see ``DeviceIdentifying``.
    public func deviceIdentifier(for name: String = "", thisDeviceOnly: Bool = false) throws(VaultError) -> UUID {
        let which = DeviceIdentifier(name: name, isBound: thisDeviceOnly)
        let vault = withAccessGroups(DeviceIdentifier.everyGroup)
        for group in DeviceIdentifier.groups(of: accessGroups) {
            if let found = try vault.find(which, in: group) { return found }
        }
        let made = UUID()
        do throws(VaultError) {
            try vault.add(which.item(made))
            return made
        } catch { guard error == .duplicateItem else { throw error } }
        // Another thread or process added it first.
        guard let found = try vault.find(which, in: DeviceIdentifier.accessGroup) else { throw .itemChanged }
        return found
    }

    /// Creates a new identifier under this name, in the place of the old one if there is one.
    @discardableResult
    public func resetDeviceIdentifier(for name: String = "", thisDeviceOnly: Bool = false) throws(VaultError) -> UUID {
        let made = UUID()
        try withAccessGroups(DeviceIdentifier.everyGroup).set(
            DeviceIdentifier(name: name, isBound: thisDeviceOnly).item(made))
        return made
    }

    private func find(_ which: DeviceIdentifier, in group: String) throws(VaultError) -> UUID? {
        let items: [Item]
        do throws(VaultError) { items = try copyMatching(which.query(in: group)) } catch {
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

/// The address of an identifier. Identifiers belong to the device and to no program: all are in one access group,
/// whatever groups a caller has.
struct DeviceIdentifier {
    static let accessGroup = "device-identifiers"
    static let accessGroupName = Array(accessGroup.utf8)
    private static let service = "device-identifier"
    /// A service of its own, so that both kinds can have the same name.
    private static let boundService = "device-identifier.this-device"

    static let everyGroup = AccessGroups([accessGroup, "*"])

    /// The groups in which an identifier may be; new ones are created in the first. Version 0.1 kept them in the group
    /// of the calling program.
    static func groups(of caller: AccessGroups) -> [String] {
        var groups = [accessGroup]
        for group in caller.list + ["default"] where group != "*" && !groups.contains(group) { groups.append(group) }
        return groups
    }

    let name: String
    let isBound: Bool

    private var service: String { isBound ? DeviceIdentifier.boundService : DeviceIdentifier.service }

    func query(in group: String) -> Query {
        var query = Query(.genericPassword, service: service, account: name, attributes: [.accessGroup: .string(group)])
        query.returnsSecrets = true
        return query
    }

    /// - Parameter identifier: not a secret; its copies are not wiped.
    func item(_ identifier: UUID) throws(VaultError) -> Item {
        let text = Array(identifier.uuidString.lowercased().utf8)
        let secret: Secret
        do throws(CryptoError) { secret = Secret(try SecretBytes(copying: text.span)) } catch {
            throw .storage(.init(error))
        }
        return Item(
            .genericPassword(service: service, account: name),
            attributes: [.label: .string("Device identifier"), .accessGroup: .string(DeviceIdentifier.accessGroup)],
            accessible: isBound ? .afterFirstUnlockThisDeviceOnly : .afterFirstUnlock, secret: secret)
    }

    /// Whether the item is an identifier created for a program of this name.
    static func isIdentifier(_ item: Record, of program: String) -> Bool {
        guard item.isInGroup(accessGroupName), item.text(of: .account) == program else { return false }
        return item.text(of: .service) == service || item.text(of: .service) == boundService
    }
}
