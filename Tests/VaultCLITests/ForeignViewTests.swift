// SPDX-License-Identifier: Apache-2.0
import Foundation
import TestSupport
import Testing
import Vault

/// Every kind of item in the views of other programs: each cell is the part of the item's face.
@Suite(.enabled(if: DoorScript.hasViewers)) struct ForeignViewTests {
    private struct Row: Hashable, CustomStringConvertible {
        let title: String
        let user: String
        let urls: [String]

        init(_ title: String, _ user: String, _ urls: [String]) {
            (self.title, self.user, self.urls) = (title, user, urls)
        }

        init?(_ json: Any) {
            guard let parts = json as? [Any], parts.count == 3, let title = parts[0] as? String,
                let user = parts[1] as? String, let urls = parts[2] as? [String]
            else { return nil }
            self.init(title, user, urls)
        }

        var description: String { "\(title.prefix(30)) | \(user) | \(urls)" }
    }

    /// The samples, each of a key of its own.
    private static let samples = ItemSample.all.filter { $0.testDescription != "no label" }

    /// - Parameter others: the kinds that the view does not have.
    private static func rows(without others: [String], _ row: (ItemSample) -> Row) -> Set<Row> {
        Set(samples.filter { !others.contains($0.testDescription) }.map(row))
    }

    private static func expected(in view: String) -> Set<Row> {
        let others = ["a certificate", "a key"]
        // The products name a passkey after its site.
        func title(_ sample: ItemSample, _ site: String) -> String {
            sample.testDescription == "a passkey" ? site : sample.title
        }
        func pages(_ sample: ItemSample) -> [String] {
            sample.testDescription == "a passkey" ? ["https://" + sample.place] : sample.urls
        }
        switch view {
        case "csv": return rows(without: others + ["a passkey"]) { Row($0.title, $0.user, Array($0.urls.prefix(1))) }
        case "bitwarden": return rows(without: others) { Row(title($0, "The Site (Passkey)"), $0.user, pages($0)) }
        case "cxf": return rows(without: others) { Row(title($0, "The Site"), $0.user, pages($0)) }
        case "kdbx":
            return rows(without: others) { sample in
                // XML has no controls.
                let user = sample.user.replacing("\u{1b}", with: "?")
                return Row(title(sample, "The Site (Passkey)"), user, Array(pages(sample).prefix(1)))
            }
        case "bus":
            return rows(without: others + ["a passkey", "one that asks"]) { sample in
                // This program has given no service.
                let isUnnamed = sample.place.isEmpty || sample.testDescription == "a program's"
                return Row(sample.title, sample.user, isUnnamed ? [] : [sample.place])
            }
        case "git": return [Row("", "ada", ["https://git.example"])]
        default: return [Row("", "ada", ["https://r.example/v1/"])]
        }
    }

    @Test func `other programs see of an item what a person sees`() throws {
        let shell = try Shell()
        let vault = try Vault.create(
            at: shell.home.path.appending("v"), passphrase: Passphrase("correct horse battery staple"),
            cost: .interactive, accessGroups: AccessGroups(["default"]))
        for sample in Self.samples { try vault.add(sample.item) }
        vault.close()
        let views = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "views.py").path()
        let result = try shell.run(
            DoorScript.serving + """
                export VAULT_FILE=$PWD/v; quiet_bus; vault unlock --passphrase-file pass
                serve vault doors --secret-service; python3 \(views)
                """)
        let lines = result.output.split(separator: "\n")
        #expect(lines.count == 7, "\(result)")
        for line in lines {
            let json = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [Any])
            let (view, rows) = (try #require(json[0] as? String), try #require(json[1] as? [Any]))
            let expected = Self.expected(in: view)
            let found = Set(rows.compactMap { Row($0) })
            #expect(found == expected, "\(view): \(found.symmetricDifference(expected))")
            #expect(rows.count == expected.count, "\(view)")
        }
    }
}
