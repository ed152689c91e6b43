// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Vault
import VaultCrypto
import VaultFormat

@testable import VaultBrowser
@testable import VaultCredentials
@testable import VaultGit
@testable import VaultSSHAgent

/// Every parser of input at a door, except the bus, whose messages libsystemd parses.
enum FuzzedDoors: UInt8, CaseIterable {
    case gitRecord, credentialName, sshName, sshFile, sshRequest, frames, browser, place, relyingParty

    static var seeds: [[UInt8]] {
        let texts: [(FuzzedDoors, String)] = [
            (
                .gitRecord,
                "capability[]=authtype\nprotocol=https\nhost=a:1\nusername=b\npassword=c\nstate[]=vault:1\n\n"
            ),
            (.gitRecord, "authtype=Bearer\ncredential=t\npassword_expiry_utc=9\noauth_refresh_token=r\nephemeral=1\n"),
            (.credentialName, "\0195298a6027102bb/unit/probe@x.service/db.password"),
            (.browser, #"{"action":"change-public-keys","publicKey":"AAAA","nonce":"AAAA","clientID":"AAAA"}"#),
            (.browser, #"{"action":"get-logins","message":"AAAA","nonce":"AAAA","triggerUnlock":"true"}"#),
            (.place, "https://a:b@xn--bcher-kva.example:8443/c?d#e"), (.place, "http://[2001:db8::1]:80/"),
            (.relyingParty, "example.com\0https://www.example.com:8443"),
            (.relyingParty, "localhost\0http://localhost"),
            (.relyingParty, "github.io\0https://a.xn--bcher-kva.github.io"),
        ]
        let plain = texts.map { kind, text in [kind.rawValue] + Array(text.utf8) }
        return plain + ((try? others) ?? [])
    }

    private static var others: [[UInt8]] {
        get throws {
            let names = SSHSamples.keys.map { $0 + ".pub" } + SSHSamples.certified.map { $0 + "-cert.pub" }
            let frames = (NativeFrames.frame(Array("{}".utf8)) ?? []) + (NativeFrames.frame([]) ?? [])
            let requests = [
                try SSHSamples.adding("ed25519", certificate: "ed25519-cert.pub", constraints: [1, 0, 0, 0, 9, 2]),
                try SSHSamples.adding("ecdsa256"), try SSHSamples.signing("ed25519.pub"),
                try SSHSamples.removing("ed25519.pub"), try SSHSamples.binding("host-cert.pub", isForwarding: true),
            ]
            return try names.map { [sshName.rawValue] + (try SSHSamples.blob($0)) }
                + SSHSamples.keys.map { [sshFile.rawValue] + (try SSHSamples.file($0)) }
                + requests.map { [sshRequest.rawValue] + $0 } + [[FuzzedDoors.frames.rawValue] + frames]
        }
    }

    static func holds(_ input: [UInt8]) -> Bool {
        guard let first = input.first else { return true }
        return allCases[Int(first) % allCases.count].holds(Array(input.dropFirst()))
    }

    private func holds(_ bytes: [UInt8]) -> Bool {
        switch self {
        case .gitRecord:
            guard let text = try? Secret(bytes: bytes), let record = try? GitRecord(text) else { return true }
            // An accepted record can be written, and reads back equal.
            guard let said = try? record.text(), let again = try? GitRecord(Secret(said)) else { return false }
            return again.user == record.user && again.states == record.states && again.expiry == record.expiry
                && again.password?.exposed == record.password?.exposed && again.capabilities == record.capabilities
        case .credentialName:
            guard let request = CredentialRequest(bytes) else { return true }
            return bytes.suffix(request.id.utf8.count).elementsEqual(request.id.utf8)
                && request.services.allSatisfy { !$0.isEmpty && !$0.contains("/") }
        case .sshName:
            guard let name = try? SSHKeyName(bytes: bytes) else { return true }
            return name.blob == bytes
        case .sshFile:
            guard let key = try? SSHPrivateKey.read(bytes: bytes) else { return true }
            guard let file = try? key.file(comment: "", check: 1).exposed else { return false }
            return (try? SSHPrivateKey.read(bytes: file))?.publicKey == key.publicKey
        case .sshRequest:
            // A wrong passphrase delays the next attempt.
            guard bytes.first != 23 else { return true }
            return !SSHWorld().connect().ask(bytes).isEmpty
        case .frames: return framesHold(bytes)
        case .browser:
            var session = BrowserSession(SeededRandom("fuzzed"))
            if case .answer(let answer) = session.take(bytes) { return !answer.isEmpty }
            return true
        case .place:
            guard let text = String(validating: bytes, as: UTF8.self), let place = WebPlace(text) else { return true }
            return place.port.map { (0...65_535).contains($0) } ?? true
        case .relyingParty: return relyingPartyHolds(bytes)
        }
    }

    /// An accepted claim is the host of the page or a domain above it, below the public suffix, and its canonical form
    /// is accepted as itself.
    private func relyingPartyHolds(_ bytes: [UInt8]) -> Bool {
        let parts = bytes.split(separator: 0, maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, let id = String(validating: parts[0], as: UTF8.self),
            let origin = String(validating: parts[1], as: UTF8.self)
        else { return true }
        let suffixes = PublicSuffixes("com\nuk\nco.uk\ngithub.io\n*.ck\n!www.ck")
        guard let party = try? RelyingParty(id, origin: origin, suffixes), let page = WebPage(party.origin) else {
            return true
        }
        return (page.host.text == party.id || page.host.text.hasSuffix("." + party.id))
            && !["com", "uk", "co.uk", "github.io", "ck"].contains(party.id)
            && (try? RelyingParty(party.id, origin: party.origin, suffixes)) == party
    }

    /// The messages of a stream do not depend on how the stream is split.
    private func framesHold(_ bytes: [UInt8]) -> Bool {
        func messages(of parts: [ArraySlice<UInt8>]) -> [[UInt8]] {
            var (frames, messages) = (NativeFrames(), [[UInt8]]())
            for part in parts {
                frames.append(part)
                while let message = try? frames.next() { messages.append(message) }
            }
            return messages
        }
        return messages(of: [bytes[...]]) == messages(of: bytes.indices.map { bytes[$0...$0] })
    }
}
