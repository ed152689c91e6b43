// SPDX-License-Identifier: Apache-2.0

/// The items that no door shows to programs.
package enum HiddenItems {
    /// The service of the items that hold the properties of the desktop's collections.
    package static let collectionService = "org.freedesktop.Secret.Collection"

    /// The service of the items that hold the browsers that the user has admitted.
    package static let browserService = "vault.browser"

    /// The groups of the device's identifiers and of systemd's credentials, and items without a group.
    package static func contains(group: String) -> Bool { ["device-identifiers", "systemd", ""].contains(group) }
}
