// SPDX-License-Identifier: Apache-2.0
package import SystemPackage
package import VaultCrypto
internal import VaultFormat
internal import VaultSystem

/// A file under construction: named once all of it is on the disk, or removed.
package struct DurableFile: ~Copyable {
    /// The failed step, and how far the file had come.
    package struct Failure: Error {
        package let errno: Errno
        let task: FileTask
        /// Whether the file was already named, which a crash may undo.
        package let hasName: Bool
    }

    package let file: any VaultFile
    private let directory: any VaultDirectory
    private let name: String
    private let temporaryName: String
    private var hasName = false

    /// - Parameters:
    ///   - name: the final name.
    ///   - needsLock: whether to fail on a file system without locks.
    package init(_ name: String, in directory: any VaultDirectory, _ random: any RandomSource, needsLock: Bool = true)
        throws(Errno)
    {
        let temporaryName = Self.prefix(name) + hexadecimal(random.bytes(8))
        let file = try directory.createTemporary(temporaryName)
        // A process that cleans up skips files locked by their writer.
        do throws(Errno) { _ = try file.tryLock(exclusive: true) } catch {
            guard !needsLock else {
                try? directory.remove(temporaryName)
                throw error
            }
        }
        self.file = file
        self.directory = directory
        self.name = name
        self.temporaryName = temporaryName
    }

    deinit { if !hasName { try? directory.remove(temporaryName) } }

    /// Makes the content durable, names the file, and makes the name durable.
    consuming func finish(replacing: Bool) throws(Failure) {
        try synchronize()
        try giveName(replacing: replacing)
    }

    /// Makes the content durable, which may take long.
    package borrowing func synchronize() throws(Failure) {
        try step(.synchronize) { () throws(Errno) in try file.synchronize() }
    }

    /// Names the durable file, and makes the name durable.
    package consuming func giveName(replacing: Bool) throws(Failure) {
        try step(.rename) { () throws(Errno) in
            try directory.install(file, temporaryName: temporaryName, as: name, replacing: replacing)
        }
        hasName = true
        try step(.synchronize) { () throws(Errno) in try directory.synchronize() }
    }

    /// Writes the bytes to a file.
    package static func write(
        _ bytes: Span<UInt8>, to name: String, in directory: any VaultDirectory, replacing: Bool,
        _ random: any RandomSource
    ) throws(Errno) {
        let made = try DurableFile(name, in: directory, random, needsLock: false)
        try made.file.writeAll(bytes, at: 0)
        do throws(Failure) { try made.finish(replacing: replacing) } catch { throw error.errno }
    }

    private borrowing func step(_ task: FileTask, _ call: () throws(Errno) -> Void) throws(Failure) {
        do throws(Errno) { try call() } catch { throw Failure(errno: error, task: task, hasName: hasName) }
    }

    private static func prefix(_ name: String) -> String { ".\(name).tmp-" }

    /// Removes temporary files of killed processes for this name; only callers that may create such a file may call
    /// this.
    static func removeLeftovers(of name: String, in directory: any VaultDirectory, ownedBy user: UInt32) {
        guard let names = try? directory.names() else { return }
        let prefix = prefix(name)
        for leftover in names where leftover.hasPrefix(prefix) {
            // Matches only the names that this program makes: another vault may have a similar name.
            let tag = leftover.dropFirst(prefix.count).utf8
            guard tag.count == 16, tag.allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }),
                let status = try? directory.status(of: leftover), status.kind == .regular, status.owner == user
            else { continue }
            // A file still being written is locked by its writer.
            guard let file = try? directory.open(leftover, writable: true), (try? file.tryLock(exclusive: true)) == true
            else { continue }
            try? directory.remove(leftover)
        }
    }
}
