// SPDX-License-Identifier: Apache-2.0
internal import VaultFormat

extension VaultStore {
    /// What a verification looked at.
    public struct Verification: Equatable, Sendable {
        public var items = 0
        /// Older versions of items that are kept.
        public var versions = 0
        public var values = 0
        /// Values that were opened, and not only checked for changed bytes.
        public var opened = 0
        public var commits = 0
        /// Items that are sealed under another device's secret; their bytes are checked, but nobody can open them here.
        public var foreign = 0
        /// Bytes behind the last commit, of one that was never finished.
        public var unfinishedBytes = 0
        /// Of the two commit marks: 1 when a crash tore one, or another program changed it. The next change makes it
        /// whole.
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

    /// Checks every byte of the file, and when `deep` opens every value.
    ///
    /// - Throws: the first damage found.
    public func verify(deep: Bool) throws(StorageError) -> Verification {
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
            result.items += 1
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
