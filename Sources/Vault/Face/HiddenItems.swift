// SPDX-License-Identifier: Apache-2.0
internal import Vault

/// The items that no door shows to programs.
package enum HiddenItems {
    package static let collectionService = ItemNames.collectionService

    /// The service of the items that hold the browsers that the user has admitted.
    package static let browserService = "vault.browser"

    /// The groups of the device's identifiers and of systemd's credentials, and items without a group.
    package static func contains(group: String) -> Bool { ["device-identifiers", "systemd", ""].contains(group) }
}
