// SPDX-License-Identifier: Apache-2.0
internal import VaultCrypto

/// A key held in memory, for the lifetime of this process or less.
final class MemorySSHKey: Sendable {
    let key: SSHPrivateKey
    let name: SSHKeyName
    let comment: [UInt8]
    let constraints: SSHConstraints
    /// The time of its removal; `nil` if it stays until removed.
    let end: ContinuousClock.Instant?

    init(
        _ key: SSHPrivateKey, _ name: SSHKeyName, _ comment: [UInt8], _ constraints: SSHConstraints,
        end: ContinuousClock.Instant?
    ) {
        self.key = key
        (self.name, self.comment, self.constraints, self.end) = (name, comment, constraints, end)
    }

    func hasEnded(at now: ContinuousClock.Instant) -> Bool { end.map { $0 <= now } ?? false }
}

/// The clocks of an agent.
struct SSHClock: Sendable {
    /// A monotonic clock that also counts the time that the machine sleeps.
    let now: @Sendable () -> ContinuousClock.Instant
    /// Wall-clock time, in seconds since 1970.
    let seconds: @Sendable () -> UInt64
    let wait: @Sendable (_ until: ContinuousClock.Instant) -> Void
}

/// A passphrase that hides all keys until it is entered again: `ssh-add -x`.
struct SSHLock: Sendable {
    private let key: Secret?
    private var code: Secret?
    /// The number of wrong passphrases.
    private var failures = 0
    /// The earliest time at which the next attempt may be checked.
    private var next: ContinuousClock.Instant?

    private static let delay = Duration.milliseconds(100)
    private static let mostFailures = 100
    private static let longestWait = Duration.seconds(10)

    /// The unlocked state.
    init() { (key, code) = (nil, nil) }

    /// Fails for an empty passphrase.
    init?(_ passphrase: Span<UInt8>) throws(CryptoError) {
        guard passphrase.count > 0 else { return nil }
        let key = Secret(try SecretBytes(random: 32))
        self.key = key
        code = Secret(try MessageAuthentication.sha256.code(of: passphrase, key: key.bytes))
    }

    var isLocked: Bool { code != nil }

    /// Returns the time at which a passphrase may be checked, later with each attempt; `nil` if not locked, or too many
    /// wait.
    mutating func nextTry(_ now: ContinuousClock.Instant) -> ContinuousClock.Instant? {
        guard isLocked else { return nil }
        let moment = max(now, next ?? now)
        guard moment <= now + SSHLock.longestWait else { return nil }
        next = moment + SSHLock.delay * failures
        return moment
    }

    /// Unlocks with the right passphrase.
    mutating func open(_ passphrase: Span<UInt8>) -> Bool {
        guard let key, let code, let said = try? MessageAuthentication.sha256.code(of: passphrase, key: key.bytes)
        else { return false }
        let isRight = code.withBytes { code in said.withBytes { isEqualInConstantTime(code, $0) } }
        if isRight {
            self = SSHLock()
        } else {
            failures = min(failures + 1, SSHLock.mostFailures)
        }
        return isRight
    }
}
