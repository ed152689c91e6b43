// SPDX-License-Identifier: Apache-2.0
internal import Glibc
internal import SystemPackage
internal import VaultSystem

/// The users as which a server may run that gets a password over a socket. Any user can listen in a directory that
/// others may write, such as /tmp, while the server does not run.
struct SocketOwners {
    private let users: Set<UInt32>

    /// - Parameter directory: the absolute path of the socket's directory. Root and this user are always taken; the
    ///   directory's owner only if nobody but these two could have given another user's directory this path.
    init(ofDirectory directory: String) {
        var users: Set<UInt32> = [0, geteuid()]
        if let owner = try? SocketOwners.owner(directory) { users.insert(owner) }
        self.users = users
    }

    /// Checks the process at the other end, as the kernel knows it. Of a socket that is not connected libpq says why.
    ///
    /// - Parameter socket: below 0 if there is none.
    /// - Throws: `.lost` for a process of another user.
    func check(_ socket: Int32) throws(PostgresError) {
        guard socket >= 0 else { return }
        let user = Descriptor.peer(of: socket)?.user
        // The kernel's answer for a socket that is not connected, by which nothing can be sent.
        guard user != .max, user.map(users.contains) != true else { return }
        let named = user.map { "user \($0)" } ?? "an unknown user"
        throw .lost(
            "what listens at the socket runs as \(named) and gets no password: its directory must be the server's own, "
                + "in directories that only root or you can write, such as /run/postgresql")
    }

    private static let mostLinks = 40

    /// Returns the owner of the directory to which a path leads; `nil` if another user could lead it elsewhere.
    static func owner(_ path: String) throws(Errno) -> UInt32? {
        var (place, links) = ("/", 0)
        var rest = Array(path.split(separator: "/").reversed())
        while let name = rest.popLast() {
            // The sticky bit protects the names that exist, and not those that do not.
            let directory = try FileStatus(at: place)
            guard [0, geteuid()].contains(directory.owner), directory.mode & 0o022 == 0 else { return nil }
            guard name != "." else { continue }
            guard name != ".." else {
                place = String(place[..<(place.lastIndex(of: "/") ?? place.startIndex)])
                if place.isEmpty { place = "/" }
                continue
            }
            let path = (place == "/" ? "" : place) + "/" + name
            guard try FileStatus(at: path).kind == .symbolicLink else {
                place = path
                continue
            }
            links += 1
            guard links <= mostLinks else { throw .tooManySymbolicLinkLevels }
            let target = try Names.target(ofLink: path)
            if target.hasPrefix("/") { place = "/" }
            rest += target.split(separator: "/").reversed()
        }
        return try FileStatus(at: place).owner
    }
}
