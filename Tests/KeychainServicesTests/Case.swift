// SPDX-License-Identifier: Apache-2.0
import Foundation
import KeychainServices
import TestSupport
import Testing
import Vault

/// Tests that bind a vault to the process, which one at a time can do.
@Suite(.serialized) struct SecItemTests {}

/// A row of the table of Apple's behaviour: calls in their order, and what each gives.
struct Case: CustomTestStringConvertible, Sendable {
    let id: String
    nonisolated(unsafe) let steps: [Step]

    init(_ id: String, _ steps: Step...) {
        self.id = id
        self.steps = steps
    }

    var testDescription: String { id }
}

enum Step {
    case add([String: Any], OSStatus = errSecSuccess, gives: Shape = .anything)
    case copy([String: Any], OSStatus = errSecSuccess, gives: Shape = .anything)
    case update([String: Any], [String: Any], OSStatus = errSecSuccess)
    case delete([String: Any], OSStatus = errSecSuccess)
    /// Keeps the persistent reference of the item that the query finds, for `Reference(name)` in later steps.
    case remember(String, [String: Any])
    /// Keeps an attribute of the item, for `.rising`.
    case note(String, of: [String: Any])
    /// Adds as somebody who belongs to these groups.
    case addAs(AccessGroups, [String: Any])
    /// Belongs to these groups from now on.
    case become(AccessGroups)
}

/// Stands in a query for a reference that was remembered.
struct Reference { let name: String, classPrefix: String? = nil }

enum Shape {
    case anything
    /// The caller's variable is as it was.
    case untouched
    case null
    case data(Data)
    case reference(String)
    /// A dictionary with these values among others, and without these keys.
    case dictionary([String: Any], lacking: [String] = [])
    case array(Int)
    /// An array of one such dictionary.
    case arrayOf([String: Any])
    /// A dictionary in which the attribute is later than the one that was noted.
    case rising(String)
}

/// Runs the steps of a case against an empty vault, as somebody who belongs to the groups A and B.
struct CaseRunner {
    private let vault: Vault
    private var references: [String: Data] = [:]
    private var noted: [String: Date] = [:]

    static let groups: AccessGroups = ["A", "B"]

    init() throws {
        vault = try Vault.inMemory(accessGroups: Self.groups)
        Vault.setDefault(vault)
    }

    mutating func run(_ steps: [Step]) throws {
        for (number, step) in steps.enumerated() {
            let place: Comment = "step \(number + 1)"
            let untouched = NSObject()
            var result: CFTypeRef? = untouched
            switch step {
            case .add(let item, let status, let shape):
                try #require(SecItemAdd(resolve(item), &result) == status, place)
                check(result, status == errSecSuccess ? shape : .untouched, untouched, place)
            case .copy(let query, let status, let shape):
                try #require(SecItemCopyMatching(resolve(query), &result) == status, place)
                check(result, status == errSecSuccess ? shape : .untouched, untouched, place)
            case .update(let query, let changes, let status): try #require(SecItemUpdate(resolve(query), resolve(changes)) == status, place)
            case .delete(let query, let status): try #require(SecItemDelete(resolve(query)) == status, place)
            case .remember(let name, var query):
                query["r_PersistentRef"] = true
                try #require(SecItemCopyMatching(resolve(query), &result) == errSecSuccess, place)
                references[name] = try #require(result as? Data)
            case .note(let attribute, var query):
                query["r_Attributes"] = true
                try #require(SecItemCopyMatching(resolve(query), &result) == errSecSuccess, place)
                noted[attribute] = try #require((result as? [String: Any])?[attribute] as? Date)
            case .addAs(let groups, let item):
                Vault.setDefault(vault, accessGroups: groups)
                try #require(SecItemAdd(resolve(item), nil) == errSecSuccess, place)
                Vault.setDefault(vault)
            case .become(let groups): Vault.setDefault(vault, accessGroups: groups)
            }
        }
    }

    private func resolve(_ dictionary: [String: Any]) -> CFDictionary {
        dictionary.mapValues { value in
            guard let reference = value as? Reference else { return value }
            return references[reference.name] ?? Data()
        } as CFDictionary
    }

    private func check(_ result: CFTypeRef?, _ shape: Shape, _ untouched: NSObject, _ place: Comment) {
        switch shape {
        case .anything: break
        case .untouched: #expect(result === untouched, place)
        case .null: #expect(result == nil, place)
        case .data(let data): #expect(result as? Data == data, place)
        case .reference(let name): #expect(result as? Data == references[name], place)
        case .array(let count): #expect((result as? [Any])?.count == count, place)
        case .dictionary(let values, let lacking): check(result as? [String: Any], values, lacking, place)
        case .arrayOf(let values):
            let found = result as? [[String: Any]]
            #expect(found?.count == 1, place)
            check(found?.first, values, [], place)
        case .rising(let attribute):
            let date = (result as? [String: Any])?[attribute] as? Date
            #expect(date.map { $0 > noted[attribute] ?? .distantFuture } == true, place)
        }
    }

    private func check(_ found: [String: Any]?, _ values: [String: Any], _ lacking: [String], _ place: Comment) {
        for (key, value) in values {
            let expected = (value as? Reference).flatMap { references[$0.name] } ?? value
            #expect(
                found?[key].map { ($0 as AnyObject as? NSObject)?.isEqual(expected) == true } == true,
                "\(place), \(key): \(String(describing: found?[key]))")
        }
        for key in lacking { #expect(found?[key] == nil, "\(place), \(key)") }
        #expect(found != nil, place)
    }
}
