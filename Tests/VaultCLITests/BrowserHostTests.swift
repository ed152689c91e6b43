// SPDX-License-Identifier: Apache-2.0
import Foundation
import SystemPackage
import TestSupport
import Testing
import VaultCrypto
import VaultFormat

/// `vault browser-host` as started by a browser, with an agent and a person.
struct BrowserHostTests {
    /// The browser's end of the two pipes.
    private final class Browser {
        private let process = Process()
        private let input = Pipe()
        private let output = Pipe()
        private let pair: BoxKeyPair
        private let box: PeerBox
        private let random: SeededRandom

        init(_ shell: Shell) throws {
            process.executableURL = URL(filePath: Shell.commands + "/vault")
            process.arguments = ["browser-host", "--", "/x.json", "keepassxc-browser@keepassxc.org"]
            process.environment = shell.environment.merging([
                "VAULT_PINENTRY": shell.home.path.string + "/ask", "DISPLAY": ":7",
            ]) { $1 }
            process.standardInput = input
            process.standardOutput = output
            process.standardError = FileHandle.nullDevice
            try process.run()
            let random = SeededRandom("host")
            let seed = try random.secret(32)
            let pair = try BoxKeyPair(seed: seed)
            let keys = try Self.exchange(
                [
                    "action": "change-public-keys", "publicKey": Data(pair.publicKey).base64EncodedString(),
                    "nonce": Data(random.bytes(24)).base64EncodedString(),
                ], input, output)
            let key = try #require(Data(base64Encoded: keys["publicKey"] as? String ?? ""))
            let bytes = Array(key)
            let box = try pair.box(with: bytes.span)
            self.random = random
            self.pair = pair
            self.box = box
        }

        private static func exchange(_ message: [String: Any], _ input: Pipe, _ output: Pipe) throws -> [String: Any] {
            let body = try JSONSerialization.data(withJSONObject: message)
            let head = withUnsafeBytes(of: UInt32(body.count)) { Data($0) }
            try input.fileHandleForWriting.write(contentsOf: head + body)
            while true {
                let length = try #require(try output.fileHandleForReading.read(upToCount: 4)).withUnsafeBytes {
                    $0.loadUnaligned(as: UInt32.self)
                }
                let bytes = try #require(try output.fileHandleForReading.read(upToCount: Int(length)))
                let said = try #require(try JSONSerialization.jsonObject(with: bytes) as? [String: Any])
                // A notice of locking or unlocking arrives as soon as known, possibly before an answer.
                let signals = ["database-locked", "database-unlocked"]
                if let action = said["action"] as? String, signals.contains(action) { continue }
                return said
            }
        }

        var key: String { Data(pair.publicKey).base64EncodedString() }

        /// Returns the content of the answer's box, or the answer itself if it has no box.
        func ask(_ action: String, _ members: [String: Any] = [:]) throws -> [String: Any] {
            let nonce = try #require(BoxNonce(random.bytes(24)))
            let bytes = Array(try JSONSerialization.data(withJSONObject: members))
            let inner = try SecretBytes(copying: bytes.span)
            let reply = try Self.exchange(
                [
                    "action": action, "message": Data(box.seal(inner, nonce: nonce)).base64EncodedString(),
                    "nonce": Data(nonce.bytes).base64EncodedString(),
                ], input, output)
            guard let text = reply["message"] as? String, let data = Data(base64Encoded: text) else { return reply }
            let sealed = Array(data)
            let plain = try box.open(sealed.span, nonce: nonce.next)
            return try #require(try JSONSerialization.jsonObject(with: Data(plain.exposed)) as? [String: Any])
        }

        func end() throws -> Int32 {
            try input.fileHandleForWriting.close()
            process.waitUntilExit()
            return process.terminationStatus
        }
    }

    /// A person whose answer is in the file `mode`, and an unlocked vault.
    private static let start = """
        cat >ask <<'END'
        #!/bin/bash
        cd "$(dirname "$0")"; echo OK
        while IFS= read -r line; do
            printf '%s\\n' "$line" >>heard
            [ "$line" != 'GETINFO flavor' ] || echo 'D gtk2'
            case "$line,$(cat mode)" in CONFIRM,no) echo 'ERR 83886194 Not confirmed' ;; *) echo OK ;; esac
        done
        END
        chmod 700 ask; echo yes >mode; chmod 600 pass; export VAULT_PASSPHRASE_FILE=pass
        vault init --kdf interactive && vault unlock
        """

    @Test func `a browser is let in by pinentry, and gets a login once its site was asked for`() throws {
        let shell = try Shell()
        let made = try shell.run(Self.start + " && printf 'pässwörd' | vault add example.com ada")
        #expect(made.status == 0, "\(made.error)")
        let browser = try Browser(shell)
        let associated = try browser.ask("associate", ["key": browser.key, "idKey": browser.key])
        let id = try #require(associated["id"] as? String, "\(associated)")
        let logins: [String: Any] = ["url": "https://www.example.com/x", "keys": [["id": id, "key": browser.key]]]
        let entries = try browser.ask("get-logins", logins)["entries"] as? [[String: Any]]
        #expect(entries?.map { $0["password"] as? String } == ["pässwörd"])
        _ = try shell.run("echo no >mode")
        let other = logins.merging(["url": "https://example.com"]) { $1 }
        #expect(try browser.ask("get-logins", other)["errorCode"] as? String == "6")
        #expect(try browser.ask("lock-database")["errorCode"] as? String == "1")
        #expect(try browser.end() == 0)
        let after = try shell.run(
            """
            export VAULT_PASSPHRASE_FILE=pass; vault browser | tail -2; grep -c CONFIRM heard
            grep -c 'SETDESC.*https://www.example.com%0Awhich are kept for%0Aexample.com' heard
            """)
        #expect(after.output == "\texample.com\tno\n\twww.example.com\tyes\n3\n1\n", "\(after)")
    }

    @Test func `a site learns that its passkey is backed up once the vault is in a fleet`() throws {
        let shell = try Shell()
        let made = try shell.run(Self.start)
        #expect(made.status == 0, "\(made.error)")
        let browser = try Browser(shell)
        let associated = try browser.ask("associate", ["key": browser.key, "idKey": browser.key])
        let id = try #require(associated["id"] as? String, "\(associated)")
        let challenge = Base64URL.encoded([UInt8](0..<32))
        let flags = { (action: String, options: [String: Any]) throws -> AuthenticatorData.Flags in
            let members: [String: Any] = [
                "publicKey": options.merging(["challenge": challenge]) { $1 }, "origin": "https://example.com",
                "keys": [["id": id, "key": browser.key]],
            ]
            let credential = try browser.ask(action, members)["response"] as? [String: Any]
            let response = credential?["response"] as? [String: Any]
            let bytes = try #require(Base64URL.decoded(response?["authenticatorData"] as? String ?? ""))
            let data = AuthenticatorData(bytes.span)
            return try #require(data).flags
        }
        let creation: [String: Any] = [
            "rp": ["id": "example.com"], "user": ["id": "AQ", "name": "ada"], "pubKeyCredParams": [Any](),
        ]
        let request = ["rpId": "example.com"]
        #expect(try flags("passkeys-register", creation).isDisjoint(with: .backedUp))
        #expect(try flags("passkeys-get", request).isDisjoint(with: .backedUp))
        let joined = try shell.run(
            "mkdir share; vault remote add file://$PWD/share --name laptop --passphrase-file pass >/dev/null")
        #expect(joined.status == 0, "\(joined.error)")
        #expect(try flags("passkeys-get", request).contains([.backupEligible, .backedUp]))
        #expect(try browser.end() == 0)
    }
}
