// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import CLinux
internal import Glibc
internal import Vault
internal import VaultDoors

/// The native-messaging host that a browser starts for its extension: this command, called by the name
/// `vault-browser-host`.
struct BrowserHost: HelperCommand {
    /// Browsers' manifests name a program, without arguments.
    static let link = BrowserManifest.hostName
    static let hasOptions = false
    static let configuration = CommandConfiguration(
        commandName: "browser-host",
        abstract: "Serve the browser extension KeePassXC-Browser; browsers start this.",
        discussion: """
            A native-messaging host: it speaks with the browser by its standard input and output, and ends with it. \
            The browser gives the arguments: the path of a manifest and the extension's name (Firefox), or the \
            extension's origin (Chromium). 'vault doors enable browser' writes the manifests; they name \
            vault-browser-host, which is a link to this command.

            Logins come from the agent, on behalf of the browser. While the vault is locked the extension is told so; \
            it can have a person asked to unlock it. A person is also asked before a browser is let in, and once for \
            each site whose logins it wants, in a window of pinentry: 'vault browser list'.
            """,
        shouldDisplay: false)

    @OptionGroup var vault: VaultOptions

    @Argument(help: "As the browser gives them.")
    var arguments: [String] = []

    func run() throws {
        guard NativeHost.isMeant(for: arguments) else {
            throw CommandError.usage(
                "a browser starts this, for the extension KeePassXC-Browser", hint: "'vault doors enable browser'")
        }
        // The browser may exit while it is being answered.
        signal(SIGPIPE, SIG_IGN)
        // The name shown by ps(1) and top(1).
        unsafe clinux_set_name("vault-browser")
        guard let browser = DoorClient(getppid()) else {
            throw CommandError(.inputOutput, "the browser has gone")
        }
        let vaultHouse = VaultHouse(try vault.file.path(), vault.unlocking)
        guard let stop = PromptStop() else { throw CommandError(.inputOutput, "too many open files") }
        let house = AgentBrowserHouse(vaultHouse, client: browser, until: stop) { vaultHouse.vaultID }
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
