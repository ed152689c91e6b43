// SPDX-License-Identifier: Apache-2.0
import Foundation
import TestSupport
import Testing
import Vault

/// Objects of any type, as untyped code passes them.
struct AnyValueTests {
    @Test func `objects of Swift's types and of Foundation's classes become the values that they are`() throws {
        let date = Date(timeIntervalSinceReferenceDate: 5.25)
        let mixed: [String: Any] = [
            "text": "é", "int": 1, "small": Int8(-1), "big": UInt64.max, "real": 1.0, "bool": true, "date": date,
            "data": Data([1]), "list": [1, "x", [false]] as [Any], "none": Int?.none as Any,
            "some": Int?.some(3) as Any,
            "url": try #require(URL(string: "https://example.com/")), "value": SecretValue.unsigned(.max),
        ]
        let value = try SecretValue(any: mixed)
        let list: SecretValue = [1, "x", [false]]
        #expect(
            value == [
                "text": "é", "int": 1, "small": -1, "big": .unsigned(.max), "real": .real(1), "bool": true,
                "date": .date(date), "data": .data(Data([1])), "list": list, "none": nil, "some": 3,
                "url": "https://example.com/", "value": .unsigned(.max),
            ])
        let foundation = NSDictionary(dictionary: [
            "text": NSString("é"), "int": NSNumber(value: 1), "big": NSNumber(value: UInt64.max),
            "real": NSNumber(value: 1.0), "third": NSNumber(value: 1.0 / 3), "bool": NSNumber(value: true),
            "date": NSDate(timeIntervalSinceReferenceDate: 5.25), "data": NSData(data: Data([1])),
            "list": NSArray(array: [1, "x", NSArray(array: [false])]), "none": NSNull(),
        ])
        #expect(
            try SecretValue(any: foundation) == [
                "text": "é", "int": 1, "big": .unsigned(.max), "real": .real(1), "third": .real(1.0 / 3), "bool": true,
                "date": .date(date), "data": .data(Data([1])), "list": list, "none": nil,
            ])
    }

    @Test func `what JSON and property lists of Foundation are read as is taken, kind by kind`() throws {
        let json = Data(#"{"a": [true, 1, 1.5, null, "x"], "b": {}}"#.utf8)
        #expect(
            try SecretValue(any: JSONSerialization.jsonObject(with: json)) == [
                "a": [true, 1, 1.5, nil, "x"], "b": [:],
            ])
        let list: SecretValue = ["a": [true, 1, 1.5, "x"], "d": .data(Data([7]))]
        let read = try PropertyListSerialization.propertyList(from: try list.propertyList(.xml), format: nil)
        #expect(try SecretValue(any: read) == list)
    }

    @Test func `any other object is named by its path, and one that is too deep is refused`() throws {
        struct Own {}
        let refused: [(Any, String)] = [
            (["a": [1, Own()] as [Any]], "a[1]"), ([1: "x"], ""), (["k": NSObject()], "k"),
        ]
        for (object, path) in refused {
            #expect(throws: ValueFormatError.unrepresentable(path: path)) { try SecretValue(any: object) }
        }
        var endless: [Any] = []
        for _ in 0...SecretValue.deepest { endless = [endless] }
        #expect(throws: ValueFormatError.tooDeep) { try SecretValue(any: endless) }
        let defaults = SecureDefaults(suite: "app", in: try Vault.inMemory())
        #expect(throws: VaultError.valueMismatch(path: "k")) { try defaults.set(any: ["k": Own()], forKey: "x") }
        #expect(try defaults.object(forKey: "x") == nil)
    }

    @Test func `a value goes out as Swift's types, and back as it was`() throws {
        let value: SecretValue = [
            "a": [1, 2.5, true, nil, "x"], "b": .data(Data([1])), "c": .date(Date(timeIntervalSinceReferenceDate: 5)),
            "d": .unsigned(.max), "e": [:],
        ]
        #expect(try SecretValue(any: try #require(value.any)) == value)
        #expect(SecretValue.null.any == nil && SecretValue.integer(1).any is Int && SecretValue.bool(true).any is Bool)
        let defaults = SecureDefaults(suite: "app", in: try Vault.inMemory())
        try defaults.set(any: ["servers": [["port": 80]]], forKey: "x")
        let object = try #require(try defaults.object(forKey: "x") as? [String: Any])
        #expect((object["servers"] as? [[String: Any]])?.first?["port"] as? Int == 80)
        #expect(try defaults.value(forKey: "x")?["servers"][0]["port"].int == 80)
    }
}
