// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import Glibc
internal import SystemPackage
internal import Vault
internal import VaultCrypto
internal import VaultImport

/// Brings in what other programs keep in clear, and takes it out of their files once the vault has given it back equal.
struct PlaintextSweep {
    let format: ImportFormat
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
        let sources = try read()
        guard !sources.isEmpty else { return Output.note("no program keeps credentials in clear where it would") }
        try access.withVault { vault in
            var reports: [ImportOutput] = []
            for source in sources {
                let report = try Import.store(
                    source.found.imported, of: source.format.rawValue, in: vault, group, replaces: replaces,
                    isDryRun: isDryRun)
                let output = ImportOutput(report: report, source: source.format.rawValue, isDryRun: isDryRun)
                Output.note("\(source.format.rawValue): '\(source.path.printable)'")
                if isDryRun, !isJSON { try Output.write(output.table) }
                output.tell()
                reports.append(output)
                if !isDryRun { try remove(source, readingBack: vault) }
            }
            if isJSON { try Output.json(reports) }
        }
    }

    private func read() throws -> [Source] {
        guard let home = ProcessEnvironment.variable("HOME") else {
            throw CommandError(.inputOutput, "there is no home to look in", hint: "set HOME, or name a file")
        }
        let formats = format.plaintext.map { [$0] } ?? Plaintext.allCases
        var sources: [Source] = []
        for format in formats {
            let path = file ?? format.path(home: home, variable: { ProcessEnvironment.variable($0) })
            // One that was asked for by name has to be there.
            if self.format == .plaintext, !isThere(path) { continue }
            let tooLong = CommandError(.failure, "'\(path.printable)' has more than 16 MiB")
            let bytes = Secret(try SecretReader.read(file: path, limit: 16 << 20, tooLong: tooLong))
            do throws(ImportError) {
                let document = try Document(bytes)
                sources.append(
                    Source(format: format, path: path, document: document, found: try format.logins(document)))
            } catch { throw CommandError(error, of: path) }
        }
        return sources.filter { !$0.found.imported.logins.isEmpty || self.format != .plaintext }
    }

    private func isThere(_ path: String) -> Bool { unsafe Glibc.access(path, F_OK) == 0 }

    /// Takes those out of the file whose secrets the vault has as they are there.
    private func remove(_ source: Source, readingBack vault: any OpenVault) throws {
        var ranges: [Range<Int>] = []
        var count = 0
        for (login, parts) in zip(source.found.imported.logins, source.found.ranges) {
            guard try isThere(login, of: source.format, in: vault) else { continue }
            ranges += parts
            count += 1
        }
        guard count > 0 else { return }
        let what = count == 1 ? "one login" : "\(count) logins"
        guard try removes || Confirmation.isWanted("Take \(what) out of '\(source.path.printable)'?") else {
            if !removes, Terminal() == nil { Output.note("nothing was taken out of the file; --remove does it") }
            return
        }
        do throws(ImportError) {
            let rest = try Plaintext.removing(ranges, from: source.document)
            try replace(source, with: rest)
        } catch { throw CommandError(error, of: source.path) }
        Output.note("took \(what) out of '\(source.path.printable)'")
    }

    private func isThere(_ login: Login, of format: Plaintext, in vault: any OpenVault) throws -> Bool {
        for itemClass in [ItemClass.genericPassword, .internetPassword] {
            var query = Query(
                itemClass, userAttributes: [ImportNames.source: "\(format.rawValue):\(login.id)"])
            query.attributes[.accessGroup] = group.map(AttributeValue.string)
            guard let item = try vault.allMatching(query).first else { continue }
            guard let stored = try item.openedSecret(), let given = login.password, stored.isEqual(to: given) else {
                return false
            }
            return try login.fields.allSatisfy { field in
                try item.openedSecret(field: field.name)?.isEqual(to: field.secret) ?? false
            }
        }
        return false
    }

    /// - Parameter rest: nil: there is nothing left, and the file goes.
    private func replace(_ source: Source, with rest: Secret?) throws(ImportError) {
        do {
            // It may have changed while a person was asked.
            let tooLong = CommandError(.failure, "the file changed meanwhile")
            let now = Secret(try SecretReader.read(file: source.path, limit: 16 << 20, tooLong: tooLong))
            guard now.isEqual(to: source.document.content) else {
                throw CommandError(.changed, "'\(source.path.printable)' changed meanwhile", hint: "run it again")
            }
            // A link leads to the file that has the text.
            let target = try LinkTarget.of(source.path)
            if let rest {
                let old = target + ".tmp-" + String(UInt64.random(in: 0...UInt64.max), radix: 16)
                // The bytes of the old file are overwritten where they lie, as far as its file system does that.
                guard unsafe link(target, old) == 0 else { throw failure(source.path) }
                do { try rest.withBytes { try OutputFile(target).replace(with: $0, durably: true) } } catch {
                    _ = unsafe unlink(old)
                    throw error
                }
                Scratch.overwrite(old)
                _ = unsafe unlink(old)
            } else {
                Scratch.overwrite(target)
                guard unsafe unlink(target) == 0 else { throw failure(source.path) }
            }
        } catch { throw .outside(error) }
    }

    private func failure(_ path: String) -> CommandError {
        CommandError(
            .inputOutput, "cannot change '\(path.printable)': \(Errno(rawValue: errno).description.lowercased())")
    }
}

/// Where a path leads in the end.
private enum LinkTarget {
    static func of(_ path: String) throws -> String {
        guard let resolved = unsafe realpath(path, nil) else {
            throw CommandError(.inputOutput, "cannot open '\(path.printable)'")
        }
        defer { unsafe free(resolved) }
        return unsafe String(cString: resolved)
    }
}
