// SPDX-License-Identifier: Apache-2.0
public import Vault
public import VaultStorage

/// Rewrites the file without deleted and replaced data that no history keeps.
package struct CompactRequest: EmptyRequest, DoneRequest {
    package static let kind: UInt8 = 13
}

/// Checks every byte of the file.
package struct VerifyRequest: AgentRequest, Formed, OnlyReads {
    package typealias Reply = VerificationReply
    package static let kind: UInt8 = 14
    package static let form = MessageForm(Self.init) { $0.deep }
    /// Whether every value is opened, too.
    package let deep: Bool
}

/// Checks the audit log.
package struct AuditRequest: EmptyRequest, OnlyReads {
    package typealias Reply = AuditReply
    package static let kind: UInt8 = 15
}

extension AgentClient {
    /// Rewrites the file without deleted or replaced data that no history keeps.
    public func compact() throws(VaultError) { _ = try ask(CompactRequest()) }

    /// Checks every byte of the file, and if `deep` opens every value.
    public func verify(deep: Bool) throws(VaultError) -> Verification { try ask(VerifyRequest(deep: deep)).value }

    /// - Returns: the number of entries of the audit log, and the number of the first altered one.
    public func checkAuditLog() throws(VaultError) -> (entries: Int, firstChanged: Int?) {
        let reply = try ask(AuditRequest())
        return (reply.entries, reply.firstChanged)
    }
}
