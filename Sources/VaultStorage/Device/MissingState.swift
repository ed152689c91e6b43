// SPDX-License-Identifier: Apache-2.0
internal import VaultFormat

/// The state of a vault that this device has seen and a file lacks.
public struct MissingState: Equatable, Sendable {
    /// The maximum number of missing commits: rewrites use up numbers as well. `nil` if the device's record cannot be
    /// compared with the file.
    public var commits: UInt64?

    init(_ commits: UInt64?) { self.commits = commits }

    /// The greater loss of the two.
    static func worse(_ a: MissingState?, _ b: MissingState?) -> MissingState? {
        guard let a, let b else { return a ?? b }
        guard let aCommits = a.commits, let bCommits = b.commits else { return MissingState(nil) }
        return MissingState(max(aCommits, bCommits))
    }

    /// The states that anchors record and a file lacks; `nil` if none.
    ///
    /// - Parameters:
    ///   - vaultID: of the file; the keys belong to it as well.
    ///   - newest: the sequence number of its newest commit.
    ///   - isSucceeded: whether the key that made an anchor was replaced by a rekey after which the file was made.
    ///   - isPassed: whether the file includes a state that its own key signed.
    static func of(
        _ anchors: [FoundAnchor], vaultID: [UInt8], _ keys: borrowing VaultKeys, newest: UInt64,
        isSucceeded: (FoundAnchor) throws(StorageError) -> Bool, isPassed: (KnownState) -> Bool
    ) throws(StorageError) -> MissingState? {
        var missing: MissingState?
        for found in anchors where found.counts(keys) {
            guard found.anchor.vaultID == vaultID else { return MissingState(nil) }
            guard found.isSigned(by: keys.anchor) else {
                guard try isSucceeded(found) else { return MissingState(nil) }
                continue
            }
            guard !isPassed(found.state) else { continue }
            let sequence = found.anchor.sequence
            missing = .worse(missing, MissingState(sequence > newest ? sequence - newest : nil))
        }
        return missing
    }
}
