// SPDX-License-Identifier: Apache-2.0

extension VaultStore {
    /// Watches the vault's directory; `nil` if it cannot be watched.
    package func watch(_ onChange: @escaping @Sendable () -> Void) -> DirectoryWatch? {
        guard environment.fileSystem is LinuxFileSystem else { return nil }
        return DirectoryWatch(location.directory.path, onChange: onChange)
    }
}
