// SPDX-License-Identifier: Apache-2.0
internal import VaultFormat

/// Transactions that are being put together: their operations are in the table already, and can be taken back.
struct Draft {
    /// What takes one operation back.
    struct Step {
        let undo: RecordTable.Undo
        /// The version whose box was sealed for the operation.
        let sealed: VersionKey
        let nextIndex: UInt64
        let deletesOnly: Bool
    }

    var frames: FrameBuilder
    /// The operations of the transaction that is open, and the places of the table that they changed.
    var open: [FrameBuilder.Pending] = []
    var places: [Int?] = []
    var steps: [Step] = []
    /// How many of the steps belong to transactions that are complete.
    var completeSteps = 0
    var deletesOnly = true
    var transactions = 0
    var nextIndex: UInt64 = 0
}
