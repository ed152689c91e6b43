// SPDX-License-Identifier: Apache-2.0
internal import VaultFormat

/// The constraints on the use of a key (draft-ietf-sshm-ssh-agent, 3.2.7; PROTOCOL.agent).
struct SSHConstraints: Equatable, Sendable {
    /// The lifetime, in seconds.
    var lifetime: UInt32?
    /// Whether the user is asked before each use.
    var isConfirmed = false
    /// The routes on which the key may be used; empty for all.
    var destinations: [SSHDestination] = []

    private static let mostDestinations = 1024

    init() {}

    /// Reads the rest of the message.
    ///
    /// - Throws: `.unsupported` for an unknown constraint: ignoring it would leave the key unrestricted.
    init(_ reader: inout SSHReader, _ bytes: Span<UInt8>) throws(SSHRefusal) {
        while !reader.isAtEnd {
            switch try reader.byte(bytes) {
            case 1:
                guard lifetime == nil else { throw .malformed }
                let seconds = try reader.number(bytes)
                guard seconds > 0 else { throw .malformed }
                lifetime = seconds
            case 2:
                guard !isConfirmed else { throw .malformed }
                isConfirmed = true
            case 255:
                guard try reader.text(bytes) == "restrict-destination-v00@openssh.com" else { throw .unsupported }
                guard destinations.isEmpty else { throw .malformed }
                var list = SSHReader(try reader.string(bytes))
                while !list.isAtEnd {
                    guard destinations.count < SSHConstraints.mostDestinations else { throw .malformed }
                    destinations.append(try SSHDestination(try list.string(bytes), bytes))
                }
                // An empty list would read as no restriction at all.
                guard !destinations.isEmpty else { throw .malformed }
            default: throw .unsupported
            }
        }
    }
}

/// A route between two hosts on which a key may be used.
struct SSHDestination: Equatable, Sendable {
    struct Hop: Equatable, Sendable {
        struct HostKey: Equatable, Sendable {
            let name: SSHKeyName
            /// Whether the key is that of an authority that signs host keys.
            let isAuthority: Bool
        }

        /// The user name pattern; empty for any user.
        let user: String
        /// The host name; empty for the agent's own host.
        let host: String
        let keys: [HostKey]

        private static let mostKeys = 1024

        fileprivate init(_ range: Range<Int>, _ bytes: Span<UInt8>) throws(SSHRefusal) {
            var reader = SSHReader(range)
            (user, host) = (try reader.text(bytes), try reader.text(bytes))
            // A reserved field, which could only restrict further.
            guard try reader.string(bytes).isEmpty else { throw .unsupported }
            var keys: [HostKey] = []
            while !reader.isAtEnd {
                guard keys.count < Hop.mostKeys else { throw .malformed }
                let blob = try reader.string(bytes)
                let name = try Hop.name(bytes.extracting(blob))
                let isAuthority = try reader.flag(bytes)
                if let name { keys.append(HostKey(name: name, isAuthority: isAuthority)) }
            }
            self.keys = keys
        }

        /// Returns the name of a host key; `nil` for a type that this agent cannot verify, and which therefore matches
        /// no host. known_hosts(5) lists a host's keys of all types.
        private static func name(_ blob: Span<UInt8>) throws(SSHRefusal) -> SSHKeyName? {
            do throws(SSHRefusal) { return try SSHKeyName(blob) } catch {
                guard error == .unsupported else { throw error }
                return nil
            }
        }

        /// Returns whether a host with this key matches.
        ///
        /// - Parameter seconds: since 1970.
        func matches(_ host: SSHKeyName, at seconds: UInt64) -> Bool {
            keys.contains { key in
                switch host {
                case .plain: !key.isAuthority && key.name == host
                case .certificate(let certificate):
                    key.isAuthority && key.name == .plain(certificate.authority)
                        && certificate.isOfHost(self.host, at: seconds)
                }
            }
        }
    }

    let from: Hop
    let to: Hop

    fileprivate init(_ range: Range<Int>, _ bytes: Span<UInt8>) throws(SSHRefusal) {
        var reader = SSHReader(range)
        from = try Hop(try reader.string(bytes), bytes)
        to = try Hop(try reader.string(bytes), bytes)
        guard try reader.string(bytes).isEmpty else { throw .unsupported }
        try reader.finish()
        guard from.user.isEmpty, from.host.isEmpty == from.keys.isEmpty, !to.host.isEmpty, !to.keys.isEmpty else {
            throw .malformed
        }
    }

    /// - Parameters:
    ///   - from: the previous host; `nil` for the agent's own.
    ///   - to: the destination; `nil` for any.
    ///   - user: the user name; `nil` if unknown yet.
    func allows(from: SSHKeyName?, to: SSHKeyName?, user: String?, at seconds: UInt64) -> Bool {
        let comes = from.map { self.from.matches($0, at: seconds) } ?? self.from.host.isEmpty
        guard comes, to.map({ self.to.matches($0, at: seconds) }) ?? true else { return false }
        return user.map { self.to.user.isEmpty || SSHPattern.matches($0, self.to.user) } ?? true
    }
}
