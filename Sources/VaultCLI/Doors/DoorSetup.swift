// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import Glibc
internal import SystemPackage
internal import VaultSystem

/// Configures the session to use the vault, and undoes that.
struct DoorSetup {
    var places: DoorPlaces

    /// A checked change that is ready to be made.
    private struct Step {
        let door: Door
        let path: FilePath
        let entry: DoorRecord.Entry
        let action: DoorAction
    }

    /// Returns whether the bus, systemd or a browser would start the vault for the door, according to these files.
    func isEnabled(_ door: Door) -> Bool {
        door.starters(in: places).contains(where: door.recognizesFile)
    }

    /// Returns whether the door starts the command at this path: another installation has doors of its own.
    func startsThisCommand(_ door: Door) -> Bool {
        let command = places.command
        let words = [DoorPlaces.quoted(command), UserUnits.word(command)].map { $0 + " doors --" }
        let marks = words + ["\"\(places.installedHost.string)\""]
        let isLinked = (try? PathContent.at(places.ownHost))?.isSame(as: .link(to: command)) == true
        let files = door.starters(in: places) + door.changes(places, []).map(\.path)
        return files.contains { path in
            guard let text = PathContent.behind(path).map({ String(decoding: $0.bytes, as: UTF8.self) }),
                door.recognizes(text)
            else { return false }
            return marks.contains(where: text.contains) || isLinked && text.contains("\"\(places.ownHost.string)\"")
        }
    }

    // MARK: Enabling

    /// Makes the missing changes. All files are checked before the first change.
    ///
    /// - Throws: code 11 if a file is in the way, and nothing was changed; 30.
    func enable(_ names: Set<Door>, _ report: (DoorAction) -> Void) throws {
        let ledger = try DoorLedger(in: places.record)
        let enabled = self.enabled(by: ledger.record).union(names)
        let steps = try plan(enabled, for: names, &ledger.record)
        try make(steps, ledger, report)
    }

    private func enabled(by record: DoorRecord) -> Set<Door> {
        Set(Door.all.filter { record.doors[$0.name] != nil || isEnabled($0) })
    }

    /// - Parameter names: the requested doors; for the others, files in the way are left alone.
    private func plan(_ enabled: Set<Door>, for names: Set<Door>, _ record: inout DoorRecord) throws -> [Step] {
        var steps: [Step] = []
        for door in Door.all where enabled.contains(door) {
            var entries = record.doors[door.name] ?? []
            for change in door.changes(places, enabled) {
                let index = entries.firstIndex { $0.path == change.path.string }
                do {
                    let (entry, action) = try look(at: change, door, index.map { entries[$0] })
                    if let entry {
                        if let index { entries[index] = entry } else { entries.append(entry) }
                        if let action {
                            steps.append(Step(door: door, path: change.path, entry: entry, action: action))
                        }
                    }
                } catch { if names.contains(door) { throw error } }
            }
            record.doors[door.name] = entries
        }
        return steps
    }

    /// - Parameter old: the record's entry for the path.
    /// - Returns: the new entry, and the action; `nil` if there is nothing to do.
    private func look(
        at change: DoorChange, _ door: Door, _ old: DoorRecord.Entry?
    ) throws -> (DoorRecord.Entry?, DoorAction?) {
        let path = change.path
        let now = try PathContent.at(path)
        // The content from before the first change stays in the record, even if the door's file is gone meanwhile.
        let before = old.flatMap { now.isNothing || now.isSame(as: $0.after) ? $0.before : nil } ?? now
        switch change.kind {
        case .manifest(let text, let other):
            return look(at: .text(text), replacing: other, path, now, before: old?.before ?? now, door)
        case .file, .link:
            guard let wanted = change.wanted else { return (old, nil) }
            let entry = DoorRecord.Entry(path: path.string, before: .nothing, after: wanted)
            if now.isSame(as: wanted) { return (entry, nil) }
            let isEdited = door.hasEditableFiles && old.map { !now.isSame(as: $0.after) } ?? false
            let isOwn =
                old.map { now.isSame(as: $0.after) } ?? false || now.isNothing || isHostLink(now, change)
                || door.recognizes(now) && !isEdited
            guard isOwn else { throw DoorSetup.inTheWay(path) }
            return (entry, DoorAction(.wrote, door, path.string))
        case .mask:
            // The unit may have been masked before.
            if now.isSame(as: DoorChange.masked) { return (old, nil) }
            let entry = DoorRecord.Entry(path: path.string, before: before, after: DoorChange.masked)
            return (entry, DoorAction(.masked, door, path.string))
        case .setting(let setting, let start, let mode):
            return try look(at: setting, start: start, mode: mode, path, now, before, old, door)
        }
    }

    /// - Parameter before: the content before the first change.
    private func look(
        at wanted: PathContent, replacing other: String, _ path: FilePath, _ now: PathContent, before: PathContent,
        _ door: Door
    ) -> (DoorRecord.Entry?, DoorAction?) {
        // A file that is not the vault's is restored later, whenever it was created.
        let replaced = door.recognizes(now) || now.isNothing ? before : now
        let entry = DoorRecord.Entry(
            path: path.string, before: door.recognizes(replaced) ? .nothing : replaced, after: wanted)
        guard !now.isSame(as: wanted) else { return (entry, nil) }
        let isForeign = !now.isNothing && !door.recognizes(now)
        let detail = "in the place of \(other), which 'vault doors disable \(door.name)' puts back"
        return (entry, DoorAction(.wrote, door, path.string, isForeign ? detail : nil))
    }

    /// Returns whether the content is a link made by a vault, wherever its command was.
    private func isHostLink(_ content: PathContent, _ change: DoorChange) -> Bool {
        guard case .link = change.kind, case .link(let target) = content else { return false }
        return target.hasSuffix("/vault")
    }

    private static func inTheWay(_ path: FilePath) -> CommandError {
        CommandError(
            .alreadyExists, "'\(path.string.printable)' is there, and another program's or changed",
            hint: "move it away, or remove it, and run this again; nothing was changed")
    }

    private func look(
        at setting: DoorSetting, start: String, mode: UInt32, _ path: FilePath, _ now: PathContent,
        _ before: PathContent, _ old: DoorRecord.Entry?, _ door: Door
    ) throws -> (DoorRecord.Entry?, DoorAction?) {
        // A file behind a link is not changed, but may have the right value already.
        let read = now.settings ?? PathContent.behind(path)
        if read?.value(of: setting.key, in: setting.group) == setting.value { return (old, nil) }
        guard var text = now.settings else {
            throw CommandError(
                .alreadyExists, "'\(path.string.printable)' is a link, or no file of settings",
                hint: "write \(setting) into the file yourself, and run this again; nothing was changed")
        }
        var fileMode = mode
        switch now {
        case .file(_, let mode): fileMode = mode
        default: text = SettingsText(start)
        }
        text.set(setting.key, in: setting.group, to: setting.value)
        let entry = DoorRecord.Entry(
            path: path.string, before: before, after: .file(bytes: Data(text.bytes), mode: fileMode), setting: setting)
        return (entry, DoorAction(.set, door, path.string, setting.description))
    }

    private func make(
        _ steps: [Step], _ ledger: DoorLedger, _ report: (DoorAction) -> Void
    ) throws {
        for step in steps {
            for directory in PathContent.missingDirectories(step.path.removingLastComponent())
            where !ledger.record.directories.contains(directory.string) {
                ledger.record.directories.append(directory.string)
            }
        }
        try ledger.save()
        for (count, step) in steps.enumerated() {
            do { try step.entry.after.put(at: step.path, directoryMode: directoryMode) } catch {
                throw DoorSetup.unfinished(error, count: count)
            }
            report(step.action)
        }
    }

    /// The mode of new directories: those for all users must be readable by all.
    private var directoryMode: mode_t { places.configuration == nil ? 0o755 : 0o700 }

    private static func unfinished(_ error: any Error, count: Int) -> any Error {
        guard var failure = error as? CommandError else { return error }
        let done = count == 0 ? "nothing was changed yet" : "the changes printed above were made"
        failure.hint = "\(done); run it again once that works, and it does the rest"
        return failure
    }

    // MARK: Disabling

    /// Undoes the changes of enabling; files changed since are left alone.
    ///
    /// - Throws: code 30.
    func disable(_ names: Set<Door>, _ report: (DoorAction) -> Void) throws {
        let ledger = try DoorLedger(in: places.record)
        var count = 0
        for door in Door.all where names.contains(door) {
            var entries = ledger.record.doors[door.name] ?? unrecorded(door)
            do {
                while let entry = entries.last {
                    if let action = try takeBack(entry, door, &ledger.record) {
                        count += 1
                        report(action)
                    }
                    entries.removeLast()
                    if ledger.record.doors[door.name] != nil { ledger.record.doors[door.name] = entries }
                }
            } catch {
                try? ledger.save()
                throw DoorSetup.unfinished(error, count: count)
            }
            ledger.record.doors[door.name] = nil
        }
        removeDirectories(&ledger.record)
        // The process that serves the other doors has to be started with fewer options.
        let others = enabled(by: ledger.record).subtracting(names)
        let steps = try plan(others, for: [], &ledger.record)
        try make(steps, ledger, report)
    }

    /// Without a record, a file is recognized as the door's by its content alone.
    private func unrecorded(_ door: Door) -> [DoorRecord.Entry] {
        door.changes(places, []).compactMap { change in
            guard let wanted = change.wanted, let now = try? PathContent.at(change.path),
                now.isSame(as: wanted) || door.recognizes(now) || isHostLink(now, change)
            else { return nil }
            return DoorRecord.Entry(path: change.path.string, before: .nothing, after: now)
        }
    }

    private func takeBack(
        _ entry: DoorRecord.Entry, _ door: Door, _ record: inout DoorRecord
    ) throws -> DoorAction? {
        let path = FilePath(entry.path)
        guard let now = try? PathContent.at(path) else { return keep(entry, door, &record) }
        if now.isSame(as: entry.before) { return nil }
        guard now.isSame(as: entry.after) || now.isNothing else {
            guard let setting = entry.setting else { return keep(entry, door, &record) }
            return try takeBack(setting, entry, door, from: now)
        }
        // A settings file that is gone was removed by its program.
        if now.isNothing, entry.setting != nil { return nil }
        try entry.before.put(at: path, directoryMode: directoryMode)
        let isMask = entry.after.isSame(as: DoorChange.masked)
        return DoorAction(isMask ? .unmasked : entry.before.isNothing ? .removed : .restored, door, entry.path)
    }

    /// Restores only the key, in a file that other programs have written since.
    private func takeBack(
        _ setting: DoorSetting, _ entry: DoorRecord.Entry, _ door: Door, from now: PathContent
    ) throws -> DoorAction? {
        guard case .file(_, let mode) = now, var text = now.settings, let old = entry.before.settings,
            text.value(of: setting.key, in: setting.group) == setting.value
        else { return DoorAction(.kept, door, entry.path, "it was changed since") }
        text.putBack(setting.key, in: setting.group, as: old)
        let path = FilePath(entry.path)
        if entry.before.isNothing, text.isBlank {
            try PathContent.nothing.put(at: path)
            return DoorAction(.removed, door, entry.path)
        }
        try PathContent.file(bytes: Data(text.bytes), mode: mode).put(at: path)
        return DoorAction(.restored, door, entry.path)
    }

    private func keep(_ entry: DoorRecord.Entry, _ door: Door, _ record: inout DoorRecord) -> DoorAction {
        guard !entry.before.isNothing else { return DoorAction(.kept, door, entry.path, "it was changed since") }
        record.replaced.append(entry)
        let place = DoorLedger.path(in: places.record).string
        return DoorAction(.kept, door, entry.path, "it was changed since; the previous content is in '\(place)'")
    }

    /// Removes created directories that are empty by now.
    private func removeDirectories(_ record: inout DoorRecord) {
        for directory in record.directories.sorted(by: >) {
            var isGone = true
            do throws(Errno) { try Names.removeDirectory(directory) } catch { isGone = error == .noSuchFileOrDirectory }
            if isGone || record.doors.isEmpty { record.directories.removeAll { $0 == directory } }
        }
    }
}
