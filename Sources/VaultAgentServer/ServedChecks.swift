// SPDX-License-Identifier: Apache-2.0
internal import Synchronization
internal import Vault
package import VaultAgent
package import VaultSync

// A look at the remotes, as the agent reaches them.

extension CheckRemotesRequest: RemoteRequest {
    func isPermitted(to caller: Caller) -> Bool { caller.isWhole }

    func replies(to caller: Caller, from answers: Answers) throws(VaultError) -> [SyncReply] {
        let checks = try answers.use(caller) { vault throws(VaultError) in
            guard !vault.isLocked else { throw .locked }
            return try answers.keeper.checks(of: vault)
        }
        return SyncReply.parts(of: checks?.wait(answers.keeper.settings.patienceForCheck) ?? [])
    }
}

extension VaultKeeper {
    /// Looks that have begun and are not done serve all who ask meanwhile: however many do, each remote has one.
    ///
    /// - Returns: nil for a vault of no fleet.
    fileprivate func checks(of vault: Vault) throws(VaultError) -> RemoteChecks? {
        let result = checks.withLock { checks -> Result<RemoteChecks?, VaultError> in
            if let checks, !checks.isDone { return .success(checks) }
            do throws(SyncError) {
                // By connections of their own: those that are open may hang.
                let engines = settings.engines ?? .all(settings.environment)
                checks = try Fleet(vault, environment: settings.environment, engines: engines).checkRemotes()
            } catch {
                checks = nil
                if case .vault(let error) = error { return .failure(error) }
            }
            return .success(checks)
        }
        return try result.get()
    }
}

extension RemoteCheck: MessageValue {
    package func write(to writer: inout MessageWriter) {
        writer.put(url)
        writer.put(isByTLS)
        writer.put(failure)
        writer.put(mayAppend)
        writer.put(mayRemove)
        writer.put(waitingTrims)
    }

    package static func read(from reader: inout MessageReader) throws(MessageError) -> RemoteCheck {
        var check = RemoteCheck(url: try reader.read(), isByTLS: try reader.read(), failure: try reader.read())
        check.mayAppend = try reader.read()
        check.mayRemove = try reader.read()
        check.waitingTrims = try reader.read()
        return check
    }
}
