// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import SystemPackage

/// A change that a door makes to the files around it.
struct DoorChange {
    enum Kind {
        /// A file of the door's own.
        case file(String)
        /// A masked unit, which systemd does not start, as by 'systemctl --user mask'.
        case mask
        /// A file in a directory shared with other programs: an existing one is restored later. `replacing` tells the
        /// user whose it may be.
        case manifest(String, replacing: String)
        /// A link of the door's own: to this command, or as made by 'systemctl --user enable'.
        case link(to: String)
        /// A key in another program's file; a new file begins with `start`.
        case setting(DoorSetting, start: String, mode: UInt32)
    }

    let path: FilePath
    let kind: Kind

    static let masked = PathContent.link(to: "/dev/null")

    /// The wanted content, if the whole file is the door's.
    var wanted: PathContent? {
        switch kind {
        case .file(let text), .manifest(let text, _): .text(text)
        case .link(let target): .link(to: target)
        case .mask, .setting: nil
        }
    }
}

/// A key in a file of groups and keys.
struct DoorSetting: Codable, CustomStringConvertible {
    let group: String
    let key: String
    let value: String

    var description: String { "[\(group)] \(key)=\(value)" }
}
