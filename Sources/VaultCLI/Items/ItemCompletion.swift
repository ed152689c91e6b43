// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import Vault
internal import VaultAgent

/// The completions that a shell offers: names that the agent knows. Never prompts; without an agent there are none.
///
/// ``LineCompletion`` passes the words without quotes, and offers the completions that fit.
enum ItemCompletion {
    /// Places and labels.
    static let names = CompletionKind.custom { words, _, _ in offered(words) { [$0.place, $0.item.label ?? ""] } }

    static let accounts = CompletionKind.custom { words, index, _ in
        // The name is the word before the last.
        let name = words.prefix(max(0, index)).last { !$0.hasPrefix("-") }
        return offered(words) { $0.place == name || $0.title == name ? [$0.user] : [] }
    }

    /// The fields of the items named by the preceding words.
    static let fields = CompletionKind.custom { words, _, _ in
        offered(words) { words.contains($0.place) || words.contains($0.title) ? $0.item.fieldNames : [] }
    }

    static let references = CompletionKind.custom { words, _, _ in references(words) }

    /// `NAME=vault://…`
    static let namedReferences = CompletionKind.custom { words, _, typed in
        guard let split = typed.firstIndex(of: "=") else { return [] }
        return references(words).map { typed[...split] + $0 }
    }

    private static func references(_ words: [String]) -> [String] {
        offered(words) { face in
            let secret = SecretReference.text(of: face)
            return [secret] + face.item.fieldNames.map { "\(secret)/\(SecretReference.escaped($0))" }
        }
    }

    /// Returns distinct texts of the items, sorted, without those that a shell could not show on a line.
    private static func offered(_ words: [String], _ texts: (ItemFace) -> [String]) -> [String] {
        func value(of option: String) -> String? {
            words.firstIndex(of: option).flatMap { $0 + 1 < words.count ? words[$0 + 1] : nil }
        }
        let group = value(of: "--group")
        guard let path = value(of: "--vault").map({ FilePath($0) }) ?? Vault.defaultPath,
            let locked = try? LockedVault(at: path),
            let client = try? AgentClient(vault: locked.path, accessGroups: .named(group))
        else { return [] }
        let items = [ItemClass.genericPassword, .internetPassword].flatMap { itemClass -> [Item] in
            (try? client.allMatching(Query(itemClass).withoutQuestions)) ?? []
        }
        // A command takes an application's items only from a group that the user names.
        let named = items.filter { group != nil || $0.applicationGroup == nil }.flatMap { texts(ItemFace($0)) }
        return Set(named).filter { !$0.isEmpty && !$0.unicodeScalars.contains { $0.isObeyed } }.sorted()
    }
}
