// SPDX-License-Identifier: Apache-2.0
internal import VaultFormat

extension WebHost {
    /// Returns whether the host is the other one or below it. No host is below an address, a name of one label, or a
    /// public suffix.
    func isAtOrBelow(_ other: WebHost, _ suffixes: PublicSuffixes) -> Bool {
        guard self != other else { return true }
        return other.labels.count >= 2 && labels.count > other.labels.count && hasOwner(of: other, suffixes)
    }

    /// Returns whether the host is the other one or below it, and no name from the one to the other is a public suffix.
    /// A suffix may be longer than the other name: with `s3.example.com` in the list, hosts below it have other owners
    /// than `example.com`.
    func hasOwner(of other: WebHost, _ suffixes: PublicSuffixes) -> Bool {
        guard labels.suffix(other.labels.count).elementsEqual(other.labels) else { return false }
        return !(other.labels.count...labels.count).contains { suffixes.contains(Array(labels.suffix($0))) }
    }
}
