// SPDX-License-Identifier: Apache-2.0
internal import Dispatch
internal import Glibc
internal import Synchronization
internal import VaultSync

/// Look-ups of hosts by name. The C library may wait for name servers for a long time; callers here wait no longer than
/// a given time.
enum HostLookUp {
    /// Returns the addresses of a host as digits; an empty array if there is no such host.
    typealias Method = @Sendable (_ name: String) -> [String]

    /// The most addresses of a host, each of which is tried in turn.
    private static let mostAddresses = 8

    /// - Throws: `.lost` after the timeout, or if there is no such host.
    static func addresses(
        of name: String, within patience: Duration, by lookUp: @escaping Method
    ) throws(PostgresError) -> [String] {
        let found = Found()
        DispatchQueue(label: "vault.names").async { found.set(lookUp(name)) }
        guard let addresses = found.addresses(within: patience) else {
            throw .lost("no server of names says where \(name) is")
        }
        guard !addresses.isEmpty else { throw .lost("there is no host \(name)") }
        return Array(addresses.prefix(mostAddresses))
    }

    private final class Found: Sendable {
        private let addresses = Mutex<[String]?>(nil)
        private let isDone = DispatchSemaphore(value: 0)

        func set(_ found: [String]) {
            addresses.withLock { $0 = found }
            isDone.signal()
        }

        /// Returns `nil` after the timeout.
        func addresses(within patience: Duration) -> [String]? {
            _ = isDone.wait(timeout: .now() + patience / .seconds(1))
            return addresses.withLock { $0 }
        }
    }

    /// Looks a name up by getaddrinfo(3).
    @Sendable static func bySystem(_ name: String) -> [String] {
        var hints = unsafe addrinfo()
        unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var first: UnsafeMutablePointer<addrinfo>?
        guard unsafe getaddrinfo(name, nil, &hints, &first) == 0 else { return [] }
        defer { unsafe freeaddrinfo(first) }
        var addresses: [String] = []
        var next = unsafe first
        // The list lives until it is freed.
        while let info = unsafe next {
            var digits = [CChar](repeating: 0, count: Int(NI_MAXHOST))
            let result = unsafe getnameinfo(
                info.pointee.ai_addr, info.pointee.ai_addrlen, &digits, socklen_t(digits.count), nil, 0,
                NI_NUMERICHOST)
            let bytes = digits.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
            if result == 0 { addresses.append(String(decoding: bytes, as: UTF8.self)) }
            unsafe next = unsafe info.pointee.ai_next
        }
        return addresses
    }
}
