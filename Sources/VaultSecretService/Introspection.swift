// SPDX-License-Identifier: Apache-2.0

/// The introspection data of an object (D-Bus specification, "Introspection Data Format").
enum Introspection {
    static func text(of kind: ServiceCall.Kind) -> String {
        let own =
            switch kind {
            case .service: service
            case .collection: collection
            case .item: item
            case .session: "<method name=\"Close\"/>"
            case .prompt: prompt
            }
        return """
            <!DOCTYPE node PUBLIC "-//freedesktop//DTD D-BUS Object Introspection 1.0//EN"
             "http://www.freedesktop.org/standards/dbus/1.0/introspect.dtd">
            <node>
            \(common)
            <interface name="\(kind.interface)">\(own)</interface>
            </node>

            """
    }

    private static let common = """
        <interface name="org.freedesktop.DBus.Introspectable"><method name="Introspect">\(out("s"))</method></interface>
        <interface name="org.freedesktop.DBus.Peer"><method name="Ping"/></interface>
        <interface name="org.freedesktop.DBus.Properties">
        <method name="Get">\(into("s", "s"))\(out("v"))</method>
        <method name="GetAll">\(into("s"))\(out("a{sv}"))</method>
        <method name="Set">\(into("s", "s", "v"))</method>
        <signal name="PropertiesChanged">\(args("s", "a{sv}", "as"))</signal>
        </interface>
        """

    private static let service = """
        <property name="Collections" type="ao" access="read"/>
        <method name="OpenSession">\(into("s", "v"))\(out("v", "o"))</method>
        <method name="CreateCollection">\(into("a{sv}", "s"))\(out("o", "o"))</method>
        <method name="SearchItems">\(into("a{ss}"))\(out("ao", "ao"))</method>
        <method name="Unlock">\(into("ao"))\(out("ao", "o"))</method>
        <method name="Lock">\(into("ao"))\(out("ao", "o"))</method>
        <method name="LockService"/>
        <method name="GetSecrets">\(into("ao", "o"))\(out("a{o(oayays)}"))</method>
        <method name="ReadAlias">\(into("s"))\(out("o"))</method>
        <method name="SetAlias">\(into("s", "o"))</method>
        <signal name="CollectionCreated">\(args("o"))</signal>
        <signal name="CollectionDeleted">\(args("o"))</signal>
        <signal name="CollectionChanged">\(args("o"))</signal>
        """

    private static let collection = """
        <property name="Items" type="ao" access="read"/>
        <property name="Label" type="s" access="readwrite"/>
        <property name="Locked" type="b" access="read"/>
        <property name="Created" type="t" access="read"/>
        <property name="Modified" type="t" access="read"/>
        <method name="Delete">\(out("o"))</method>
        <method name="SearchItems">\(into("a{ss}"))\(out("ao"))</method>
        <method name="CreateItem">\(into("a{sv}", "(oayays)", "b"))\(out("o", "o"))</method>
        <signal name="ItemCreated">\(args("o"))</signal>
        <signal name="ItemDeleted">\(args("o"))</signal>
        <signal name="ItemChanged">\(args("o"))</signal>
        """

    private static let item = """
        <property name="Locked" type="b" access="read"/>
        <property name="Attributes" type="a{ss}" access="readwrite"/>
        <property name="Label" type="s" access="readwrite"/>
        <property name="Type" type="s" access="readwrite"/>
        <property name="Created" type="t" access="read"/>
        <property name="Modified" type="t" access="read"/>
        <method name="Delete">\(out("o"))</method>
        <method name="GetSecret">\(into("o"))\(out("(oayays)"))</method>
        <method name="SetSecret">\(into("(oayays)"))</method>
        """

    private static let prompt = """
        <method name="Prompt">\(into("s"))</method>
        <method name="Dismiss"/>
        <signal name="Completed">\(args("b", "v"))</signal>
        """

    private static func into(_ types: String...) -> String {
        types.map { "<arg type=\"\($0)\" direction=\"in\"/>" }.joined()
    }

    private static func out(_ types: String...) -> String {
        types.map { "<arg type=\"\($0)\" direction=\"out\"/>" }.joined()
    }

    private static func args(_ types: String...) -> String { types.map { "<arg type=\"\($0)\"/>" }.joined() }
}
