// SPDX-License-Identifier: Apache-2.0
internal import VaultStorage

extension ItemStore {
    /// Every change that the caller may see.
    public var changes: ChangeSequence { changes(matching: nil, from: nil) }

    /// The changes of matching items, from now on.
    public func changes(matching query: Query) -> ChangeSequence { changes(matching: query, from: nil) }
}

extension Vault {
    /// The number of the newest commit, including those of other processes: whatever is read afterwards is at least as
    /// new.
    public var sequence: UInt64 { get throws(VaultError) { try core.read { $0.records.sequence } } }

    /// The changes of matching items by this and all other processes, from now on or since a commit.
    public func changes(matching query: Query?, from sequence: UInt64?) -> ChangeSequence {
        let buffer = ChangeBuffer()
        do throws(VaultError) {
            let reader = try core.subscribe(
                buffer, try ParsedQuery.each(of: query, groups: accessGroups), from: sequence)
            // The closure retains the vault, which would otherwise be closed under the reader.
            return ChangeSequence(buffer) { [core] in
                // A task that releases the reader does not wait for the vault.
                VaultExecutor.shared.submit { core.unsubscribe(reader) }
            }
        } catch { return ChangeSequence(failing: error) }
    }
}

extension ParsedQuery {
    /// - Parameter query: `nil` or a query without a class stands for every class.
    fileprivate static func each(of query: Query?, groups: AccessGroups) throws(VaultError) -> [ParsedQuery] {
        if let query, query.itemClass != nil || query.persistentReference != nil {
            return [try ParsedQuery(query, groups: groups)]
        }
        var parsed: [ParsedQuery] = []
        for itemClass in ItemClass.allCases {
            var whole = query ?? Query(itemClass)
            whole.itemClass = itemClass
            do throws(VaultError) { parsed.append(try ParsedQuery(whole, groups: groups)) } catch {
                // The class does not have the attribute, so none of its items match.
                guard case .noSuchAttribute = error else { throw error }
            }
        }
        guard !parsed.isEmpty else { throw .parameter(.classMissing) }
        return parsed
    }
}
