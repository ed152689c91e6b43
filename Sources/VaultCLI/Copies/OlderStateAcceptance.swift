// SPDX-License-Identifier: Apache-2.0
internal import Vault

/// Whether a file may be taken that lacks what this device has seen: an option says so, or a person who was told how
/// much it lacks.
struct OlderStateAcceptance {
    let isGiven: Bool
    /// The file, as a sentence begins with it.
    let what: String
    init(isGiven: Bool, what: String) {
        self.isGiven = isGiven
        self.what = what
    }

    /// - Parameter body: is lent the answer, and throws `.rolledBack` when that is no.
    func asking<R>(_ body: ((MissingState) -> Bool) throws -> R) throws -> R {
        var seen: MissingState?
        let (isGiven, what) = (isGiven, what)
        do {
            return try body { missing in
                seen = missing
                guard !isGiven else { return true }
                let question = "\(what) \(OlderStateAcceptance.phrase(missing)). Go on all the same?"
                return (try? Confirmation.isWanted(question)) == true
            }
        } catch VaultError.storage(.rolledBack) {
            guard let seen else { throw VaultError.storage(.rolledBack) }
            throw CommandError(
                .rolledBack, "\(what.prefix(1).lowercased() + what.dropFirst()) \(OlderStateAcceptance.phrase(seen))",
                hint: "look for a newer file; or, if this is meant: --accept-older")
        }
    }

    private static func phrase(_ missing: MissingState) -> String {
        switch missing.commits {
        case 1?: "lacks a commit that this device has seen"
        case let commits?: "lacks up to \(commits) commits that this device has seen"
        case nil: "is of another vault or another key than this device has seen here"
        }
    }
}
