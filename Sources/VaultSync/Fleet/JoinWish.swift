// SPDX-License-Identifier: Apache-2.0
package import VaultCrypto

/// A request to join that waits for its answer.
package struct JoinWish: Sendable {
    /// What a person types at a device that belongs to the fleet.
    package let code: RecoveryCode
    let mailbox: Mailbox
    let identity: Identity
    let remote: RemoteAccess
    let deviceName: String
    let onlySynchronizable: Bool
}

/// A request to join, and the vault that is to.
package final class JoinAttempt {
    package let wish: JoinWish
    private let fleet: Fleet

    init(_ fleet: Fleet, _ wish: JoinWish) { (self.fleet, self.wish) = (fleet, wish) }

    package var code: RecoveryCode { wish.code }

    /// - Returns: as ``Fleet/join(_:)``.
    package func poll() throws(SyncError) -> Bool { try fleet.join(wish) }
}
