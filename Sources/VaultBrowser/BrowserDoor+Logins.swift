// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import Vault
internal import VaultCrypto
internal import VaultFormat
internal import VaultDoorKit

extension BrowserDoor {
    /// The maximum length of a password, in bytes; no form takes a longer one.
    private static let longestPassword = 64 << 10

    /// A login that matches a page, and the place by which it matches.
    private struct Match {
        let login: SavedLogin
        let place: WebPlace
    }

    // MARK: Handing out

    func writeLogins(
        _ request: BrowserRequest, _ association: BrowserAssociation, _ context: BrowserContext,
        _ answer: inout BrowserAnswer
    ) throws(BrowserError) {
        let page = try page(request.message)
        let found = try matches(page, context)
        guard !found.isEmpty else { throw .noLogins }
        let own = found.filter { $0.login.isOwn(of: association.id, on: page) }
        // Logins that this association saved need no approval; for the rest the user is asked once.
        var given = own
        if own.count < found.count, try mayHave(page, found, association, context) { given = found }
        guard !given.isEmpty else { throw .denied }
        try write(given.map(\.login), context, &answer)
    }

    private func page(_ message: BrowserMessage) throws(BrowserError) -> WebPage {
        guard let page = message.text("url").flatMap({ WebPage($0) }) else { throw .noURL }
        return page
    }

    /// Returns the logins that match the page, those of exactly its host first.
    private func matches(_ page: WebPage, _ context: BrowserContext) throws(BrowserError) -> [Match] {
        let logins = try BrowserDoor.stored { () throws(VaultError) in try context.store.logins(of: page.hosts) }
        let found = logins.compactMap { login -> Match? in
            let places = login.places(for: page, suffixes)
            return places.max { $0.host.labelCount < $1.host.labelCount }.map { Match(login: login, place: $0) }
        }
        // Of the logins of one host, the last changed one stays the first.
        return found.enumerated().sorted { first, second in
            let (a, b) = (first.element.place.host.labelCount, second.element.place.host.labelCount)
            return a == b ? first.offset < second.offset : a > b
        }.map(\.element)
    }

    private func write(
        _ logins: [SavedLogin], _ context: BrowserContext, _ answer: inout BrowserAnswer
    ) throws(BrowserError) {
        try answer.member("hash", context.hash)
        try answer.write { json throws(CryptoError) in
            try json.name("entries")
            try json.begin("[")
        }
        var count = 0
        for login in logins {
            let (user, title, folder) = (login.face.user, login.face.title, login.face.folder ?? BrowserDoor.rootGroup)
            // A character may take six bytes in JSON.
            let size = 6 * (user.utf8.count + title.utf8.count + folder.utf8.count) + 1024
            guard answer.count + size < BrowserAnswer.limit else { continue }
            guard let password = try secret(of: login, field: nil),
                answer.count + size + 6 * password.count < BrowserAnswer.limit
            else { continue }
            let code = try login.item.fieldNames.contains(ItemNames.otp) ? code(of: login) : nil
            try answer.write { json throws(CryptoError) in
                try json.begin("{")
                try json.member("login", user)
                try json.member("password", password)
                try json.member("name", title)
                try json.member("uuid", login.uuid)
                try json.member("group", folder)
                if let code { try json.member("totp", code) }
                // Other fields are disclosed only to requests that name them.
                try json.member("stringFields", raw: "[]")
                try json.end("}")
            }
            count += 1
        }
        guard count > 0 else { throw .noLogins }
        try answer.write { json throws(CryptoError) in
            try json.end("]")
            try json.member("count", String(count))
        }
    }

    /// Returns the secret of a login or of its field; `nil` if there is none, or a form cannot take it.
    private func secret(of login: SavedLogin, field: String?) throws(BrowserError) -> Secret? {
        do throws(VaultError) {
            guard let secret = try login.item.openedSecret(field: field),
                secret.count <= BrowserDoor.longestPassword,
                secret.withBytes({ $0.isUTF8 })
            else { return nil }
            return secret
        } catch {
            // The item was deleted or changed since it was found.
            guard error != .itemNotFound, error != .itemChanged else { return nil }
            return try BrowserDoor.stored { () throws(VaultError) in throw error }
        }
    }

    // MARK: Asking

    /// Returns whether an association may have the logins of a page: by the stored answer, or by asking the user now.
    private func mayHave(
        _ page: WebPage, _ found: [Match], _ association: BrowserAssociation, _ context: BrowserContext
    ) throws(BrowserError) -> Bool {
        if let answer = association.answer(for: page) { return answer }
        let id = association.id
        var isDenied = false
        // The answer is the site's. A refusal rests for the whole domain, whose owner has any number of hosts.
        let outcome = questions.ask("site \(id) \(suffixes.registrableDomain(of: page.host))") {
            // Another thread may have asked while this one waited.
            guard let now = try? BrowserAssociation.find(id, in: context.store),
                let answer = now.answer(for: page)
            else { return nil }
            return answer ? .done : .dismissed
        } _: {
            let outcome = house.confirm(question(page, found, association))
            guard outcome == .done || outcome == .dismissed else { return outcome }
            do throws(VaultError) {
                try association.keep(outcome == .done, for: page, in: context.store)
            } catch { isDenied = true }
            return outcome
        }
        // A yes that could not be stored is not valid: the vault was locked, or the association deleted.
        return outcome == .done && !isDenied
    }

    private func question(
        _ page: WebPage, _ found: [Match], _ association: BrowserAssociation
    ) -> PromptQuestion {
        let hosts = Set(found.map(\.place.host)).filter { $0 != page.host }.map(\.text).sorted()
        let browser = PromptQuestion.quoted(house.browser)
        var lines = ["Let the browser \(browser) (\(association.id.prefix(60))) have the logins of"]
        lines += BrowserQuestions.lines(page.text)
        if let first = hosts.first {
            lines.append("which are kept for\(hosts.count == 1 ? "" : " \(hosts.count) hosts, among them")")
            lines += BrowserQuestions.lines(first)
        }
        lines.append("The answer is kept, also if it is no: see 'vault browser'.")
        return PromptQuestion(lines)
    }

    // MARK: Saving

    func saveLogin(
        _ request: BrowserRequest, _ association: BrowserAssociation, _ context: BrowserContext,
        _ answer: inout BrowserAnswer
    ) throws(BrowserError) {
        let page = try page(request.message)
        let message = request.message
        let password: Secret
        do throws(CryptoError) {
            guard let given = try message.secret("password"), given.count > 0 else { throw .authenticationFailed }
            password = given
        } catch { throw .denied }
        let account = message.text("login") ?? ""
        guard account.utf8.count <= 1024, password.count <= BrowserDoor.longestPassword else { throw .denied }
        let uuid = message.text("uuid") ?? ""
        if uuid.isEmpty {
            try add(page, account, password, message, association, context)
        } else {
            let login = try BrowserDoor.stored { () throws(VaultError) in try context.store.login(uuid) }
            guard let login else { throw .noUUID }
            try change(login, page, account, password, association, context)
        }
        try answer.write { json throws(CryptoError) in
            try json.member("count", raw: "null")
            try json.member("entries", raw: "null")
            try json.member("error", "success")
            try json.member("hash", context.hash)
        }
    }

    private func add(
        _ page: WebPage, _ account: String, _ password: Secret, _ message: BrowserMessage,
        _ association: BrowserAssociation, _ context: BrowserContext
    ) throws(BrowserError) {
        var user = [ItemNames.browser: association.id, ItemNames.made: Maker.browser.rawValue]
        user[ItemNames.folder] = BrowserDoor.folder(message.text("group"), message.text("groupUuid"), context)
        let key = ItemKey.internetPassword(
            server: page.host.text, account: account, protocol: ProtocolNames.code(page.scheme),
            port: page.unusualPort)
        let item = Item(
            key, attributes: [.label: .string(page.host.text), .accessGroup: .string("default")],
            userAttributes: user, secret: password)
        do throws(VaultError) {
            try context.store.add(item)
        } catch {
            guard error == .duplicateItem else {
                return try BrowserDoor.stored { () throws(VaultError) in throw error }
            }
            // The login exists already, and is changed as if the extension had named it.
            var query = Query(key)
            query.attributes[.accessGroup] = .string("default")
            let found = try BrowserDoor.stored { () throws(VaultError) in
                try context.store.first(query).flatMap { SavedLogin($0) }
            }
            guard let found else { throw .failed }
            try change(found, page, account, password, association, context)
        }
    }

    /// Changes a login only if it matches the page and the association may have it: no login is changed that the
    /// association could not read.
    private func change(
        _ login: SavedLogin, _ page: WebPage, _ account: String, _ password: Secret,
        _ association: BrowserAssociation, _ context: BrowserContext
    ) throws(BrowserError) {
        guard let place = login.places(for: page, suffixes).first else { throw .noUUID }
        if !login.isOwn(of: association.id, on: page) {
            let match = Match(login: login, place: place)
            guard try mayHave(page, [match], association, context) else { throw .denied }
        }
        var changes = ItemChanges(secret: password)
        if !account.isEmpty, account != login.face.user { changes.attributes[.account] = .string(account) }
        try BrowserDoor.stored { () throws(VaultError) in try context.store.update(login.record, with: changes) }
    }

    // MARK: One-time passwords

    func writeCode(
        _ request: BrowserRequest, _ association: BrowserAssociation, _ context: BrowserContext,
        _ answer: inout BrowserAnswer
    ) throws(BrowserError) {
        guard let uuid = request.message.text("uuid") else { throw .noUUID }
        let login = try BrowserDoor.stored { () throws(VaultError) in try context.store.login(uuid) }
        guard let login else { throw .noUUID }
        // The seed is not even decrypted for an association that may not have the login.
        guard association.mayHave(login, suffixes) else { throw .denied }
        guard let code = try code(of: login) else { throw .noUUID }
        try answer.member("totp", code)
    }

    /// Returns the current one-time password; `nil` if the login has no seed, or an invalid one.
    private func code(of login: SavedLogin) throws(BrowserError) -> String? {
        guard let seed = try secret(of: login, field: ItemNames.otp) else { return nil }
        return seed.withBytes { text in
            guard let password = try? OneTimePassword(text) else { return nil }
            return try? password.code(at: now())
        }
    }
}
