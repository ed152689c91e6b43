// SPDX-License-Identifier: Apache-2.0
internal import Vault

/// Whether a file may be accepted that lacks changes this device has seen: given by an option, or by the user after
/// being told how much is missing.
struct OlderStateAcceptance {
    let isGiven: Bool
    /// The name of the file, at the beginning of a sentence.
    let what: String

    /// - Parameter body: receives the answer, and throws `.rolledBack` if it is no.
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
                hint: "look for a newer file; or, to keep this one: --accept-older")
        }
    }

    private static func phrase(_ missing: MissingState) -> String {
        switch missing.commits {
        case 1?: "lacks a commit seen on this device"
        case let commits?: "lacks up to \(commits) commits that this device has seen"
        case nil: "belongs to another vault or has another key than seen on this device"
        }
    }
}
