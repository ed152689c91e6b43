// SPDX-License-Identifier: Apache-2.0
internal import Dispatch
internal import Glibc
internal import Synchronization
internal import SystemPackage
internal import VaultCrypto
internal import VaultFormat
internal import VaultSystem

/// The result of a check of a remote.
package struct RemoteCheck: Equatable, Sendable {
    package let url: RemoteURL
    /// Whether the connection uses TLS and verifies the server's certificate.
    package let isByTLS: Bool
    /// The reason why the remote is unusable at the moment.
    package var failure: SyncError?
    /// Whether this device may add records; `nil` if the store cannot tell.
    package var mayAppend: Bool?
    /// Whether this device may remove records; `nil` if unknown.
    package var mayRemove: Bool?
    /// The number of records there that precede the beginning of their logs.
    package var waitingTrims: UInt64 = 0

    package init(url: RemoteURL, isByTLS: Bool, failure: SyncError? = nil) {
        (self.url, self.isByTLS, self.failure) = (url, isByTLS, failure)
    }
}

/// Checks remotes in parallel, each on a thread of its own, without any change there. The wait for a remote that hangs
/// is limited; its thread runs on until the engine returns.
package final class RemoteChecks: Sendable {
    /// The longest wait of a person.
    package static let patience = Duration.seconds(5)

    private let remotes: [RemoteAccess]
    private let found = Mutex<[RemoteURL: RemoteCheck]>([:])
    private let group = DispatchGroup()

    /// - Parameter bases: the first sequence numbers of the logs that were trimmed.
    init(_ remotes: [RemoteAccess], _ realm: RealmID, bases: [RecordStream: UInt64], _ engines: RemoteEngines) {
        self.remotes = remotes
        for remote in remotes {
            DispatchQueue(label: "vault.check").async(group: group) { [self] in
                let check = Self.check(remote, realm, bases, engines)
                found.withLock { $0[remote.url] = check }
            }
        }
    }

    /// Whether the check of every remote has ended.
    package var isDone: Bool { group.wait(timeout: .now()) == .success }

    /// - Returns: the results that were there before the timeout, in the order of the remotes.
    package func wait(_ patience: Duration = patience) -> [RemoteCheck] {
        _ = group.wait(timeout: .now() + .milliseconds(Int(patience / .milliseconds(1))))
        let found = found.withLock { $0 }
        return remotes.map { remote in
            found[remote.url]
                ?? RemoteCheck(
                    url: remote.url, isByTLS: remote.isByTLS,
                    failure: .store(.unreachable("\(remote.url.text): no answer in \(patience.components.seconds) s")))
        }
    }

    private static func check(
        _ remote: RemoteAccess, _ realm: RealmID, _ bases: [RecordStream: UInt64], _ engines: RemoteEngines
    ) -> RemoteCheck {
        var check = RemoteCheck(url: remote.url, isByTLS: remote.isByTLS)
        do throws(SyncError) {
            let store = try engines.store(at: remote, realm: realm)
            try stored { () throws(RecordStoreError) in
                for head in try store.heads() {
                    if let base = bases[head.stream], head.first < base {
                        check.waitingTrims += min(base, head.last + 1) - head.first
                    }
                }
                let isReadOnly = remote.url.scheme == .file && Self.isReadOnly(remote.url.folder)
                check.mayAppend = isReadOnly ? false : try store.mayAppend()
                check.mayRemove = isReadOnly ? false : try mayRemove(at: store)
            }
        } catch { check.failure = error }
        return check
    }

    private static func isReadOnly(_ folder: FilePath) -> Bool {
        do throws(Errno) { try Names.checkAccess(folder.string, W_OK) } catch {
            return error == .readOnlyFileSystem || error == .permissionDenied
        }
        return false
    }

    /// Tries a removal that cannot hit a record: from a stream with a fresh random name.
    private static func mayRemove(at store: any RecordStore) throws(RecordStoreError) -> Bool {
        do throws(RecordStoreError) {
            try store.remove(RecordStream(.blob, Bytes16(SystemRandom().bytes(16))), below: 2)
            return true
        } catch {
            guard error.isRefusal || error.isReadOnly else { throw error }
            return false
        }
    }
}

extension RecordStoreError {
    fileprivate var isReadOnly: Bool { if case .inputOutput(.readOnlyFileSystem, _) = self { true } else { false } }
}

extension RemoteAccess {
    /// Whether the engine uses TLS and refuses a server that it cannot authenticate.
    var isByTLS: Bool {
        guard url.scheme == .postgres || url.scheme == .etcd else { return false }
        let asksForTLS = credentials.authorities != nil || credentials.certificate != nil
        return url.hosts.contains { !$0.isSocket && (!$0.isLoopback || asksForTLS) }
    }
}

extension Fleet {
    /// Starts a check of every remote of the fleet.
    package func checkRemotes() throws(SyncError) -> RemoteChecks {
        let membership = try membership()
        var bases: [RecordStream: UInt64] = [:]
        for (log, known) in membership.state.logs where known.base > 1 { bases[RecordStream(.log, log)] = known.base }
        return RemoteChecks(membership.remotes.map(\.access), membership.identity.realmID, bases: bases, engines)
    }
}
