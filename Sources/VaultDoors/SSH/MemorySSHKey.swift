// SPDX-License-Identifier: Apache-2.0
internal import VaultCrypto

/// A key that lives as long as this process, or shorter.
final class MemorySSHKey: Sendable {
    let key: SSHPrivateKey
    let name: SSHKeyName
    let comment: [UInt8]
    let constraints: SSHConstraints
    /// When it has to go; nil: when it is removed.
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

/// The time, as an agent sees it.
struct SSHClock: Sendable {
    /// It goes on while the machine sleeps.
    let now: @Sendable () -> ContinuousClock.Instant
    /// Since 1970.
    let seconds: @Sendable () -> UInt64
    let wait: @Sendable (_ until: ContinuousClock.Instant) -> Void
}

/// A passphrase that hides all keys until it is said again: `ssh-add -x`.
struct SSHLock: Sendable {
    private let key: Secret?
    private var code: Secret?
    /// How many wrong passphrases there were.
    private var failures = 0
    /// When the next may be compared.
    private var next: ContinuousClock.Instant?

    private static let delay = Duration.milliseconds(100)
    private static let mostFailures = 100
    private static let longestWait = Duration.seconds(10)

    /// Open.
    init() { (key, code) = (nil, nil) }

    /// Nil: an empty passphrase, which is none.
    init?(_ passphrase: Span<UInt8>) throws(CryptoError) {
        guard passphrase.count > 0 else { return nil }
        let key = Secret(try SecretBytes(random: 32))
        self.key = key
        code = Secret(try MessageAuthentication.sha256.code(of: passphrase, key: key.bytes))
    }

    var isLocked: Bool { code != nil }

    /// When a passphrase may be compared: each takes longer than the one before. Nil: not locked, or too many wait.
    mutating func nextTry(_ now: ContinuousClock.Instant) -> ContinuousClock.Instant? {
        guard isLocked else { return nil }
        let moment = max(now, next ?? now)
        guard moment <= now + SSHLock.longestWait else { return nil }
        next = moment + SSHLock.delay * failures
        return moment
    }

    /// Opens it with the right passphrase.
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
