// SPDX-License-Identifier: Apache-2.0
package import VaultCrypto

/// A pending request to join.
package struct JoinWish: Sendable {
    /// The code that a person types at a device of the fleet.
    package let code: RecoveryCode
    let mailbox: Mailbox
    let identity: Identity
    let remote: RemoteAccess
    let deviceName: String
}

/// A pending request to join, with the fleet object of the vault that asks.
package final class JoinAttempt {
    package let wish: JoinWish
    private let fleet: Fleet

    init(_ fleet: Fleet, _ wish: JoinWish) { (self.fleet, self.wish) = (fleet, wish) }

    package var code: RecoveryCode { wish.code }

    /// - Returns: like ``Fleet/join(_:)``.
    package func poll() throws(SyncError) -> Bool { try fleet.join(wish) }
}
