// SPDX-License-Identifier: Apache-2.0

/// The introspection data of an object (D-Bus specification, "Introspection Data Format").
enum Introspection {
    static func text(of kind: ServiceCall.Kind) -> String {
        let methods = ServiceCall.methods.filter { $0.interface == kind.interface }.map(text)
        let members = (properties(of: kind) + methods + signals(of: kind)).joined(separator: "\n")
        return """
            <!DOCTYPE node PUBLIC "-//freedesktop//DTD D-BUS Object Introspection 1.0//EN"
             "http://www.freedesktop.org/standards/dbus/1.0/introspect.dtd">
            <node>
            \(common)
            <interface name="\(kind.interface)">\(members)</interface>
            </node>

            """
    }

    private static let common = """
        <interface name="org.freedesktop.DBus.Introspectable">\(standard("Introspectable"))</interface>
        <interface name="org.freedesktop.DBus.Peer"><method name="Ping"/></interface>
        <interface name="org.freedesktop.DBus.Properties">
        \(standard("Properties"))
        \(signal("PropertiesChanged", "s", "a{sv}", "as"))
        </interface>
        """

    private static func standard(_ interface: String) -> String {
        ServiceCall.methods.filter { $0.interface == "org.freedesktop.DBus." + interface }.map(text)
            .joined(separator: "\n")
    }

    private static func properties(of kind: ServiceCall.Kind) -> [String] {
        let properties: [(name: String, type: String, isWritable: Bool)] =
            switch kind {
            case .service: [("Collections", "ao", false)]
            case .collection:
                [
                    ("Items", "ao", false), ("Label", "s", true), ("Locked", "b", false), ("Created", "t", false),
                    ("Modified", "t", false),
                ]
            case .item:
                [
                    ("Locked", "b", false), ("Attributes", "a{ss}", true), ("Label", "s", true), ("Type", "s", true),
                    ("Created", "t", false), ("Modified", "t", false),
                ]
            case .session, .prompt: []
            }
        return properties.map {
            "<property name=\"\($0.name)\" type=\"\($0.type)\" access=\"\($0.isWritable ? "readwrite" : "read")\"/>"
        }
    }

    private static func signals(of kind: ServiceCall.Kind) -> [String] {
        switch kind {
        case .service: ["CollectionCreated", "CollectionDeleted", "CollectionChanged"].map { signal($0, "o") }
        case .collection: ["ItemCreated", "ItemDeleted", "ItemChanged"].map { signal($0, "o") }
        case .prompt: [signal("Completed", "b", "v")]
        case .item, .session: []
        }
    }

    private static func signal(_ name: String, _ types: String...) -> String {
        "<signal name=\"\(name)\">\(types.map { "<arg type=\"\($0)\"/>" }.joined())</signal>"
    }

    private static func text(of method: ServiceCall.Method) -> String {
        let types = method.arguments.map { ($0, "in") } + method.results.map { ($0, "out") }
        let text = types.map { "<arg type=\"\($0)\" direction=\"\($1)\"/>" }.joined()
        return types.isEmpty ? "<method name=\"\(method.name)\"/>" : "<method name=\"\(method.name)\">\(text)</method>"
    }
}
