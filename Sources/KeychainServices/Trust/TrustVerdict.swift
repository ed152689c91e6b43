// SPDX-License-Identifier: Apache-2.0
internal import Foundation
@_implementationOnly import VaultCrypto

/// What is judged, and how.
struct TrustQuestion {
    let judged: SecCertificate
    /// They may lead to an anchor.
    let others: [SecCertificate]
    var policies: [SecPolicy]
    /// Nil: none of the caller's.
    var anchors: [SecCertificate]?
    var trustsSystem = true
    /// Seconds since 2001; nil is now.
    var date: Double?
    var mayFetch = true

    init(judged: SecCertificate, others: [SecCertificate], policies: [SecPolicy]) {
        (self.judged, self.others, self.policies) = (judged, others, policies)
    }
}

/// What came out of it.
struct TrustVerdict {
    /// From the judged certificate on.
    let chain: [SecCertificate]
    /// Nil: it is trusted.
    let error: NSError?
    let result: SecTrustResultType
    /// Nothing could be judged.
    let failure: OSStatus?
    /// When the certificates were to be valid, in seconds since 2001.
    let date: Double

    init(_ question: TrustQuestion) {
        date = question.date ?? Date().timeIntervalSinceReferenceDate
        do throws(StatusError) {
            let (flaws, chain) = try TrustVerdict.judge(question, at: date)
            self.chain = chain
            let worst = flaws.min { $0.order < $1.order }
            error = worst.map { TrustVerdict.error($0, among: flaws, of: chain) }
            result = worst.map { $0.isFatal ? .fatalTrustFailure : .recoverableTrustFailure } ?? .unspecified
            failure = nil
        } catch {
            chain = [question.judged]
            self.error = error.error()
            result = .otherError
            failure = error.status
        }
    }

    private static func judge(
        _ question: TrustQuestion, at date: Double
    ) throws(StatusError) -> ([TrustFlaw], [SecCertificate]) {
        let certificates = [question.judged] + question.others
        var trust = CertificateTrust(
            certificates: certificates.prefix(CertificateTrust.mostCertificates).map { Array($0.data) },
            anchors: (question.anchors ?? []).prefix(CertificateTrust.mostAnchors).map { Array($0.data) },
            trustsSystem: question.trustsSystem, time: seconds(date))
        var flaws: [TrustFlaw] = []
        var chain: [SecCertificate]?
        let rules = question.policies.map(\.rule)
        for rule in rules.filter(\.asksForChain) + (rules.contains(where: \.asksForChain) ? [] : [.basic]) {
            trust.take(rule)
            do throws(CertificateTrustError) {
                let verdict = try trust.evaluate()
                flaws += verdict.findings.map { TrustFlaw($0) }
                let given = certificates + (question.anchors ?? [])
                chain =
                    chain
                    ?? verdict.chain.compactMap { bytes in
                        given.first { $0.data.elementsEqual(bytes) } ?? SecCertificate(Data(bytes))
                    }
            } catch {
                switch error {
                // A certificate that libcrypto does not read is one that it does not trust.
                case .unreadable, .tooMuch: flaws.append(.unreadable)
                case .outOfMemory: throw StatusError(status: errSecAllocate)
                case .unavailable: throw StatusError(.unavailable)
                }
            }
        }
        if rules.contains(where: \.wantsPositiveResponse) { flaws.append(.unansweredRevocation) }
        var seen: Set<TrustFlaw> = []
        return (flaws.filter { seen.insert($0).inserted }, chain ?? [question.judged])
    }

    /// Seconds since 1970, within the years of certificates (RFC 5280, 4.1.2.5). What is no number is before all of
    /// them.
    private static func seconds(_ date: Double) -> Int64 {
        let seconds = date + Date.timeIntervalBetween1970AndReferenceDate
        guard seconds > -62_135_596_800 else { return -62_135_596_800 }
        return seconds < 253_402_300_799 ? Int64(seconds.rounded(.down)) : 253_402_300_799
    }

    private static func error(_ worst: TrustFlaw, among flaws: [TrustFlaw], of chain: [SecCertificate]) -> NSError {
        let lines = chain.indices.compactMap { index -> String? in
            let own = flaws.filter { $0.depth == index }
            guard !own.isEmpty else { return nil }
            let reasons = own.map(\.reason).joined(separator: ", ")
            return "Certificate \(index) “\(summary(chain, index))” has errors: \(reasons);"
        }
        let status = Int(worst.status)
        let underlying = NSError(
            domain: NSOSStatusErrorDomain, code: status, userInfo: [NSLocalizedDescriptionKey: lines.joined()])
        let text = "“\(summary(chain, worst.depth))” \(worst.text)"
        return NSError(
            domain: NSOSStatusErrorDomain, code: status,
            userInfo: [
                NSLocalizedDescriptionKey: text, "NSDescription": text, NSUnderlyingErrorKey: underlying,
            ])
    }

    private static func summary(_ chain: [SecCertificate], _ index: Int) -> String {
        guard chain.indices.contains(index) else { return "" }
        return SecCertificateCopySubjectSummary(chain[index]).map { $0 as String } ?? ""
    }
}

extension SecPolicy.Rule {
    fileprivate var asksForChain: Bool { if case .revocation = self { false } else { true } }

    fileprivate var wantsPositiveResponse: Bool {
        if case .revocation(let flags) = self { flags & kSecRevocationRequirePositiveResponse != 0 } else { false }
    }
}

extension CertificateTrust {
    fileprivate mutating func take(_ rule: SecPolicy.Rule) {
        switch rule {
        case .basic, .revocation: (purpose, isStrict, host) = (.any, false, nil)
        case .ssl(let isServer, let name):
            (purpose, isStrict, host) = (isServer ? .tlsServer : .tlsClient, true, name)
        }
    }
}
