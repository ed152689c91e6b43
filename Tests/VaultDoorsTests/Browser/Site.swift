// SPDX-License-Identifier: Apache-2.0
import Foundation
import VaultFormat

@testable import VaultBrowser

/// A site, as the extension passes its requests on.
struct Site {
    let id: String
    let origin: String
    var challenge = [UInt8](0..<32)

    init(_ id: String = "example.com", origin: String? = nil) {
        (self.id, self.origin) = (id, origin ?? "https://\(id)")
    }

    func creation(
        user: String = "ada", handle: [UInt8] = [1, 2, 3], algorithms: [Int] = [-7], verification: String = "preferred",
        attachment: String = "platform", excluded: [String] = [], extensions: [String: Any] = [:]
    ) -> [String: Any] {
        [
            "rp": ["id": id, "name": "A site"], "challenge": Base64URL.encoded(challenge),
            "user": ["id": Base64URL.encoded(handle), "name": user, "displayName": "Ada L."],
            "pubKeyCredParams": algorithms.map { ["type": "public-key", "alg": $0] },
            "authenticatorSelection": ["userVerification": verification, "authenticatorAttachment": attachment],
            "attestation": "none", "timeout": 30_000,
            "excludeCredentials": excluded.map { ["type": "public-key", "id": $0] }, "extensions": extensions,
        ]
    }

    func request(
        verification: String = "preferred", allowed: [String] = [], extensions: [String: Any] = [:]
    ) -> [String: Any] {
        [
            "rpId": id, "challenge": Base64URL.encoded(challenge), "userVerification": verification,
            "allowCredentials": allowed.map { ["type": "public-key", "id": $0] }, "extensions": extensions,
        ]
    }
}

extension BrowserClient {
    /// Sends a request for a passkey and returns the member `response`; empty for an error of the extension.
    func passkey(_ action: String, _ options: [String: Any]?, _ origin: String?) throws -> [String: Any] {
        var members: [String: Any] = ["keys": [["id": id, "key": base64(idKey)]]]
        members["publicKey"] = options
        members["origin"] = origin
        return try send(action, members).inner["response"] as? [String: Any] ?? [:]
    }

    func register(_ site: Site, _ options: [String: Any]? = nil) throws -> [String: Any] {
        try passkey("passkeys-register", options ?? site.creation(), site.origin)
    }

    func signIn(_ site: Site, _ options: [String: Any]? = nil) throws -> [String: Any] {
        try passkey("passkeys-get", options ?? site.request(), site.origin)
    }
}
