// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import Vault
internal import VaultAgent
internal import VaultCrypto
internal import VaultFormat

struct Browse: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "browse",
        abstract: "Browse the vault on the whole screen.",
        discussion: """
            Typed words are searched for, as 'vault find' does; one wrong letter is forgiven. Enter shows the selected \
            item with its secrets until the next key, ^Y copies the secret, ^E asks for a new secret, ^D deletes the \
            item and ^Z restores a deleted item; Esc or ^C ends the command. The command also ends when the agent \
            locks the vault, and after five minutes without a key.
            """)

    @OptionGroup var vault: VaultOptions

    @Option(help: "The access group.")
    var group: String?

    private static let patience: Int32 = 300_000

    func run() throws {
        guard Terminal() != nil else { throw CommandError.usage("browsing needs a terminal") }
        // No prompts while the screen shows something else.
        try vault.access(.named(group)).withVault(asksWhenLocked: false) { vault in
            try BrowseSession(vault).run(patience: Browse.patience)
        }
    }
}

/// A browser on a screen, for a store.
private struct BrowseSession: ~Copyable {
    private let store: any CommandVault
    private let screen: Screen
    private var browser = Browser()
    private var deleted: [Item] = []

    init(_ store: any CommandVault) throws {
        self.store = store
        screen = try Screen.open()
    }

    consuming func run(patience: Int32) throws {
        let changes = store.changes
        try load()
        while true {
            try take(changes)
            browser.resize(rows: screen.rows, columns: screen.columns)
            screen.draw(browser.rows(), cursor: browser.cursor)
            guard let key = screen.key(patience: patience) else {
                throw CommandError(.cancelled, "ended after five minutes without a key")
            }
            guard key != .woken, let action = browser.take(key) else { continue }
            do {
                if case .quit = action { return }
                try perform(action)
            } catch let error as CommandError {
                // Revealed secrets would cover the message.
                browser.hide()
                browser.message = error.message
            } catch let error as VaultError {
                guard error != .locked else { throw error }
                browser.hide()
                browser.message = CommandError(error).message
            }
        }
    }

    /// Handles changes of the vault, by this program or another.
    private mutating func take(_ changes: ChangeSequence) throws {
        var hasChanged = false
        while true {
            guard let taken = changes.take(whenReady: screen.waker) else { throw CommandError(VaultError.closed) }
            guard !taken.isEmpty else { break }
            for change in taken {
                switch change.kind {
                case .locked: throw CommandError(VaultError.locked)
                case .failed(let error): throw CommandError(error)
                case .added, .updated, .deleted, .many, .unlocked: hasChanged = true
                }
            }
        }
        // Changes made meanwhile are handled next time.
        if hasChanged { try load() }
    }

    private mutating func load() throws {
        var items: [Item] = []
        for query in [Query(.genericPassword), Query(.internetPassword), Passkey.query(of: nil)] {
            let found = try store.allMatching(query.withoutQuestions)
            // Other keys have nothing to show.
            items += found.filter { ($0.itemClass != .key || Passkey($0) != nil) && !HiddenItems.isCollection($0) }
        }
        browser.show(ItemTable.sorted(items).map(\.item))
    }

    private mutating func perform(_ action: Browser.Action) throws {
        switch action {
        case .quit: break
        case .reveal(let item):
            browser.reveal(try ShownItem(item, in: store, .revealed).parts)
        case .copy(let item):
            try checkIsNoPasskey(item)
            guard let secret = try ItemFace(item).openedSecret() else {
                throw CommandError(.notFound, "the item has no secret")
            }
            guard !secret.withBytes({ OneTimePassword.isURI($0) }) else {
                throw CommandError.usage("a seed of one-time passwords: 'vault otp --copy' copies the password")
            }
            browser.hide()
            browser.message = try secret.copied(clearAfter: 45) ?? "copied"
        case .edit(let item):
            try checkIsNoPasskey(item)
            guard let record = item.record else { return }
            let title = "A new secret for \(item.phrase(namingGroup: false)). An empty one leaves it as it is.\n"
            let secret = try screen.suspended { () throws -> Secret? in
                guard let terminal = Terminal() else { return nil }
                terminal.write(title)
                return try SecretOptions.typed(at: terminal)
            }
            guard let secret else { return browser.message = "left as it is" }
            try store.update(record, with: ItemChanges(secret: secret))
            browser.message = "changed"
        case .delete(let item):
            // The whole item is kept for the undo, until this program ends.
            let whole = try store.opened(item)
            try store.delete(whole)
            deleted.append(whole)
            browser.message = "deleted; ^Z brings it back"
        case .undo:
            guard let last = deleted.popLast() else { return browser.message = "nothing to take back" }
            do { try bringBack(last) } catch {
                deleted.append(last)
                throw error
            }
            browser.message = "brought back \(last.phrase(namingGroup: false))"
        }
    }

    /// The private key of a passkey is for browsers alone.
    private func checkIsNoPasskey(_ item: Item) throws {
        guard Passkey(item) == nil else {
            throw CommandError.usage("a passkey: sites use its key through a browser, and nothing shows or changes it")
        }
    }

    /// Restores an item: under its old identifier if the vault keeps older versions, else as a new item.
    private func bringBack(_ item: Item) throws {
        if let record = item.record {
            do throws(VaultError) {
                try store.restoreItem(record)
                return
            } catch { guard error == .itemNotFound else { throw error } }
        }
        try store.add(
            Item(
                ItemKey(item.itemClass, item.attributes), userAttributes: item.userAttributes, secret: item.secret,
                fields: item.fields))
    }
}
