// SPDX-License-Identifier: Apache-2.0
package import CFido

/// A connected security key.
package struct FoundSecurityKey: Equatable, Sendable {
    /// The path of its device, such as `/dev/hidraw3`.
    package let path: String
    /// The manufacturer and the product, as the key reports them: to be escaped where they are shown.
    package let name: String

    package init(path: String, name: String) { (self.path, self.name) = (path, name) }
}

/// The security keys that are connected to this machine, by libfido2.
package struct SecurityKeys: Sendable {
    /// The way to keys that the kernel does not know; its functions may run on any thread.
    private let transport: cfido_transport?

    package init() { transport = nil }

    /// - Parameter transport: leads to keys of a test.
    package init(over transport: cfido_transport) { self.transport = transport }

    /// The keys that this user may open.
    ///
    /// - Throws: `.noLibrary`, `.outOfMemory`, `.failed`.
    package func connected() throws(SecurityKeyError) -> [FoundSecurityKey] {
        let list = KeyList()
        let result = unsafe cfido_find(Unmanaged.passUnretained(list).toOpaque()) {
            context, path, manufacturer, product in
            guard let context = unsafe context, let path = unsafe path else { return }
            // The list outlives the call, and the texts end with a zero byte.
            let list = unsafe Unmanaged<KeyList>.fromOpaque(context).takeUnretainedValue()
            let words = unsafe [manufacturer, product].compactMap { text in
                unsafe text.map { unsafe String(cString: $0) }
            }
            let name = words.filter { !$0.isEmpty }.joined(separator: " ")
            list.keys.append(FoundSecurityKey(path: unsafe String(cString: path), name: name))
        }
        return try withExtendedLifetime(list) { () throws(SecurityKeyError) in
            guard result == 0 else { throw SecurityKeyError(result) }
            return list.keys
        }
    }

    /// - Throws: `.noLibrary`, `.busy`, `.outOfMemory`, `.failed`.
    package func open(_ key: FoundSecurityKey) throws(SecurityKeyError) -> SecurityKey {
        try SecurityKey(key, transport)
    }

    /// Waits for the holder to touch one of several open keys; the others must not be used afterwards.
    ///
    /// - Throws: `.untouched`; if all keys fail, the first of their errors other than `.removed`, else `.removed`.
    package static func touched(among keys: [SecurityKey], within patience: Duration = .seconds(30))
        throws(SecurityKeyError) -> SecurityKey
    {
        let deadline = ContinuousClock.now + patience
        var failure = SecurityKeyError.removed
        var waiting: [SecurityKey] = []
        for key in keys {
            do throws(SecurityKeyError) {
                try key.beginTouch()
                waiting.append(key)
            } catch { if failure == .removed { failure = error } }
        }
        while !waiting.isEmpty, ContinuousClock.now < deadline {
            for key in waiting {
                do throws(SecurityKeyError) {
                    guard try key.isTouched(within: 100) else { continue }
                } catch {
                    // Pulled out, or its own time is over.
                    if failure == .removed { failure = error }
                    waiting.removeAll { $0 === key }
                    continue
                }
                for other in waiting where other !== key { other.cancelTouch() }
                return key
            }
        }
        for key in waiting { key.cancelTouch() }
        throw waiting.isEmpty ? failure : .untouched
    }
}

private final class KeyList {
    var keys: [FoundSecurityKey] = []
}
