// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import Vault
internal import VaultAgent

/// What a shell offers when somebody presses the tabulator: names that the agent knows. Nobody is asked for anything, and without an agent
/// there is nothing to offer.
enum ItemCompletion {
    static let services = CompletionKind.custom { arguments, _, prefix in
        offered(names(arguments) { $0.serviceName }, prefix)
    }

    static let accounts = CompletionKind.custom { arguments, index, prefix in
        // The word before the last is the service.
        let words = arguments.prefix(max(0, index)).filter { !$0.hasPrefix("-") }
        let service = words.last ?? ""
        return offered(names(arguments) { $0.serviceName == service ? $0[.account]?.displayText ?? "" : "" }, prefix)
    }

    static let references = CompletionKind.custom { arguments, _, prefix in
        offered(
            names(arguments) { item in
                item[.account].map { "\(SecretReference.scheme)\(escaped(item.serviceName))/\(escaped($0.displayText))" } ?? ""
            }, prefix)
    }

    private static func names(_ arguments: [String], _ name: (Item) -> String) -> [String] {
        let given = arguments.firstIndex(of: "--vault").flatMap { $0 + 1 < arguments.count ? arguments[$0 + 1] : nil }
        guard let path = given.map({ FilePath($0) }) ?? Vault.defaultPath, let locked = try? LockedVault(at: path),
            let client = try? AgentClient(vault: locked.path, accessGroups: .ofEnvironment)
        else { return [] }
        return [ItemClass.genericPassword, .internetPassword].flatMap { itemClass in
            var query = Query(itemClass)
            query.leavesOutLocked = true
            query.synchronizableAny = true
            return (try? client.allMatching(query)) ?? []
        }.map(name)
    }

    /// Each once, sorted, and none that a shell could not show on a line.
    private static func offered(_ names: [String], _ prefix: String) -> [String] {
        Swift.Set(names).filter { !$0.isEmpty && $0.hasPrefix(prefix) && $0.printable == $0 }.sorted()
    }

    private static func escaped(_ part: String) -> String {
        part.utf8.map { byte in
            let isPlain =
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"):
                    true
                default: "-._~@".utf8.contains(byte)
                }
            return isPlain ? String(UnicodeScalar(byte)) : "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
        }.joined()
    }
}
