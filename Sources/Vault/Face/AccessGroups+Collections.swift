// SPDX-License-Identifier: Apache-2.0

extension AccessGroups {
    /// The groups that no collection of a program may have, since they have meanings.
    private static let reserved: Set<String> = ["default", "login", "session", "device-identifiers", "systemd"]

    /// Returns the group of a new collection: the label in `[a-z0-9-]`, made unique.
    package static func ofCollection(_ label: String, beside groups: Set<String>) -> String {
        var name = ""
        for character in label.lowercased().unicodeScalars.prefix(64) {
            switch character {
            case "a"..."z", "0"..."9": name.unicodeScalars.append(character)
            default: if !name.hasSuffix("-"), !name.isEmpty { name += "-" }
            }
        }
        while name.hasSuffix("-") { name.removeLast() }
        if name.isEmpty { name = "collection" }
        let taken = groups.union(reserved)
        guard taken.contains(name) else { return name }
        var number = 2
        while taken.contains("\(name)-\(number)") { number += 1 }
        return "\(name)-\(number)"
    }
}
