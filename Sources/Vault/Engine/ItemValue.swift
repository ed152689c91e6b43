// SPDX-License-Identifier: Apache-2.0
internal import VaultCrypto
internal import VaultFormat
internal import VaultStorage

/// A divided value: the secret itself and the fields that are sealed with it.
struct ItemValue {
    var main: Secret
    var fields: [String: Secret]

    /// - Parameter main: `nil` for an item that has only fields, whose main part becomes empty.
    init(main: Secret?, fields: [String: Secret]) throws(VaultError) {
        self.main = main ?? ""
        self.fields = fields
        for name in fields.keys where !ValueFields.isName(name) { throw .parameter(.fieldName) }
    }

    /// Divides a value as its item's attributes say.
    init(_ value: Secret, dividedBy fields: ValueFields?) throws(VaultError) {
        (main, self.fields) = (value, [:])
        guard let fields else { return }
        main = try ItemValue.part(nil, of: value, fields) ?? value
        for field in fields.fields { self.fields[field.name] = try ItemValue.part(field.name, of: value, fields) }
    }

    /// The division of the value; `nil` if it is all main part.
    var division: ValueFields? { ValueFields(fields.mapValues(\.count)) }

    /// The value in its sealed layout.
    func joined() throws(VaultError) -> Secret {
        guard let division else { return main }
        do throws(CryptoError) {
            var whole = try SecretBytes(zeroed: main.count + division.length)
            main.withBytes { whole.replace(at: 0, with: $0) }
            var offset = main.count
            for field in division.fields {
                fields[field.name]?.withBytes { whole.replace(at: offset, with: $0) }
                offset += field.length
            }
            return Secret(whole)
        } catch { throw .storage(StorageError(error)) }
    }

    /// Returns one part of a value.
    ///
    /// - Parameter name: `nil` for the main part.
    /// - Returns: `nil` if there is no such field.
    static func part(_ name: String?, of value: Secret, _ fields: ValueFields?) throws(VaultError) -> Secret? {
        guard let fields else { return name == nil ? value : nil }
        guard let range = fields.range(of: name, in: value.count) else { return nil }
        do throws(CryptoError) { return Secret(try value.bytes.copy(of: range)) } catch {
            throw .storage(StorageError(error))
        }
    }
}
