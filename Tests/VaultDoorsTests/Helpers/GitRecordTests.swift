// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing
import Vault
import VaultCrypto

@testable import VaultGit

struct GitRecordTests {
    private func record(_ text: String) throws -> GitRecord { try record(Array(text.utf8)) }

    private func record(_ bytes: [UInt8]) throws -> GitRecord {
        try GitRecord(try Secret(bytes: bytes))
    }

    @Test(arguments: [
        ("protocol=https\nhost=h\n\0", GitRecord.Flaw.zeroByte), ("host=a\0b\n", .zeroByte),
        ("protocol=https\nhost=exam", .cutLine), ("protocol", .cutLine), ("protocol\n", .noEquals),
        ("=value\n", .noEquals), ("protocol=https\nhost=h\npassword=s3cr", .cutLine),
    ])
    func `what is no record is refused`(text: String, flaw: GitRecord.Flaw) throws {
        // A zero byte after the last line belongs to a truncated line.
        #expect(throws: text.hasSuffix("\0") ? GitRecord.Flaw.cutLine : flaw) { try record(text) }
    }

    @Test func `what is not UTF-8 is refused where it is a text, and kept where it is a secret`() throws {
        #expect(throws: GitRecord.Flaw.notText) { try record(Array("host=".utf8) + [0xff, 0x0a]) }
        let secret = try #require(try record(Array("password=".utf8) + [0xff, 0x0a]).password)
        #expect(secret.exposed == [0xff])
    }

    @Test func `more than a megabyte is refused`() throws {
        let line = "wwwauth[]=" + String(repeating: "x", count: GitRecord.limit)
        #expect(throws: GitRecord.Flaw.tooLong) { try record(line + "\n") }
    }

    @Test func `a record says what git says, and ends with a blank line`() throws {
        let record = try record(
            """
            capability[]=authtype
            capability[]=state
            protocol=https
            host=example.com:8443
            path=a=b
            username=ada
            password=p=w
            password_expiry_utc=1900000000
            oauth_refresh_token=again
            state[]=vault:3
            wwwauth[]=Basic realm="x"
            later=than this

            host=other.example

            """)
        #expect(record.capabilities == ["authtype", "state"])
        #expect((record.protocolName, record.host, record.path) == ("https", "example.com:8443", "a=b"))
        #expect((record.user, record.expiry, record.states) == ("ada", 1_900_000_000, ["vault:3"]))
        #expect(record.password?.secretString() == "p=w")
        #expect(record.refreshToken?.secretString() == "again")
    }

    @Test func `an empty value takes a list back`() throws {
        #expect(try record("state[]=a\nstate[]=\nstate[]=b\n").states == ["b"])
    }

    @Test func `an answer says what it has, the capabilities first`() throws {
        var answer = GitRecord()
        answer.capabilities = ["authtype", "state"]
        answer.authenticationType = "Bearer"
        answer.credential = "tok"
        answer.expiry = 17
        answer.refreshToken = "again"
        answer.states = ["vault:1"]
        let text = Secret(try answer.text()).secretString()
        #expect(
            text == """
                capability[]=authtype
                capability[]=state
                authtype=Bearer
                credential=tok
                password_expiry_utc=17
                oauth_refresh_token=again
                state[]=vault:1

                """)
    }

    @Test func `whatever is read is a record or a flaw`() throws {
        let random = SeededRandom("git records")
        let words = ["protocol=https", "host=", "password=", "capability[]=", "=", "\n", "\n\n", "\0", "é", "x"]
        var (records, flaws) = (0, 0)
        for _ in 0..<2000 {
            var bytes = (0..<random.number(in: 1...12)).flatMap { _ in Array(random.element(of: words).utf8) }
            if random.chance(50) { bytes[random.number(in: 0...bytes.count - 1)] = UInt8(random.uniform(256)) }
            do {
                _ = try record(bytes)
                records += 1
                // Every line before the blank line is a key and a value.
                let lines = bytes.split(separator: 0x0a, omittingEmptySubsequences: false).prefix { !$0.isEmpty }
                #expect(lines.allSatisfy { !$0.contains(0) && $0.dropFirst().contains(0x3d) && $0.first != 0x3d })
            } catch let flaw as GitRecord.Flaw {
                flaws += 1
                #expect(flaw != .noMemory && flaw != .tooLong)
            }
        }
        #expect(records > 100 && flaws > 100)
    }
}
