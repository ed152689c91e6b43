// SPDX-License-Identifier: Apache-2.0
import Foundation
import KeychainServices

// The items that the rows use.
extension Case {
    static let x = Data("x".utf8)
    static let y = Data("y".utf8)
    static let other = Data("other".utf8)
    static let sixteen = Data(repeating: 7, count: 16)

    /// The attributes of the generic password (a, s), merged with `more`.
    static func genp(_ more: [String: Any] = [:]) -> [String: Any] {
        ["class": "genp", "acct": "a", "svce": "s"].merging(more) { $1 }
    }

    static func stored(_ more: [String: Any] = [:]) -> [String: Any] { genp(["v_Data": x].merging(more) { $1 }) }

    static func account(_ name: String, _ more: [String: Any] = [:]) -> [String: Any] {
        stored(["acct": name].merging(more) { $1 })
    }

    static func of(_ itemClass: String, _ more: [String: Any] = [:]) -> [String: Any] {
        ["class": itemClass].merging(more) { $1 }
    }

    static func inet(_ more: [String: Any] = [:]) -> [String: Any] {
        of("inet", ["acct": "a", "srvr": "h", "sdmn": "d", "ptcl": "htps", "atyp": "http", "port": 443, "path": "/p"])
            .merging(more) { $1 }
    }

    static func reference(_ name: String, _ more: [String: Any] = [:]) -> [String: Any] {
        ["v_PersistentRef": Reference(name: name)].merging(more) { $1 }
    }

    static var constrained: Any {
        SecAccessControlCreateWithFlags(nil, kSecAttrAccessibleWhenUnlocked, .userPresence, nil) as Any
    }

    static var three: [Step] { [.add(account("a")), .add(account("b")), .add(account("c"))] }
}
