// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing
import Vault
import VaultCrypto

@testable import VaultImport

extension Document {
    init(text: String) throws { try self.init(Secret(text: text)) }
}

extension Secret {
    var text: String { String(decoding: exposed, as: UTF8.self) }
}

extension Login {
    /// The texts of the fields, by name.
    var texts: [String: String] { Dictionary(fields.map { ($0.name, $0.secret.text) }) { $1 } }

    var named: [String: String] { Dictionary(attributes.map { ($0.name, $0.value) }) { $1 } }
}

extension ImportError {
    /// The form that tests compare.
    var summary: String {
        switch self {
        case .malformed(let place, let flaw): "\(place ?? "all"): \(flaw)"
        case .tooLarge(let place): "too large: \(place ?? "all")"
        case .otherFormat(let flaw, _): flaw
        case .wrongPassphrase: "wrong passphrase"
        case .tooExpensive: "too expensive"
        case .missing(let what, _): "missing: \(what)"
        case .program(let name, let place, _): "\(name) failed: \(place ?? "all")"
        case .service(let flaw, _): flaw
        case .cryptography(let error): "\(error)"
        case .outside(let error): "outside: \(error)"
        }
    }
}

/// Returns a description of the error that a call throws; `nil` if it throws none.
func flaw(_ body: () throws -> Void) -> String? {
    do { try body() } catch let error as ImportError { return error.summary } catch { return "\(error)" }
    return nil
}

extension ImportWorld {
    /// A machine whose files are a dictionary and whose programs are a function.
    static func made(
        files: [String: String] = [:],
        run: @escaping @Sendable (_ arguments: [String], _ input: Secret?) throws -> (status: Int32?, output: [UInt8]) =
            {
                _, _ in (nil, [])
            }, message: String = ""
    ) -> ImportWorld {
        ImportWorld(
            run: { arguments, input, output in
                let (status, bytes) = try run(arguments, input)
                // In parts, as from a pipe.
                for start in stride(from: 0, to: bytes.count, by: 7) {
                    try output(bytes.span.extracting(start..<min(start + 7, bytes.count)))
                }
                return Ended(status: status, message: message)
            },
            read: { path in try Secret(text: files[path] ?? "") },
            files: { _ in
                (files.keys.sorted().filter { !$0.contains("\u{fffd}") }, files.keys.filter { $0.contains("\u{fffd}") })
            },
            withScratch: { body in try body("/scratch") }, write: { _, _ in })
    }
}

extension ImportedLogins {
    /// Imports everything into a vault.
    @discardableResult
    func stored(
        in vault: any ItemStore, of format: String = "test", replaces: Bool = false
    ) throws -> ImportReport {
        var plan = try ImportPlan(self, of: format, in: vault, group: "default", replaces: replaces)
        try plan.carryOut { _ in }
        return plan.report
    }
}

extension ImportReport {
    /// The outcomes and their counts, such as `added 1, unchanged 2`.
    var counts: String {
        Outcome.allCases.filter { count($0) > 0 }.map { "\($0.rawValue) \(count($0))" }.joined(separator: ", ")
    }
}

extension ItemStore {
    func all() throws -> [Item] {
        try [ItemClass.genericPassword, .internetPassword].flatMap { try allMatching(Query($0)) }
    }
}
