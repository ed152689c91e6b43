// SPDX-License-Identifier: Apache-2.0

/// The items that hold what the doors keep in the vault, and that no door shows to programs.
package enum HiddenItems {
    /// The service of the items that hold the properties of the desktop's collections.
    package static let collectionService = "org.freedesktop.Secret.Collection"

    /// Whether an item holds the properties of a collection: of no interest to a person who does not ask for it.
    package static func isCollection(_ item: Item) -> Bool { item.service == collectionService }

    /// The service of the items that hold the browsers that the user has admitted.
    package static let browserService = "vault.browser"

    /// The groups of the device's identifiers and of systemd's credentials, and items without a group.
    package static func contains(group: String) -> Bool { ["device-identifiers", "systemd", ""].contains(group) }
}
