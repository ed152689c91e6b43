// SPDX-License-Identifier: Apache-2.0
internal import Vault
internal import VaultBus
internal import VaultCrypto

/// A call that a client makes of an object. The arguments, whose types sd-bus has checked, are read front to back.
struct ServiceRequest {
    let message: BusMessage
    let object: ServiceObject
    let client: ServiceClient

    /// The maximum number of objects in one call: a prompt keeps them.
    private static let mostObjects = 16 << 10
    /// The maximum size of an item's attributes: 64 KiB.
    private static let attributesLimit = 64 << 10

    func text() throws(ServiceRefusal) -> String {
        try message.reading { message throws(BusError) in try message.text() }
    }

    func path() throws(ServiceRefusal) -> String {
        try message.reading { message throws(BusError) in try message.path() }
    }

    /// Reads objects, without duplicates.
    func objects() throws(ServiceRefusal) -> [ServiceObject] {
        var (objects, known): ([ServiceObject], Set<ServiceObject>) = ([], [])
        try message.reading { message throws(BusError) in
            try message.array(of: "o") { () throws(BusError) in
                guard let object = ServiceObject(try message.path()), known.count <= ServiceRequest.mostObjects,
                    known.insert(object).inserted
                else { return }
                objects.append(object)
            }
        }
        guard objects.count <= ServiceRequest.mostObjects else { throw .tooMany("there are too many objects") }
        return objects
    }

    func attributes() throws(ServiceRefusal) -> ProgramAttributes {
        try ProgramAttributes(
            checking: try message.reading { message throws(BusError) in try ServiceRequest.attributes(message) })
    }

    private static func attributes(_ message: BusMessage) throws(BusError) -> [String: String]? {
        try message.texts(limit: attributesLimit)
    }

    func secret() throws(ServiceRefusal) -> TransferredSecret {
        try message.reading { message throws(BusError) in try TransferredSecret(from: message) }
    }

    // MARK: Variants

    func textVariant() throws(ServiceRefusal) -> String {
        try message.reading { message throws(BusError) in try ServiceRequest.textVariant(message) }
    }

    private static func textVariant(_ message: BusMessage) throws(BusError) -> String {
        try message.variant(of: "s") { () throws(BusError) in try message.text() }
    }

    func attributesVariant() throws(ServiceRefusal) -> ProgramAttributes {
        try ProgramAttributes(
            checking: try message.reading { message throws(BusError) in try ServiceRequest.attributesVariant(message) })
    }

    private static func attributesVariant(_ message: BusMessage) throws(BusError) -> [String: String]? {
        try message.variant(of: "a{ss}") { () throws(BusError) in try attributes(message) }
    }

    /// Reads a public key; `nil` if longer than one can be.
    func keyVariant() throws(ServiceRefusal) -> [UInt8]? {
        try message.reading { message throws(BusError) in
            try message.variant(of: "ay") { () throws(BusError) in try message.bytes(limit: OakleyGroup2.length) }
        }
    }

    // MARK: Properties

    /// Reads the label in the properties of a new collection.
    func newLabel() throws(ServiceRefusal) -> String {
        try message.reading { message throws(BusError) in
            var label = ""
            try message.dictionary(of: "sv") { () throws(BusError) in
                guard try message.text() == "org.freedesktop.Secret.Collection.Label" else { throw .malformed }
                label = try ServiceRequest.textVariant(message)
            }
            return label
        }
    }

    func newItem() throws(ServiceRefusal) -> NewItem {
        var (label, type, areKnown): (String, String, Bool) = ("", "", true)
        var values: [String: String]? = [:]
        let (sent, replaces) = try message.reading { message throws(BusError) in
            try message.dictionary(of: "sv") { () throws(BusError) in
                switch try message.text() {
                case "org.freedesktop.Secret.Item.Label": label = try ServiceRequest.textVariant(message)
                case "org.freedesktop.Secret.Item.Type": type = try ServiceRequest.textVariant(message)
                case "org.freedesktop.Secret.Item.Attributes":
                    values = try ServiceRequest.attributesVariant(message)
                default:
                    areKnown = false
                    try message.skip("v")
                }
            }
            return (try TransferredSecret(from: message), try message.flag())
        }
        guard areKnown else { throw .invalid("an item cannot be made with that property") }
        var attributes = try ProgramAttributes(checking: values)
        // Older programs send only the property, not the attribute; gnome-keyring accepts one for the other.
        if !type.isEmpty, attributes.type.isEmpty { attributes = try attributes.with(type: type) }
        return NewItem(label: label, attributes: attributes, sent: sent, replaces: replaces)
    }
}

/// The arguments of a call that creates an item.
struct NewItem {
    let label: String
    let attributes: ProgramAttributes
    let sent: TransferredSecret
    /// Whether an item with the same attributes is changed.
    let replaces: Bool
}

extension BusMessage {
    /// Reads or writes the message.
    func reading<R>(_ body: (BusMessage) throws(BusError) -> R) throws(ServiceRefusal) -> R {
        do throws(BusError) { return try body(self) } catch { throw ServiceRefusal(error) }
    }
}

extension ProgramAttributes {
    /// The attributes that a program sends; `nil` for too many.
    init(checking values: [String: String]?) throws(ServiceRefusal) {
        guard let values else { throw ServiceRefusal(.storage(.attributesTooLarge)) }
        for name in values.keys {
            guard (1...255).contains(name.utf8.count) else { throw .invalid("a name has 1 to 255 bytes") }
            guard !name.hasPrefix(ItemNames.prefix) else { throw .invalid("names with 'vault.' are the vault's own") }
        }
        // As the service attribute, the value would turn the item into the record of a collection.
        guard !values.values.contains(CollectionRecord.service) else {
            throw .invalid("'\(CollectionRecord.service)' is the vault's own")
        }
        self.init(given: values)
    }

    /// Returns the attributes with another type; empty for none.
    func with(type: String) throws(ServiceRefusal) -> ProgramAttributes {
        var values = values
        values[ProgramAttributes.schema] = type.isEmpty ? nil : type
        return try ProgramAttributes(checking: values)
    }
}
