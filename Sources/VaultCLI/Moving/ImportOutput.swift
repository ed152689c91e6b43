// SPDX-License-Identifier: Apache-2.0
internal import Vault
internal import VaultImport

/// The result of an import, or of a dry run, for display and as JSON.
struct ImportOutput: Encodable {
    let report: ImportReport
    let source: String
    let isDryRun: Bool

    private enum Key: String, CodingKey {
        case source, dryRun, counts, olderVersions, olderPasswords, remarks, lost, looks, entries
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(source, forKey: .source)
        try container.encode(isDryRun, forKey: .dryRun)
        let counts = ImportReport.Outcome.allCases.map { ($0.rawValue, report.count($0)) }
        try container.encode(Dictionary(uniqueKeysWithValues: counts), forKey: .counts)
        try container.encode(report.olderVersions, forKey: .olderVersions)
        try container.encode(report.olderPasswords, forKey: .olderPasswords)
        if !report.remarks.isEmpty { try container.encode(report.remarks, forKey: .remarks) }
        if !report.lost.isEmpty { try container.encode(report.lost, forKey: .lost) }
        if !report.looks.isEmpty { try container.encode(report.looks, forKey: .looks) }
        let entries = report.lines.map { line in
            let entry = [
                "place": line.place, "service": line.service, "account": line.account,
                "outcome": line.outcome.rawValue,
            ]
            return line.reason.map { reason in entry.merging(["reason": reason]) { $1 } } ?? entry
        }
        try container.encode(entries, forKey: .entries)
    }

    var table: String {
        report.lines.map { line in
            let name = [line.service, line.account].filter { !$0.isEmpty }.joined(separator: ", ")
            return [line.outcome.rawValue, line.place, name, line.reason].compactMap { $0?.printable }
                .joined(separator: "\t") + "\n"
        }.joined()
    }

    func tell() {
        let shown = report.lines.filter { $0.outcome == .differs || $0.outcome == .skipped }
        for line in shown.prefix(50) {
            let parts = [line.place, line.service, line.account].filter { !$0.isEmpty }.joined(separator: ", ")
            Output.warn("\(line.outcome.rawValue): \(parts.printable): \((line.reason ?? "").printable)")
        }
        if shown.count > 50 { Output.warn("\(shown.count - 50) more; --json lists all of them") }
        for remark in report.remarks.prefix(50) { Output.warn(remark.printable) }
        let counts = ImportReport.Outcome.allCases.map { "\($0.rawValue) \(report.count($0).grouped)" }
        Output.note((isDryRun ? "would be: " : "") + counts.joined(separator: ", "))
        for (parts, tell) in [(report.lost, Output.warn), (report.looks, Output.note)] {
            for (what, count) in parts.sorted(by: { $0.key < $1.key }) {
                tell("not imported: \(what): \(count.grouped)")
            }
        }
        if report.refused > 0 {
            Output.note("protection classes or groups of the file not taken: \(report.refused.grouped) (--as-backup)")
        }
        if report.needsName {
            Output.note("--service NAME keeps the variables of two files apart")
        } else if report.count(.differs) > 0 {
            Output.note("--replace takes over what differs")
        }
        if report.olderPasswords > 0 { Output.note("older passwords of new items: \(report.olderPasswords.grouped)") }
        if report.olderVersions > 0 {
            Output.note(
                """
                did not import \(report.olderVersions.grouped) older version\(report.olderVersions == 1 ? "" : "s") \
                of entries; keep the source (--history 5 takes up to 5 older passwords of a new item)
                """)
        }
    }
}
