// SPDX-License-Identifier: Apache-2.0
internal import CLinux
internal import FoundationEssentials
internal import Glibc
internal import SystemPackage
internal import Vault
internal import VaultCrypto
internal import VaultImport
internal import VaultStorage
internal import VaultSystem

/// Imports clear-text credentials of other programs, and removes them from their files once the vault has read them
/// back equal.
struct PlaintextSweep {
    /// The format that is given by its name, or all that have a file.
    let formats: [Plaintext]
    let file: String?
    let access: VaultAccess
    let group: String?
    let replaces: Bool
    let isDryRun: Bool
    let isJSON: Bool
    let removes: Bool

    private struct Source {
        let format: Plaintext
        let path: String
        let document: Document
        let found: Plaintext.Found
    }

    func run() throws {
        var hasFindings = false
        let sources = try read(&hasFindings)
        guard !sources.isEmpty else { return Output.note("no known program keeps credentials in clear text") }
        try access.withVault { vault in
            var reports: [ImportOutput] = []
            for source in sources {
                let report = try Import.carryOut(
                    ImportPlan(
                        source.found.imported, of: source.format.name, from: source.path, in: vault, group: group,
                        replaces: replaces),
                    of: source.format.name, in: vault, isDryRun: isDryRun)
                let output = ImportOutput(report: report, source: source.format.name, isDryRun: isDryRun)
                Output.note("\(source.format.name): '\(source.path.printable)'")
                if isDryRun, !isJSON { try Output.write(output.table) }
                output.tell()
                reports.append(output)
                if !isDryRun { try remove(source, report, readingBack: vault) }
            }
            if isJSON { try ImportOutput.tellingAll(isDryRun) { try Output.json(reports) } }
            hasFindings = hasFindings || reports.contains { $0.report.hasFindings }
        }
        if hasFindings { throw DoneWithFindings() }
    }

    private func read(_ hasFindings: inout Bool) throws -> [Source] {
        guard let home = ProcessEnvironment.variable("HOME") else {
            throw CommandError(.inputOutput, "there is no home directory", hint: "set HOME, or name a file")
        }
        var sources: [Source] = []
        for format in formats {
            let path = file ?? format.path(home: home, variable: { ProcessEnvironment.variable($0) })
            // A format given by name requires its file to exist.
            if formats.count > 1, (try? Names.checkAccess(path, F_OK)) == nil { continue }
            let tooLong = CommandError(.failure, "'\(path.printable)' has more than 16 MiB")
            let bytes = Secret(try SecretReader.read(file: path, limit: 16 << 20, tooLong: tooLong))
            do throws(ImportError) {
                let document = try Document(bytes)
                sources.append(
                    Source(format: format, path: path, document: document, found: try format.logins(document)))
            } catch {
                let failure = CommandError(error, of: path)
                // A failing file does not prevent the import of the others.
                guard formats.count > 1 else { throw failure }
                Output.warn("skipped: \(failure.message)")
                hasFindings = true
            }
        }
        return sources.filter { !$0.found.imported.logins.isEmpty || formats.count == 1 }
    }

    /// Removes from the file the credentials whose secrets are in the vault unchanged.
    private func remove(_ source: Source, _ report: ImportReport, readingBack vault: any OpenVault) throws {
        let lines = Dictionary(grouping: report.lines) { $0.login }
        var ranges: [Range<Int>] = []
        var removed: [Login] = []
        for (number, (login, parts)) in zip(source.found.imported.logins, source.found.ranges).enumerated() {
            // These logins have no attachments: each makes one item.
            guard let line = lines[number]?.first, ![.differs, .skipped].contains(line.outcome),
                try isThere(login, line.source, in: vault)
            else { continue }
            ranges += parts
            removed.append(login)
        }
        guard !removed.isEmpty else { return }
        let what = removed.count == 1 ? "one login" : "\(removed.count) logins"
        guard try removes || Confirmation.isWanted("Take \(what) out of '\(source.path.printable)'?") else {
            if !removes, Terminal() == nil { Output.note("the file still has the secrets; --remove removes them") }
            return
        }
        var left: [(login: Int, line: Int)] = []
        do throws(ImportError) {
            let rest = try Plaintext.removing(ranges, from: source.document)
            if let rest { left = try Plaintext.left(of: removed, in: rest) }
            try replace(source, with: rest)
        } catch { throw CommandError(error, of: source.path) }
        for (login, line) in left.prefix(50) {
            let name = removed[login].title.printable
            Output.warn("'\(source.path.printable)', line \(line), still has a secret of '\(name)': it was there twice")
        }
        let count = removed.count - left.count
        if count > 0 {
            Output.note("took \(count == 1 ? "one login" : "\(count) logins") out of '\(source.path.printable)'")
        }
    }

    private func isThere(_ login: Login, _ source: String, in vault: any OpenVault) throws -> Bool {
        for itemClass in [ItemClass.genericPassword, .internetPassword] {
            let query = Query(itemClass, userAttributes: [ItemNames.source: source])
                .with(\.attributes[.accessGroup], group.map(AttributeValue.string))
            guard let item = try vault.allMatching(query).first else { continue }
            guard let stored = try item.openedSecret(), let given = login.password, stored.isEqual(to: given) else {
                return false
            }
            guard item.account == login.user,
                login.attributes.allSatisfy({ item.userAttributes[$0.name] == $0.value })
            else { return false }
            return try login.fields.allSatisfy { field in
                try item.openedSecret(field: field.name)?.isEqual(to: field.secret) ?? false
            }
        }
        return false
    }

    /// - Parameter rest: the remaining content; `nil` if nothing is left, and the file is deleted.
    private func replace(_ source: Source, with rest: Secret?) throws(ImportError) {
        do {
            // The file may have changed while the user was asked.
            let tooLong = CommandError(.failure, "the file changed in the meantime")
            let now = Secret(try SecretReader.read(file: source.path, limit: 16 << 20, tooLong: tooLong))
            guard now.isEqual(to: source.document.content) else {
                throw CommandError(.changed, "'\(source.path.printable)' changed meanwhile", hint: "run it again")
            }
            // A link leads to the file with the content.
            guard let target = try? LinuxFileSystem().resolve(FilePath(source.path)).string else {
                throw CommandError(.inputOutput, "cannot open '\(source.path.printable)'")
            }
            let old = try ReplacedFile(target)
            if let rest {
                try rest.withBytes { try OutputFile(target).replace(with: $0, durably: true) }
            } else {
                try attempt("change '\(source.path.printable)'", try Names.removeFile(target))
            }
            if let flaw = old.overwrite() { Output.warn("'\(source.path.printable)' \(flaw)") }
        } catch { throw .outside(error) }
    }
}

/// A file that is about to be replaced: its bytes are overwritten in place afterwards.
private struct ReplacedFile: ~Copyable {
    private let file: Descriptor
    private let status: FileStatus

    init(_ path: String) throws {
        guard let file = try? Descriptor(opening: path, O_RDONLY | O_NOFOLLOW) else {
            throw CommandError(.inputOutput, "cannot open '\(path.printable)'")
        }
        guard let status = try? FileStatus(of: file) else {
            throw CommandError(.inputOutput, "cannot look at '\(path.printable)'")
        }
        self.file = file
        self.status = status
    }

    /// - Returns: the reason why the bytes are still there, as the rest of a sentence about the file; `nil` on success.
    func overwrite() -> String? {
        // The bytes are also those of another name.
        guard status.links == 1 else { return "has other hard links, which still have the removed secrets" }
        // The owner can make a read-only file, such as one of mode 0400, writable. The name is gone: only this
        // descriptor leads to the file.
        _ = fchmod(file.number, 0o600)
        guard let writable = try? Descriptor(opening: "/proc/self/fd/\(file.number)", O_WRONLY) else {
            return "is gone, but its old bytes could not be overwritten"
        }
        Scratch.overwrite(writable.number, status.size)
        return nil
    }
}
