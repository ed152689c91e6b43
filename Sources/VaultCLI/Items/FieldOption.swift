// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import Vault
internal import VaultCrypto
internal import VaultFormat

/// The option that selects one of an item's secrets: the main one, or a named field encrypted with it.
struct FieldOption: ParsableArguments {
    @Option(
        help: ArgumentHelp("Use this field of the item, instead of the secret itself.", valueName: "name"),
        completion: ItemCompletion.fields)
    var field: String?

    func validate() throws {
        guard field.map(ValueFields.isName) ?? true else {
            throw ValidationError(VaultError.parameter(.fieldName).text)
        }
    }

    init() {}

    init?(_ plain: inout PlainArguments) {
        field = plain.value("--field")
        guard isValid else { return nil }
    }

    /// - Throws: code 10 if the item does not have it.
    func secret(of item: Item) throws -> Secret {
        guard let secret = try field.map({ try item.openedSecret(field: $0) }) ?? ItemFace(item).openedSecret() else {
            throw CommandError(
                .notFound, field == nil ? "the item has no secret" : "the item has no such field",
                hint: NearMiss.hint(field: field, of: item))
        }
        return secret
    }

    /// Returns the secret and the fields of an item to which this secret is written.
    func parts(_ secret: Secret) -> (secret: Secret?, fields: [String: Secret]) {
        field.map { (nil, [$0: secret]) } ?? (secret, [:])
    }
}
