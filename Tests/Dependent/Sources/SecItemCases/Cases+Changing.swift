// SPDX-License-Identifier: Apache-2.0
import Foundation
import KeychainServices

extension Case {
    // MARK: F. Updating

    static let updating: [Case] = [
        Case(
            "F03", .add(stored()), .update(genp(), ["v_Data": "bogus"], -50),
            .copy(genp(["r_Data": true]), gives: .data(x))),
        Case(
            "F04", .add(stored()), .update(genp(), ["v_Data": Data()]),
            .copy(genp(["r_Data": true]), gives: .data(Data()))),
        Case(
            "F06", .add(inet(["srvr": "old", "v_Data": x])), .add(inet(["srvr": "new", "v_Data": y])),
            .update(inet(["srvr": "old"]), ["srvr": "new"], -25299),
            .copy(inet(["srvr": "old", "r_Data": true]), gives: .data(x)),
            .copy(inet(["srvr": "new", "r_Data": true]), gives: .data(y))),
        Case(
            "F07", .add(stored()), .update(stored(), ["acct": "a2", "svce": "s2"]),
            .update(stored(), ["acct": "a2", "svce": "s2"], -25300)),
        Case("F09", .update(of("genp", ["acct": "zz"]), ["labl": "l"], -25300)),
        Case("F12", .add(stored()), .update(genp(), ["class": "genp"], -25303)),
        Case("F14", .add(stored()), .update(genp(), ["nleg": true, "labl": "l"])),
        Case("F15", .add(stored()), .update(genp(), ["srvr": "h"], -25303)),
        Case("F16", .update(of("genp", ["acct": "zz"]), ["class": "genp"], -25303)),
        Case("F20", .add(stored()), .update(genp(["m_Limit": "m_LimitOne"]), ["labl": "l"], -50)),
        // Decided: `m_LimitAll` matches what an update does anyway, and wrappers send it. Apple's systems return -50.
        Case(
            "F21", .add(stored()), .update(genp(["m_Limit": "m_LimitAll"]), ["labl": "l"]), .copy(genp(["labl": "l"]))),
        Case(
            "F22", three[0], three[1], three[2], .update(of("genp", ["svce": "s"]), ["labl": "L"]),
            .copy(of("genp", ["labl": "L", "m_Limit": "m_LimitAll", "r_Attributes": true]), gives: .array(3))),
        Case(
            "F23", three[0], three[1], three[2], .update(of("genp", ["svce": "s"]), ["acct": "same"], -25299),
            .copy(of("genp", ["acct": "same"]), -25300), .copy(genp(["acct": "a"])), .copy(genp(["acct": "b"])),
            .copy(genp(["acct": "c"]))),
        Case("F25", .add(stored(["labl": "l"])), .update(genp(), ["labl": NSNull()], -50), .copy(genp(["labl": "l"]))),
        Case("F28", .add(stored()), .update(genp(), ["mdat": "x"], -50)),
        Case(
            "F29", .add(stored()), .update(genp(), ["cdat": Date(timeIntervalSinceReferenceDate: 100.5)]),
            .copy(
                genp(["r_Attributes": true]), gives: .dictionary(["cdat": Date(timeIntervalSinceReferenceDate: 100.5)]))
        ),
        Case(
            "F30", .add(stored()), .update(genp(), ["labl": "l"]), .note("mdat", of: genp()),
            .update(genp(), ["labl": "m"]),
            .copy(genp(["r_Attributes": true]), gives: .rising("mdat"))),
        Case(
            "F32", .add(stored()), .remember("r", genp()), .update(genp(), ["svce": "moved"]),
            .copy(reference("r", ["r_Data": true]), gives: .data(x)),
            .copy(genp(["svce": "moved", "r_PersistentRef": true]), gives: .reference("r"))),
        Case("F35", .add(stored()), .update(genp(), ["pdmn": "bogus"], -50)),
        Case(
            "F36", .add(stored()), .update(genp(), ["agrp": "B"]),
            .copy(genp(["r_Attributes": true]), gives: .dictionary(["agrp": "B"]))),
        Case("F37", .add(stored()), .update(genp(), ["agrp": "Z"], -34018), .copy(genp(["agrp": "A"]))),
        Case(
            "F38", .add(stored(["agrp": "A"])), .add(stored(["agrp": "B"])),
            .update(genp(["agrp": "A"]), ["agrp": "B"], -25299)),
        Case(
            "F39", .add(stored()), .update(genp(), ["musr": sixteen]),
            .copy(genp(["r_Attributes": true]), gives: .dictionary(["musr": Data()]))),
        Case(
            "F41", .add(stored()), .update(genp(), ["sync": true]), .copy(genp(), -25300), .copy(genp(["sync": true]))),
        Case("F43", .add(stored(["sync": true])), .update(genp(), ["labl": "l"], -25300)),
        Case("F45", .add(stored()), .update(genp(), ["acct": "a"])),
        // The same restriction as in E28.
        Case("F48", .add(inet()), .update(inet(), ["bini": x], -34018)),
    ]

    // MARK: G. Deleting

    static let deleting: [Case] = [
        Case("G09", .add(stored()), .delete(genp(["v_Data": other])), .copy(genp(), -25300)),
        Case("G11", .delete([:], -50)),
        Case("G13", .add(stored()), .delete(of("genp", ["srvr": "h"]), -25303), .copy(genp())),
        Case("G14", .add(stored()), .delete(of("genp", ["u_AuthUI": "u_AuthUIS"]), -50), .copy(genp())),
        Case(
            "G16", .add(inet(["acct": "1"])), .add(inet(["acct": "2"])), .remember("r1", inet(["acct": "1"])),
            .remember("r2", inet(["acct": "2"])), .delete(reference("r1")), .copy(reference("r1"), -25300),
            .copy(reference("r2"))),
        Case(
            "G17", .add(inet()), .remember("r2", inet()), .delete(reference("r2", ["r_Attributes": true])),
            .copy(inet(), -25300)),
        Case("G19", .add(stored()), .delete(genp()), .delete(genp(), -25300)),
        Case("G21", .add(stored(["sync": true])), .delete(genp(["sync": true])), .copy(genp(["sync": true]), -25300)),
        Case(
            "G22", .add(stored()), .add(stored(["sync": true])), .delete(genp(["sync": "syna"])),
            .copy(genp(["sync": "syna"]), -25300)),
    ]

    // MARK: H. Persistent references

    static let references: [Case] = [
        Case(
            "H04", .add(stored()), .remember("r", genp()),
            .copy(reference("r", ["class": "genp", "r_Data": true]), gives: .data(x))),
        Case("H06", .add(stored()), .remember("r", genp()), .copy(reference("r", ["acct": "a"]), -50)),
        Case("H08", .add(stored()), .remember("r", genp()), .copy(reference("r", ["sync": "syna"]))),
        Case("H12", .copy(of("genp", ["v_PersistentRef": Data("junk".utf8)]), -50)),
        Case("H14", .copy(["v_PersistentRef": Data("genp".utf8) + sixteen], -25300)),
        Case("H15", .copy(["v_PersistentRef": Data("xxxx".utf8) + sixteen], -50)),
        Case(
            "H17", .addAs(["Z"], stored()), .become(["Z"]), .remember("r", genp()), .become(["A", "B"]),
            .copy(reference("r"), -25300)),
        Case("H18", .add(stored()), .remember("r", genp()), .copy(reference("r", ["agrp": "A"]), -50)),
        Case(
            "H19", .add(stored()), .remember("r", genp()),
            .copy(reference("r", ["r_PersistentRef": true]), gives: .reference("r"))),
        Case(
            "H21", .add(stored(["sync": true])), .remember("r", genp(["sync": true])),
            .copy(
                of(
                    "genp",
                    [
                        "sync": "syna", "acct": "a", "m_Limit": "m_LimitAll", "r_Attributes": true,
                        "r_PersistentRef": true,
                    ]),
                gives: .arrayOf(["v_PersistentRef": Reference(name: "r"), "sync": 1]))),
    ]

    // MARK: I. Synchronizable items and tombstones

    static let synchronizable: [Case] = [
        Case(
            "I01", .add(stored(["sync": true])),
            .copy(genp(["sync": true, "r_Attributes": true]), gives: .dictionary(["sync": 1]))),
        Case(
            "I02", .add(stored(["sync": true])),
            .copy(genp(["sync": "syna", "r_Attributes": true]), gives: .dictionary(["sync": 1]))),
        Case("I03", .add(stored(["sync": true])), .copy(genp(), -25300), .copy(genp(["sync": false]), -25300)),
        Case(
            "I04", .add(stored()), .add(stored(["sync": true])),
            .copy(genp(["sync": "syna", "m_Limit": "m_LimitAll", "r_Attributes": true]), gives: .array(2))),
        Case("I05", .add(stored(["sync": true])), .copy(genp(["sync": 1])), .copy(genp(["sync": "1"]))),
        Case(
            "I08", .add(stored(["sync": true])), .delete(genp(["sync": true, "u_Tomb": false])),
            .copy(genp(["sync": true, "tomb": true]), -25300)),
        Case(
            "I12", .add(stored(["sync": true])), .delete(genp(["sync": true])),
            .copy(genp(["sync": true, "tomb": true, "r_Data": true]), gives: .null)),
        Case(
            "I13", .add(stored(["sync": true])), .note("mdat", of: genp(["sync": true])), .delete(genp(["sync": true])),
            .copy(genp(["sync": true, "tomb": true, "r_Attributes": true]), gives: .rising("mdat"))),
        Case(
            "I14", .add(of("cert", ["v_Data": Samples.certificate, "sync": true])),
            .delete(of("cert", ["v_Data": Samples.certificate, "sync": true]))),
    ]

    // MARK: J. Access groups

    static let groups: [Case] = [
        Case(
            "J01", .become([]), .add(stored(), -34018), .delete(genp(), -34018),
            .update(genp(), ["labl": "l"], -34018)),
        Case("J02", .become([]), .copy(genp(), -34018)),
        Case(
            "J06", .copy(genp(["agrp": "Z"]), -34018), .update(genp(["agrp": "Z"]), ["labl": "l"], -34018),
            .delete(genp(["agrp": "Z"]), -34018)),
        Case(
            "J08", .add(stored(["agrp": "A"])), .add(stored(["agrp": "B"])),
            .copy(of("genp", ["m_Limit": "m_LimitAll", "r_Attributes": true]), gives: .array(2))),
        Case("J10", .add(stored(["agrp": "A"])), .add(stored(["agrp": "B"])), .delete(genp()), .copy(genp(), -25300)),
        Case(
            "J11", .add(stored(["agrp": "B"])), .become(["A"]), .copy(genp(["agrp": "B"]), -34018),
            .copy(genp(), -25300)),
        Case("J15", .become(["A"]), .add(stored(["agrp": "A.*"]), -34018)),
        Case("J16", .become(["A"]), .add(stored(["agrp": 5]), -50)),
        Case("J17", .become(["A"]), .add(["acct": "a", "agrp": "Z"], -50)),
    ]
}
