// SPDX-License-Identifier: Apache-2.0
internal import VaultCrypto
internal import VaultImport

/// A file of variables for a command: NAME=VALUE lines, in which values may be references.
struct EnvironmentFile {
    enum Value {
        case plain(Secret)
        case reference(SecretReference)
    }

    /// The variables in the order of the file; the last value of a name is the valid one.
    private(set) var variables: [(name: String, value: Value)] = []
    /// The references that are only a part of a value, which stays.
    private(set) var bare = BareReferences()

    /// - Throws: code 64, with the number of a line that cannot be parsed, but none of its content.
    init(_ bytes: Secret) throws {
        do throws(ImportError) {
            for (name, value, line) in try EnvironmentVariables.variables(Document(bytes)) {
                let value = try EnvironmentFile.value(value, line)
                if case .plain(let text) = value {
                    text.withBytes { bytes in bytes.indices.forEach { bare.look(at: $0, of: bytes, line: line) } }
                }
                variables.append((name, value))
            }
        } catch {
            switch error {
            case .malformed(let place, let flaw):
                throw CommandError.usage("\(place.map { "\($0) of " } ?? "")the file of variables: \(flaw)")
            default: throw CommandError(error, of: "the file of variables")
            }
        }
    }

    private static func value(_ value: Secret, _ line: Int) throws(ImportError) -> Value {
        // A reference contains no bytes of a secret, so it may be text.
        let text = value.withBytes { $0.hasReference(at: 0) ? String(decoding: $0.array, as: UTF8.self) : nil }
        guard let text else { return .plain(value) }
        guard let reference = SecretReference(text) else {
            throw .malformed("line \(line)", "the reference is not well formed")
        }
        return .reference(reference)
    }
}
