// SPDX-License-Identifier: Apache-2.0
import Foundation

/// The folder of the fleet, and beside it all that it ever held.
///
/// A record never changes, so the first content of a name is the honest one: an enemy's act changes a record only
/// after it was captured, and keeps account of the names that it invents.
struct SharedFolder: Sendable {
    let path: String
    private let captured: String
    /// Names of records below the realm's directory, in the order in which they were captured.
    private(set) var names: [String] = []
    private var known: Set<String> = []
    /// Contents that an enemy put under names of its own.
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

    /// Notes the realm, which is there once the devices have joined, and its first records.
    mutating func findRealm() throws {
        // Requests to join lie below a realm of zeros.
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

    /// Rosters, logs and blobs; an answer to a device that joins is of no use later.
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

    /// Links each record that is new.
    mutating func capture() throws {
        for name in presentNames() where !known.contains(name) {
            // A device may have put its own record where an enemy had put one.
            if let data = invented[name], FileManager.default.contents(atPath: place(of: name)) == data { continue }
            let copy = honestPlace(of: name)
            let directory = URL(filePath: copy).deletingLastPathComponent().path()
            try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
            // A device may have trimmed it meanwhile.
            guard link(place(of: name), copy) == 0 else { continue }
            known.insert(name)
            names.append(name)
        }
    }

    /// Puts the honest content of a record back.
    func restore(_ name: String) throws {
        let (there, honest) = (place(of: name), honestPlace(of: name))
        var (first, second) = (stat(), stat())
        guard stat(honest, &second) == 0 else { return }
        if stat(there, &first) == 0, first.st_ino == second.st_ino { return }
        try replace(name) { unused in link(honest, unused) == 0 }
    }

    /// Replaces a record under its name: a device sees the one or the other, and the captured link keeps its content.
    func replace(_ name: String, _ make: (String) throws -> Bool) throws {
        let unused = try preparePlace(for: name)
        if try make(unused) { rename(unused, place(of: name)) }
    }

    /// - Returns: a name of a file that is not there, outside the folder and in its file system.
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
        // A device may write that record at this moment, which nobody has captured yet: a link replaces nothing.
        guard !known.contains(name) else { return }
        let unused = try preparePlace(for: name)
        guard FileManager.default.createFile(atPath: unused, contents: data) else { return }
        if link(unused, place(of: name)) == 0 { invented[name] = data }
        unlink(unused)
    }

    /// The folder gets back all that it ever held, and loses what no device wrote.
    func heal() throws {
        for name in presentNames() where !known.contains(name) {
            if FileManager.default.contents(atPath: place(of: name)) == invented[name] { remove(name) }
        }
        for name in names { try restore(name) }
    }
}
