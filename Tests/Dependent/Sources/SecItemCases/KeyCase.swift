// SPDX-License-Identifier: Apache-2.0
import Foundation
import KeychainServices

/// A row of the table of keys, certificates and trust: the calls and their expected results.
public struct KeyCase: CustomStringConvertible, Sendable {
    public let id: String
    private let body: @Sendable (inout Checks) throws -> Void

    init(_ id: String, _ body: @escaping @Sendable (inout Checks) throws -> Void) {
        self.id = id
        self.body = body
    }

    public var description: String { id }

    /// - Returns: The deviations from the row; empty if there are none.
    public func run(in world: any CaseWorld) throws -> [String] {
        try world.become(CaseRunner.groups)
        var checks = Checks()
        try body(&checks)
        return checks.failures
    }

    public static let table: [KeyCase] = makingKeys + usingKeys + keysAsItems + certificatesAndIdentities
}

/// The failed expectations of a row.
struct Checks {
    private(set) var failures: [String] = []

    mutating func expect(_ isRight: Bool, _ what: String = "", line: Int = #line) {
        if !isRight { failures.append("line \(line) \(what)") }
    }

    /// Checks a call of Security's that reports its failure as an error.
    mutating func expect<R>(
        _ status: Int, line: Int = #line, _ call: (UnsafeMutablePointer<Unmanaged<CFError>?>) -> R?
    ) {
        var error: Unmanaged<CFError>?
        let result = call(&error)
        let failure = error?.takeRetainedValue()
        expect(
            result == nil && failure?.code == status && failure?.domain == NSOSStatusErrorDomain,
            "\(failure?.code ?? 0) instead of \(status)", line: line)
    }

    struct Missing: Error, CustomStringConvertible {
        let description: String
    }

    func require<T>(_ value: T?, line: Int = #line) throws -> T {
        guard let value else { throw Missing(description: "nothing in line \(line)") }
        return value
    }
}

// MARK: Shared by the rows

let rsa = "42"
let curve = "73"

func makeKey(_ type: String, _ bits: Int, _ more: [String: Any] = [:]) throws -> SecKey {
    var error: Unmanaged<CFError>?
    let parameters = (["type": type, "bsiz": bits] as [String: Any]).merging(more) { $1 }
    guard let key = SecKeyCreateRandomKey(parameters as CFDictionary, &error) else {
        throw error?.takeRetainedValue() ?? NSError(domain: "none", code: 0)
    }
    return key
}

func publicKey(_ key: SecKey) throws -> SecKey {
    guard let key = SecKeyCopyPublicKey(key) else { throw Checks.Missing(description: "no public key") }
    return key
}

func bytes(_ key: SecKey) throws -> Data {
    guard let bytes = SecKeyCopyExternalRepresentation(key, nil) else {
        throw Checks.Missing(description: "no bytes")
    }
    return bytes as Data
}

func key(_ bytes: Data, _ attributes: [String: Any], _ error: UnsafeMutablePointer<Unmanaged<CFError>?>? = nil)
    -> SecKey?
{
    SecKeyCreateWithData(bytes as CFData, attributes as CFDictionary, error)
}

func add(_ item: [String: Any]) -> OSStatus { SecItemAdd(item as CFDictionary, nil) }

func find(_ query: [String: Any]) -> (status: OSStatus, found: CFTypeRef?) {
    var found: CFTypeRef?
    let status = SecItemCopyMatching(query as CFDictionary, &found)
    return (status, found)
}

func delete(_ query: [String: Any]) -> OSStatus { SecItemDelete(query as CFDictionary) }

func sign(_ key: SecKey, _ algorithm: SecKeyAlgorithm, _ data: Data) -> Data? {
    SecKeyCreateSignature(key, algorithm, data as CFData, nil) as Data?
}

func verify(_ key: SecKey, _ algorithm: SecKeyAlgorithm, _ data: Data, _ signature: Data) -> Bool {
    SecKeyVerifySignature(key, algorithm, data as CFData, signature as CFData, nil)
}

extension Data {
    func changed(at index: Int) -> Data {
        var copy = self
        copy[startIndex + index] ^= 1
        return copy
    }
}
