// SPDX-License-Identifier: Apache-2.0
import Foundation
import TestSupport
import Testing
import Vault
import VaultFormat

@testable import VaultSecretService

/// The dispatch of messages, which depends on the header alone.
struct ServiceDispatchTests {
    private func call(
        _ path: String, _ interface: String?, _ member: String, _ signature: String
    ) -> Result<ServiceCall, ServiceRefusal> {
        do throws(ServiceRefusal) {
            return .success(
                try ServiceCall.of(path: path, interface: interface, member: member, signature: signature).call)
        } catch { return .failure(error) }
    }

    @Test func `a path is the object's that has it, and no other text is`() throws {
        let id = try #require(UUID(uuidString: "00112233-4455-6677-8899-AABBCCDDEEFF"))
        let objects: [(ServiceObject, String)] = [
            (.service, ""), (.collection(.login), "/collection/login"), (.collection(.session), "/collection/session"),
            (.collection(.stored("_6cogin")), "/collection/_6cogin"),
            (.collection(.stored("My_20Work")), "/collection/My_20Work"),
            (.collection(.stored("2nd")), "/collection/2nd"),
            (.alias("default"), "/aliases/default"), (.alias(""), "/aliases/_"), (.session(12), "/session/s12"),
            (.prompt(7), "/prompt/p7"), (.search(.login, 3), "/collection/login/locked_3"),
            (.item(.login, id), "/collection/login/i00112233445566778899aabbccddeeff"),
        ]
        for (object, path) in objects {
            #expect(object.path == ServiceObject.root + path)
            #expect(ServiceObject(object.path) == object)
        }
        for path in [
            "", "/", "/org/freedesktop/secretsx", "/org/freedesktop/secrets/", "/org/freedesktop/secrets/collection",
            "/org/freedesktop/secrets/collection/", "/org/freedesktop/secrets/collection/login/x",
            "/org/freedesktop/secrets/collection/login/i00112233445566778899AABBCCDDEEFF",
            "/org/freedesktop/secrets/collection/login/i00112233445566778899aabbccddeef",
            "/org/freedesktop/secrets/session/s0", "/org/freedesktop/secrets/session/s01",
            "/org/freedesktop/secrets/prompt/p99999999999999999999", "/org/freedesktop/secrets/session/s1/x",
        ] { #expect(ServiceObject(path) == nil, "\(path)") }
    }

    @Test func `a method is known by its object, its interface, its name and its types`() {
        let (root, login) = (ServiceObject.root, ServiceObject.collection(.login).path)
        #expect(call(root, "org.freedesktop.Secret.Service", "SearchItems", "a{ss}") == .success(.searchItems))
        #expect(call(login, nil, "SearchItems", "a{ss}") == .success(.searchItems))
        #expect(call(ServiceObject.alias("x").path, nil, "CreateItem", "a{sv}(oayays)b") == .success(.createItem))
        #expect(
            call(login, nil, "CreateItem", "a{sv}(oayays)") == .failure(.invalid("the method takes \"a{sv}(oayays)b\""))
        )
        #expect(
            call(login, "org.freedesktop.Secret.Service", "SearchItems", "a{ss}")
                == .failure(.unknownMethod("the object has no such method")))
        #expect(call("/x", nil, "SearchItems", "a{ss}") == .failure(.noSuchObject))
        #expect(
            call(root, "org.freedesktop.DBus.ObjectManager", "GetManagedObjects", "")
                == .failure(.unknownMethod("the object has no such method")))
    }

    /// Random combinations of parts of real messages.
    @Test func `no header traps, and what is understood is what it says`() throws {
        let random = SeededRandom("headers")
        let parts = [
            "/org", "/freedesktop", "/secrets", "/collection", "/login", "/session", "/aliases", "/prompt", "/s1",
            "/p1",
            "/locked_1", "/i", "00112233445566778899aabbccddeeff", "/_", "_6c", "ogin", "", "/", "é", "\u{0}",
        ]
        let members = ["Get", "GetAll", "Set", "Delete", "Close", "Prompt", "SearchItems", "CreateItem", "x", ""]
        let signatures = ["", "s", "ss", "ssv", "a{ss}", "a{sv}(oayays)b", "(oayays)", "o", "ao", "((((", "\u{0}"]
        for _ in 0..<20_000 {
            var path = random.number(in: 0...1) == 0 ? ServiceObject.root : ""
            for _ in 0..<random.number(in: 0...5) { path += random.element(of: parts) }
            if let object = ServiceObject(path) { #expect(object.path == path) }
            let result = call(
                path,
                random.number(in: 0...2) == 0
                    ? nil : "org.freedesktop.Secret." + random.element(of: ["Item", "Service", "x"]),
                random.element(of: members), random.element(of: signatures))
            if case .success = result { #expect(ServiceObject(path) != nil) }
        }
    }

    @Test func `any text is a part of a path, and no two are the same`() {
        let random = SeededRandom("elements")
        var seen: [String: String] = [:]
        for _ in 0..<5000 {
            let text = String(
                String.UnicodeScalarView(
                    (0..<random.number(in: 0...5)).compactMap { _ in Unicode.Scalar(1 + random.number(in: 0...299)) }))
            let element = PathElement.encoded(text)
            #expect(
                element.utf8.allSatisfy {
                    $0 == 95 || (48...57).contains($0) || (65...90).contains($0) || (97...122).contains($0)
                })
            #expect(PathElement.decoded(element[...]) == text)
            #expect(seen.updateValue(text, forKey: element) ?? text == text)
        }
    }
}
