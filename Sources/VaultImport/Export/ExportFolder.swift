// SPDX-License-Identifier: Apache-2.0

/// A folder of an export with the folders below it, which are in the order of their names.
final class ExportFolder<Entry> {
    let path: String
    private(set) var entries: [Entry] = []
    private var folders: [String: ExportFolder] = [:]

    init(path: String = "") { self.path = path }

    /// - Parameter names: those of the folders from here to that of the entry.
    func add(_ entry: Entry, to names: ArraySlice<Substring>) {
        guard let name = names.first.map(String.init) else { return entries.append(entry) }
        let folder = folders[name] ?? ExportFolder(path: "\(path)/\(name)")
        folders[name] = folder
        folder.add(entry, to: names.dropFirst())
    }

    func map<Result>(_ transform: (_ name: String, ExportFolder) -> Result) -> [Result] {
        folders.sorted { $0.key < $1.key }.map { transform($0.key, $0.value) }
    }
}
