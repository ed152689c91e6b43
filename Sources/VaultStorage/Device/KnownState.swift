// SPDX-License-Identifier: Apache-2.0
internal import VaultCrypto

/// A state of the file that this handle or this device has seen: what is there now must have come after it.
struct KnownState {
    var generation: UInt64
    var sequence: UInt64
    var tag: Digest

    /// Sequence numbers go on over all generations: a file that is behind is an older copy, and one of the same
    /// generation that has not passed through this state is another history. A backup has the generation of its vault
    /// and begins with the state that it was made of.
    ///
    /// - Parameter commits: all of the file, and before them the state that it began with.
    func isPassed(by commits: [Commit], generation: UInt64) -> Bool {
        guard generation == self.generation else {
            return generation > self.generation && commits[commits.count - 1].position.sequence >= sequence
        }
        return commits[0].position.sequence >= sequence
            || commits.contains { $0.position.sequence == sequence && $0.position.tag == tag }
    }
}
