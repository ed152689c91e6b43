// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import Glibc
internal import VaultSystem

extension Vault {
    /// The access group of this program, unless it names others: the bundle identifier of its Info.plist, else the file
    /// name of its executable. On Apple's systems no application can touch another's items, and one that wipes a whole
    /// class relies on that.
    ///
    /// Determined once. Names with another meaning, and those that a list of groups could not hold, get the prefix
    /// `program.`.
    public static let processGroup = ProcessGroup.name(ofExecutable: ProcessGroup.executable)
}

/// The name of a program.
enum ProcessGroup {
    private static let taken: Set<String> = [
        "*", "default", DeviceIdentifier.accessGroup, "systemd", "com.apple.token",
    ]
    private static let deletedMark = " (deleted)"

    static var executable: String {
        var buffer = [CChar](repeating: 0, count: 4097)
        // The buffer is one byte longer than the link and was zeroed.
        let length = unsafe readlink("/proc/self/exe", &buffer, 4096)
        let path = length > 0 ? String(validating: buffer[..<length].map { UInt8(bitPattern: $0) }, as: UTF8.self) : nil
        return path ?? ProcessArguments.executable ?? ""
    }

    /// - Parameter executable: its path as reported by the kernel, with a mark if the file was replaced meanwhile.
    static func name(ofExecutable executable: String) -> String {
        let path = executable.hasSuffix(deletedMark) ? String(executable.dropLast(deletedMark.count)) : executable
        let split = path.utf8.lastIndex(of: UInt8(ascii: "/"))
        let file = split.map { String(path[path.utf8.index(after: $0)...]) } ?? path
        let directory = split.map { String(path[..<$0]) } ?? "."
        return own(bundleIdentifier(of: file, in: directory) ?? file)
    }

    private static func own(_ name: String) -> String {
        let isPlain = !name.isEmpty && !taken.contains(name) && !name.utf8.contains(UInt8(ascii: ","))
        return isPlain ? name : "program." + name.replacing(",", with: "_")
    }

    /// The bundle identifier from the paths where Foundation's `Bundle.main` looks for an executable's resources.
    private static func bundleIdentifier(of file: String, in directory: String) -> String? {
        struct Information: Decodable {
            var identifier: String?
            enum CodingKeys: String, CodingKey { case identifier = "CFBundleIdentifier" }
        }
        let paths = [
            "\(directory)/Info.plist", "\(directory)/\(file).resources/Info.plist",
            "\(directory)/../share/\(file).resources/Info.plist",
        ]
        for path in paths {
            guard let data = FileManager.default.contents(atPath: path), data.count <= 1 << 20,
                let identifier = (try? PropertyListDecoder().decode(Information.self, from: data))?.identifier,
                !identifier.isEmpty
            else { continue }
            return identifier
        }
        return nil
    }
}
