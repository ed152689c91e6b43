// SPDX-License-Identifier: Apache-2.0
internal import VaultFormat

/// Transactions being staged: their operations are already in the table and can be undone.
struct Draft {
    /// The data for undoing one operation.
    struct Step {
        let undo: RecordTable.Undo
        /// The version whose box was sealed for the operation.
        let sealed: VersionKey
        let nextIndex: UInt64
        let deletesOnly: Bool
    }

    var frames: FrameBuilder
    /// The operations of the open transaction, and the places of the table that they changed.
    var open: [FrameBuilder.Pending] = []
    var places: [Int?] = []
    var steps: [Step] = []
    /// The number of steps that belong to complete transactions.
    var completeSteps = 0
    var deletesOnly = true
    var transactions = 0
    var nextIndex: UInt64 = 0
}
