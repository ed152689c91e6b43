// SPDX-License-Identifier: Apache-2.0
internal import VaultFormat

/// The extent and results of a verification.
public struct Verification: Equatable, Sendable {
    /// The number of items.
    public var items = 0
    /// Kept older versions of items.
    public var versions = 0
    /// The number of values, those of older versions included.
    public var values = 0
    /// Values that were opened, beyond a check for changed bytes.
    public var opened = 0
    /// The number of commits in the file.
    public var commits = 0
    /// Items sealed under another device's secret; their bytes are checked, but they cannot be opened here.
    public var foreign = 0
    /// The number of bytes after the last commit, from an unfinished one.
    public var unfinishedBytes = 0
    /// The number of invalid commit marks, of two: 1 if a crash tore one or another program changed it. The next
    /// change repairs it.
    public var invalidMarks = 0

    package init(
        items: Int = 0, versions: Int = 0, values: Int = 0, opened: Int = 0, commits: Int = 0, foreign: Int = 0,
        unfinishedBytes: Int = 0,
        invalidMarks: Int = 0
    ) {
        self.items = items
        self.versions = versions
        self.values = values
        self.opened = opened
        self.commits = commits
        self.foreign = foreign
        self.unfinishedBytes = unfinishedBytes
        self.invalidMarks = invalidMarks
    }
}

extension VaultStore {
    /// Checks every byte of the file, and if `deep` opens every value.
    ///
    /// - Throws: the first damage found.
    package func verify(deep: Bool) throws(StorageError) -> Verification {
        try check()
        return try lock.keepingWritersOut { () throws(StorageError) in try verified(deep: deep) }
    }

    private func verified(deep: Bool) throws(StorageError) -> Verification {
        try reopen()
        try log.check()
        var result = Verification()
        result.commits = tip.count
        result.unfinishedBytes = log.unfinishedBytes
        result.invalidMarks = try log.invalidMarks()
        for place in 0..<records.end {
            guard let operation = records[place], operation.itemClass != nil else { continue }
            if !EncodedAttributes.isTombstone(operation.attributes.bytes.span) { result.items += 1 }
            try check(operation, deep: deep, &result)
        }
        for operation in records.past.values.joined() {
            result.versions += 1
            try check(operation, deep: deep, &result)
        }
        return result
    }

    private func check(_ operation: Operation, deep: Bool, _ result: inout Verification) throws(StorageError) {
        guard operation.value != nil else { return }
        result.values += 1
        _ = try box(of: operation)
        if try isForeign(operation) {
            result.foreign += 1
        } else if deep, try openValue(of: operation) != nil {
            result.opened += 1
        }
    }
}
