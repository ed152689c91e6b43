// SPDX-License-Identifier: Apache-2.0
public import Foundation
public import KeychainServices

/// A row of the table of Apple's behaviour: a sequence of calls and the expected result of each.
public struct Case: CustomStringConvertible, Sendable {
    public let id: String
    nonisolated(unsafe) let steps: [Step]

    public init(_ id: String, _ steps: Step...) { self.init(id, steps) }

    init(_ id: String, _ steps: [Step]) {
        self.id = id
        self.steps = steps
    }

    public var description: String { id }
}

public enum Step {
    case add([String: Any], OSStatus = errSecSuccess, gives: Shape = .anything)
    case copy([String: Any], OSStatus = errSecSuccess, gives: Shape = .anything)
    /// A copy without a variable for the result.
    case look([String: Any], OSStatus = errSecSuccess)
    case update([String: Any], [String: Any], OSStatus = errSecSuccess)
    case delete([String: Any], OSStatus = errSecSuccess)
    /// Two queries that must find the same items.
    case same([String: Any], [String: Any])
    /// Keeps the persistent reference of the item that the query finds, for `Reference(name)` in later steps.
    case remember(String, [String: Any])
    /// Keeps an attribute of the item, for `.rising`.
    case note(String, of: [String: Any])
    /// Adds as a caller with these access groups.
    case addAs([String], [String: Any])
    /// Gives the caller these access groups from now on.
    case become([String])
    case lock, unlock
    /// Removes the passphrase slot of the vault and adds a key file.
    case withoutPassphrase
    case damage(Spoiling)
}

/// The damage done to a vault's file outside the library.
public enum Spoiling: Sendable { case file, header, marks, record, values, swappedValues }

/// A placeholder in a query for a remembered persistent reference.
struct Reference { let name: String, classPrefix: String? = nil }

public enum Shape {
    case anything
    /// The caller's variable is unchanged.
    case untouched
    case null
    case data(Data)
    case reference(String)
    /// A dictionary that contains these values and lacks these keys.
    case dictionary([String: Any], lacking: [String] = [])
    case array(Int)
    /// An array of one such dictionary.
    case arrayOf([String: Any])
    /// A dictionary in which the attribute is later than the noted value.
    case rising(String)
}

/// The vault that a case runs against, empty in the beginning, and the caller's identity.
public protocol CaseWorld {
    /// Gives the caller these access groups.
    func become(_ groups: [String]) throws
    func lock() throws
    func unlock() throws
    func losePassphrase() throws
    func damage(_ what: Spoiling) throws
}

/// Runs the steps of a case as a caller with the access groups A and B.
public struct CaseRunner {
    private let world: any CaseWorld
    private var references: [String: Data] = [:]
    private var noted: [String: Date] = [:]
    private var current = CaseRunner.groups
    private var failures: [String] = []

    public static let groups = ["A", "B"]

    public init(_ world: any CaseWorld) throws {
        self.world = world
        try world.become(Self.groups)
    }

    private struct Stop: Error {}

    /// - Returns: The deviations from the case; empty if there are none.
    public mutating func run(_ row: Case) throws -> [String] {
        for (number, step) in row.steps.enumerated() {
            do { try run(step, "step \(number + 1)") } catch is Stop { break }
        }
        return failures
    }

    private mutating func run(_ step: Step, _ label: String) throws {
        let untouched = NSObject()
        var result: CFTypeRef? = untouched
        switch step {
        case .add(let item, let status, let shape):
            try expect(SecItemAdd(resolve(item), &result), status, label)
            check(result, status == errSecSuccess ? shape : .untouched, untouched, label)
        case .copy(let query, let status, let shape):
            try expect(SecItemCopyMatching(resolve(query), &result), status, label)
            check(result, status == errSecSuccess ? shape : .untouched, untouched, label)
        case .look(let query, let status): try expect(SecItemCopyMatching(resolve(query), nil), status, label)
        case .update(let query, let changes, let status):
            try expect(SecItemUpdate(resolve(query), resolve(changes)), status, label)
        case .delete(let query, let status): try expect(SecItemDelete(resolve(query)), status, label)
        case .same(let one, let other):
            var second: CFTypeRef?
            try expect(SecItemCopyMatching(resolve(one), &result), errSecSuccess, label)
            try expect(SecItemCopyMatching(resolve(other), &second), errSecSuccess, label)
            check((result as? NSDictionary)?.isEqual(second) == true, label)
        case .remember(let name, var query):
            query["r_PersistentRef"] = true
            try expect(SecItemCopyMatching(resolve(query), &result), errSecSuccess, label)
            references[name] = result as? Data
            check(references[name] != nil, label)
        case .note(let attribute, var query):
            query["r_Attributes"] = true
            try expect(SecItemCopyMatching(resolve(query), &result), errSecSuccess, label)
            noted[attribute] = (result as? [String: Any])?[attribute] as? Date
            check(noted[attribute] != nil, label)
        case .addAs(let groups, let item):
            try world.become(groups)
            try expect(SecItemAdd(resolve(item), nil), errSecSuccess, label)
            try world.become(current)
        case .become(let groups):
            current = groups
            try world.become(groups)
        case .lock: try world.lock()
        case .unlock: try world.unlock()
        case .withoutPassphrase: try world.losePassphrase()
        case .damage(let what): try world.damage(what)
        }
    }

    private mutating func expect(_ status: OSStatus, _ expected: OSStatus, _ label: String) throws {
        guard status != expected else { return }
        failures.append("\(label): \(status) instead of \(expected)")
        throw Stop()
    }

    private mutating func check(
        _ condition: Bool, _ label: String, _ what: @autoclosure () -> String = "another result"
    ) {
        if !condition { failures.append("\(label): \(what())") }
    }

    private func resolve(_ dictionary: [String: Any]) -> CFDictionary {
        dictionary.mapValues { value in
            guard let reference = value as? Reference else { return value }
            return references[reference.name] ?? Data()
        } as CFDictionary
    }

    private mutating func check(_ result: CFTypeRef?, _ shape: Shape, _ untouched: NSObject, _ label: String) {
        switch shape {
        case .anything: break
        case .untouched: check(result === untouched, label)
        case .null: check(result == nil, label)
        case .data(let data): check(result as? Data == data, label)
        case .reference(let name): check(result as? Data == references[name], label)
        case .array(let count): check((result as? [Any])?.count == count, label)
        case .dictionary(let values, let lacking): check(result as? [String: Any], values, lacking, label)
        case .arrayOf(let values):
            let found = result as? [[String: Any]]
            check(found?.count == 1, label)
            check(found?.first, values, [], label)
        case .rising(let attribute):
            let date = (result as? [String: Any])?[attribute] as? Date
            check(date.map { $0 > noted[attribute] ?? .distantFuture } == true, label)
        }
    }

    private mutating func check(_ found: [String: Any]?, _ values: [String: Any], _ lacking: [String], _ label: String)
    {
        for (key, value) in values {
            let expected = (value as? Reference).flatMap { references[$0.name] } ?? value
            let isEqual = found?[key].map { ($0 as AnyObject as? NSObject)?.isEqual(expected) == true } == true
            check(isEqual, label, "\(key): \(String(describing: found?[key]))")
        }
        for key in lacking { check(found?[key] == nil, label, "\(key) is there") }
        check(found != nil, label)
    }
}
