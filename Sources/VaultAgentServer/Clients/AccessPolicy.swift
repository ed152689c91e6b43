// SPDX-License-Identifier: Apache-2.0
internal import CLinux
internal import FoundationEssentials
internal import Glibc
package import SystemPackage
internal import Vault
internal import VaultAgent
internal import VaultFormat
internal import VaultStorage

/// The user's rules for programs. The first rule that fits a client applies; without one everything is permitted.
struct AccessPolicy: Sendable {
    /// A rule. All conditions that it names must hold, and it names at least one.
    struct Rule: Sendable {
        /// The client's program, or that of one of its ancestors.
        var executable: String?
        var unit: String?
        /// A control group, including those below it.
        var cgroup: String?
        var flatpak: String?
        var access = AgentStatus.Access.full
        var groups: AccessGroups?

        var rights: Rights { Rights(access: access, groups: groups) }

        func fits(_ process: ClientProcess) -> Bool {
            if let executable,
                !([process.executable].compactMap { $0 } + process.ancestors).contains(where: executable.isSameBytes)
            {
                return false
            }
            if let unit, process.unit?.isSameBytes(as: unit) != true { return false }
            if let cgroup, process.cgroup?.isPath(atOrBelow: cgroup) != true { return false }
            if let flatpak, process.flatpak != flatpak { return false }
            return true
        }
    }

    let rules: [Rule]
    /// The rules as in the file, where a program's path may contain symbolic links.
    private let written: [Rule]
    /// Programs in rules that do not exist.
    let missingExecutables: [String]
    /// The identity of the file that was read; `nil` if there was none.
    private let source: Source?

    private struct Source: Equatable {
        var device, inode: UInt64
        var size, seconds, nanoseconds: Int

        init?(_ path: FilePath?) {
            var status = stat()
            guard let path, unsafe stat(path.string, &status) == 0 else { return nil }
            (device, inode, size) = (UInt64(status.st_dev), UInt64(status.st_ino), Int(status.st_size))
            (seconds, nanoseconds) = (status.st_mtim.tv_sec, status.st_mtim.tv_nsec)
        }
    }

    /// Whether the file has changed since it was read, or a program's path now leads to another file.
    func isOutdated(_ path: FilePath?) -> Bool {
        Source(path) != source || zip(written, rules).contains { $0.resolved.executable != $1.executable }
    }

    /// Returns the rights of a client by the rules.
    func rights(of process: ClientProcess) -> Rights {
        needsMore(of: process) ? .none : rule(for: process)?.rights ?? .all
    }

    /// Returns the rights of a process that `door` speaks for; `nil` if the process speaks for itself. The result is
    /// the intersection of the rights of both.
    func rights(of process: ClientProcess, through door: ClientProcess?) -> Rights {
        guard let door else {
            // No door has inspected its sandbox for the agent. A systemd service runs in no application's sandbox.
            let mayBeSandboxed = process.hidesItsSandbox && process.unit?.hasSuffix(".service") != true
            guard !mayBeSandboxed || !rules.contains(where: { $0.flatpak != nil }) else { return .none }
            return rights(of: process)
        }
        let own = rightsBehindDoor(process)
        guard let told = process.toldSandbox, told != process.flatpak else { return own.limited(to: rights(of: door)) }
        // The door sees a sandbox that the agent does not. This information may only narrow the rights.
        guard process.flatpak == nil else { return .none }
        var named = process
        named.flatpak = told
        return own.limited(to: rightsBehindDoor(named)).limited(to: rights(of: door))
    }

    /// Returns the rights of a process behind a door, before those of the door. Behind doors are sandboxed
    /// applications, which cannot reach the agent themselves. A rule that does not name the application only narrows
    /// its rights.
    private func rightsBehindDoor(_ process: ClientProcess) -> Rights {
        guard !needsMore(of: process) else { return .none }
        let rule = rule(for: process)
        let ruled = rule?.rights ?? .all
        guard let application = process.flatpak, rule?.flatpak == nil else { return ruled }
        return ruled.limited(to: Rights(ofFlatpak: application))
    }

    private func rule(for process: ClientProcess) -> Rule? { rules.first { $0.fits(process) } }

    /// Whether a rule may depend on an unknown property of the client. An unknown property fits no rule, and must not
    /// let the client through for that reason.
    func needsMore(of process: ClientProcess) -> Bool {
        guard !rules.isEmpty else { return false }
        return process.isUnknown || process.flatpak == ""
            || process.hidesItsProgram && rules.contains { $0.executable != nil }
    }

    /// Whether the policy needs no information about clients.
    var isEmpty: Bool { rules.isEmpty }

    /// Reads the rules: JSON with comments (JSON5). A missing file has no rules.
    ///
    /// - Parameter mustExist: whether a missing file is an error, since there were rules before.
    /// - Throws: an error for a file that others may write, and for anything unknown in it: a rule that was ignored
    ///   would protect nothing.
    init(_ path: FilePath?, mustExist: Bool = false) throws(PolicyError) {
        var status = stat()
        guard let path, unsafe lstat(path.string, &status) == 0 else {
            guard !mustExist, path == nil || errno == ENOENT || errno == ENOTDIR else { throw .unreadable }
            (rules, written, missingExecutables, source) = ([], [], [], nil)
            return
        }
        // Taken before the read, so that a change during it counts as a change.
        source = Source(path)
        guard unsafe stat(path.string, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { throw .unreadable }
        guard status.st_uid == geteuid() || status.st_uid == 0, status.st_mode & 0o022 == 0 else {
            throw .writableByOthers
        }
        guard let data = FileManager.default.contents(atPath: path.string), data.count <= 1 << 20 else {
            throw .unreadable
        }
        let decoder = JSONDecoder()
        decoder.allowsJSON5 = true
        do {
            written = try decoder.decode(File.self, from: data).rules
            rules = written.map(\.resolved)
            missingExecutables = rules.compactMap(\.executable).filter { unsafe access($0, F_OK) != 0 }
        } catch DecodingError.dataCorrupted(let context) {
            throw .notUnderstood(context.codingPath.isEmpty ? "it is no JSON" : context.debugDescription)
        } catch DecodingError.typeMismatch(_, let context) {
            throw .notUnderstood("\(context.codingPath.map(\.stringValue).joined(separator: ".")) is of another type")
        } catch { throw .notUnderstood("'rules' is missing") }
        // The kernel attributes the processes of a script to its interpreter: such a rule would fit none of them.
        if let script = zip(written, rules).first(where: { AccessPolicy.isScript($1.executable) })?.0.executable {
            throw .script(script)
        }
    }

    private static func isScript(_ path: String?) -> Bool {
        guard let path else { return false }
        var bytes: [UInt8] = [0, 0]
        // The array has this room. An unreadable file is not a script: its interpreter could not read it either.
        return unsafe clinux_read_file(AT_FDCWD, path, &bytes, bytes.count) == 2 && bytes == Array("#!".utf8)
    }

    private struct File: Decodable {
        var rules: [Rule]

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: AnyKey.self)
            try container.allow(["rules"])
            rules = try container.decode([Rule].self, forKey: AnyKey("rules"))
        }
    }
}

/// The reason why a policy cannot be used.
package enum PolicyError: Error, Equatable, Sendable {
    case unreadable
    case writableByOthers
    /// A syntax error, in words that quote only keys.
    case notUnderstood(String)
    /// A rule names a script, whose processes the kernel attributes to its interpreter. A rule by unit or control group
    /// works.
    case script(String)

    /// The message in lower case, without a full stop.
    package var text: String {
        switch self {
        case .unreadable: "cannot read the policy"
        case .writableByOthers: "others may write the policy"
        case .notUnderstood(let what): "the policy is not understood: \(what)"
        case .script(let path): "a rule of the policy names the script '\(path)', whose processes are its interpreter's"
        }
    }

    /// The remedy; `nil` if the message contains it.
    package var hint: String? {
        switch self {
        case .writableByOthers: "chmod go-w it"
        case .script(let path):
            """
            name a unit, such as "unit": "assistant.scope", and start it by \
            'systemd-run --user --scope --unit=assistant \(path)'
            """
        case .unreadable, .notUnderstood: nil
        }
    }
}

extension PolicyError {
    /// Checks a policy like an agent.
    ///
    /// - Returns: the programs in rules that do not exist.
    package static func check(_ path: FilePath) throws(PolicyError) -> [String] {
        try AccessPolicy(path).missingExecutables
    }
}

extension AccessPolicy.Rule {
    /// The rule with symbolic links resolved, since the kernel reports resolved paths: a rule for /bin/sh would never
    /// fit if /bin or sh is a link.
    fileprivate var resolved: Self {
        var rule = self
        if let executable, let path = try? LinuxFileSystem().resolve(FilePath(executable)) {
            rule.executable = path.string
        }
        return rule
    }
}

extension AccessPolicy.Rule: Decodable {
    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: AnyKey.self)
        try container.allow(["executable", "unit", "cgroup", "flatpak", "access", "groups"])
        executable = try container.decodeIfPresent(String.self, forKey: AnyKey("executable"))
        unit = try container.decodeIfPresent(String.self, forKey: AnyKey("unit"))
        cgroup = try container.decodeIfPresent(String.self, forKey: AnyKey("cgroup"))
        flatpak = try container.decodeIfPresent(String.self, forKey: AnyKey("flatpak"))
        guard executable != nil || unit != nil || cgroup != nil || flatpak != nil else {
            throw container.corrupted("a rule names neither an executable nor a unit, cgroup or flatpak")
        }
        guard executable?.hasPrefix("/") ?? true, cgroup?.hasPrefix("/") ?? true else {
            throw container.corrupted("an executable and a cgroup begin with a slash")
        }
        guard flatpak.map(AccessGroups.isApplication) ?? true else {
            throw container.corrupted("a flatpak is the identifier of an application")
        }
        switch try container.decodeIfPresent(String.self, forKey: AnyKey("access")) {
        case nil, "full": access = .full
        case "inject-only": access = .injectOnly
        case "none": access = .none
        default: throw container.corrupted("'access' is full, inject-only or none")
        }
        let names = try container.decodeIfPresent([String].self, forKey: AnyKey("groups"))
        guard names?.isEmpty != true else { throw container.corrupted("'groups' names none") }
        groups = names.map { AccessGroups($0) }
    }
}

private struct AnyKey: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(_ name: String) { stringValue = name }
    init?(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
}

extension KeyedDecodingContainer where Key == AnyKey {
    /// - Throws: an error for an unknown key.
    fileprivate func allow(_ known: Set<String>) throws {
        guard let unknown = allKeys.first(where: { !known.contains($0.stringValue) }) else { return }
        throw corrupted("'\(unknown.stringValue)' means nothing here")
    }

    fileprivate func corrupted(_ what: String) -> DecodingError {
        .dataCorrupted(DecodingError.Context(codingPath: codingPath + [AnyKey("rules")], debugDescription: what))
    }
}
