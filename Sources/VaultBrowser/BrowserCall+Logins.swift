// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import Vault
internal import VaultCrypto
internal import VaultDoorKit
internal import VaultFormat

extension BrowserCall {
    /// The maximum length of a password, in bytes; no form takes a longer one.
    private static let longestPassword = 64 << 10

    /// A login that matches a page, and the place by which it matches.
    private struct Match {
        let login: SavedLogin
        let place: WebPlace
    }

    // MARK: Handing out

    func logins(_ association: BrowserAssociation) throws(BrowserError) -> BrowserAnswer.Members {
        let page = try page()
        let found = try matches(page)
        guard !found.isEmpty else { throw .noLogins }
        let own = found.filter { $0.login.isOwn(of: association.id, on: page) }
        // Logins that this association saved need no approval; for the rest the user is asked once.
        var given = own
        if own.count < found.count, try mayHave(page, found, association) { given = found }
        guard !given.isEmpty else { throw .denied }
        let (entries, count) = try entries(given.map(\.login))
        guard count > 0 else { throw .noLogins }
        return [("hash", hash), ("entries", .source(entries)), ("count", .text(String(count)))]
    }

    private func page() throws(BrowserError) -> WebPage {
        guard let page = message.text("url").flatMap({ WebPage($0) }) else { throw .noURL }
        return page
    }

    /// Returns the logins that match the page, those of exactly its host first.
    private func matches(_ page: WebPage) throws(BrowserError) -> [Match] {
        let logins = try stored { store throws(VaultError) in try store.logins(of: page.hosts) }
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

    /// Writes as many logins as fit into an answer.
    private func entries(_ logins: [SavedLogin]) throws(BrowserError) -> (json: Secret, count: Int) {
        var json = try BrowserCall.writing { () throws(CryptoError) in try JSONWriter(capacity: 1024) }
        try BrowserCall.writing { () throws(CryptoError) in try json.begin("[") }
        var count = 0
        for login in logins {
            let (user, title, folder) = (login.face.user, login.face.title, login.face.folder ?? BrowserCall.rootGroup)
            // A character may take six bytes in JSON. Each login leaves room for the answer's other members.
            let size = 6 * (user.utf8.count + title.utf8.count + folder.utf8.count) + 1024
            guard json.count + size < BrowserAnswer.limit, let password = try secret(of: login, field: nil),
                json.count + size + 6 * password.count < BrowserAnswer.limit
            else { continue }
            let code = try login.item.fieldNames.contains(ItemNames.otp) ? code(of: login) : nil
            var members: BrowserAnswer.Members = [
                ("login", .text(user)), ("password", .secret(password)), ("name", .text(title)),
                ("uuid", .text(login.uuid)), ("group", .text(folder)),
            ]
            if let code { members.append(("totp", .text(code))) }
            // Other fields are disclosed only to requests that name them.
            members.append(("stringFields", .json("[]")))
            try BrowserCall.writing { () throws(CryptoError) in try json.element(.object(members)) }
            count += 1
        }
        return try BrowserCall.writing { () throws(CryptoError) in
            try json.end("]")
            return (Secret(try json.take()), count)
        }
    }

    private static func writing<R: ~Copyable>(_ body: () throws(CryptoError) -> R) throws(BrowserError) -> R {
        do throws(CryptoError) { return try body() } catch { throw .failed }
    }

    /// Returns the secret of a login or of its field; `nil` if there is none, or a form cannot take it.
    private func secret(of login: SavedLogin, field: String?) throws(BrowserError) -> Secret? {
        try stored { _ throws(VaultError) in
            do throws(VaultError) {
                guard let secret = try login.item.openedSecret(field: field),
                    secret.count <= BrowserCall.longestPassword, secret.withBytes({ $0.isUTF8 })
                else { return nil }
                return secret
            } catch {
                // The item was deleted or changed since it was found.
                guard error == .itemNotFound || error == .itemChanged else { throw error }
                return nil
            }
        }
    }

    // MARK: Asking

    /// Returns whether an association may have the logins of a page: by the stored answer, or by asking the user now.
    private func mayHave(
        _ page: WebPage, _ found: [Match], _ association: BrowserAssociation
    ) throws(BrowserError) -> Bool {
        if let answer = association.answer(for: page) { return answer }
        let id = association.id
        var isDenied = false
        // The answer is the site's. A refusal rests for the whole domain, whose owner has any number of hosts.
        let outcome = door.questions.ask("site \(id) \(suffixes.registrableDomain(of: page.host))") {
            // Another thread may have asked while this one waited.
            guard let now = try? BrowserAssociation.find(id, in: store), let answer = now.answer(for: page) else {
                return nil
            }
            return answer ? .done : .dismissed
        } _: {
            let outcome = door.house.confirm(question(page, found, association))
            guard outcome == .done || outcome == .dismissed else { return outcome }
            do throws(VaultError) { try association.keep(outcome == .done, for: page, in: store) } catch {
                isDenied = true
            }
            return outcome
        }
        // A yes that could not be stored is not valid: the vault was locked, or the association deleted.
        return outcome == .done && !isDenied
    }

    private func question(_ page: WebPage, _ found: [Match], _ association: BrowserAssociation) -> PromptQuestion {
        let hosts = Set(found.map(\.place.host)).filter { $0 != page.host }.map(\.text).sorted()
        let browser = PromptQuestion.quoted(door.house.browser)
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

    func saveLogin(_ association: BrowserAssociation) throws(BrowserError) -> BrowserAnswer.Members {
        let page = try page()
        guard let password = try? message.secret("password"), password.count > 0 else { throw .denied }
        let account = message.text("login") ?? ""
        guard account.utf8.count <= 1024, password.count <= BrowserCall.longestPassword else { throw .denied }
        if let uuid = message.text("uuid"), !uuid.isEmpty {
            try change(try login(uuid), page, account, password, association)
        } else {
            try add(page, account, password, association)
        }
        return [
            ("count", .json("null")), ("entries", .json("null")), ("error", .text("success")), ("hash", hash),
        ]
    }

    private func login(_ uuid: String) throws(BrowserError) -> SavedLogin {
        guard let login = try stored({ store throws(VaultError) in try store.login(uuid) }) else { throw .noUUID }
        return login
    }

    private func add(
        _ page: WebPage, _ account: String, _ password: Secret, _ association: BrowserAssociation
    ) throws(BrowserError) {
        var user = [ItemNames.browser: association.id, ItemNames.made: Maker.browser.rawValue]
        user[ItemNames.folder] = folder(message.text("group"), message.text("groupUuid"))
        let key = ItemKey.internetPassword(
            server: page.host.text, account: account, protocol: ProtocolNames.code(page.scheme),
            port: page.unusualPort)
        let item = Item(
            key, attributes: [.label: .string(page.host.text), .accessGroup: .string("default")],
            userAttributes: user, secret: password)
        let isAdded = try stored { store throws(VaultError) in
            do throws(VaultError) { try store.add(item) } catch {
                guard error == .duplicateItem else { throw error }
                return false
            }
            return true
        }
        guard !isAdded else { return }
        // The login exists already, and is changed as if the extension had named it.
        var query = Query(key)
        query.attributes[.accessGroup] = .string("default")
        let found = try stored { [query] store throws(VaultError) in try store.first(query).flatMap { SavedLogin($0) } }
        guard let found else { throw .failed }
        try change(found, page, account, password, association)
    }

    /// Changes a login only if it matches the page and the association may have it: no login is changed that the
    /// association could not read.
    private func change(
        _ login: SavedLogin, _ page: WebPage, _ account: String, _ password: Secret, _ association: BrowserAssociation
    ) throws(BrowserError) {
        guard let place = login.places(for: page, suffixes).first else { throw .noUUID }
        if !login.isOwn(of: association.id, on: page) {
            guard try mayHave(page, [Match(login: login, place: place)], association) else { throw .denied }
        }
        var changes = ItemChanges(secret: password)
        if !account.isEmpty, account != login.face.user { changes.attributes[.account] = .string(account) }
        try stored { store throws(VaultError) in try store.update(login.record, with: changes) }
    }

    // MARK: One-time passwords

    func code(_ association: BrowserAssociation) throws(BrowserError) -> BrowserAnswer.Members {
        guard let uuid = message.text("uuid") else { throw .noUUID }
        let login = try login(uuid)
        // The seed is not even decrypted for an association that may not have the login.
        guard association.mayHave(login, suffixes) else { throw .denied }
        guard let code = try code(of: login) else { throw .noUUID }
        return [("totp", .text(code))]
    }

    /// Returns the current one-time password; `nil` if the login has no seed, or an invalid one.
    private func code(of login: SavedLogin) throws(BrowserError) -> String? {
        guard let seed = try secret(of: login, field: ItemNames.otp) else { return nil }
        return seed.withBytes { text in
            guard let password = try? OneTimePassword(text) else { return nil }
            return try? password.code(at: door.now())
        }
    }
}
