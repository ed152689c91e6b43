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
    func isEnabled(_ door: Door) -> Bool { door.starters(in: places).contains(where: door.recognizesFile) }

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
        let (path, now) = (change.path, try PathContent.at(change.path))
        let isUnchanged = old.map { now.isSame(as: $0.after) } ?? false
        func entry(_ before: PathContent, _ after: PathContent) -> DoorRecord.Entry {
            DoorRecord.Entry(path: path.string, before: before, after: after)
        }
        func action(_ kind: DoorAction.Kind, _ detail: String? = nil) -> DoorAction {
            DoorAction(kind, door, path.string, detail)
        }
        // The content from before the first change stays in the record, even if the door's file is gone meanwhile.
        let before = old.flatMap { now.isNothing || isUnchanged ? $0.before : nil } ?? now
        switch change.kind {
        case .manifest(let text, let other):
            let (wanted, isForeign) = (PathContent.text(text), !now.isNothing && !door.recognizes(now))
            // A file that is not the vault's is restored later, whenever it was created.
            let replaced = isForeign ? now : old?.before ?? now
            let new = entry(door.recognizes(replaced) ? .nothing : replaced, wanted)
            guard !now.isSame(as: wanted) else { return (new, nil) }
            let detail = "in the place of \(other), which 'vault doors disable \(door.name)' puts back"
            return (new, action(.wrote, isForeign ? detail : nil))
        case .file, .link:
            guard let wanted = change.wanted else { return (old, nil) }
            if now.isSame(as: wanted) { return (entry(.nothing, wanted), nil) }
            let isEdited = door.hasEditableFiles && old != nil && !isUnchanged
            let isOwn =
                isUnchanged || now.isNothing || isHostLink(now, change) || door.recognizes(now) && !isEdited
            guard isOwn else {
                throw CommandError(
                    .alreadyExists, "'\(path.string.printable)' is there, and another program's or changed",
                    hint: "move it away, or remove it, and run this again; nothing was changed")
            }
            return (entry(.nothing, wanted), action(.wrote))
        case .mask:
            // The unit may have been masked before.
            if now.isSame(as: DoorChange.masked) { return (old, nil) }
            return (entry(before, DoorChange.masked), action(.masked))
        case .setting(let setting, let start, let mode):
            guard let after = try Self.after(setting, start: start, mode: mode, path, now) else { return (old, nil) }
            var new = entry(before, after)
            new.setting = setting
            return (new, action(.set, setting.description))
        }
    }

    /// Returns whether the content is a link made by a vault, wherever its command was.
    private func isHostLink(_ content: PathContent, _ change: DoorChange) -> Bool {
        guard case .link = change.kind, case .link(let target) = content else { return false }
        return target.hasSuffix("/vault")
    }

    /// Returns the content with the key set; `nil` if it is set already.
    private static func after(
        _ setting: DoorSetting, start: String, mode: UInt32, _ path: FilePath, _ now: PathContent
    ) throws -> PathContent? {
        // A file behind a link is not changed, but may have the right value already.
        let read = now.settings ?? PathContent.behind(path)
        if read?.value(of: setting.key, in: setting.group) == setting.value { return nil }
        guard var text = now.settings else {
            throw CommandError(
                .alreadyExists, "'\(path.string.printable)' is a link, or no file of settings",
                hint: "write \(setting) into the file yourself, and run this again; nothing was changed")
        }
        var fileMode = mode
        if case .file(_, let mode) = now { fileMode = mode } else { text = SettingsText(start) }
        text.set(setting.key, in: setting.group, to: setting.value)
        return .file(bytes: Data(text.bytes), mode: fileMode)
    }

    private func make(_ steps: [Step], _ ledger: DoorLedger, _ report: (DoorAction) -> Void) throws {
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

    private func takeBack(_ entry: DoorRecord.Entry, _ door: Door, _ record: inout DoorRecord) throws -> DoorAction? {
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
