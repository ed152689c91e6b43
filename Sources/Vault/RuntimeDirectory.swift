// SPDX-License-Identifier: Apache-2.0
internal import Glibc
package import SystemPackage
internal import VaultSystem

/// The directory for the sockets of a user's programs.
package enum RuntimeDirectory {
    /// `$XDG_RUNTIME_DIR`, which must be absolute (XDG Base Directory Specification), else `/run/user/UID`, where
    /// systemd-logind makes it: processes of cron, su and some services do not have the variable.
    ///
    /// `nil` without either. A directory that is not the user's own, or that others may enter, could have the socket of
    /// another user's process.
    package static var ofProcess: FilePath? { path(ProcessEnvironment.variable("XDG_RUNTIME_DIR"), else: "/run/user") }

    static func path(_ named: String?, else parent: FilePath) -> FilePath? {
        if let named, named.hasPrefix("/") { return FilePath(named) }
        let user = geteuid()
        let path = parent.appending(String(user))
        guard let status = try? FileStatus(at: path.string), status.kind == .directory, status.owner == user,
            status.mode & 0o777 == 0o700
        else { return nil }
        return path
    }
}
