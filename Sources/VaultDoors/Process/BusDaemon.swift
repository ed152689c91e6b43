// SPDX-License-Identifier: Apache-2.0
internal import VaultBus

/// The bus itself, as programs call it.
enum BusDaemon {
    static let name = "org.freedesktop.DBus"
    static let path = "/org/freedesktop/DBus"
    static let ownerChanged = BusMember(interface: name, name: "NameOwnerChanged")
}
