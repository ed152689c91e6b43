// SPDX-License-Identifier: Apache-2.0
internal import Foundation
@_implementationOnly import VaultCrypto

/// The parameters of an evaluation.
struct TrustQuestion {
    let judged: SecCertificate
    /// Certificates that may lead to an anchor.
    let others: [SecCertificate]
    var policies: [SecPolicy]
    /// The caller's anchors; `nil` if none were set.
    var anchors: [SecCertificate]?
    var trustsSystem = true
    /// The time of validity in seconds since 2001; `nil` for now.
    var date: Double?
    var mayFetch = true

    init(judged: SecCertificate, others: [SecCertificate], policies: [SecPolicy]) {
        (self.judged, self.others, self.policies) = (judged, others, policies)
    }
}

/// The result of an evaluation.
struct TrustVerdict {
    /// The chain, from the evaluated certificate on.
    let chain: [SecCertificate]
    /// The reasons not to trust each certificate of the chain.
    let reasons: [[String]]
    /// The worst flaw; `nil` if the certificate is trusted.
    let error: NSError?
    let result: SecTrustResultType
    /// The status if the evaluation itself failed.
    let failure: OSStatus?
    /// The time at which the certificates must be valid, in seconds since 2001.
    let date: Double

    init(_ question: TrustQuestion) {
        date = question.date ?? Date().timeIntervalSinceReferenceDate
        do throws(StatusError) {
            let (flaws, chain) = try TrustVerdict.judge(question, at: date)
            self.chain = chain
            let worst = flaws.min { $0.order < $1.order }
            reasons = chain.indices.map { index in flaws.filter { $0.depth == index }.map(\.reason) }
            error = worst.map { [reasons] in TrustVerdict.error($0, reasons, of: chain) }
            result = worst.map { $0.isFatal ? .fatalTrustFailure : .recoverableTrustFailure } ?? .unspecified
            failure = nil
        } catch {
            chain = [question.judged]
            reasons = [[]]
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
                // A certificate that libcrypto cannot parse is not trusted.
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

    /// Converts to seconds since 1970, within the range of certificates (RFC 5280, 4.1.2.5). NaN counts as the earliest
    /// time.
    private static func seconds(_ date: Double) -> Int64 {
        let seconds = date + Date.timeIntervalBetween1970AndReferenceDate
        guard seconds > -62_135_596_800 else { return -62_135_596_800 }
        return seconds < 253_402_300_799 ? Int64(seconds.rounded(.down)) : 253_402_300_799
    }

    private static func error(_ worst: TrustFlaw, _ reasons: [[String]], of chain: [SecCertificate]) -> NSError {
        let lines = reasons.enumerated().filter { !$0.element.isEmpty }.map { index, reasons in
            "Certificate \(index) “\(summary(chain, index))” has errors: \(reasons.joined(separator: ", "));"
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
