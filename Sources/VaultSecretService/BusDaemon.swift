// SPDX-License-Identifier: Apache-2.0
internal import VaultBus

/// The message bus itself, as a peer.
enum BusDaemon {
    static let name = "org.freedesktop.DBus"
    static let path = "/org/freedesktop/DBus"
    static let ownerChanged = BusMember(interface: name, name: "NameOwnerChanged")
}
