// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import Glibc
internal import Vault
internal import VaultCrypto
internal import VaultFormat
internal import VaultStorage

struct Edit: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "edit",
        abstract: "Change an item's secret in an editor.",
        discussion: """
            Uses $VISUAL, else $EDITOR, else vi, on a file in memory that only you can read, and that is overwritten \
            afterwards. The command has no control over other files that an editor writes, such as vim's ~/.viminfo. A \
            newline that the editor adds at the end is removed. If the vault cannot store the new secret, as on a full \
            disk, the command asks whether to try again, and keeps the typed text until then.
            """)

    @OptionGroup var vault: VaultOptions
    @OptionGroup var selection: ItemSelection
    @OptionGroup var part: FieldOption

    @Flag(help: "Store an empty secret if the edited text is empty.")
    var allowEmpty = false

    /// The edited secret, if the vault could not store it.
    private struct Unsaved: Error {
        let record: ItemRecord
        let new: Secret
        let changes: ItemChanges
        let reason: VaultError
    }

    func run() throws {
        let access = try vault.access(selection.groups)
        do {
            try access.withVault { vault in
                let item = try selection.changed(in: vault)
                guard let record = item.record else { throw VaultError.itemNotFound }
                let old = try part.secret(of: item)
                guard let new = try Edit.edited(old) else { return Output.note("nothing was changed") }
                guard new.count > 0 || allowEmpty else {
                    throw CommandError.usage("the secret is empty", hint: "if that is meant: --allow-empty")
                }
                let (secret, fields) = part.parts(new)
                let changes = ItemChanges(secret: secret, fields: fields.mapValues { .some($0) })
                do throws(VaultError) { try vault.update(record, with: changes) } catch {
                    // Carries the typed text, of which there is no other copy.
                    throw Unsaved(record: record, new: new, changes: changes, reason: error)
                }
            }
        } catch let unsaved as Unsaved {
            try save(unsaved)
        }
    }

    /// Retries for as long as the user wants.
    private func save(_ unsaved: Unsaved) throws {
        var failure = CommandError(unsaved.reason)
        // Both errors have an obvious remedy.
        var asksFirst = failure.status != .locked && failure.status != .changed
        while true {
            if asksFirst {
                guard failure.status != .interrupted, Terminal() != nil else { throw failure }
                let question = "The item is not stored: \(failure.message). Try again? If not, your input is lost."
                guard try Confirmation.isWanted(question) else { throw failure }
            }
            do {
                if try isStored(unsaved, replacing: failure.status == .changed) { return }
            } catch {
                failure = CommandLineTool.failure(error) ?? failure
                asksFirst = failure.status != .changed
                continue
            }
            throw CommandError(VaultError.versionMismatch)
        }
    }

    /// - Returns: `false` if another process has changed the item, and its change is to stay.
    private func isStored(_ unsaved: Unsaved, replacing: Bool) throws -> Bool {
        let access = try vault.access(selection.groups)
        guard replacing else {
            try access.withVault { try $0.update(unsaved.record, with: unsaved.changes) }
            return true
        }
        let query = Query(persistentReference: unsaved.record.persistentReference)
        // The stored item may already have this change, if only the answer was lost.
        let isThere = try access.withVault { vault in
            guard let item = try vault.first(query) else { throw VaultError.itemNotFound }
            return try part.secret(of: item).isEqual(to: unsaved.new)
        }
        guard !isThere else { return true }
        guard try Confirmation.isWanted("It was changed meanwhile. Put yours in its place?") else { return false }
        try access.withVault { _ = try $0.update(matching: query, with: unsaved.changes) }
        return true
    }

    /// Returns the edited secret; `nil` if it is unchanged.
    private static func edited(_ old: Secret) throws -> Secret? {
        let new = try Scratch.withPath { try edited(old, at: $0 + "/secret") }
        return new.isEqual(to: old) ? nil : new
    }

    private static func edited(_ old: Secret, at file: String) throws -> Secret {
        try old.withBytes { try Scratch.write($0, to: file) }
        let editor = ProcessEnvironment.variable("VISUAL") ?? ProcessEnvironment.variable("EDITOR") ?? "vi"
        // The variable is the beginning of a shell command line, as for git.
        let status = try Helper(["/bin/sh", "-c", editor + " \"$@\"", "sh", file]).run()
        guard status == 0 else {
            throw CommandError(.failure, "the editor failed (\(status)), and nothing was changed")
        }
        let tooLong = CommandError(StorageError.valueTooLarge)
        let bytes = try SecretReader.read(file: file, limit: Layout.valueLimit + 1, tooLong: tooLong)
        let hadNewline = old.withBytes { $0.count > 0 && $0[$0.count - 1] == 0x0a }
        let length = bytes.withBytes { bytes in
            !hadNewline && bytes.count > 0 && bytes[bytes.count - 1] == 0x0a ? bytes.count - 1 : bytes.count
        }
        guard length <= Layout.valueLimit else { throw tooLong }
        return Secret(try bytes.copy(of: 0..<length))
    }
}
