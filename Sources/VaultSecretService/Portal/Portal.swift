// SPDX-License-Identifier: Apache-2.0
internal import Vault
internal import VaultBus
internal import VaultCrypto
internal import VaultDoorKit

/// The backend of the Secret portal (org.freedesktop.impl.portal.Secret): each sandboxed application has 64 random
/// bytes, with which it encrypts its own data. The item has the format of gnome-keyring, so that items imported from
/// there are found.
enum Portal {
    static let path = "/org/freedesktop/portal/desktop"
    static let interface = "org.freedesktop.impl.portal.Secret"
    static let attribute = "app_id"
    static let secretLength = 64

    /// The response codes of the portal.
    enum Response: UInt32 {
        case success = 0
        /// The user declined.
        case cancelled
        case failed
    }

    static let introspection = """
        <!DOCTYPE node PUBLIC "-//freedesktop//DTD D-BUS Object Introspection 1.0//EN"
         "http://www.freedesktop.org/standards/dbus/1.0/introspect.dtd">
        <node>
        <interface name="\(interface)">
        <property name="version" type="u" access="read"/>
        <method name="RetrieveSecret">
        <arg type="o" name="handle" direction="in"/><arg type="s" name="app_id" direction="in"/>
        <arg type="h" name="fd" direction="in"/><arg type="a{sv}" name="options" direction="in"/>
        <arg type="u" name="response" direction="out"/><arg type="a{sv}" name="results" direction="out"/>
        </method>
        </interface>
        </node>

        """
}

extension SecretService {
    func answerPortal(_ message: BusMessage, _ client: ServiceClient) throws(ServiceRefusal) {
        // Sandboxed applications call the portal itself, which reliably reports which application it is.
        guard !client.isSandboxed else { throw .denied }
        switch (message.interface, message.member, message.signature) {
        case ("org.freedesktop.DBus.Introspectable", "Introspect", ""):
            try reply(message, [.text(Portal.introspection)])
        case ("org.freedesktop.DBus.Properties", "GetAll", "s"):
            try reply(message, [.properties([("version", .number(1))])])
        case ("org.freedesktop.DBus.Properties", "Get", "ss"):
            try reply(message, [.variant(.number(1))])
        case (Portal.interface, "RetrieveSecret", "osha{sv}"):
            let (application, sink) = try message.reading { message throws(BusError) in
                _ = try message.path()
                return (try message.text(), SecretSink(try message.descriptor()))
            }
            guard (1...255).contains(application.utf8.count), let sink else {
                throw .invalid("an application's identifier has 1 to 255 bytes")
            }
            // Each pending call keeps its pipe open.
            try checkWaiting(client)
            turns.begin()
            Task {
                let response = await hand(application, sink, client)
                try? reply(message, [.number(response.rawValue), .properties([])])
                turns.end()
            }
        default: throw .unknownMethod("the object has no such method")
        }
    }

    /// Writes an application's secret. The secret is never empty: the application would encrypt with an empty key.
    private func hand(_ application: String, _ sink: SecretSink, _ client: ServiceClient) async -> Portal.Response {
        do throws(ServiceRefusal) {
            do throws(ServiceRefusal) { _ = try await unlockedView(for: client) } catch {
                guard error == .isLocked else { throw error }
                try checkWaiting(client)
                let outcome = await waitAside(client) {
                    await ask(.search(client.name), client, patience: .seconds(120))
                }
                guard outcome == .done else { return .cancelled }
            }
            let secret = try await secret(ofApplication: application, try await unlockedView(for: client))
            let isWritten = await waitAside(client) { await DoorWorker.run { sink.write(secret) } }
            return isWritten ? .success : .failed
        } catch { return .failed }
    }

    private func secret(ofApplication application: String, _ view: VaultView) async throws(ServiceRefusal) -> Secret {
        let attributes = try ProgramAttributes(checking: [Portal.attribute: application])
        for _ in 0..<2 {
            let found = try await view.find(attributes, inGroup: "default")
            guard found.isAll else { throw .isLocked }
            do throws(VaultError) {
                if let item = found.items.first, let secret = try await view.agent.secret(of: item.record),
                    secret.count > 0
                {
                    return secret
                }
                guard found.items.isEmpty else { throw .notADeviceIdentifier }
                let secret = try Portal.newSecret()
                try await view.agent.add(
                    Item(
                        .genericPassword(service: "org.freedesktop.portal.Secret", account: application),
                        attributes: [
                            .label: .string("Secret of \(application)"), .accessGroup: .string("default"),
                        ], userAttributes: attributes.stored, secret: secret))
                return secret
            } catch {
                // Two concurrent calls: the item of the other one is the secret.
                guard error == .duplicateItem else { throw await view.refusal(error) }
            }
        }
        throw .failed("an item in the way has no secret")
    }
}

extension Portal {
    fileprivate static func newSecret() throws(VaultError) -> Secret {
        do throws(CryptoError) { return Secret(try SecretBytes(random: secretLength)) } catch {
            throw .storage(.resourceUnavailable)
        }
    }
}
