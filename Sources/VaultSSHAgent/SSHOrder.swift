// SPDX-License-Identifier: Apache-2.0
internal import Glibc
internal import Synchronization
internal import SystemPackage
internal import VaultCrypto
internal import VaultFormat
internal import VaultSystem

/// The keys that hosts have accepted, which are offered to them first: sshd(8) ends a login after six keys, and each
/// key that it refuses counts (MaxAuthTries).
///
/// The memory is a file of this machine, and not an item: a login must neither change the vault, whose items have a
/// history and synchronize, nor need it open. As in known_hosts(5) with HashKnownHosts, hosts and keys are salted
/// hashes, by which a reader can recognize only those that they have already.
final class SSHOrder: Sendable {
    /// A pair of hashes of a host's key and of a key that the host has accepted.
    private struct Entry: Equatable {
        let host: String
        let key: String
    }

    private struct State {
        var salt: [UInt8]
        /// The pairs, the one used last at the end.
        var entries: [Entry] = []
        /// The logins in a row for which a host accepted none of the keys offered to it.
        var failures: [String: Int] = [:]
    }

    /// The longest list that stays as it is: every server tries so many keys, and at a forge two keys of one person
    /// may be two accounts, of which the first is meant.
    static let untouched = 3
    /// The number of keys by which a list is turned after a login without success: hardened servers try no more.
    private static let turn = 3
    static let mostEntries = 512
    private static let mostOfHost = 4
    private static let mostFailures = 64
    private static let saltLength = 16
    private static let title = "vault ssh order 1"
    private static let longestFile = 128 << 10

    private let file: FilePath?
    private let state: Mutex<State>

    /// - Parameter file: the file of the memory, which need not exist; `nil` to forget at the end of the process.
    init(_ file: FilePath? = nil) {
        self.file = file
        state = Mutex(
            file.flatMap(SSHOrder.read) ?? State(salt: SystemRandom().bytes(SSHOrder.saltLength)))
    }

    /// Returns the keys in the order in which a host is to get them: those that it has accepted come first. Among
    /// these, and among the others, the order stays, except that after logins without success others than the first
    /// keys have their turn.
    func sorted<Key>(_ keys: [Key], for host: SSHPublicKey, name: (Key) -> SSHKeyName) -> [Key] {
        guard keys.count > SSHOrder.untouched else { return keys }
        let (salt, accepted, failures) = state.withLock { state in
            let host = SSHOrder.hash(host.blob, state.salt)
            return (state.salt, state.entries.filter { $0.host == host }.map(\.key), state.failures[host] ?? 0)
        }
        let isFirst = keys.map { accepted.contains(SSHOrder.hash(name($0), salt)) }
        let first = zip(keys, isFirst).filter(\.1).map(\.0)
        let rest = zip(keys, isFirst).filter { !$0.1 }.map(\.0)
        guard !rest.isEmpty else { return first }
        let start = failures * SSHOrder.turn % rest.count
        return first + rest[start...] + rest[..<start]
    }

    /// Notes the end of a login.
    ///
    /// - Parameter key: the last key that has signed for it: ssh(1) lets a key sign only when the host has accepted
    ///   it, and no further one once the host is content; `nil` if none has.
    func note(_ key: SSHKeyName?, at host: SSHPublicKey) {
        state.withLock { state in
            let host = SSHOrder.hash(host.blob, state.salt)
            guard let key else {
                if state.failures.count >= SSHOrder.mostFailures { state.failures = [:] }
                // Bounded, so that the product with the turn is as well.
                state.failures[host] = ((state.failures[host] ?? 0) + 1) % (1 << 16)
                return
            }
            state.failures[host] = nil
            let new = Entry(host: host, key: SSHOrder.hash(key, state.salt))
            let isKnown = state.entries.contains(new)
            state.entries.removeAll { $0 == new }
            state.entries.append(new)
            // The order of use alone is not worth a write.
            guard !isKnown else { return }
            let ofHost = state.entries.indices.filter { state.entries[$0].host == host }
            if ofHost.count > SSHOrder.mostOfHost { state.entries.remove(at: ofHost[0]) }
            if state.entries.count > SSHOrder.mostEntries { state.entries.removeFirst() }
            write(state)
        }
    }

    /// A certificate and its plain key are two keys to a host; a renewed certificate is the same one.
    private static func hash(_ name: SSHKeyName, _ salt: [UInt8]) -> String {
        hash(Array(name.type.utf8) + [0] + name.key.blob, salt)
    }

    private static func hash(_ bytes: [UInt8], _ salt: [UInt8]) -> String {
        var hash = KeyedHash(publicKey: salt.span)
        hash.update(bytes)
        let digest = hash.digest()
        return hexadecimal((0..<16).map { digest.bytes[$0] })
    }

    // MARK: The file

    /// Reads lines of a host and a key behind the title and the salt; `nil` without a file, and for one that this
    /// type has not written: what it remembers is not worth an error.
    private static func read(_ file: FilePath) -> State? {
        guard let descriptor = try? Descriptor(opening: file.string, O_RDONLY | O_NOFOLLOW | O_NONBLOCK),
            descriptor.regularFile.map({ $0.size <= longestFile }) == true,
            let content = try? descriptor.readAll(most: longestFile),
            let text = String(validating: content, as: UTF8.self)
        else { return nil }
        let lines = text.split(separator: "\n")
        guard lines.count >= 2, lines[0] == title, let salt = bytes(hexadecimal: String(lines[1])),
            salt.count == saltLength
        else { return nil }
        var state = State(salt: salt)
        for line in lines.dropFirst(2).suffix(mostEntries) {
            let parts = line.split(separator: " ")
            guard parts.count == 2, parts.allSatisfy({ $0.utf8.count == 32 }) else { return nil }
            state.entries.append(Entry(host: String(parts[0]), key: String(parts[1])))
        }
        return state
    }

    /// Replaces the file. On a failure the memory ends with the process.
    private func write(_ state: State) {
        guard let file else { return }
        let lines = [SSHOrder.title, hexadecimal(state.salt)] + state.entries.map { "\($0.host) \($0.key)" }
        let new = file.string + ".new"
        do throws(Errno) {
            // An interrupted write has left it.
            try? Names.removeFile(new)
            let descriptor = try Descriptor(making: new)
            try Descriptor.write(Array(lines.map { $0 + "\n" }.joined().utf8).span, to: descriptor.number)
            try Names.rename(new, to: file.string)
        } catch { try? Names.removeFile(new) }
    }
}
