// SPDX-License-Identifier: Apache-2.0
internal import CLinux
internal import FoundationEssentials
internal import Glibc
internal import SystemPackage
internal import Vault
internal import VaultCrypto
internal import VaultFormat
internal import VaultStorage
internal import VaultSystem

/// The content at a path, as far as it can be restored. A symbolic link is kept as a link, and not followed.
enum PathContent: Codable {
    case nothing
    case link(to: String)
    case file(bytes: Data, mode: UInt32)

    /// The maximum size of a file; settings of desktops have some kilobytes.
    private static let limit = 1 << 20

    static func text(_ text: String) -> PathContent { .file(bytes: Data(text.utf8), mode: 0o644) }

    /// Returns whether a program that reads the path gets the same result.
    func isSame(as other: PathContent) -> Bool {
        switch (self, other) {
        case (.nothing, .nothing): true
        case (.link(let first), .link(let second)): first == second
        case (.file(let first, _), .file(let second, _)): first == second
        default: false
        }
    }

    var isNothing: Bool { isSame(as: .nothing) }

    /// The content as settings; `nil` if it is not a text file.
    var settings: SettingsText? {
        switch self {
        case .nothing: SettingsText("")
        case .link: nil
        case .file(let bytes, _): SettingsText(Array(bytes))
        }
    }

    // MARK: Reading

    /// - Throws: code 11 for content that could not be restored, such as a directory; 30.
    static func at(_ path: FilePath) throws -> PathContent {
        let status: FileStatus
        do throws(Errno) { status = try FileStatus(at: path.string) } catch {
            guard error != .noSuchFileOrDirectory else { return .nothing }
            throw failure("look at", path, error)
        }
        switch status.kind {
        case .symbolicLink:
            // A link in the user's directory may have a target that is not valid text.
            guard let target = try? FileManager.default.destinationOfSymbolicLink(atPath: path.string) else {
                throw foreign(path)
            }
            return .link(to: target)
        case .regular:
            guard status.size <= limit else { throw foreign(path) }
            return .file(bytes: try read(path, O_NOFOLLOW), mode: status.mode & 0o777)
        default: throw foreign(path)
        }
    }

    /// Returns the settings that programs read at the path, through links; `nil` if there is no readable file.
    static func behind(_ path: FilePath) -> SettingsText? { (try? read(path, 0)).flatMap { SettingsText(Array($0)) } }

    private static func read(_ path: FilePath, _ flags: CInt) throws -> Data {
        let bytes: [UInt8]?
        do throws(Errno) {
            // Must not block for a writer, in case the file has become a pipe.
            let file = try Descriptor(opening: path.string, O_RDONLY | O_NONBLOCK | flags)
            bytes = file.regularFile == nil ? nil : try file.readAll(most: limit + 1)
        } catch { throw failure("read", path, error) }
        guard let bytes, bytes.count <= limit else { throw foreign(path) }
        return Data(bytes)
    }

    static func foreign(_ path: FilePath) -> CommandError {
        CommandError(
            .alreadyExists, "'\(path.string.printable)' is not a file that could be put back later",
            hint: "move it away; nothing was changed")
    }

    // MARK: Writing

    /// Replaces the content of the path atomically.
    ///
    /// - Throws: code 30.
    func put(at path: FilePath, directoryMode: mode_t = 0o700) throws {
        guard !isNothing else {
            do throws(Errno) { try Names.removeFile(path.string) } catch {
                guard error == .noSuchFileOrDirectory else { throw PathContent.failure("remove", path, error) }
            }
            return
        }
        try PathContent.makeDirectories(path.removingLastComponent(), directoryMode)
        // The temporary name has no suffix by which a program would recognize it as a settings file.
        let name = ".\(path.lastComponent?.string ?? "").tmp-\(hexadecimal(SystemRandom().bytes(8)))"
        let temporary = path.removingLastComponent().appending(name)
        let task = "write '\(path.string.printable)'"
        do {
            switch self {
            case .nothing: break
            case .link(let target):
                try attempt(task, try Names.makeSymbolicLink(temporary.string, to: target))
            case .file(let bytes, let mode): try PathContent.write(bytes, mode, to: temporary, for: path)
            }
            try attempt(task, try Names.rename(temporary.string, to: path.string))
        } catch {
            try? Names.removeFile(temporary.string)
            throw error
        }
    }

    private static func write(_ bytes: Data, _ mode: UInt32, to temporary: FilePath, for path: FilePath) throws {
        let file = try opened("write '\(path.string.printable)'", try Descriptor(making: temporary.string))
        let content = Array(bytes)
        try Output.write(content.span, to: file.number, as: "'\(path.string.printable)'")
        // Independent of the umask: programs of this user and the bus read the file.
        guard fchmod(file.number, mode_t(mode)) == 0, fsync(file.number) == 0 else {
            throw failure("write", path, Errno(rawValue: errno))
        }
    }

    static func makeDirectories(_ path: FilePath, _ mode: mode_t) throws {
        for directory in missingDirectories(path) {
            do throws(Errno) { try Names.makeDirectory(directory.string, mode: mode) } catch {
                guard error == .fileExists else { throw failure("make the directory", directory, error) }
            }
        }
    }

    /// Returns the missing directories of a path, outermost first.
    static func missingDirectories(_ path: FilePath) -> [FilePath] {
        var missing: [FilePath] = []
        var current = path
        while !current.isEmpty, current != "/", isMissing(current) {
            missing.append(current)
            current.removeLastComponent()
        }
        return missing.reversed()
    }

    private static func isMissing(_ path: FilePath) -> Bool {
        do throws(Errno) { _ = try FileStatus(at: path.string) } catch { return error == .noSuchFileOrDirectory }
        return false
    }

    static func failure(_ task: String, _ path: FilePath, _ errno: Errno) -> CommandError {
        .cannot("\(task) '\(path.string.printable)'", errno)
    }
}
