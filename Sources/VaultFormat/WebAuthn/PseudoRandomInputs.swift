// SPDX-License-Identifier: Apache-2.0

/// The inputs of the extension `prf` (WebAuthn, 10.1.4): a pseudo-random function of each credential, from which sites
/// derive keys.
package struct PseudoRandomInputs: Hashable, Sendable {
    package struct Pair: Hashable, Sendable {
        package let first: [UInt8]
        package let second: [UInt8]?

        /// The messages whose SHA-256 is the salt of the function. The prefix keeps pages away from outputs that other
        /// protocols derive from the same key.
        package var messages: [[UInt8]] {
            ([first] + (second.map { [$0] } ?? [])).map { Array("WebAuthn PRF".utf8) + [0] + $0 }
        }
    }

    /// The inputs for every credential; `nil` if there are none.
    package let common: Pair?
    /// The inputs for single credentials, by their identifiers. An unreadable identifier becomes an empty one.
    package let byCredential: [[UInt8]: Pair]

    /// Fails without the extension, and for inputs that are no text in base64url. Extensions of browsers that do not
    /// encode the page's buffers do not decode the results either, and a page that expects buffers makes an empty key
    /// of a text: `new Uint8Array("…")` has no bytes.
    init?(_ extension: JSONNode?, of text: Span<UInt8>) {
        guard let `extension`, `extension`.isObject else { return nil }
        let inputs = `extension`["eval"].flatMap { $0.isNull ? nil : $0 }
        common = Pair(inputs, of: text)
        guard inputs == nil || common != nil else { return nil }
        var byCredential: [[UInt8]: Pair] = [:]
        for (name, values) in `extension`["evalByCredential"]?.members ?? [] {
            guard let pair = Pair(values, of: text) else { return nil }
            byCredential[Base64URL.decoded(name) ?? []] = pair
        }
        self.byCredential = byCredential
    }

    /// The inputs for a credential.
    package func pair(for id: [UInt8]) -> Pair? { byCredential[id] ?? common }
}

extension PseudoRandomInputs.Pair {
    fileprivate init?(_ values: JSONNode?, of text: Span<UInt8>) {
        guard let first = values?["first"]?.bytes(text) else { return nil }
        let second = values?["second"].flatMap { $0.isNull ? nil : $0 }
        self.init(first: first, second: second?.bytes(text))
        guard second == nil || self.second != nil else { return nil }
    }
}
