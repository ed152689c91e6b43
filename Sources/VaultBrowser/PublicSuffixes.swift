// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import VaultFormat

/// The names below which unrelated owners register names, such as `co.uk` and `github.io`: a login for one of them
/// matches no page below it.
struct PublicSuffixes: Sendable {
    private var rules: Set<String> = []
    private var exceptions: Set<String> = []

    /// The second-level labels that count as suffixes without a list, below a two-letter country domain.
    private static let secondLevels: Set<String> = [
        "ac", "co", "com", "edu", "go", "gob", "gouv", "gov", "govt", "gv", "ltd", "mil", "ne", "net", "nom", "or",
        "org", "plc", "sch",
    ]

    /// - Parameter list: in the format of publicsuffix.org; empty if there is none.
    init(_ list: String = "") {
        for line in list.split(whereSeparator: \.isNewline) where !line.hasPrefix("//") {
            guard let rule = line.split(whereSeparator: \.isWhitespace).first else { continue }
            let isException = rule.hasPrefix("!")
            let isWild = rule.hasPrefix("*.")
            guard let host = WebHost(rule.dropFirst(isException ? 1 : isWild ? 2 : 0)) else { continue }
            if isException {
                exceptions.insert(host.text)
            } else {
                rules.insert(isWild ? "*." + host.text : host.text)
            }
        }
    }

    /// The list of this machine, if the package publicsuffix is installed.
    static let ofMachine = PublicSuffixes(
        FileManager.default.contents(atPath: "/usr/share/publicsuffix/public_suffix_list.dat").flatMap {
            String(validating: $0, as: UTF8.self)
        } ?? "")

    /// Whether there is no list, so that ``contains(_:)`` guesses.
    var isEmpty: Bool { rules.isEmpty }

    /// - Parameter labels: the labels of a host, the top-level one last.
    func contains(_ labels: [String]) -> Bool {
        let name = labels.joined(separator: ".")
        if exceptions.contains(name) { return false }
        if rules.contains(name) || rules.contains("*." + labels.dropFirst().joined(separator: ".")) { return true }
        guard isEmpty, labels.count == 2, labels[1].utf8.count == 2 else { return false }
        return PublicSuffixes.secondLevels.contains(labels[0])
    }

    /// Returns the domain that its owner has registered: the part of a host below the longest public suffix. All hosts
    /// below it are the owner's, who can make any number of them. An address, a name of one label and a public suffix
    /// stand for themselves.
    func registrableDomain(of host: WebHost) -> String {
        let labels = host.labels
        var suffix = 1
        for count in labels.indices.map({ $0 + 1 }) {
            let name = Array(labels.suffix(count))
            if exceptions.contains(name.joined(separator: ".")) { return name.joined(separator: ".") }
            if contains(name) { suffix = count }
        }
        return labels.count > suffix ? labels.suffix(suffix + 1).joined(separator: ".") : host.text
    }
}
