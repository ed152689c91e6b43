// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import Synchronization
internal import SystemPackage
internal import Vault
internal import VaultAgent
internal import VaultCrypto
internal import VaultSync

// Founding and joining a fleet: from then on its other devices and the holder of its recovery code can read all items.

extension VaultKeeper {
    /// The validity of a code.
    private static let patienceForOwner = Duration.seconds(3600)

    func wait(with wish: JoinWish) { joining.withLock { $0 = (wish, settings.clock.now) } }

    func forgetWish() { joining.withLock { $0 = nil } }

    /// - Throws: `.noAnswer` for an unknown code, or one that is too old.
    fileprivate func wish(_ code: Secret) throws(SyncError) -> JoinWish {
        guard let (wish, since) = joining.withLock({ $0 }), settings.clock.now - since <= Self.patienceForOwner,
            code.withBytes({ code in wish.code.secret.withBytes { isEqualInConstantTime($0, code) } })
        else { throw .noAnswer }
        return wish
    }
}

extension FoundRequest: RemoteRequest {
    func isPermitted(to caller: Caller) -> Bool { caller.isWhole }

    func replies(to caller: Caller, from answers: Answers) throws(VaultError) -> [SyncReply] {
        try answers.changeFleet(caller, opensAll: true) { (fleet, change) throws(SyncError) in
            let url = try RemoteURL(member.place.url)
            guard let code else {
                change.isLook = true
                try fleet.checkCanFound(url, credentials: member.place.credentials, deviceName: member.device)
                // The agent's service has read-only access to most folders.
                if url.scheme == .file, !FileManager.default.isWritableFile(atPath: url.folder.string) {
                    throw .store(.inputOutput(.readOnlyFileSystem, url.folder.string))
                }
                return
            }
            try fleet.found(
                url, credentials: member.place.credentials, deviceName: member.device,
                code: try RecoveryCode(told: code))
            answers.keeper.forgetWish()
            change.name = try fleet.ownName
        }
    }
}

extension RenewCodeRequest: RemoteRequest {
    func isPermitted(to caller: Caller) -> Bool { caller.isWhole }

    func replies(to caller: Caller, from answers: Answers) throws(VaultError) -> [SyncReply] {
        try answers.changeFleet(caller, opensAll: true) { (fleet, change) throws(SyncError) in
            guard let code else {
                change.isLook = true
                return try fleet.checkCanRenewRecoveryCode()
            }
            change.outcomes = try fleet.renewRecoveryCode(code: try RecoveryCode(told: code))
        }
    }
}

extension RecoverRequest: RemoteRequest {
    func isPermitted(to caller: Caller) -> Bool { caller.isWhole }

    func replies(to caller: Caller, from answers: Answers) throws(VaultError) -> [SyncReply] {
        try answers.changeFleet(caller, opensAll: true) { (fleet, change) throws(SyncError) in
            try fleet.join(
                try RemoteURL(member.place.url), credentials: member.place.credentials,
                with: try RecoveryCode(told: code), deviceName: member.device)
            answers.keeper.forgetWish()
            change.name = try fleet.ownName
        }
    }
}

extension AskToJoinRequest: RemoteRequest {
    func isPermitted(to caller: Caller) -> Bool { caller.isWhole }

    func replies(to caller: Caller, from answers: Answers) throws(VaultError) -> [SyncReply] {
        try answers.changeFleet(caller, opensAll: true) { (fleet, change) throws(SyncError) in
            change.isLook = true
            let attempt = try fleet.requestToJoin(
                try RemoteURL(member.place.url), credentials: member.place.credentials, deviceName: member.device,
                code: try RecoveryCode(told: code))
            answers.keeper.wait(with: attempt.wish)
        }
    }
}

extension AnswerToJoinRequest: RemoteRequest {
    func isPermitted(to caller: Caller) -> Bool { caller.isWhole }

    /// A request without an answer so far does not keep the vault open.
    func replies(to caller: Caller, from answers: Answers) throws(VaultError) -> [SyncReply] {
        try answers.changeFleet(caller, opensAll: true, isUse: false) { (fleet, change) throws(SyncError) in
            change.isLook = true
            guard try fleet.join(try answers.keeper.wish(code)) else { return }
            change.isLook = false
            answers.keeper.forgetWish()
            change.name = try fleet.ownName
        }
    }
}
