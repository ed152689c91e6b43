// SPDX-License-Identifier: Apache-2.0
internal import VaultCrypto

/// A state of the file that this handle or device has seen, and that the present file must include.
struct KnownState {
    var generation: UInt64
    var sequence: UInt64
    var tag: Digest

    /// Sequence numbers continue over all generations: a file with a smaller number is an older copy, and a file of the
    /// same generation without this state has another history. A backup has the generation of its vault and begins with
    /// the state from which it was made.
    ///
    /// - Parameter commits: all commits of the file, preceded by its initial state.
    func isPassed(by commits: [Commit], generation: UInt64) -> Bool {
        guard generation == self.generation else {
            return generation > self.generation && commits[commits.count - 1].position.sequence >= sequence
        }
        return commits[0].position.sequence >= sequence
            || commits.contains { $0.position.sequence == sequence && $0.position.tag == tag }
    }
}
