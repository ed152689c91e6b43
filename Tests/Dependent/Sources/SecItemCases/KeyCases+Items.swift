// SPDX-License-Identifier: Apache-2.0
import Foundation
import KeychainServices

private let tag = Data("tag".utf8)
private var all: [String: Any] { ["m_Limit": "m_LimitAll", "r_Attributes": true] }

extension KeyCase {
    // MARK: O. Keys as items

    static let keysAsItems: [KeyCase] = [
        KeyCase("O01") { checks in
            _ = try makeKey(curve, 256, ["perm": true, "labl": "l", "atag": tag])
            let (status, found) = find(all.merging(["class": "keys", "labl": "l"]) { $1 })
            let rows = try checks.require(found as? [[String: Any]])
            checks.expect(status == 0 && rows.count == 2)
            checks.expect(Set(rows.compactMap { $0["klbl"] as? Data }).count == 1)
            checks.expect(rows.compactMap { $0["kcls"] as? Int }.sorted() == [0, 1])
            for row in rows {
                checks.expect(row["type"] as? Int == 73 && row["atag"] as? Data == tag && row["labl"] as? String == "l")
            }
        },
        KeyCase("O02") { checks in
            let made = try makeKey(curve, 256, ["private": ["perm": true, "atag": tag] as [String: Any]])
            let (status, found) = find(["class": "keys", "atag": tag, "r_Ref": true])
            let key = try checks.require(found as? SecKey)
            checks.expect(status == 0 && key == made)
            checks.expect(sign(key, .ecdsaSignatureMessageX962SHA256, tag) != nil)
            let rows = find(all.merging(["class": "keys"]) { $1 }).found as? [Any]
            checks.expect(rows?.count == 1)
        },
        KeyCase("O03") { checks in
            let key = try makeKey(curve, 256, ["private": ["perm": true, "atag": tag] as [String: Any]])
            checks.expect(find(["v_Ref": key, "r_Attributes": true]).status == 0)
            checks.expect(add(["v_Ref": key, "atag": tag]) == -25299)
            checks.expect(add(["v_Ref": key]) == 0)
            checks.expect(add(["v_Ref": key, "atag": Data("other".utf8)]) == 0)
            checks.expect(delete(["v_Ref": key]) == 0)
            checks.expect(find(["class": "keys"]).status == -25300)
            checks.expect(delete(["v_Ref": key]) == -25300)
        },
        KeyCase("O04") { checks in
            let parameters: [String: Any] = ["type": curve, "bsiz": 256, "perm": true, "agrp": "Z"]
            checks.expect(-34018) { SecKeyCreateRandomKey(parameters as CFDictionary, $0) }
            checks.expect(find(["class": "keys"]).status == -25300)
        },
        KeyCase("O05") { checks in
            let key = try makeKey(rsa, 1024)
            checks.expect(add(["class": "keys", "kcls": "1", "type": "42", "v_Data": try bytes(key)]) == 0)
            checks.expect(find(["class": "keys", "r_Ref": true]).found as? SecKey == key)
            checks.expect(add(["class": "keys", "klbl": tag, "v_Data": Data("junk".utf8)]) == 0)
            let (status, found) = find(["class": "keys", "klbl": tag, "r_Ref": true])
            checks.expect(status == 0 && found == nil)
        },
        KeyCase("O06") { checks in
            let control = SecAccessControlCreateWithFlags(
                nil, kSecAttrAccessibleWhenUnlockedThisDeviceOnly, .privateKeyUsage, nil)
            let own: [String: Any] = ["perm": true, "accc": try checks.require(control)]
            let parameters: [String: Any] = ["type": curve, "bsiz": 256, "private": own]
            checks.expect(-4) { error in
                SecKeyCreateRandomKey(
                    parameters.merging(["tkid": "com.apple.setoken"]) { $1 } as CFDictionary, error)
            }
            let key = try checks.require(SecKeyCreateRandomKey(parameters as CFDictionary, nil))
            let found = find(["class": "keys", "r_Ref": true]).found as? SecKey
            checks.expect(found == key && found.flatMap { sign($0, .ecdsaSignatureMessageX962SHA256, tag) } != nil)
        },
        KeyCase("changes by reference") { checks in
            let (first, second) = (
                try makeKey(curve, 256, ["private": ["perm": true] as [String: Any]]), try makeKey(curve, 384)
            )
            let status = SecItemUpdate(["v_Ref": first] as CFDictionary, ["v_Ref": second] as CFDictionary)
            checks.expect(status == 0)
            checks.expect(find(["class": "keys", "r_Ref": true]).found as? SecKey == second)
            checks.expect(SecItemUpdate(["class": "keys"] as CFDictionary, ["v_Ref": "text"] as CFDictionary) == -50)
        },
    ]
}
