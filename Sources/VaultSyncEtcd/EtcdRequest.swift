// SPDX-License-Identifier: Apache-2.0
internal import VaultCrypto

/// Requests to etcd's gateway in JSON: bytes are base64, and 64-bit numbers are strings. Neither they nor the names and
/// keywords have a character to escape, so the texts are joined as they are.
enum EtcdRequest {
    /// - Parameters:
    ///   - limit: the most keys of the answer.
    ///   - revision: the revision to read; `nil` reads the current one.
    static func range(_ keys: EtcdKeyRange, limit: Int, keysOnly: Bool = false, revision: Int64? = nil) -> String {
        var text = "{\(field("key", keys.start)),\(field("range_end", keys.end)),\"limit\":\"\(limit)\""
        if keysOnly { text += ",\"keys_only\":true" }
        if let revision { text += ",\"revision\":\"\(revision)\"" }
        return text + "}"
    }

    static func range(_ key: [UInt8]) -> String { "{\(field("key", key))}" }

    static func delete(_ key: [UInt8]) -> String { "{\(field("key", key))}" }

    static func delete(_ keys: EtcdKeyRange) -> String {
        "{\(field("key", keys.start)),\(field("range_end", keys.end))}"
    }

    static func transaction(_ compare: [String] = [], success: [String], failure: [String] = []) -> String {
        """
        {"compare":[\(compare.joined(separator: ","))],"success":[\(success.joined(separator: ","))],\
        "failure":[\(failure.joined(separator: ","))]}
        """
    }

    static func watch(_ keys: EtcdKeyRange) -> String {
        "{\"create_request\":{\(field("key", keys.start)),\(field("range_end", keys.end)),\"progress_notify\":true}}"
    }

    // MARK: Comparisons

    static func isMissing(_ key: [UInt8]) -> String { created(key, "EQUAL") }

    static func isThere(_ key: [UInt8]) -> String { created(key, "GREATER") }

    /// Holds if the key exists and its value compares as given.
    static func isValue(of key: [UInt8], _ order: Order, _ value: [UInt8]) -> String {
        """
        {"target":"VALUE","result":"\(order.rawValue)",\(field("key", key)),\(field("value", value))}
        """
    }

    enum Order: String {
        case less = "LESS"
        case greater = "GREATER"
    }

    private static func created(_ key: [UInt8], _ order: String) -> String {
        "{\"target\":\"CREATE\",\"result\":\"\(order)\",\(field("key", key)),\"create_revision\":\"0\"}"
    }

    // MARK: Parts of transactions

    static func put(_ key: [UInt8], _ value: [UInt8]) -> String {
        "{\"request_put\":{\(field("key", key)),\(field("value", value))}}"
    }

    static func get(_ range: String) -> String { "{\"request_range\":\(range)}" }

    static func remove(_ range: String) -> String { "{\"request_delete_range\":\(range)}" }

    static func nested(_ transaction: String) -> String { "{\"request_txn\":\(transaction)}" }

    private static func field(_ name: String, _ bytes: [UInt8]) -> String { "\"\(name)\":\"\(base64(bytes.span))\"" }
}
