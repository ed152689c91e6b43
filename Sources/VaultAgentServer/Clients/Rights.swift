// SPDX-License-Identifier: Apache-2.0
internal import Vault
internal import VaultAgent

/// The rights of a process, and the access groups that it may name; `nil` for all.
struct Rights: Equatable, Sendable {
    var access: AgentStatus.Access
    var groups: AccessGroups?

    static let all = Rights(access: .full, groups: nil)
    static let none = Rights(access: .none, groups: nil)

    /// Returns the intersection with other rights. The order of the groups stays: new items are added to the first.
    func limited(to others: Rights) -> Rights {
        let both = groups.map { own in others.groups.map { own.limited(to: $0) } ?? own }
        return Rights(access: access.limited(to: others.access), groups: both ?? others.groups)
    }
}

extension Rights {
    /// The rights of a Flatpak application without a rule: everything in the one group that has its name.
    ///
    /// - Parameter application: the application's identifier; an invalid one has no rights.
    init(ofFlatpak application: String) {
        self =
            AccessGroups.isApplication(application) ? Rights(access: .full, groups: [application]) : .none
    }
}

extension AgentStatus.Access {
    /// Returns the lesser of both.
    func limited(to other: AgentStatus.Access) -> AgentStatus.Access {
        switch (self, other) {
        case (.none, _), (_, .none): .none
        case (.injectOnly, _), (_, .injectOnly): .injectOnly
        case (.full, .full): .full
        }
    }
}
