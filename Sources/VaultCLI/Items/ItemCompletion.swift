// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import Vault
internal import VaultAgent
internal import VaultFormat

/// The completions that a shell offers: names that the agent knows. Never prompts; without an agent there are none.
enum ItemCompletion {
    static let services = CompletionKind.custom { arguments, _, prefix in
        offered(names(arguments) { [$0.serviceName] }, prefix)
    }

    static let accounts = CompletionKind.custom { arguments, index, prefix in
        // The service is the word before the last.
        let words = arguments.prefix(max(0, index)).filter { !$0.hasPrefix("-") }
        let typed = words.last ?? ""
        let services = [typed, unquoted(typed)]
        return offered(
            names(arguments) { services.contains($0.serviceName) ? [$0[.account]?.displayText ?? ""] : [] }, prefix)
    }

    /// The fields of the items named by the preceding words.
    static let fields = CompletionKind.custom { arguments, _, prefix in
        let words = Set(arguments + arguments.map(unquoted))
        return offered(names(arguments) { words.contains($0.serviceName) ? $0.fieldNames : [] }, prefix)
    }

    static let references = CompletionKind.custom { arguments, _, prefix in
        offered(references(arguments), prefix)
    }

    private static func references(_ arguments: [String]) -> [String] {
        names(arguments) { item in
            guard let account = item[.account]?.displayText else { return [] }
            let secret = "\(SecretReference.scheme)\(escaped(item.serviceName))/\(escaped(account))"
            return [secret] + item.fieldNames.map { "\(secret)/\(escaped($0))" }
        }
    }

    /// `NAME=vault://…`
    static let namedReferences = CompletionKind.custom { arguments, _, prefix in
        guard let split = prefix.firstIndex(of: "=") else { return [] }
        return offered(references(arguments).map { String(prefix[...split]) + $0 }, prefix)
    }

    private static func names(_ arguments: [String], _ names: (Item) -> [String]) -> [String] {
        func value(of option: String) -> String? {
            arguments.firstIndex(of: option).flatMap { $0 + 1 < arguments.count ? arguments[$0 + 1] : nil }
        }
        let group = value(of: "--group")
        guard let path = value(of: "--vault").map({ FilePath($0) }) ?? Vault.defaultPath,
            let locked = try? LockedVault(at: path),
            let client = try? AgentClient(vault: locked.path, accessGroups: .named(group))
        else { return [] }
        return [ItemClass.genericPassword, .internetPassword].flatMap { itemClass in
            (try? client.allMatching(Query(itemClass).withoutQuestions)) ?? []
        }
        // A command takes an application's items only from a group that the user names.
        .filter { group != nil || $0.applicationGroup == nil }
        .flatMap(names)
    }

    /// bash and zsh pass the words as typed, with quotes; fish passes their values.
    private static func unquoted(_ word: String) -> String {
        var quotes = ShellQuotes()
        return word.filter { quotes.pass($0) }
    }

    /// Returns the distinct names, sorted, without those that a shell could not show on a line.
    private static func offered(_ names: [String], _ prefix: String) -> [String] {
        let fitting = Set(names).filter {
            !$0.isEmpty && $0.hasPrefix(prefix) && !$0.unicodeScalars.contains { $0.isObeyed }
        }
        .sorted()
        // In zsh, a colon starts the description of a completion.
        guard CompletionShell.requesting == .zsh else { return fitting }
        return fitting.map { $0.replacing("\\", with: "\\\\").replacing(":", with: "\\:") }
    }

    private static func escaped(_ part: String) -> String { PercentCoding.encoded(part, keeping: "@") }
}
