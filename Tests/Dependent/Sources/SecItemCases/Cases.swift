// SPDX-License-Identifier: Apache-2.0
import Foundation
import KeychainServices

extension Case {
    /// The rows of the table of Apple's behaviour, by their row number. Keys are raw values.
    public static let table: [Case] =
        adding + addingResults + uniqueness + finding + limits + updating + deleting + references + synchronizable
        + groups + locking + damage + identities

    /// Rows that cannot be tested here, each with its reason.
    public static let leftOut: [String: String] = [:]

    /// Rows about certificates, keys and identities. ``KeyCase/table`` tests them.
    public static let ofObjects = ["B04", "D38", "E27", "G24", "L05", "L06", "L07"]

    // MARK: K. Locked vaults

    private static var all: [String: Any] { ["m_Limit": "m_LimitAll", "r_Data": true] }

    private static let locking: [Case] = [
        Case("K02", .add(stored()), .lock, .add(stored(), -25308)),
        Case("K03", .add(stored()), .lock, .add(stored(), -25308), .unlock, .add(stored(), -25299)),
        Case("K04", .add(stored()), .lock, .copy(genp(["r_Data": true]), -25308)),
        Case("K05", .add(stored()), .lock, .copy(genp(["r_Data": true]), -25308, gives: .untouched)),
        Case(
            "K06", .add(stored()), .lock, .copy(genp(["r_Data": true]), -25308), .unlock,
            .copy(genp(["r_Data": true]), gives: .data(x))),
        Case("K07", .add(stored()), .lock, .copy(genp(["r_Attributes": true]), -25308, gives: .untouched)),
        Case("K09", .add(stored()), .lock, .delete(genp()), .delete(genp(), -25300)),
        Case(
            "K12", .add(stored()), .add(account("b", ["pdmn": "ck"])), .lock, .copy(of("genp", all), -25308),
            .copy(genp(["acct": "b", "r_Data": true]), gives: .data(x))),
        Case("K13", .add(stored()), .lock, .copy(genp(["acct": "none"]), -25300)),
        // Decided: a vault without a passphrase refuses items that need one, with errSecNotAvailable.
        Case(
            "K14", .withoutPassphrase, .add(stored(["pdmn": "akpu"]), -25291), .add(stored(["pdmn": "aku"])),
            .update(genp(), ["pdmn": "akpu"], -25291)),
        Case(
            "K15", .add(stored(["pdmn": "akpu"])), .add(account("b")), .withoutPassphrase, .copy(genp(), -25300),
            .copy(genp(["acct": "b"]))),
        Case(
            "K21", .add(stored(["accc": constrained])), .copy(genp(["r_Data": true, "u_AuthUI": "u_AuthUIF"]), -25308),
            .copy(genp(["r_Attributes": true, "u_AuthUI": "u_AuthUIF"]), -25308),
            .copy(genp(["u_NoAuthUI": true]), -25308), .update(genp(["u_AuthUI": "u_AuthUIF"]), ["labl": "l"], -25308),
            .delete(genp(["u_AuthUI": "u_AuthUIF"]))),
        Case(
            "K22", .add(stored(["accc": constrained])), .copy(genp(["r_Data": true, "u_AuthUI": "u_AuthUIS"]), -25300),
            .add(account("b")), .copy(of("genp", all).merging(["u_AuthUI": "u_AuthUIS"]) { $1 }, gives: .array(1)),
            .copy(of("genp", ["u_AuthUI": "u_AuthUIS", "r_Data": true]), gives: .data(x))),
    ]

    // MARK: Damage. Apple's systems drop damaged records; here a vault with an altered record serves none of its items.

    private static func spoiled(_ id: String, _ what: Spoiling, _ steps: Step...) -> Case {
        Case(id, [.add(stored()), .add(account("b")), .damage(what)] + steps)
    }

    private static let damage: [Case] = [
        spoiled("D40", .record, .copy(genp(), -25291)), spoiled("D41", .record, .copy(of("genp", all), -25291)),
        spoiled("F44", .record, .update(genp(), ["labl": "l"], -25291), .add(account("c"), -25291)),
        spoiled("G23", .record, .delete(genp(), -25291)),
        spoiled("K16", .header, .copy(genp(["r_Data": true]), -25291)),
        spoiled("K17", .marks, .copy(genp(["r_Data": true]), -25291)),
        spoiled(
            "K18", .swappedValues, .copy(genp(["r_Data": true]), -25291), .copy(of("genp", all), -25291), .copy(genp()),
            .delete(genp())),
        spoiled("K19", .file, .copy(genp(), -25291), .delete(genp(), -25291)),
        spoiled(
            "K24", .values, .copy(of("genp", all), -25291), .copy(genp(["r_Data": true]), -25291), .copy(genp()),
            .delete(of("genp"))),
    ]

    // MARK: L. Identities

    private static let identities: [Case] = [
        Case(
            "L10", .add(of("cert", ["v_Data": Samples.certificate])), .copy(of("idnt"), -25300),
            .update(of("idnt"), ["labl": "l"], -25300), .add(of("idnt"), -4))
    ]

    // MARK: A. Adding

    private static let adding: [Case] = [
        // E14, for a caller that passes no result variable and only asks whether the item exists.
        Case("E14", .add(stored(["r_Data": true])), .look(genp(["r_Attributes": true]))),
        Case(
            "H02", .add(inet(["labl": "l", "invi": true, "v_Data": x])), .remember("r", of("inet")),
            .same(reference("r", ["r_Attributes": true]), of("inet", ["acct": "a", "r_Attributes": true]))),
        Case("A05", .add(["acct": "a", "v_Data": x], -50, gives: .untouched)),
        Case("A07", .add(of("apls"), -25306)),
        Case("A08", .add(["class": 7, "acct": "a"], -50)),
        Case("A09", .add(of("genp", ["labl": "l"])), .add(of("genp", ["labl": "l2"]), -25299)),
        Case("A13", .add(genp(["v_Data": "str"]), -50), .copy(genp(), -25300)),
        Case("A14", .add(genp(["v_Data": 5]), -50)),
        Case(
            "A15", .add(stored()),
            .copy(
                genp(["r_Attributes": true]),
                gives: .dictionary(
                    ["pdmn": "ak", "agrp": "A", "sync": 0, "acct": "a", "svce": "s"],
                    lacking: ["labl", "desc", "icmt", "gena", "v_Data"]))),
        Case(
            "A18", .add(of("keys", ["klbl": x, "v_Data": x])),
            .copy(
                of("keys", ["r_Attributes": true]),
                gives: .dictionary([
                    "kcls": 0, "type": 0, "crtr": 0, "bsiz": 0, "esiz": 0, "atag": "",
                    "sdat": Date(timeIntervalSinceReferenceDate: 0),
                    "edat": Date(timeIntervalSinceReferenceDate: 0),
                ]))),
        Case("A20", .add(stored(["cdat": "yesterday"]), -50)),
        Case("A25", .delete(of("genp", ["labl": "l", "accc": "string"]), -50)),
        Case("A27", .add(stored(["accc": constrained, "sync": true]), -50), .copy(genp(["sync": "syna"]), -25300)),
        Case("A28", .add(stored(["foo4": "x"]), -25303)),
        Case(
            "A30", .add(stored(["u_Foo": 1]), -50), .add(stored(["v_Foo": 1]), -50), .add(stored(["r_Foo": true]), -50),
            .add(stored(["c_Foo": 1]), -50), .copy(genp(), -25300)),
        Case("A37", .add(stored(["clip": true]), -50), .become([]), .add(stored(["clip": true]), -50)),
        // Decided: Add refuses match keys. Apple's systems report success and store nothing.
        Case("A38", .add(stored(["m_Limit": "m_LimitOne"]), -50), .copy(genp(), -25300)),
        Case(
            "A43", .add(stored(["invi": true, "nega": false])),
            .copy(genp(["r_Attributes": true]), gives: .dictionary(["invi": 1, "nega": 0]))),
    ]

    // MARK: B. Results of adding

    private static let addingResults: [Case] = [
        Case(
            "B03", .add(stored(["r_PersistentRef": true])), .remember("r", genp()),
            .copy(reference("r", ["r_Data": true]), gives: .data(x))),
        Case(
            "B08",
            .add(
                of(
                    "cert",
                    [
                        "v_Data": Samples.certificate, "r_Data": true, "r_Ref": true, "r_PersistentRef": true,
                        "r_Attributes": true,
                    ]),
                gives: .dictionary([
                    "v_Data": Samples.certificate, "class": "cert",
                    "v_Ref": SecCertificateCreateWithData(nil, Samples.certificate as CFData) as Any,
                ])),
            .remember("r", of("cert")), .copy(of("cert", ["r_PersistentRef": true]), gives: .reference("r"))),
        Case("B09", .add(stored(["r_Ref": true]), gives: .null)),
        Case("B11", .add(stored(["r_Data": true])), .copy(genp(["r_Data": true]), gives: .data(x))),
        Case("B14", .add(stored(["r_Data": false]), gives: .untouched)),
        Case("B15", .add(stored(["r_Data": 1]), -50, gives: .untouched)),
        Case("B16", .add(stored()), .add(stored(["r_Attributes": true]), -25299, gives: .untouched)),
    ]

    // MARK: C. Uniqueness

    private static let uniqueness: [Case] = [
        Case(
            "C01", .add(stored()),
            .add(stored(["labl": "l", "gena": "g", "desc": "d", "icmt": "i", "pdmn": "ck"]), -25299)),
        Case("C03", .add(stored()), .add(stored(["sync": true]))),
        Case("C05", .add(account("abc")), .add(stored(["acct": Data("abc".utf8)]), -25299)),
        Case("C06", .add(account("A")), .add(account("a"))),
        Case("C07", .add(of("genp", ["svce": "s"])), .add(of("genp", ["svce": "s", "acct": ""]), -25299)),
        Case(
            "C08", .add(inet()), .add(inet(["port": 444])), .add(inet(["path": "/q"])), .add(inet(["ptcl": "http"])),
            .add(inet(["atyp": "form"])), .add(inet(["sdmn": "e"]))),
        Case("C09", .add(inet()), .add(inet(["labl": "l"]), -25299)),
        Case("C10", .add(of("inet", ["srvr": "h", "ptcl": "http"])), .add(of("inet", ["srvr": "h", "ptcl": "htps"]))),
        Case(
            "C11", .add(of("inet", ["srvr": "h", "port": 80])), .add(of("inet", ["srvr": "h", "port": "80"]), -25299)),
        Case(
            "C12", .add(of("cert", ["issr": x, "slnr": y, "ctyp": 3, "v_Data": x])),
            .add(of("cert", ["issr": x, "slnr": y, "ctyp": 3, "v_Data": y]), -25299)),
        Case("C13", .add(of("keys", ["klbl": x, "crtr": 1])), .add(of("keys", ["klbl": x, "crtr": 2]))),
        Case("C14", .add(of("genp", ["acct": "a", "crtr": 1])), .add(of("genp", ["acct": "a", "crtr": 2]), -25299)),
        Case("C15", .add(of("genp", ["acct": "a"])), .add(of("inet", ["acct": "a"]))),
    ]

    // MARK: D. Finding

    private static let finding: [Case] = [
        Case("D03", .add(stored()), .copy(genp(["acct": "A"]), -25300)),
        Case("D04", .add(stored()), .copy(genp(["acct": "A", "m_CaseInsensitive": true]), -25300)),
        Case("D07", .add(stored()), .copy(of("inet", ["acct": "a"]), -25300)),
        Case("D10", .copy(of("zzzz"), -25306)),
        Case("D12", .add(of("genp", ["svce": "s"])), .copy(of("genp", ["acct": ""]))),
        Case(
            "D14", .add(of("inet", ["srvr": Data("string".utf8), "labl": "l"])),
            .copy(of("inet", ["labl": "l", "r_Attributes": true]), gives: .dictionary(["srvr": Data("string".utf8)]))),
        Case("D15", .add(of("inet", ["srvr": Data("string".utf8)])), .copy(of("inet", ["srvr": "string"]))),
        Case("D18", .add(stored(["pdmn": "ck"])), .copy(genp(["pdmn": "ak"]), -25300), .copy(genp(["pdmn": "ck"]))),
        Case("D19", .add(stored()), .copy(genp(["m_Unknown": 1]))),
        Case(
            "D21", .add(stored()), .copy(genp(["m_HostOrSubdomainOfHost": "h"]), -4),
            .copy(of("inet", ["m_HostOrSubdomainOfHost": 1]), -50)
        ),
        Case(
            "D26", .add(of("inet", ["srvr": "notexample.com"])),
            .copy(of("inet", ["m_HostOrSubdomainOfHost": "example.com"]), -25300),
            .add(of("inet", ["srvr": "www.example.com"])), .copy(of("inet", ["m_HostOrSubdomainOfHost": "example.com"]))
        ),
        Case("D27", .add(stored()), .copy(genp(["m_Issuers": [Samples.name]]), -4)),
        Case("D28", .add(stored()), .copy(genp(["u_ItemList": [Any]()]), -50)),
        Case("D29", .add(stored()), .copy(genp(["u_AuthUI": 5]))),
        Case("D31", .copy(genp(["acct": true]), -50)),
        Case("D32", .copy(genp(["acct": NSNull()]), -50)),
        Case("D33", .copy(genp(["cdat": "x"]), -50)),
        Case("D35", .copy(genp(["data": x]), -50), .copy(genp(["v_pk": x]), -50)),
        Case("D36", .copy(genp(["persistref": sixteen]), -50)),
    ]

    // MARK: E. Limits and shapes

    private static let limits: [Case] = [
        Case(
            "E03", three[0], three[1], three[2],
            .copy(of("genp", ["m_Limit": 2, "r_Attributes": true]), gives: .array(2))),
        Case(
            "E04", three[0], three[1], three[2],
            .copy(of("genp", ["m_Limit": 10, "r_Attributes": true]), gives: .array(3))),
        Case("E07", .add(stored()), .copy(genp(["m_Limit": "m_LimitOne", "r_Data": true]), gives: .data(x))),
        Case("E09", .add(stored()), .copy(genp(["m_Limit": "m_LimitAll", "r_PersistentRef": true]), gives: .array(1))),
        Case(
            "E10", .add(stored()), .remember("r", genp()),
            .copy(
                genp(["m_Limit": "m_LimitAll", "r_Data": true, "r_PersistentRef": true]),
                gives: .arrayOf(["v_Data": x, "v_PersistentRef": Reference(name: "r")]))),
        Case("E13", .add(stored()), .copy(genp(), gives: .untouched)),
        Case("E15", .add(stored()), .copy(genp(["m_Limit": 0, "r_Data": true]), -25300)),
        Case("E16", .add(stored()), .copy(genp(["m_Limit": "all"]), -50)),
        Case("E17", .add(stored()), .copy(genp(["m_Limit": true]), -50)),
        Case(
            "E19", .add(stored()),
            .copy(genp(["r_Attributes": true, "r_Data": true]), gives: .dictionary(["v_Data": x, "acct": "a"]))),
        Case(
            "E20", .add(stored()), .remember("r", genp()),
            .copy(
                genp(["r_Attributes": true, "r_PersistentRef": true]),
                gives: .dictionary(["v_PersistentRef": Reference(name: "r")], lacking: ["persistref", "UUID"]))),
        Case(
            "E24", .add(stored()), .add(genp(["acct": "b"])),
            .copy(of("genp", ["m_Limit": "m_LimitAll", "r_Data": true]), gives: .array(1))),
        Case("E25", .add(stored()), .copy(genp(["r_Data": false, "r_Attributes": false]), gives: .untouched)),
        // The extra secrets of an internet password need an entitlement that only Apple's own programs have.
        Case("E28", .add(inet(["binn": x]), -34018), .copy(inet(), -25300)),
    ]
}
