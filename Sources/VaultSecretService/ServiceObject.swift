// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import VaultBus
internal import VaultFormat

/// A collection of the Secret Service, as its path names it.
enum CollectionName: Hashable, Sendable {
    /// The memory of this process.
    case session
    /// An access group, by the element that ``CollectionNames`` gives it.
    case stored(String)

    /// The default collection.
    static let login = CollectionName.stored("login")

    var isStored: Bool { self != .session }

    var element: String {
        switch self {
        case .session: "session"
        case .stored(let element): element
        }
    }

    /// Fails if no collection can have this element.
    init?(_ element: Substring) {
        guard !element.isEmpty else { return nil }
        self = element == "session" ? .session : .stored(String(element))
    }
}

/// An object of the Secret Service, identified by its path. Programs store paths: that of an item never changes.
enum ServiceObject: Hashable, Sendable {
    case service
    case collection(CollectionName)
    case alias(String)
    case item(CollectionName, UUID)
    /// A placeholder for a search that has no result yet: see ``LockedSearch``.
    case search(CollectionName, Int)
    case session(Int)
    case prompt(Int)

    static let root = "/org/freedesktop/secrets"

    /// The maximum length of a path, in bytes, which bounds the memory that a client can use.
    private static let longest = 4096

    /// Fails if no object can have this path.
    init?(_ path: String) {
        guard path != ServiceObject.root else {
            self = .service
            return
        }
        guard path.utf8.count <= ServiceObject.longest, path.hasPrefix(ServiceObject.root + "/") else { return nil }
        let parts = path.dropFirst(ServiceObject.root.count + 1)
            .split(separator: "/", omittingEmptySubsequences: false)
        switch (parts.first, parts.count) {
        case ("session", 2):
            guard let number = ServiceObject.number(parts[1], after: "s") else { return nil }
            self = .session(number)
        case ("prompt", 2):
            guard let number = ServiceObject.number(parts[1], after: "p") else { return nil }
            self = .prompt(number)
        case ("aliases", 2):
            guard let name = PathElement.decoded(parts[1]), PathElement.encoded(name) == parts[1] else { return nil }
            self = .alias(name)
        case ("collection", 2):
            guard let collection = CollectionName(parts[1]) else { return nil }
            self = .collection(collection)
        case ("collection", 3):
            guard let collection = CollectionName(parts[1]) else { return nil }
            if let id = ServiceObject.identifier(parts[2]) {
                self = .item(collection, id)
            } else if let number = ServiceObject.number(parts[2], after: "locked_") {
                self = .search(collection, number)
            } else {
                return nil
            }
        default: return nil
        }
    }

    var path: String {
        switch self {
        case .service: ServiceObject.root
        case .collection(let name): "\(ServiceObject.root)/collection/\(name.element)"
        case .alias(let name): "\(ServiceObject.root)/aliases/\(PathElement.encoded(name))"
        case .item(let name, let id):
            "\(ServiceObject.root)/collection/\(name.element)/i\(ServiceObject.digits(id))"
        case .search(let name, let number): "\(ServiceObject.root)/collection/\(name.element)/locked_\(number)"
        case .session(let number): "\(ServiceObject.root)/session/s\(number)"
        case .prompt(let number): "\(ServiceObject.root)/prompt/p\(number)"
        }
    }

    /// The path as a value of a message.
    var value: BusValue { .path(path) }

    /// The path of no object.
    static let none = BusValue.path("/")

    var canBeLocked: Bool {
        switch self {
        case .collection(let name), .item(let name, _), .search(let name, _): name.isStored
        case .alias(let name): name != "session"
        case .service: true
        case .session, .prompt: false
        }
    }

    private static func number(_ text: Substring, after prefix: String) -> Int? {
        guard text.hasPrefix(prefix), let number = Int(text.dropFirst(prefix.count)), number > 0,
            text.count == prefix.count + String(number).count
        else { return nil }
        return number
    }

    /// Parses `i` and 32 digits.
    private static func identifier(_ text: Substring) -> UUID? {
        guard text.utf8.count == 33, text.hasPrefix("i"), let b = bytes(hexadecimal: String(text.dropFirst())) else {
            return nil
        }
        return UUID(
            uuid: (b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15])
        )
    }

    private static func digits(_ id: UUID) -> String {
        var digits: [UInt8] = []
        digits.reserveCapacity(32)
        for character in id.uuidString.utf8 where character != UInt8(ascii: "-") {
            digits.append(character >= UInt8(ascii: "A") ? character | 0x20 : character)
        }
        return String(decoding: digits, as: UTF8.self)
    }
}

/// Encodes any text as a path element, as sd_bus_path_encode(3) does: `_` and two digits for each byte that is not a
/// letter or digit, and `_` alone for the empty text.
enum PathElement {
    /// - Parameter reserved: texts that get another spelling.
    static func encoded(_ text: String, reserved: Set<String> = []) -> String {
        guard !text.isEmpty else { return "_" }
        return encoded(text) { byte, index in
            byte.isASCIILetter && (index > 0 || !reserved.contains(text)) || byte.isASCIIDigit && index > 0
        }
    }

    /// Encodes a label as programs do: `_` and two digits for each byte that is not a letter or digit.
    static func plain(_ label: String) -> String {
        encoded(label) { byte, _ in byte.isASCIILetter || byte.isASCIIDigit }
    }

    private static func encoded(_ text: String, _ isPlain: (UInt8, _ index: Int) -> Bool) -> String {
        var element: [UInt8] = []
        for (index, byte) in text.utf8.enumerated() {
            element += isPlain(byte, index) ? [byte] : [UInt8(ascii: "_"), character(byte >> 4), character(byte & 15)]
        }
        return String(decoding: element, as: UTF8.self)
    }

    /// Returns the decoded text; `nil` if the encoding is invalid. A text may have several encodings: the caller
    /// compares.
    static func decoded(_ element: Substring) -> String? {
        guard element != "_" else { return "" }
        let characters = Array(element.utf8)
        var (bytes, index): ([UInt8], Int) = ([], 0)
        while index < characters.count {
            guard characters[index] == UInt8(ascii: "_") else {
                bytes.append(characters[index])
                index += 1
                continue
            }
            guard index + 2 < characters.count, let high = hexadecimalValue(of: characters[index + 1]),
                let low = hexadecimalValue(of: characters[index + 2])
            else { return nil }
            bytes.append(high << 4 | low)
            index += 3
        }
        guard !bytes.isEmpty, !bytes.contains(0) else { return nil }
        return String(validating: bytes, as: UTF8.self)
    }

    private static func character(_ digit: UInt8) -> UInt8 { digit + (digit < 10 ? 48 : 87) }
}
