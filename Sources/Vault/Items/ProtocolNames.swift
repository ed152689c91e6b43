// SPDX-License-Identifier: Apache-2.0

/// Apple's four-character codes for common protocols.
package enum ProtocolNames {
    private static let codes = [
        "ftp": "ftp ", "ftps": "ftps", "http": "http", "https": "htps", "imap": "imap", "imaps": "imps", "ldap": "ldap",
        "ldaps": "ldps",
        "pop3": "pop3", "pop3s": "pops", "smb": "smb ", "smtp": "smtp", "ssh": "ssh ", "telnet": "teln",
    ]

    package static func code(_ name: String) -> String { codes[name] ?? name }

    package static func name(_ code: String) -> String { codes.first { $0.value == code }?.key ?? code }
}
