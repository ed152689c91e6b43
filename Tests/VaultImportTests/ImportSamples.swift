// SPDX-License-Identifier: Apache-2.0

/// Files of other products, for tests and the fuzzer.
enum ImportSamples {
    static let bitwarden = #"""
        {"encrypted": false, "folders": [{"id": "f1", "name": "Web/Mail"}], "items": [
          {"id": "i1", "folderId": "f1", "type": 1, "name": "Example", "notes": "n", "favorite": true, "reprompt": 1,
           "creationDate": "2020-01-02T03:04:05.678Z", "revisionDate": "2024-01-02T03:04:05Z",
           "fields": [{"name": "plain", "value": "v", "type": 0}, {"name": "pin", "value": "1234", "type": 1},
                      {"name": "link", "type": 3, "linkedId": 100}, {"name": "folder", "value": "mine", "type": 0},
                      {"name": "on", "value": "true", "type": 2}, {"name": "text", "value": "true", "type": 0}],
           "passwordHistory": [{"lastUsedDate": "2023-05-06T07:08:09.123Z", "password": "second"},
                               {"lastUsedDate": "2021-05-06T07:08:09Z", "password": "first"}],
           "login": {"uris": [{"uri": "https://example.com/login?next=/", "match": 1},
                              {"uri": "https://b.example", "match": 5}],
                     "username": "ada", "password": "pä\"ss", "totp": "JBSWY3DP",
                     "fido2Credentials": [
                        {"credentialId": "x", "keyType": "public-key", "keyAlgorithm": "ECDSA", "keyCurve": "P-256",
                         "keyValue": "S0VZ", "rpId": "example.com", "userHandle": "VUg", "userName": "ada",
                         "counter": "0", "rpName": null, "userDisplayName": "Ada", "discoverable": "true",
                         "creationDate": "2024-01-01T00:00:00.000Z"}]}},
          {"id": "i2", "type": 2, "name": "Note", "notes": "the note", "secureNote": {"type": 0}},
          {"id": "i3", "type": 3, "name": "Visa", "notes": null, "card": {"number": "4111", "code": "123"}},
          {"id": "i4", "type": 9, "name": "?"},
          {"id": "i5", "type": 1, "name": "gone", "deletedDate": "2026-01-01T00:00:00Z", "login": {}}
        ]}
        """#

    static func file(_ entries: String, meta: String = "") -> String {
        """
        <?xml version="1.0" encoding="UTF-8"?>
        <KeePassFile><Meta>\(meta)</Meta><Root><Group><UUID>r</UUID><Name>Root</Name><Group><UUID>g</UUID>\
        <Name>Web</Name>\(entries)</Group></Group></Root></KeePassFile>
        """
    }

    static func string(_ key: String, _ value: String, _ attributes: String = "") -> String {
        "<String><Key>\(key)</Key><Value\(attributes)>\(value)</Value></String>"
    }

    static let keePass = file(
        "<Entry><UUID>u</UUID>" + string("Title", "x") + string("Password", "p", " ProtectInMemory=\"True\"")
            + string("otp", "otpauth://totp/x?secret=A") + "<History><Entry/></History></Entry>",
        meta: "<Binaries><Binary ID=\"0\">AAEC</Binary></Binaries>")
}
