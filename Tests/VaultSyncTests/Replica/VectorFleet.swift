// SPDX-License-Identifier: Apache-2.0
import Foundation
import TestSupport
import Testing
import VaultCrypto
import VaultFormat

@testable import VaultSync

/// The vectors of replication, from an executable model: merges, and fleets with a reader's expected results.
struct ReachVectors: Decodable, Sendable {
    struct Value: Decodable, Sendable {
        let log: String
        let stamp: UInt64
        var erased: Bool?
        var value: Content?
    }

    /// The value of a field in the model.
    enum Content: Decodable, Hashable, Sendable {
        case text(String)
        case life(Bool)
        case key([String])

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let life = try? container.decode(Bool.self) {
                self = .life(life)
            } else if let key = try? container.decode([String].self) {
                self = .key(key)
            } else {
                self = .text(try container.decode(String.self))
            }
        }
    }

    struct State: Decodable, Sendable {
        let item: String
        let context: [String: UInt64]
        let fields: [String: [Value]]
    }

    struct Expected: Decodable, Sendable {
        let item: String
        let context: [String: UInt64]
        let fields: [String: [Value]]
        let alive: Bool
        let shadowed: Bool
        let winners: [String: Content?]
        let conflicts: [String: [Content]]
    }

    struct Merge: Decodable, Sendable, CustomTestStringConvertible {
        let name: String
        let states: [State]
        let orders: [[Int]]
        let expected: [Expected]
        let sum: String
        var testDescription: String { name }
    }

    struct Pair: Decodable, Sendable {
        let log: String
        let number: UInt64

        init(from decoder: any Decoder) throws {
            var container = try decoder.unkeyedContainer()
            log = try container.decode(String.self)
            number = try container.decode(UInt64.self)
        }
    }

    struct RosterOperation: Decodable, Sendable {
        var enrol: String?
        var epoch: UInt32?
        var remove: String?
        var cuts: [Pair]?
    }

    struct RosterRecord: Decodable, Sendable {
        let seq: UInt64
        let by: String
        let ops: [RosterOperation]
    }

    struct Entry: Decodable, Sendable {
        let log: String
        let seq: UInt64
        let device: String
        let hlc: UInt64
        let ack: UInt64
        let rosterSeq: UInt64
        let at: String
        let sum: String
        let tips: [Pair]
        let trims: [Pair]
        let closes: [Pair]
        let items: [State]
    }

    struct Fleet: Decodable, Sendable, CustomTestStringConvertible {
        let name: String
        let roster: [RosterRecord]
        let entries: [Entry]
        let arrivals: [[[Int]]]
        let heads: [Pair]
        let ended: [Pair]
        let bases: [Pair]
        let expected: [Expected]
        let at: String
        let sum: String
        var testDescription: String { name }
    }

    let merge: [Merge]
    let fleets: [Fleet]

    static let all: ReachVectors = {
        let data = FileManager.default.contents(atPath: Vectors.directory + "/reach-vectors.json") ?? Data()
        do { return try JSONDecoder().decode(ReachVectors.self, from: data) } catch {
            preconditionFailure("reach-vectors.json: \(error)")
        }
    }()
}

/// The identifiers of a vector as item identifiers of a vault, in the same order.
struct VectorIDs {
    private var ids: [String: ItemID] = [:]
    private var names: [ItemID: String] = [:]

    init(_ names: some Sequence<String>) {
        for (index, name) in Set(names).sorted().enumerated() {
            var bytes = [UInt8](repeating: 0, count: 16)
            (bytes[0], bytes[1]) = (UInt8(index >> 8), UInt8(index & 0xff))
            let id = ItemID(random: bytes)
            (ids[name], self.names[id]) = (id, name)
        }
    }

    subscript(name: String) -> ItemID { ids[name] ?? ItemID(high: 0, low: 0) }
    subscript(id: ItemID) -> String? { names[id] }
}

func bytes16(_ hex: String) -> Bytes16 { Bytes16(text: hex) ?? .zero }

extension FieldID {
    /// Parses the vectors' form: four hexadecimal digits, and a name after a colon.
    init(vector text: String) {
        let id = UInt16(text.prefix(4), radix: 16) ?? 0
        let name = String(text.dropFirst(5))
        switch id {
        case 0x4000: self = .userAttribute(name)
        case 0xF010: self = .primaryKey
        case 0xF011: self = .secret
        case 0xF012: self = .life
        default: self = .attribute(AttributeTag(rawValue: id))
        }
    }
}

extension ReachVectors.Content {
    func value(of field: FieldID) throws -> FieldValue<Secret> {
        switch self {
        case .life(let isAlive): return .plain([isAlive ? 1 : 0])
        case .key(let parts):
            let list: AttributeList = [
                Attribute.account.tag: .string(parts[1]), Attribute.service.tag: .string(parts[0]),
            ]
            return .plain(EncodedAttributes(list, user: [:]).bytes)
        case .text(let text):
            if field == .secret { return .secret(Secret(try SecretBytes(copying: Array(text.utf8).span))) }
            return .plain((field.attribute == nil ? [] : [1]) + Array(text.utf8))
        }
    }

    /// Converts a replica's field back to the model's.
    init(_ field: FieldID, _ value: FieldValue<Secret>) {
        switch value {
        case .secret(let secret): self = .text(secret.withBytes { String(decoding: $0.array, as: UTF8.self) })
        case .plain(let bytes) where field == .life: self = .life(bytes == [1])
        case .plain(let bytes) where field == .primaryKey:
            let parsed = try? EncodedAttributes(parsing: bytes, bytes.indices)
            func text(_ attribute: Attribute) -> String {
                if case .string(let text)? = parsed?[attribute.tag] { text } else { "" }
            }
            self = .key([text(.service), text(.account)])
        case .plain(let bytes):
            self = .text(String(decoding: field.attribute == nil ? bytes[...] : bytes.dropFirst(), as: UTF8.self))
        default: self = .text("")
        }
    }
}

extension Span<UInt8> {
    var array: [UInt8] { indices.map { self[$0] } }
}

extension ReachVectors.State {
    /// - Parameter withProtection: Whether to add the protection class, absent from the model, along with the primary
    ///   key.
    func state(_ ids: VectorIDs, withProtection: Bool) throws -> ItemState<Secret> {
        var state = ItemState<Secret>(id: ids[item], itemClass: .genericPassword)
        for (log, stamp) in context { state.context[bytes16(log)] = stamp }
        for (name, values) in fields {
            let field = FieldID(vector: name)
            for value in values {
                let dot = Dot(log: bytes16(value.log), stamp: value.stamp)
                let content: FieldValue<Secret> =
                    value.erased == true ? .erased : try value.value?.value(of: field) ?? .none
                state.fields[field, default: [:]][dot] = content
                if withProtection, field == .primaryKey {
                    state.fields[.protection, default: [:]][dot] = value.erased == true ? .erased : .plain([1])
                }
            }
        }
        return state
    }
}
