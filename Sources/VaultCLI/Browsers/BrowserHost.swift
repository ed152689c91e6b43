// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import CLinux
internal import Glibc
internal import Vault
internal import VaultBrowser
internal import VaultDoorKit
internal import VaultSync
internal import VaultSystem

/// The native-messaging host that a browser starts for its extension: this command, called by the name
/// `vault-browser-host`.
struct BrowserHost: HelperCommand {
    /// Browsers' manifests name a program, without arguments.
    static let link = BrowserManifest.hostName
    static let hasOptions = false
    static let configuration = CommandConfiguration(
        commandName: "browser-host",
        abstract: "Serve the browser extension KeePassXC-Browser; started by browsers.",
        discussion: """
            A native-messaging host: communicates with the browser over standard input and output, and ends with the \
            browser. The browser passes the arguments: the path of a manifest and the extension's name (Firefox), or \
            the extension's origin (Chromium). 'vault doors enable browser' writes the manifests; they name \
            vault-browser-host, which is a link to this command.

            Logins come from the agent, on behalf of the browser. While the vault is locked, the host tells the \
            extension so; the extension can have the user asked to unlock the vault. In a window of pinentry, the user \
            is also asked before a browser is let in, and once for each site (scheme, host and port) whose logins the \
            browser wants: 'vault browser list'.
            """,
        shouldDisplay: false)

    @OptionGroup var vault: VaultOptions

    @Argument(help: "The arguments that the browser passes.")
    var arguments: [String] = []

    func run() throws {
        guard NativeHost.isMeant(for: arguments) else {
            throw CommandError.usage(
                "a browser starts this, for the extension KeePassXC-Browser", hint: "'vault doors enable browser'")
        }
        // The browser may exit while it is being answered.
        signal(SIGPIPE, SIG_IGN)
        // The name shown by ps(1) and top(1).
        ProcessName.set("vault-browser")
        guard let browser = DoorClient(getppid()) else { throw CommandError(.inputOutput, "the browser has gone") }
        let vaultHouse = VaultHouse(try vault.file.path(), vault.unlocking)
        guard let stop = PromptStop() else { throw CommandError(.inputOutput, "too many open files") }
        let house = AgentBrowserHouse(vaultHouse, client: browser, until: stop) {
            vaultHouse.vaultID
        } isReplicated: { agent in
            // A browser with limited rights, and an agent of another version, do not learn of the fleet.
            (try? agent.fleetLook())?.status?.copiesNewItems ?? false
        }
        let host = NativeHost(house, input: STDIN_FILENO, output: STDOUT_FILENO, until: stop)
        host.follow(house)
        do throws(NativeFrameError) { try host.run() } catch {
            switch error {
            case .tooLong(let length):
                throw CommandError(.inputOutput, "a message of \(Int(length).grouped) bytes; 1 MiB is the most")
            case .truncated: throw CommandError(.inputOutput, "the browser's message ends early")
            // The browser has exited, so there is no one to report to.
            case .unwritable: return
            }
        }
    }
}
