// SPDX-License-Identifier: Apache-2.0
import Foundation

/// The folder of the fleet, with a copy of every record that the folder ever had.
///
/// A record never changes, so the first content under a name is the genuine one. An attack changes a record only after
/// its capture, and keeps account of the names that the attack invents.
struct SharedFolder: Sendable {
    let path: String
    private let captured: String
    /// The names of the captured records below the realm's directory, in the order of capture.
    private(set) var names: [String] = []
    private var known: Set<String> = []
    /// The contents that an attacker stored under invented names.
    private var invented: [String: Data] = [:]
    /// The realm's directory.
    private(set) var realm = ""

    init(in directory: String) throws {
        path = directory + "/shared"
        captured = directory + "/captured"
        for path in [path, captured] {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        }
    }

    /// Finds the realm, which exists once the devices have joined, and captures its first records.
    mutating func findRealm() throws {
        // Requests to join are below a realm of zeros.
        let realms = try FileManager.default.contentsOfDirectory(atPath: path + "/vlt1")
        guard let realm = realms.first(where: { !$0.allSatisfy { $0 == "0" } }) else {
            throw CocoaError(.fileNoSuchFile)
        }
        self.realm = realm
        try capture()
        guard !names.isEmpty else { throw CocoaError(.fileNoSuchFile) }
    }

    func place(of name: String) -> String { "\(path)/vlt1/\(realm)/\(name)" }

    func honestPlace(of name: String) -> String { "\(captured)/\(name)" }

    /// Returns the names of rosters, logs and blobs. Answers to joining devices are not needed later.
    private func presentNames() -> [String] {
        let manager = FileManager.default
        func entries(_ name: String) -> [String] {
            ((try? manager.contentsOfDirectory(atPath: place(of: name))) ?? []).filter { !$0.hasPrefix(".") }
        }
        return (0...2).flatMap { kind in
            entries("\(kind)").sorted().flatMap { stream in
                entries("\(kind)/\(stream)").sorted().map { "\(kind)/\(stream)/\($0)" }
            }
        }
    }

    /// Captures each new record by a hard link.
    mutating func capture() throws {
        for name in presentNames() where !known.contains(name) {
            // A device may have stored its own record under a name that an attacker invented.
            if let data = invented[name], FileManager.default.contents(atPath: place(of: name)) == data { continue }
            let copy = honestPlace(of: name)
            let directory = URL(filePath: copy).deletingLastPathComponent().path()
            try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
            // A device may have trimmed the record in the meantime.
            guard link(place(of: name), copy) == 0 else { continue }
            known.insert(name)
            names.append(name)
        }
    }

    /// Restores the genuine content of a record.
    func restore(_ name: String) throws {
        let (there, honest) = (place(of: name), honestPlace(of: name))
        var (first, second) = (stat(), stat())
        guard stat(honest, &second) == 0 else { return }
        if stat(there, &first) == 0, first.st_ino == second.st_ino { return }
        try replace(name) { unused in link(honest, unused) == 0 }
    }

    /// Replaces a record atomically under its name; the captured link keeps the genuine content.
    func replace(_ name: String, _ make: (String) throws -> Bool) throws {
        let unused = try preparePlace(for: name)
        if try make(unused) { rename(unused, place(of: name)) }
    }

    /// - Returns: an unused file name, outside the folder and in the same file system.
    private func preparePlace(for name: String) throws -> String {
        let directory = URL(filePath: place(of: name)).deletingLastPathComponent().path()
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        let unused = "\(captured)/.new"
        unlink(unused)
        return unused
    }

    func replace(_ name: String, with data: Data) throws {
        try replace(name) { unused in FileManager.default.createFile(atPath: unused, contents: data) }
    }

    func remove(_ name: String) { unlink(place(of: name)) }

    mutating func invent(_ name: String, _ data: Data) throws {
        // A device may write this record right now, before its capture. A link, unlike a rename, replaces nothing.
        guard !known.contains(name) else { return }
        let unused = try preparePlace(for: name)
        guard FileManager.default.createFile(atPath: unused, contents: data) else { return }
        if link(unused, place(of: name)) == 0 { invented[name] = data }
        unlink(unused)
    }

    /// Restores every captured record, and removes the records that no device wrote.
    func heal() throws {
        for name in presentNames() where !known.contains(name) {
            if FileManager.default.contents(atPath: place(of: name)) == invented[name] { remove(name) }
        }
        for name in names { try restore(name) }
    }
}
