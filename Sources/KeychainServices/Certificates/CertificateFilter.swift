// SPDX-License-Identifier: Apache-2.0
internal import Foundation
@_implementationOnly import Vault
@_implementationOnly import VaultFormat

/// The conditions of Apple's match keys on a certificate, or on that of an identity, beyond its attributes.
struct CertificateFilter {
    var policy: SecPolicy?
    /// The accepted issuers: normalized names, without their outer SEQUENCE.
    var issuers: [[UInt8]] = []
    var emailAddress: String?
    var isTrusted = false
    var validOn: Date?

    var isEmpty: Bool { policy == nil && issuers.isEmpty && emailAddress == nil && !isTrusted && validOn == nil }

    /// The maximum number of certificates between one and an accepted issuer.
    private static let mostSteps = 8

    func passes(_ certificate: SecCertificate, in store: any ItemStore) throws(VaultError) -> Bool {
        let fields = certificate.fields
        if let validOn {
            let date = validOn.timeIntervalSinceReferenceDate
            guard fields.notBefore <= date, date <= fields.notAfter else { return false }
        }
        // A certificate without any address may be for everyone.
        if let emailAddress, !fields.emailAddresses.isEmpty {
            guard fields.emailAddresses.contains(where: { $0.lowercased() == emailAddress.lowercased() }) else {
                return false
            }
        }
        if let policy {
            // Checks the certificate alone against the policy: its signer and validity have match keys of their own.
            var question = TrustQuestion(judged: certificate, others: [], policies: [policy])
            (question.anchors, question.trustsSystem, question.date) = ([certificate], false, fields.notBefore)
            guard TrustVerdict(question).error == nil else { return false }
        }
        if isTrusted {
            let question = TrustQuestion(
                judged: certificate, others: try issuers(of: certificate, in: store),
                policies: [SecPolicyCreateBasicX509()])
            guard TrustVerdict(question).error == nil else { return false }
        }
        guard !issuers.isEmpty else { return true }
        let chain = [certificate] + (try issuers(of: certificate, in: store))
        return chain.contains { link in link.fields.normalizedIssuer.map(issuers.contains) ?? false }
    }

    /// Returns the certificates of the vault that lead from this one upwards.
    private func issuers(of certificate: SecCertificate, in store: any ItemStore) throws(VaultError) -> [SecCertificate]
    {
        var (chain, last) = ([SecCertificate](), certificate)
        while chain.count < CertificateFilter.mostSteps, let name = last.fields.normalizedIssuer,
            name != last.fields.normalizedSubject
        {
            var query = Query(.certificate, attributes: [.subject: .data(name)], limit: .one)
            query.returnsSecrets = true
            do throws(VaultError) {
                guard let issuer = try store.copyMatching(query).first.flatMap({ FoundItem($0).certificate }) else {
                    break
                }
                chain.append(issuer)
                last = issuer
            } catch {
                guard error == .itemNotFound else { throw error }
                break
            }
        }
        return chain
    }
}
