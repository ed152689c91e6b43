// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing
import VaultFormat

@testable import VaultBrowser

/// Passkeys, with another project's relying party.
struct RelyingPartyTests {
    private static let hasRelyingParty = FileManager.default.fileExists(
        atPath: "/usr/lib/python3/dist-packages/fido2")

    @Test(.enabled(if: hasRelyingParty))
    func `python-fido2 accepts every ceremony of both algorithms, verified or not`() throws {
        let client = try BrowserClient.associated()
        var (ceremonies, expected): ([[String: Any]], [String]) = ([], [])
        for (algorithm, host) in [(-7, "login.example.com"), (-8, "example.org")] {
            if algorithm == -8 { client.house.joinsFleet() }
            let backup = algorithm == -8 ? "backed up" : "not backed up"
            for (number, verification) in ["discouraged", "preferred", "required"].enumerated() {
                var site = Site(host, origin: "https://\(host):8443")
                site.challenge = (0..<40).map { UInt8(number * 40 + $0) }
                let note = { (answer: [String: Any], line: String) in
                    ceremonies.append([
                        "site": host, "origin": site.origin, "challenge": Base64URL.encoded(site.challenge),
                        "verification": verification, "answer": answer,
                    ])
                    expected.append(line)
                }
                let isVerified = verification == "required" ? "True" : "False"
                let made = try client.register(
                    site,
                    site.creation(handle: [UInt8(number)], algorithms: [algorithm, -7], verification: verification))
                note(made, "registered \(algorithm) \(isVerified) \(backup)")
                for _ in 1...2 {
                    site.challenge.reverse()
                    let id = try #require(made["id"] as? String)
                    let options = site.request(verification: verification, allowed: [id])
                    note(try client.signIn(site, options), "signed in 0 \(isVerified) \(backup)")
                }
            }
        }
        // A forged answer shows that the relying party looks.
        var forged = try #require(ceremonies.last)
        forged["origin"] = "https://example.com"
        ceremonies.append(forged)
        expected.append("refused: Invalid origin in ClientData.")
        let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "relying-party.py").path()
        let python = Process()
        python.executableURL = URL(filePath: "/usr/bin/python3")
        python.arguments = [script]
        let (input, output) = (Pipe(), Pipe())
        (python.standardInput, python.standardOutput) = (input, output)
        try python.run()
        input.fileHandleForWriting.write(try JSONSerialization.data(withJSONObject: ceremonies))
        try input.fileHandleForWriting.close()
        let lines = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        python.waitUntilExit()
        #expect(lines.split(separator: "\n").map(String.init) == expected)
    }
}
