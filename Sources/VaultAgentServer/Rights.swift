// SPDX-License-Identifier: Apache-2.0
internal import Vault
internal import VaultAgent

/// What a process may do, and the access groups that it may name; nil: all.
struct Rights: Equatable, Sendable {
    var access: AgentStatus.Access
    var groups: AccessGroups?

    static let all = Rights(access: .full, groups: nil)
    static let none = Rights(access: .none, groups: nil)

    /// What is left of them where others are needed too. The order of the groups stays: the first is where items are
    /// added.
    func limited(to others: Rights) -> Rights {
        let both = groups.map { own in others.groups.map { own.limited(to: $0) } ?? own }
        return Rights(access: access.limited(to: others.access), groups: both ?? others.groups)
    }
}

extension Rights {
    /// Those of a Flatpak application that no rule is about: everything in the one group that has its name.
    ///
    /// - Parameter application: its identifier. What cannot be one has no rights.
    init(ofFlatpak application: String) {
        self =
            ProcessTable.isApplication(application) ? Rights(access: .full, groups: [application]) : .none
    }
}

extension AgentStatus.Access {
    /// The lesser of both.
    func limited(to other: AgentStatus.Access) -> AgentStatus.Access {
        switch (self, other) {
        case (.none, _), (_, .none): .none
        case (.injectOnly, _), (_, .injectOnly): .injectOnly
        case (.full, .full): .full
        }
    }
}
