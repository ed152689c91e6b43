// SPDX-License-Identifier: Apache-2.0
internal import Glibc
package import SystemPackage
internal import VaultSystem

/// The base directories of the XDG specification.
package enum BaseDirectories {
    /// Returns the directory that a variable names, which must be absolute, else one in `$HOME`; `nil` without either.
    package static func path(_ name: String, _ fallback: String) -> FilePath? {
        if let directory = ProcessEnvironment.variable(name), directory.hasPrefix("/") { return FilePath(directory) }
        guard let home = ProcessEnvironment.variable("HOME"), home.hasPrefix("/") else { return nil }
        // Joined as text: the generic function for components costs 250,000 instructions at its first use.
        return FilePath(home).pushing(FilePath(fallback))
    }

    /// Like ``path(_:_:)``, for files that this process makes: `nil` also where ``isAnothers(_:)``.
    package static func ownPath(_ name: String, _ fallback: String) -> FilePath? {
        path(name, fallback).flatMap { isAnothers($0) ? nil : $0 }
    }

    /// Returns whether root runs this process with another user's variables, as by `sudo -E`: what it made in that
    /// directory would be closed to the directory's owner, and so would be the directories on the way.
    package static func isAnothers(_ directory: FilePath) -> Bool {
        guard geteuid() == 0 else { return false }
        var place = directory
        while true {
            if let status = try? FileStatus(at: place.string, followsLink: true) { return status.owner != 0 }
            guard place.removeLastComponent() else { return false }
        }
    }
}
