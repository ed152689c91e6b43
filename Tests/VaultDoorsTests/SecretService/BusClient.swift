// SPDX-License-Identifier: Apache-2.0
import Foundation
import Synchronization
import SystemPackage
import TestSupport
import Testing
import Vault
import VaultAgent
import VaultAgentServer
import VaultBus
import VaultCrypto

@testable import VaultSecretService

/// A program on the bus.
final class BusClient {
    let connection: BusConnection
    static let service = "org.freedesktop.Secret."
    static let root = "/org/freedesktop/secrets"
    static let login = root + "/collection/login"

    init(_ address: String) throws { connection = try BusConnection(address, patience: Patience.duration) }

    @discardableResult
    func call(
        _ interface: String, _ method: String, at path: String = root,
        _ write: (BusMessage) throws(BusError) -> Void = { _ throws(BusError) in }
    ) throws(BusError) -> BusMessage {
        let prefix = interface.contains(".") ? "org.freedesktop." : Self.service
        return try connection.call(
            BusMember(interface: prefix + interface, name: method), at: path, of: "org.freedesktop.secrets", write)
    }

    /// Returns the short name of the error that a call ends with; empty if none.
    func refusal(_ body: () throws(BusError) -> Void) -> String {
        do throws(BusError) { try body() } catch {
            guard case .refused(let name) = error else { return "\(error)" }
            return name.replacingOccurrences(of: "org.freedesktop.", with: "")
        }
        return ""
    }

    func plainSession() throws(BusError) -> String {
        let answer = try call("Service", "OpenSession") { message throws(BusError) in
            try message.append("plain")
            try message.append(variantOf: "")
        }
        try answer.skip("v")
        return try answer.path()
    }

    @discardableResult
    func create(
        _ attributes: [String: String], _ secret: String = "s3cret", label: String = "", replace: Bool = false,
        in collection: String = login, session: String? = nil, contentType: String = "text/plain",
        parameters: [UInt8] = []
    ) throws(BusError) -> String {
        let session = if let session { session } else { try plainSession() }
        return try create(
            attributes, Array(secret.utf8), label: label, replace: replace, in: collection,
            session: session, contentType: contentType, parameters: parameters)
    }

    func create(
        _ attributes: [String: String], _ secret: [UInt8], label: String, replace: Bool = false,
        in collection: String = login, session: String, contentType: String, parameters: [UInt8]
    ) throws(BusError) -> String {
        let answer = try call("Collection", "CreateItem", at: collection) { message throws(BusError) in
            try message.append([
                ("org.freedesktop.Secret.Item.Label", .text(label)),
                ("org.freedesktop.Secret.Item.Attributes", .texts(attributes)),
            ])
            try Self.append(secret, session, contentType, parameters, to: message)
            try message.append(replace)
        }
        let path = try answer.path()
        guard try answer.path() == "/" else { throw .malformed }
        return path
    }

    static func append(
        _ bytes: [UInt8], _ session: String, _ contentType: String, _ parameters: [UInt8] = [], to message: BusMessage
    ) throws(BusError) {
        try message.appendStructure(of: "oayays") { () throws(BusError) in
            try message.append(path: session)
            try message.append(bytes: parameters.span)
            try message.append(bytes: bytes.span)
            try message.append(contentType)
        }
    }

    func search(_ attributes: [String: String]) throws(BusError) -> (unlocked: [String], locked: [String]) {
        let answer = try call("Service", "SearchItems") { message throws(BusError) in
            try message.append(.texts(attributes))
        }
        return (try answer.paths(limit: 10_000) ?? [], try answer.paths(limit: 10_000) ?? [])
    }

    func search(_ attributes: [String: String], in collection: String) throws(BusError) -> [String] {
        try call("Collection", "SearchItems", at: collection) { message throws(BusError) in
            try message.append(.texts(attributes))
        }.paths(limit: 10_000) ?? []
    }

    func secret(_ path: String, session: String? = nil) throws(BusError) -> (text: String, contentType: String) {
        let session = if let session { session } else { try plainSession() }
        let answer = try call("Item", "GetSecret", at: path) { message throws(BusError) in
            try message.append(path: session)
        }
        var (text, contentType) = ("", "")
        try answer.structure(of: "oayays") { () throws(BusError) in
            guard try answer.path() == session else { throw .malformed }
            _ = try answer.bytes(limit: 16)
            text = try self.text(answer)
            contentType = try answer.text()
        }
        return (text, contentType)
    }

    private func text(_ message: BusMessage) throws(BusError) -> String {
        String(decoding: try message.bytes(limit: 1 << 20) ?? [], as: UTF8.self)
    }

    func secrets(_ paths: [String]) throws(BusError) -> [String: String] {
        let session = try plainSession()
        let answer = try call("Service", "GetSecrets") { message throws(BusError) in
            try message.append(paths: paths)
            try message.append(path: session)
        }
        var secrets: [String: String] = [:]
        try answer.dictionary(of: "o(oayays)") { () throws(BusError) in
            let path = try answer.path()
            try answer.structure(of: "oayays") { () throws(BusError) in
                _ = try answer.path()
                _ = try answer.bytes(limit: 16)
                secrets[path] = try text(answer)
                _ = try answer.text()
            }
        }
        return secrets
    }

    func unlock(_ paths: [String]) throws(BusError) -> (unlocked: [String], prompt: String) {
        let answer = try call("Service", "Unlock") { message throws(BusError) in try message.append(paths: paths) }
        return (try answer.paths(limit: 1000) ?? [], try answer.path())
    }

    func lock() throws(BusError) {
        try call("Service", "Lock") { message throws(BusError) in try message.append(paths: [Self.login]) }
    }

    func alias(_ name: String) throws(BusError) -> String {
        try call("Service", "ReadAlias") { message throws(BusError) in try message.append(name) }.path()
    }

    func delete(_ path: String, _ kind: String = "Item") throws(BusError) {
        guard try call(kind, "Delete", at: path).path() == "/" else { throw .malformed }
    }

    // MARK: Properties

    func property(_ kind: String, _ name: String, at path: String) throws(BusError) -> BusMessage {
        try call("DBus.Properties", "Get", at: path) { message throws(BusError) in
            try message.append(Self.service + kind)
            try message.append(name)
        }
    }

    func text(_ kind: String, _ name: String, at path: String) throws(BusError) -> String {
        let answer = try property(kind, name, at: path)
        var text = ""
        try answer.variant(of: "s") { () throws(BusError) in text = try answer.text() }
        return text
    }

    func flag(_ kind: String, _ name: String, at path: String) throws(BusError) -> Bool {
        let answer = try property(kind, name, at: path)
        var flag = false
        try answer.variant(of: "b") { () throws(BusError) in flag = try answer.flag() }
        return flag
    }

    func paths(_ kind: String, _ name: String, at path: String = root) throws(BusError) -> [String] {
        let answer = try property(kind, name, at: path)
        var paths: [String] = []
        try answer.variant(of: "ao") { () throws(BusError) in paths = try answer.paths(limit: 10_000) ?? [] }
        return paths
    }

    func attributes(of path: String) throws(BusError) -> [String: String] {
        let answer = try property("Item", "Attributes", at: path)
        var attributes: [String: String] = [:]
        try answer.variant(of: "a{ss}") { () throws(BusError) in
            try answer.dictionary(of: "ss") { () throws(BusError) in
                let name = try answer.text()
                attributes[name] = try answer.text()
            }
        }
        return attributes
    }

    func set(_ kind: String, _ name: String, _ value: BusValue, at path: String) throws(BusError) {
        try call("DBus.Properties", "Set", at: path) { message throws(BusError) in
            try message.append(Self.service + kind)
            try message.append(name)
            try message.append(variantOf: value)
        }
    }

    // MARK: Signals

    /// Subscribes to a signal that ``heard(_:_:)`` waits for.
    func listen(to interface: String, _ name: String) throws(BusError) {
        try connection.match("type='signal',interface='org.freedesktop.\(interface)',member='\(name)'")
    }

    /// Waits for a signal about an object.
    func heard(_ interface: String, _ name: String, at path: String) throws(BusError) -> BusMessage? {
        try connection.signal(until: Patience.end) { message throws(BusError) in
            message.interface == "org.freedesktop." + interface && message.member == name && message.objectPath == path
        }
    }

    /// Waits until a name has an owner, or has none.
    func awaitName(_ name: String, hasOwner: Bool) throws {
        try connection.match(
            "type='signal',sender='org.freedesktop.DBus',member='NameOwnerChanged',arg0='\(name)'")
        guard try (BusNames(on: connection).owner(of: name) != nil) != hasOwner else { return }
        _ = try connection.signal(until: Patience.end) { message throws(BusError) in
            message.member == "NameOwnerChanged"
        }
        #expect(try (BusNames(on: connection).owner(of: name) != nil) == hasOwner)
    }

    /// Shows a prompt and waits for its end.
    func complete(_ prompt: String) throws(BusError) -> (isDismissed: Bool, paths: [String]) {
        try listen(to: "Secret.Prompt", "Completed")
        try call("Prompt", "Prompt", at: prompt) { message throws(BusError) in try message.append("") }
        guard let signal = try heard("Secret.Prompt", "Completed", at: prompt) else { throw .timedOut }
        let isDismissed = try signal.flag()
        var paths: [String] = []
        try signal.variant(of: "ao") { () throws(BusError) in paths = try signal.paths(limit: 1000) ?? [] }
        return (isDismissed, paths)
    }
}

extension BusClient {
    /// Sends a call without waiting for the answer.
    func send(
        _ interface: String, _ method: String, at path: String = root,
        _ write: (BusMessage) throws(BusError) -> Void
    ) throws(BusError) {
        let member = BusMember(interface: Self.service + interface, name: method)
        let call = try connection.newCall(member, at: path, of: "org.freedesktop.secrets")
        try write(call)
        try connection.send(call)
    }

    /// Returns the types of the next answers.
    func answers(_ count: Int) throws(BusError) -> [String] {
        var signatures: [String] = []
        _ = try connection.signal(until: Patience.end) { message throws(BusError) in
            if message.member.isEmpty { signatures.append(message.signature) }
            return signatures.count == count
        }
        return signatures
    }

    /// Returns the service's signals received so far.
    func signals() throws(BusError) -> [String] {
        // Earlier messages arrive before the answer to this call.
        try call("DBus.Introspectable", "Introspect")
        var names: [String] = []
        while true {
            switch try connection.next() {
            case .message(let message):
                if message.interface?.hasPrefix("org.freedesktop.DBus") != true || message.member == "PropertiesChanged"
                {
                    names.append(message.member)
                }
            case .progress: continue
            case .nothing: return names
            }
        }
    }

    /// Whether the message announces a lock; `nil` for any other message.
    func tellsOfLock(_ message: BusMessage) throws(BusError) -> Bool? {
        guard message.member == "PropertiesChanged", message.objectPath == BusClient.login else { return nil }
        var isLocked: Bool?
        _ = try message.text()
        try message.dictionary(of: "sv") { () throws(BusError) in
            guard try message.text() == "Locked" else { return try message.skip("v") }
            try message.variant(of: "b") { () throws(BusError) in isLocked = try message.flag() }
        }
        return isLocked
    }

    func listenToAll() throws(BusError) {
        try connection.match("type='signal',sender='org.freedesktop.secrets'")
    }
}
