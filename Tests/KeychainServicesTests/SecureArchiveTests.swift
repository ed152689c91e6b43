// SPDX-License-Identifier: Apache-2.0
import Foundation
import KeychainServices
import TestSupport
import Testing
import Vault

/// A class at the top level; an archiver refuses nested classes.
final class Person: NSObject, NSSecureCoding {
    static var supportsSecureCoding: Bool { true }
    let name: String
    let age: Int
    let height: Double
    let isTall: Bool
    let tags: [String]
    let friend: Person?
    let picture: Data

    init(_ name: String, friend: Person? = nil) {
        (self.name, self.friend) = (name, friend)
        (age, height, isTall, tags, picture) = (36, 1.75, true, ["漢字", "b"], Data([1, 0, 255]))
    }

    func encode(with coder: NSCoder) {
        coder.encode(name as NSString, forKey: "name")
        coder.encode(age, forKey: "age")
        coder.encode(height, forKey: "height")
        coder.encode(isTall, forKey: "isTall")
        coder.encode(tags as NSArray, forKey: "tags")
        coder.encode(friend, forKey: "friend")
        coder.encode(picture as NSData, forKey: "picture")
    }

    required init?(coder: NSCoder) {
        guard let name = coder.decodeObject(of: NSString.self, forKey: "name"),
            let tags = coder.decodeObject(of: [NSArray.self, NSString.self], forKey: "tags") as? [String],
            let picture = coder.decodeObject(of: NSData.self, forKey: "picture")
        else { return nil }
        (self.name, self.tags, self.picture) = (name.description, tags, Data(referencing: picture))
        age = coder.decodeInteger(forKey: "age")
        height = coder.decodeDouble(forKey: "height")
        isTall = coder.decodeBool(forKey: "isTall")
        friend = coder.decodeObject(of: Person.self, forKey: "friend")
    }
}

/// A class written without secure coding.
final class PlainPerson: NSObject, NSCoding {
    func encode(with coder: NSCoder) { coder.encode("Ada", forKey: "name") }
    override init() {}
    init?(coder: NSCoder) {}
}

/// A link in a chain of objects.
final class Link: NSObject, NSSecureCoding {
    static var supportsSecureCoding: Bool { true }
    var part: (any NSObject & NSCoding)?
    let isOnCondition: Bool

    init(_ part: (any NSObject & NSCoding)?, isOnCondition: Bool = false) {
        (self.part, self.isOnCondition) = (part, isOnCondition)
    }

    func encode(with coder: NSCoder) {
        if isOnCondition {
            coder.encodeConditionalObject(part, forKey: "part")
        } else {
            coder.encode(part, forKey: "part")
        }
    }

    init?(coder: NSCoder) {
        part = coder.decodeObject(of: Link.self, forKey: "part")
        isOnCondition = false
    }
}

/// Archives from untrusted sources: an object of an allowed class, or an error.
struct SecureArchiveTests {
    private static let foundation: [AnyClass] = [
        NSString.self, NSNumber.self, NSDictionary.self, NSDate.self, NSData.self, NSURL.self, NSSet.self, NSUUID.self,
        NSNull.self,
    ]

    private static var collection: NSArray { collection(with: NSUUID()) }

    private static func collection(with identifier: NSUUID) -> NSArray {
        NSArray(array: [
            NSString("x"), NSNumber(value: 5), NSNumber(value: 1.5), NSNumber(value: true), NSNull(), identifier,
            NSDate(timeIntervalSinceReferenceDate: 5), NSData(data: Data([1])), NSSet(array: ["s"]),
            NSURL(fileURLWithPath: "/tmp"), NSDictionary(dictionary: ["k": NSArray(array: ["v"])]),
        ])
    }

    @Test func `what is not on the list is an error, in collections too`() throws {
        let archive = try SecureArchive.archived(Self.collection)
        #expect(throws: SecureArchiveError.notAllowed("NSDictionary")) {
            try SecureArchive.unarchived(
                archive, of: NSArray.self, allowing: Self.foundation.filter { $0 != NSDictionary.self })
        }
        let person = try SecureArchive.archived(NSArray(array: [Person("a")]))
        #expect(throws: SecureArchiveError.self) { try SecureArchive.unarchived(person, of: NSArray.self) }
        #expect(throws: SecureArchiveError.self) {
            try SecureArchive.unarchived(person, of: Person.self, allowing: [NSArray.self])
        }
    }

    @Test func `an object that no archive can have is refused wherever it lies, and the object before stays`() throws {
        final class Inner: NSObject, NSSecureCoding {
            static var supportsSecureCoding: Bool { true }
            override init() {}
            func encode(with coder: NSCoder) {}
            init?(coder: NSCoder) {}
        }
        let vault = try Vault.inMemory()
        try Vault.withDefault(vault) {
            try SecureArchive.set(NSString("before"), service: "s")
            for parts in [
                [PlainPerson()], ["x", PlainPerson()], [NSDictionary(dictionary: ["k": PlainPerson()])],
                [Link(PlainPerson())], [Link(Link(PlainPerson()))], [Inner()], [Link(Inner())], [NSObject()],
                [NSSet(array: [PlainPerson()])],
            ] as [[Any]] {
                #expect(throws: SecureArchiveError.notEncodable) {
                    try SecureArchive.set(NSArray(array: parts), service: "s")
                }
            }
            #expect(try SecureArchive.object(of: NSString.self, service: "s") == "before")
        }
    }

    @Test func `a chain as long as it can be read is stored, and a longer one is refused`() throws {
        func chain(_ length: Int) -> Link { (1..<length).reduce(Link(nil)) { link, _ in Link(link) } }
        let whole = try SecureArchive.archived(chain(SecretValue.deepest))
        let back = try SecureArchive.unarchived(whole, of: Link.self)
        #expect(sequence(first: back) { $0.part as? Link }.reduce(0) { count, _ in count + 1 } == SecretValue.deepest)
        for length in [SecretValue.deepest + 1, 5000] {
            #expect(throws: SecureArchiveError.notEncodable) { try SecureArchive.archived(chain(length)) }
        }
        // Siblings and conditionally encoded objects add no depth.
        let many = NSArray(array: (0..<1000).map { Link(Link(nil, isOnCondition: true), isOnCondition: $0 % 2 == 0) })
        let archive = try SecureArchive.archived(many)
        let read = try SecureArchive.unarchived(archive, of: NSArray.self, allowing: [Link.self])
        #expect(read.count == 1000)
    }

    @Test func `an archive in XML, and an object under a key, are read; another class is named`() throws {
        let archiver = NSKeyedArchiver(requiringSecureCoding: true)
        archiver.outputFormat = .xml
        archiver.encode(Person("ada", friend: Person("bob")), forKey: "first")
        archiver.encode(NSString("x"), forKey: "second")
        let data = archiver.encodedData
        #expect(data.starts(with: Data("<?xml".utf8)))
        let ada = try SecureArchive.unarchived(data, of: Person.self, forKey: "first")
        #expect(ada.name == "ada" && ada.friend?.name == "bob" && ada.tags == ["漢字", "b"] && ada.height == 1.75)
        #expect(try SecureArchive.unarchived(data, of: NSString.self, forKey: "second") == "x")
        #expect(throws: SecureArchiveError.malformed) { try SecureArchive.unarchived(data, of: Person.self) }
        let list = try SecureArchive.archived(NSArray(array: ["x"]))
        #expect(throws: SecureArchiveError.notAllowed("NSArray")) {
            try SecureArchive.unarchived(list, of: NSString.self, allowing: [NSArray.self])
        }
        #expect(throws: SecureArchiveError.notAllowed("NSString")) {
            try SecureArchive.unarchived(data, of: Person.self, forKey: "second")
        }
    }

    @Test func `no archive, a cut one and every changed byte are an error or another object`() throws {
        for data in [Data(), Data("bplist00".utf8), Data("<plist/>".utf8), try SecretValue.array([1]).propertyList()] {
            #expect(throws: SecureArchiveError.malformed) { try SecureArchive.unarchived(data, of: NSString.self) }
        }
        let all = try SecureArchive.archived(
            NSArray(array: [Self.collection, Person("ada", friend: Person("bob"))]))
        let classes = Self.foundation + [Person.self]
        func unarchive(_ data: Data) {
            _ = try? SecureArchive.unarchived(data, of: NSArray.self, allowing: classes)
        }
        for length in stride(from: 0, to: all.count, by: 7) { unarchive(all.prefix(length)) }
        let random = SeededRandom("archives")
        for offset in all.indices {
            var changed = all
            changed[offset] = UInt8(random.uniform(256))
            unarchive(changed)
        }
    }

    @Test func `an object that contains itself, or refers to nothing, is an error`() throws {
        func archive(_ objects: [SecretValue]) throws -> Data {
            // The binary format encodes an identifier as 0x80 and a byte.
            var bytes = Array("bplist00".utf8)
            let list: SecretValue = [
                "$archiver": "NSKeyedArchiver", "$version": 100_000, "$top": ["root": "@1"],
                "$objects": .array(objects),
            ]
            bytes = Array(try list.propertyList())
            // Turns the texts "@1" … "@9" into identifiers, which are a byte shorter: the reader skips the third byte.
            for index in bytes.indices.dropLast(2) where bytes[index] == 0x52 && bytes[index + 1] == UInt8(ascii: "@") {
                bytes[index] = 0x80
                bytes[index + 1] = bytes[index + 2] - UInt8(ascii: "0")
            }
            return Data(bytes)
        }
        let arrayClass: SecretValue = ["$classname": "NSArray", "$classes": ["NSArray", "NSObject"]]
        let classes: [AnyClass] = [NSString.self]
        let whole = try archive(["$null", ["$class": "@2", "NS.objects": ["@3"]], arrayClass, "x"])
        #expect(try SecureArchive.unarchived(whole, of: NSArray.self, allowing: classes) == ["x"])
        for objects in [
            ["$null", ["$class": "@2", "NS.objects": ["@1"]], arrayClass],
            ["$null", ["$class": "@2", "NS.objects": ["@3"]], arrayClass, ["$class": "@2", "NS.objects": ["@1"]]],
            ["$null", ["$class": "@2", "NS.objects": ["@9"]], arrayClass],
            ["$null", ["$class": "@9", "NS.objects": []], arrayClass], ["$null", ["NS.objects": []], arrayClass],
            ["$null", ["$class": "@2"], arrayClass], ["$null", ["$class": "@2", "NS.objects": ["text"]], arrayClass],
            [
                "$null", ["$class": "@2", "NS.keys": ["@3"], "NS.objects": []],
                ["$classname": "NSDictionary", "$classes": ["NSDictionary"]], "k",
            ],
            ["$null", ["$class": "@2", "NS.uuidbytes": .data(Data([1]))], ["$classname": "NSUUID", "$classes": []]],
        ] as [[SecretValue]] {
            let data = try archive(objects)
            #expect(throws: SecureArchiveError.malformed) {
                try SecureArchive.unarchived(
                    data, of: NSArray.self, allowing: classes + [NSDictionary.self, NSUUID.self])
            }
        }
    }

    @Test func `objects come back as they were, shared ones once`() throws {
        let archive = try SecureArchive.archived(Self.collection)
        #expect(
            try SecureArchive.unarchived(archive, of: NSArray.self, allowing: Self.foundation).count
                == Self.collection.count)
        let bob = Person("bob")
        let both = NSArray(array: [Person("ada", friend: bob), bob])
        let back = try SecureArchive.unarchived(
            SecureArchive.archived(both), of: NSArray.self, allowing: [Person.self, NSString.self])
        let people = back.compactMap { $0 as? Person }
        #expect(people.map(\.name) == ["ada", "bob"] && people[0].friend === people[1])
        #expect(people[0].age == 36 && people[0].height == 1.75 && people[0].isTall && people[0].tags == ["漢字", "b"])
        #expect(people[0].picture == Data([1, 0, 255]) && people[1].friend == nil)
    }

    @Test func `equal objects with unequal hash values are archived, many times`() throws {
        // Foundation's archiver terminates the process when such objects meet in one chain of its table.
        for _ in 0..<40 {
            let nulls = (0..<100).map { _ in NSNull() }
            let texts = (0..<100).flatMap { [NSString(string: "é\($0)"), NSString(string: "e\u{301}\($0)")] }
            let all = NSArray(array: nulls + texts)
            let back = try SecureArchive.unarchived(
                SecureArchive.archived(all), of: NSArray.self, allowing: [NSNull.self, NSString.self])
            #expect(back.count == 300 && back[99] is NSNull && back[100] as? NSString == "é0")
            #expect(throws: SecureArchiveError.notEncodable) {
                try SecureArchive.archived(NSArray(array: (0..<50).map { _ in PlainPerson() }))
            }
        }
    }

    @Test func `Foundation reads what is archived here`() throws {
        let archive = try SecureArchive.archived(
            NSArray(array: [Self.collection, Person("ada", friend: Person("bob")), NSMutableString(string: "m")]))
        let unarchiver = try NSKeyedUnarchiver(forReadingFrom: archive)
        unarchiver.requiresSecureCoding = false
        let read = try #require(unarchiver.decodeObject(forKey: NSKeyedArchiveRootObjectKey) as? NSArray)
        #expect(read[0] as? NSArray == Self.collection(with: try #require((read[0] as? NSArray)?[5] as? NSUUID)))
        let ada = try #require(read[1] as? Person)
        #expect(ada.name == "ada" && ada.friend?.name == "bob" && ada.tags == ["漢字", "b"] && ada.picture.count == 3)
        #expect(ada.age == 36 && ada.height == 1.75 && ada.isTall && read[2] as? NSString == "m")
    }

    @Test func `an object that contains itself, and a decimal, are refused; numbers keep their type`() throws {
        for isOnCondition in [false, true] {
            let part = Link(nil, isOnCondition: isOnCondition)
            let whole = Link(part)
            part.part = whole
            defer { part.part = nil }
            #expect(throws: SecureArchiveError.notEncodable) { try SecureArchive.archived(whole) }
        }
        #expect(throws: SecureArchiveError.notEncodable) {
            try SecureArchive.archived(NSArray(array: [NSDecimalNumber(string: "0.1")]))
        }
        for number in [
            NSNumber(value: true), NSNumber(value: Int8(1)), NSNumber(value: Int64.min), NSNumber(value: UInt64.max),
            NSNumber(value: Float(0.5)), NSNumber(value: 1.0),
        ] {
            let back = try SecureArchive.unarchived(SecureArchive.archived(number), of: NSNumber.self)
            #expect(back == number && (back === NSNumber(value: true)) == (number === NSNumber(value: true)))
        }
    }

    @Test func `objects are stored and read in the vault of the task`() throws {
        let vault = try Vault.inMemory()
        try Vault.withDefault(vault) {
            #expect(try SecureArchive.object(of: Person.self, service: "people") == nil)
            try SecureArchive.set(Person("ada"), service: "people")
            try SecureArchive.set(Person("bob"), service: "people")
            #expect(try SecureArchive.object(of: Person.self, service: "people")?.name == "bob")
            #expect(throws: SecureArchiveError.self) { try SecureArchive.object(of: NSArray.self, service: "people") }
            #expect(try SecureArchive.remove(service: "people") && !SecureArchive.remove(service: "people"))
            try SecureArchive.set(Person("ada"), service: "people")
            try vault.lock()
            #expect(throws: SecureArchiveError.status(errSecInteractionNotAllowed)) {
                try SecureArchive.object(of: Person.self, service: "people")
            }
        }
    }
}
