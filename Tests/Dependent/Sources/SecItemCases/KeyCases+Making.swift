// SPDX-License-Identifier: Apache-2.0
import Foundation
import KeychainServices

extension KeyCase {
    // MARK: M. Keys and their bytes

    static let makingKeys: [KeyCase] = [
        KeyCase("M01") { checks in
            let key = try makeKey(rsa, 2048)
            checks.expect(try bytes(key).starts(with: [0x30, 0x82, 0x04]))
            checks.expect(try bytes(publicKey(key)).starts(with: [0x30, 0x82, 0x01, 0x0a]))
            checks.expect(SecKeyGetBlockSize(key) == 256)
        },
        KeyCase("M02") { checks in
            for (bits, short, long) in [(256, 65, 97), (384, 97, 145), (521, 133, 199)] {
                let key = try makeKey(curve, bits)
                let (whole, point) = (try bytes(key), try bytes(publicKey(key)))
                checks.expect(point.count == short && whole.count == long && point[0] == 4)
                checks.expect(whole.starts(with: point))
            }
        },
        KeyCase("M03") { checks in
            let original = try makeKey(curve, 256)
            let copy = try checks.require(key(bytes(original), ["type": "73", "kcls": "1"]))
            let signature = try checks.require(sign(copy, .ecdsaSignatureMessageX962SHA256, Data("m".utf8)))
            checks.expect(
                verify(try publicKey(original), .ecdsaSignatureMessageX962SHA256, Data("m".utf8), signature))
        },
        KeyCase("M04") { checks in
            let data = try bytes(makeKey(curve, 256))
            checks.expect(key(data, ["type": 73, "kcls": 1]) != nil)
            checks.expect(-50) { key(data, ["type": "073", "kcls": "1"], $0) }
        },
        KeyCase("M05") { checks in
            for (type, bits) in [(rsa, 1024), (curve, 256)] {
                let made = try makeKey(type, bits)
                let (whole, half) = (try bytes(made), try bytes(publicKey(made)))
                checks.expect(-50) { key(whole, ["type": type, "kcls": "0"], $0) }
                checks.expect(-50) { key(half, ["type": type, "kcls": "1"], $0) }
            }
        },
        KeyCase("M06") { checks in
            let data = Data(repeating: 1, count: 16)
            checks.expect(-4) { key(data, ["type": "42", "kcls": "2"], $0) }
            checks.expect(-50) { key(data, ["type": "43", "kcls": "1"], $0) }
            checks.expect(-50) { key(data, ["type": "105", "kcls": "1"], $0) }
        },
        KeyCase("M07") { checks in
            let made = try makeKey(curve, 256)
            let (whole, point) = (try bytes(made), try bytes(publicKey(made)))
            let another = try bytes(makeKey(curve, 256))
            checks.expect(-50) { key(point.changed(at: 5), ["type": "73", "kcls": "0"], $0) }
            checks.expect(-50) { key(Data([2]) + point[1..<33], ["type": "73", "kcls": "0"], $0) }
            checks.expect(-50) { key(point + [0], ["type": "73", "kcls": "0"], $0) }
            checks.expect(-50) { key(whole + [0], ["type": "73", "kcls": "1"], $0) }
            checks.expect(-50) { key(point + another[65...], ["type": "73", "kcls": "1"], $0) }
        },
        KeyCase("M08") { checks in
            let refused: [[String: Any]] = [
                ["type": rsa, "bsiz": 511], ["type": rsa, "bsiz": 8193], ["type": curve, "bsiz": 255],
                ["type": curve, "bsiz": 192], ["type": rsa],
            ]
            for parameters in refused {
                checks.expect(-50) { SecKeyCreateRandomKey(parameters as CFDictionary, $0) }
            }
            checks.expect(SecKeyCreateRandomKey(["type": curve, "bsiz": "256"] as CFDictionary, nil) != nil)
        },
        KeyCase("M09") { checks in
            var (half, whole): (SecKey?, SecKey?)
            let parameters = ["type": curve, "bsiz": 256] as CFDictionary
            checks.expect(SecKeyGeneratePair(parameters, &half, &whole) == 0 && half != nil && whole != nil)
            checks.expect(try half == publicKey(checks.require(whole)))
            (half, whole) = (nil, nil)
            checks.expect(SecKeyGeneratePair(parameters, nil, &whole) == 0 && whole != nil)
            (half, whole) = (nil, nil)
            let refused = ["type": curve, "bsiz": 7] as CFDictionary
            checks.expect(SecKeyGeneratePair(refused, &half, &whole) == -50 && half == nil && whole == nil)
        },
        KeyCase("M10") { checks in
            let key = try makeKey(rsa, 1023)
            let privates = try checks.require(SecKeyCopyAttributes(key)) as NSDictionary
            let publics = try checks.require(SecKeyCopyAttributes(publicKey(key))) as NSDictionary
            for attributes in [privates, publics] {
                checks.expect(attributes["bsiz"] as? Int == 1023 && attributes["esiz"] as? Int == 1023)
                checks.expect(attributes["type"] as? String == "42")
            }
            checks.expect(privates["kcls"] as? String == "1" && publics["kcls"] as? String == "0")
            let flags = ["encr", "decr", "drve", "sign", "vrfy"]
            checks.expect(flags.map { privates[$0] as? Bool } == [false, true, false, true, false])
            checks.expect(flags.map { publics[$0] as? Bool } == [true, true, false, false, true])
            checks.expect((privates["klbl"] as? Data)?.count == 20)
            checks.expect(privates["klbl"] as? Data == publics["klbl"] as? Data)
            checks.expect(try privates["v_Data"] == nil && publics["v_Data"] as? Data == bytes(publicKey(key)))
        },
        KeyCase("M11") { checks in
            let made = try makeKey(curve, 256)
            let again = try checks.require(key(bytes(made), ["type": "73", "kcls": "1"]))
            checks.expect(made == again && made.hash == again.hash)
            checks.expect(try made != publicKey(made) && made != makeKey(curve, 256))
            checks.expect(CFGetTypeID(made) == SecKeyGetTypeID())
        },
    ]

    /// The features that remain without libcrypto: certificates as records, as before keys were supported.
    public static let withoutLibcrypto = KeyCase("without libcrypto") { checks in
        checks.expect(-4) { SecKeyCreateRandomKey(["type": rsa, "bsiz": 2048] as CFDictionary, $0) }
        checks.expect(-4) { SecKeyCreateRandomKey(["type": curve, "bsiz": 256] as CFDictionary, $0) }
        let certificate = try CertificateSamples.certificate(CertificateSamples.leaf)
        let point = try bytes(checks.require(SecCertificateCopyKey(certificate)))
        checks.expect(-4) { key(point, ["type": curve, "kcls": "0"], $0) }
        checks.expect(SecCertificateCopySubjectSummary(certificate) as String? == "www.example.com")
        checks.expect(add(["v_Ref": certificate]) == -4)
        checks.expect(add(["class": "cert", "v_Data": SecCertificateCopyData(certificate)]) == 0)
        checks.expect(find(["class": "cert", "r_Ref": true]).found as? SecCertificate == certificate)
        var (trust, items): (SecTrust?, CFArray?)
        checks.expect(SecTrustCreateWithCertificates(certificate, nil, &trust) == 0)
        var error: CFError?
        checks.expect(try !SecTrustEvaluateWithError(checks.require(trust), &error) && error?.code == -4)
        checks.expect(SecPKCS12Import(Data([0x30, 0]) as CFData, [:] as CFDictionary, &items) == -4 && items == nil)
    }
}
