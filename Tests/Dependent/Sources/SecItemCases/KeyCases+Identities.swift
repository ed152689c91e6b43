// SPDX-License-Identifier: Apache-2.0
import Foundation
import KeychainServices

private typealias Sample = CertificateSamples

private func commonName(_ certificate: SecCertificate) -> (OSStatus, String?) {
    var name: CFString?
    let status = SecCertificateCopyCommonName(certificate, &name)
    return (status, name as String?)
}

private func identity() throws -> SecIdentity {
    let made = SecIdentityCreate(nil, try Sample.certificate(Sample.leaf), try Sample.leafKey())
    guard let made else { throw Checks.Missing(description: "no identity") }
    return made
}

extension KeyCase {
    // MARK: P. Certificates and identities

    static let certificatesAndIdentities: [KeyCase] = [
        KeyCase("P01") { checks in
            let certificate = try Sample.certificate(Sample.leaf)
            checks.expect(add(["class": "cert", "v_Ref": certificate]) == 0)
            let row = try checks.require(
                find(["class": "cert", "r_Attributes": true]).found as? [String: Any])
            checks.expect(row["ctyp"] as? Int == 3 && row["cenc"] as? Int == 3)
            checks.expect(row["slnr"] as? Data == SecCertificateCopySerialNumberData(certificate, nil) as Data?)
            let attributes = SecCertificateCopyKey(certificate).flatMap(SecKeyCopyAttributes)
            checks.expect(row["pkhh"] as? Data == (attributes as NSDictionary?)?["klbl"] as? Data)
            checks.expect(row["labl"] as? String == SecCertificateCopySubjectSummary(certificate) as String?)
            checks.expect((row["skid"] as? Data)?.count == 20)
        },
        KeyCase("P02") { checks in
            let certificate = try Sample.certificate(Sample.namesToNormalize)
            let normalized = try checks.require(SecCertificateCopyNormalizedSubjectSequence(certificate)) as Data
            checks.expect(normalized.range(of: Data("SOME ORG".utf8)) != nil)
            checks.expect(normalized.range(of: Data("MIXED CASE".utf8)) != nil)
            checks.expect(normalized.range(of: Data("DE".utf8)) != nil && normalized.first == 0x30)
            checks.expect(add(["class": "cert", "v_Ref": certificate]) == 0)
            // The issuer as encoded in the self-signed certificate.
            let der = SecCertificateCopyData(certificate) as Data
            let length = der.range(of: Data("Some  Org".utf8)).map { $0.lowerBound } ?? 0
            let start = try checks.require(der[..<length].lastRange(of: Data([0x30, UInt8(normalized.count + 1 - 2)])))
            let name = der[start.lowerBound..<start.lowerBound + normalized.count + 1]
            checks.expect(find(["class": "cert", "issr": name as Data]).status == 0)
            checks.expect(find(["class": "cert", "issr": normalized.dropFirst(2) as Data]).status == 0)
            checks.expect(find(["class": "cert", "issr": Data("x".utf8)]).status == -25300)
        },
        KeyCase("P03") { checks in
            let rows: [(String, String?, String?)] = [
                (Sample.twoCommonNames, "second, first", "second"), (Sample.unitAndOrganization, "The Unit", nil),
                (Sample.emailAndOrganization, "ada@example.com", nil),
                (Sample.organizationAndHost, "dns.example.com", nil),
                (Sample.nameAndDescription, "The Name (a description)", "The Name"), (Sample.withoutSubject, nil, nil),
            ]
            for (sample, summary, name) in rows {
                let certificate = try Sample.certificate(sample)
                let found = SecCertificateCopySubjectSummary(certificate) as String?
                checks.expect(found == summary, "\(found ?? "nil")")
                checks.expect(commonName(certificate) == (name == nil ? -26276 : 0, name))
            }
        },
        KeyCase("P04") { checks in
            let (certificate, key) = (try Sample.certificate(Sample.leaf), try Sample.leafKey())
            checks.expect(add(["class": "cert", "v_Ref": certificate]) == 0)
            checks.expect(find(["class": "idnt", "r_Ref": true]).status == -25300)
            checks.expect(add(["v_Ref": key]) == 0)
            let rows = find(["class": "idnt", "r_Ref": true, "m_Limit": "m_LimitAll"]).found as? [SecIdentity]
            let found = try checks.require(rows?.first)
            var (ofIdentity, keyOfIdentity): (SecCertificate?, SecKey?)
            checks.expect(SecIdentityCopyCertificate(found, &ofIdentity) == 0 && ofIdentity == certificate)
            checks.expect(SecIdentityCopyPrivateKey(found, &keyOfIdentity) == 0 && keyOfIdentity == key)
            checks.expect(try rows?.count == 1 && found == identity())
            var again: SecIdentity?
            checks.expect(SecIdentityCreateWithCertificate(nil, certificate, &again) == 0 && again == found)
            let stranger = try Sample.certificate(Sample.root)
            again = nil
            checks.expect(SecIdentityCreateWithCertificate(nil, stranger, &again) == -25300 && again == nil)
            checks.expect(SecIdentityCreate(nil, stranger, key) == nil)
            checks.expect(SecIdentityCreate(nil, certificate, try publicKey(key)) == nil)
        },
        KeyCase("P05") { checks in
            var added: CFTypeRef?
            let item = ["v_Ref": try identity(), "r_PersistentRef": true] as [String: Any]
            checks.expect(SecItemAdd(item as CFDictionary, &added) == 0)
            let reference = try checks.require(added as? Data)
            checks.expect(reference.count == 20 && reference.starts(with: Data("idnt".utf8)))
            let ofCertificate = find(["class": "cert", "r_PersistentRef": true]).found as? Data
            checks.expect(ofCertificate == Data("cert".utf8) + reference.dropFirst(4))
            checks.expect(try find(["v_PersistentRef": reference, "r_Ref": true]).found as? SecIdentity == identity())
            let data = find(["class": "idnt", "r_Data": true]).found as? Data
            checks.expect(try data == bytes(Sample.leafKey()))
            checks.expect(add(item) == -25299)
        },
        KeyCase("P06") { checks in
            let second = try Sample.certificate(Sample.secondOfLeafKey)
            checks.expect(add(["v_Ref": try identity()]) == 0 && add(["v_Ref": second]) == 0)
            checks.expect(delete(["v_Ref": try identity()]) == 0 && find(["class": "keys"]).status == 0)
            let other = try checks.require(SecIdentityCreate(nil, second, Sample.leafKey()))
            checks.expect(delete(["v_Ref": other]) == 0 && find(["class": "keys"]).status == -25300)
            checks.expect(delete(["v_Ref": other]) == -25300)
        },
        KeyCase("L05") { checks in
            checks.expect(add(["v_Ref": try identity(), "labl": "old"]) == 0)
            for itemClass in ["idnt", "cert", "keys"] {
                checks.expect(find(["class": itemClass, "labl": "old"]).status == 0, itemClass)
            }
        },
        KeyCase("L06") { checks in
            checks.expect(add(["v_Ref": try identity(), "labl": "old"]) == 0)
            checks.expect(SecItemUpdate(["class": "keys"] as CFDictionary, ["labl": "key"] as CFDictionary) == 0)
            checks.expect(find(["class": "idnt", "labl": "old"]).status == 0)
        },
        KeyCase("L07") { checks in
            checks.expect(add(["v_Ref": try identity(), "labl": "old"]) == 0)
            checks.expect(SecItemUpdate(["class": "cert"] as CFDictionary, ["labl": "new"] as CFDictionary) == 0)
            checks.expect(find(["class": "idnt", "labl": "old"]).status == -25300)
            let row = find(["class": "idnt", "labl": "new", "r_Attributes": true]).found as? [String: Any]
            checks.expect(row?["labl"] as? String == "new" && row?["kcls"] as? Int == 1 && row?["pkhh"] is Data)
        },
        KeyCase("an update of identities changes both halves, by what both have") { checks in
            checks.expect(add(["v_Ref": try identity()]) == 0)
            checks.expect(SecItemUpdate(["class": "idnt"] as CFDictionary, ["labl": "both"] as CFDictionary) == 0)
            checks.expect(find(["class": "keys", "labl": "both"]).status == 0)
            checks.expect(find(["class": "cert", "labl": "both"]).status == 0)
            checks.expect(SecItemUpdate(["class": "idnt"] as CFDictionary, ["atag": "t"] as CFDictionary) == -25303)
            checks.expect(SecItemUpdate(["class": "idnt"] as CFDictionary, ["ctyp": 1] as CFDictionary) == -25303)
            checks.expect(find(["class": "cert", "ctyp": 3]).status == 0)
            checks.expect(
                SecItemUpdate(["v_Ref": try identity()] as CFDictionary, ["labl": "one"] as CFDictionary) == 0)
            checks.expect(find(["class": "keys", "labl": "one"]).status == 0)
        },
        KeyCase("B04") { checks in
            let certificate = try Sample.certificate(Sample.leaf)
            var added: CFTypeRef?
            let item: [String: Any] = ["class": "cert", "v_Ref": certificate, "r_Ref": true]
            checks.expect(SecItemAdd(item as CFDictionary, &added) == 0 && added as? SecCertificate == certificate)
        },
        KeyCase("D38") { checks in
            checks.expect(add(["class": "cert", "v_Ref": try Sample.certificate(Sample.root)]) == 0)
            checks.expect(find(["class": "cert", "m_TrustedOnly": false]).status == 0)
            checks.expect(find(["class": "cert", "m_TrustedOnly": true]).status == -25300)
        },
        KeyCase("a certificate without its key is no identity") { checks in
            let certificate = try Sample.certificate(Sample.leaf)
            checks.expect(add(["v_Ref": certificate]) == 0 && find(["class": "idnt"]).status == -25300)
            checks.expect(find(["class": "idnt", "acct": "a"]).status == -25303)
        },
        KeyCase("G24") { checks in
            let certificate = try Sample.certificate(Sample.root)
            checks.expect(add(["v_Ref": certificate]) == 0 && delete(["class": "cert", "v_Ref": certificate]) == 0)
            checks.expect(find(["class": "cert"]).status == -25300)
        },
        KeyCase("E27") { checks in
            let key = try makeKey(rsa, 1024, ["private": ["perm": true, "labl": "l"] as [String: Any]])
            let found = try checks.require(find(["class": "keys", "labl": "l", "r_Ref": true]).found as? SecKey)
            checks.expect(try bytes(found) == bytes(key))
        },
        KeyCase("an identity is deleted with all of its halves that match") { checks in
            checks.expect(add(["v_Ref": try identity()]) == 0)
            checks.expect(add(["v_Ref": try Sample.certificate(Sample.root)]) == 0)
            checks.expect(delete(["class": "idnt"]) == 0)
            for itemClass in ["idnt", "cert", "keys"] {
                checks.expect(find(["class": itemClass]).status == -25300, itemClass)
            }
            checks.expect(delete(["class": "idnt"]) == -25300)
        },
        KeyCase("of two copies of a key the one that is asked for is meant") { checks in
            let (certificate, key) = (try Sample.certificate(Sample.leaf), try Sample.leafKey())
            checks.expect(add(["v_Ref": certificate]) == 0)
            for (tag, isSynchronizable) in [("other device", true), ("older", false), ("newer", false)] {
                checks.expect(add(["v_Ref": key, "atag": tag, "sync": isSynchronizable]) == 0, tag)
            }
            let newer = ["class": "idnt", "atag": "newer", "m_ValidOnDate": NSNull(), "r_Attributes": true]
            let row = find(newer).found as? [String: Any]
            checks.expect(row?["atag"] as? String == "newer", "\(row ?? [:])")
            let one = ["v_Ref": try identity(), "atag": "newer"] as [String: Any]
            checks.expect(SecItemUpdate(one as CFDictionary, ["labl": "changed"] as CFDictionary) == 0)
            checks.expect(find(["class": "keys", "labl": "changed", "atag": "newer"]).status == 0)
            checks.expect(find(["class": "keys", "labl": "changed", "atag": "older"]).status == -25300)
            checks.expect(delete(["v_Ref": try identity()]) == 0)
            checks.expect(find(["class": "cert"]).status == -25300)
            checks.expect(find(["class": "keys", "atag": "older"]).status == -25300)
            checks.expect(find(["class": "keys", "atag": "newer"]).status == 0)
            checks.expect(find(["class": "keys", "atag": "other device", "sync": true]).status == 0)
        },
        KeyCase("a change of certificates or identities takes no match keys, and of an identity no data") { checks in
            checks.expect(add(["v_Ref": try identity()]) == 0)
            let none = Date(timeIntervalSince1970: 0)
            for itemClass in ["idnt", "cert"] {
                let keys: [[String: Any]] = [
                    ["m_ValidOnDate": none], ["m_Issuers": [Data([0x30, 0])]], ["m_TrustedOnly": true],
                    ["m_EmailAddressIfPresent": "nobody@example.com"],
                ]
                for key in keys {
                    let query = ["class": itemClass].merging(key) { $1 }
                    checks.expect(delete(query) == -50, "\(query)")
                    checks.expect(
                        SecItemUpdate(query as CFDictionary, ["labl": "new"] as CFDictionary) == -50, "\(query)")
                }
            }
            let other = try identity()
            checks.expect(delete(["v_Ref": other, "m_ValidOnDate": none]) == -50)
            for query in [["class": "idnt"], ["v_Ref": other]] as [[String: Any]] {
                for change in [["v_Data": Data([1])], ["v_Ref": other]] as [[String: Any]] {
                    checks.expect(SecItemUpdate(query as CFDictionary, change as CFDictionary) == -50)
                }
            }
            checks.expect(try find(["class": "idnt", "r_Ref": true]).found as? SecIdentity == identity())
            checks.expect(find(["class": "cert", "labl": "new"]).status == -25300)
        },
        KeyCase("half of an identity may be there") { checks in
            checks.expect(add(["v_Ref": try Sample.leafKey()]) == 0)
            checks.expect(add(["v_Ref": try identity()]) == 0)
            checks.expect(find(["class": "idnt", "m_Limit": "m_LimitAll", "r_Attributes": true]).status == 0)
            checks.expect(try find(["class": "idnt", "r_Ref": true]).found as? SecIdentity == identity())
        },
        KeyCase("a search by an identity finds a persistent reference alone") { checks in
            let identity = try identity()
            checks.expect(find(["v_Ref": identity, "r_PersistentRef": true]).status == -25300)
            checks.expect(add(["v_Ref": identity]) == 0)
            let reference = find(["class": "idnt", "r_PersistentRef": true]).found as? Data
            checks.expect(find(["v_Ref": identity, "r_PersistentRef": true]).found as? Data == reference)
            let others: [[String: Any]] = [
                [:], ["r_Ref": true], ["r_Data": true], ["r_Attributes": true],
                ["r_PersistentRef": true, "r_Data": true], ["r_PersistentRef": true, "m_Limit": "m_LimitAll"],
            ]
            for other in others {
                let answer = find(other.merging(["v_Ref": identity]) { $1 })
                checks.expect(answer.status == 0 && answer.found == nil, "\(other)")
            }
        },
        KeyCase("match keys ask what the certificates say") { checks in
            for sample in [Sample.root, Sample.intermediate, Sample.leaf, Sample.emailAndOrganization] {
                checks.expect(add(["v_Ref": try Sample.certificate(sample)]) == 0)
            }
            func labels(_ query: [String: Any]) -> [String] {
                let all: [String: Any] = ["class": "cert", "m_Limit": "m_LimitAll", "r_Attributes": true]
                let rows = find(all.merging(query) { $1 }).found as? [[String: Any]] ?? []
                return rows.compactMap { $0["labl"] as? String }
            }
            let root = try checks.require(
                SecCertificateCopyNormalizedSubjectSequence(try Sample.certificate(Sample.root)) as Data?)
            let chain = ["Cases Root", "Cases Intermediate", "www.example.com"]
            checks.expect(labels(["m_Issuers": [root]]) == chain, "\(labels(["m_Issuers": [root]]))")
            checks.expect(labels(["m_ValidOnDate": NSNull()]).count == 4)
            checks.expect(labels(["m_ValidOnDate": Date(timeIntervalSince1970: 0)]) == [])
            checks.expect(labels(["m_EmailAddressIfPresent": "ada@example.com"]).count == 4)
            checks.expect(labels(["m_EmailAddressIfPresent": "eve@example.com"]) == chain)
            checks.expect(labels(["m_Policy": SecPolicyCreateSSL(true, "www.example.com" as CFString)]) == [chain[2]])
            checks.expect(find(["class": "cert", "m_Policy": "text"]).status == -50)
            checks.expect(find(["class": "cert", "m_ValidOnDate": NSNull(), "m_Limit": 2, "r_Ref": true]).status == 0)
        },
    ]
}
