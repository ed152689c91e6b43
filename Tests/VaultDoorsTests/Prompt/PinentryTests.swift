import Foundation
import TestSupport
import Testing
import VaultCrypto
import VaultFormat

@testable import VaultDoorKit

struct PinentryTests {
    private let question = PromptQuestion(["Unlock the vault"])

    // MARK: Refusals

    @Test func `a program that is not there is told from one that fails`() throws {
        let place = PromptPlace { ["DISPLAY": ":7"][$0] }
        #expect(throws: PromptError.unavailable) {
            try Prompter(place, program: "/nowhere/pinentry").start()
        }
        #expect(throws: PromptError.unavailable) { try Prompter(PromptPlace { _ in nil }, program: nil).start() }
    }

    @Test(arguments: [
        "exit 0", "echo 'ERR 1 no'", "yes 'S comment' | tr -d '\\n'", "head -c 100000 /dev/zero", "printf 'OK'",
    ])
    func `a program that lies at its start is not asked`(start: String) throws {
        let fake = try FakePinentry(start: start)
        #expect(throws: PromptError.unavailable) { try fake.start(patience: (60, 2)) }
    }

    @Test(arguments: [
        ("echo 'ERR 83886179 Operation cancelled <Pinentry>'", PromptError.dismissed),
        ("echo 'ERR 83886194 Not confirmed <Pinentry>'", .dismissed),
        ("echo 'ERR 99'", .dismissed),
        ("echo 'ERR 83886142 Timeout <Pinentry>'", .timedOut),
        ("echo 'ERR 83918950 Inappropriate ioctl <Pinentry>'", .failed("Inappropriate ioctl <Pinentry>")),
        ("echo 'ERR 99999999999999999999 x'", .failed("x")),
        ("echo ERR", .failed("the program that asks has ended")),
        ("exit 3", .failed("the program that asks has ended")),
        ("echo 'D half'; exit", .failed("the program that asks has ended")),
        ("yes 'D aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'", .failed("the program that asks says too much")),
        ("head -c 100000 /dev/zero | tr '\\0' D", .failed("the program that asks says too much")),
    ])
    func `what a program says instead of a passphrase is no passphrase`(pin: String, error: PromptError) throws {
        let fake = try FakePinentry(pin: pin == "echo ERR" ? "echo ERR; exit" : pin)
        let pinentry = try fake.start()
        #expect(throws: error) { _ = try pinentry.ask(question) }
    }

    @Test func `one that hangs is ended`() throws {
        let fake = try FakePinentry(pin: "while read -r line; do :; done")
        do {
            let pinentry = try fake.start(patience: (0, 1))
            #expect(throws: PromptError.timedOut) { _ = try pinentry.ask(question) }
        }
        let process = try #require(Int32(try fake.text("process").trimmingCharacters(in: .whitespacesAndNewlines)))
        #expect(kill(process, 0) == -1 && errno == ESRCH)
    }

    @Test func `a program that does not start leaves no pipe open`() async {
        // In a process of its own, where no other test opens a pipe.
        await #expect(processExitsWith: .success) {
            let before = try openPipes()
            for _ in 0..<3 {
                do throws(PromptError) {
                    _ = try Pinentry("/nowhere/pinentry", environment: [])
                    exit(10)
                } catch { guard error == .unavailable else { exit(11) } }
            }
            guard try openPipes() == before else { exit(12) }
        }
    }

    // MARK: Input of pinentry

    @Test func `a passphrase comes whole, whatever is in it`() throws {
        let fake = try FakePinentry(pin: "echo 'S PINENTRY_LAUNCHED'; echo 'D p%25w%0A'; echo 'D ü%zz%4'; echo OK")
        #expect(try fake.start().ask(question).text == "p%w\nü%zz%4")
        #expect(try FakePinentry().start().ask(question).count == 0)
    }

    @Test func `it is told to keep nothing, to wait no longer than a minute, and what was wrong`() throws {
        let fake = try FakePinentry(pin: "echo \"D try $tries\"; echo OK")
        let pinentry = try fake.start(["DISPLAY": ":7", "LANG": "de_DE.UTF-8"])
        #expect(try pinentry.ask(question).text == "try 1")
        #expect(!fake.heard.contains { $0.hasPrefix("SETERROR") || $0.hasPrefix("SETREPEAT") })
        var again = question
        (again.error, again.isNew) = ("Wrong, 100%", true)
        #expect(try pinentry.ask(again).text == "try 2")
        let heard = fake.heard
        #expect(heard.contains("OPTION lc-ctype=de_DE.UTF-8"))
        for line in ["SETKEYINFO --clear", "SETTIMEOUT 60", "SETERROR Wrong, 100%25", "SETREPEAT Once more:"] {
            #expect(heard.contains(line))
        }
        #expect(!heard.contains { $0.contains("cache") })
    }

    @Test func `names in a question end no line and move nothing`() throws {
        let fake = try FakePinentry()
        _ = try fake.start().ask(
            PromptQuestion(["a\nGETPIN\r\u{1b}[2J\u{202e}b", String(repeating: "%", count: 5000)]))
        let description = try #require(fake.heard.first { $0.hasPrefix("SETDESC ") })
        #expect(description.hasPrefix("SETDESC a\u{FFFD}GETPIN\u{FFFD}\u{FFFD}[2J\u{FFFD}b%0A%25%25"))
        #expect(description.utf8.count < 1000)
        #expect(fake.heard.count { $0 == "GETPIN" } == 1)
    }

    @Test(arguments: ["x", "%", "\u{1F511}", "a\u{301}\u{301}\u{301}", "\n"])
    func `no line is longer than a pinentry takes, and none is cut within a character`(part: String) throws {
        // The place of the cut moves over all parts of a character.
        for shift in 0..<9 {
            let long = String(repeating: "y", count: shift) + String(repeating: part, count: 900)
            for command in ["SETDESC ", "SETPROMPT ", "SETTITLE ", "SETERROR ", "OPTION ttyname="] {
                let lines = Array(repeating: String(long.prefix(150)), count: 9)
                for text in [Assuan.escaped([long]), Assuan.escaped(lines)] {
                    let sent = Assuan.sent(command + text)
                    #expect(sent.count <= Assuan.longestCommand + 1 && sent.last == UInt8(ascii: "\n"))
                    let line = try #require(String(validating: sent.dropLast(), as: UTF8.self))
                    #expect(!line.contains("\n"))
                    if line != command + text {
                        let rest = try #require(line.hasSuffix("\u{2026}") ? line.dropLast() : nil)
                        #expect((command + text).hasPrefix(rest) && sent.count > Assuan.longestCommand - 9)
                        #expect(!rest.suffix(2).contains("%"))
                    }
                }
            }
        }
        // Pinentry itself gets such a line, and answers.
        let fake = try FakePinentry(pin: "echo 'D typed'; echo OK")
        var question = PromptQuestion(Array(repeating: String(repeating: part, count: 150), count: 20))
        (question.title, question.prompt) = (question.description.joined(), question.description.joined())
        question.error = question.title
        #expect(try fake.start().ask(question).text == "typed")
        #expect(fake.heard.allSatisfy { $0.utf8.count <= 1000 })
    }

    @Test func `it has of the environment what it needs to be seen, and nothing else`() throws {
        let fake = try FakePinentry()
        _ = try fake.start(["DISPLAY": ":7", "XAUTHORITY": "/x", "SECRET": "s", "LD_PRELOAD": "/evil.so"])
        let names = try fake.text("environment").split(separator: "\n").compactMap { $0.split(separator: "=").first }
        // The shell adds its own variables.
        #expect(Set(names).subtracting(["PWD", "SHLVL", "_", "OLDPWD"]) == ["DISPLAY", "XAUTHORITY", "PATH"])
    }

    @Test func `a question is confirmed or not`() throws {
        #expect(try FakePinentry().start().confirm(question))
        #expect(try !FakePinentry(pin: "echo 'ERR 83886194 Not confirmed'").start().confirm(question))
        #expect(try !FakePinentry(pin: "echo 'ERR 83886179 Operation cancelled'").start().confirm(question))
        let fake = try FakePinentry(pin: "exit")
        #expect(throws: PromptError.failed("the program that asks has ended")) {
            try fake.start().confirm(question)
        }
    }

    // MARK: Place of the prompt

    @Test(arguments: ["curses", "tty", "gnome3:curses"])
    func `a program for terminals shows no window, and one without its terminal is not started`(flavor: String) throws {
        let fake = try FakePinentry(flavor: flavor)
        #expect(throws: PromptError.unavailable) { try fake.start() }
        // Paths that are not a terminal: a file, and a missing device.
        for path in [fake.program, "/dev/nowhere"] {
            #expect(throws: PromptError.unavailable) { try fake.start(["GPG_TTY": path, "TERM": "xterm"]) }
        }
        // For root /dev/null is this user's device; otherwise it is another user's.
        if geteuid() == 0 {
            _ = try fake.start(["GPG_TTY": "/dev/null", "TERM": "xterm"])
            #expect(fake.heard.contains("OPTION ttyname=/dev/null") && fake.heard.contains("OPTION ttytype=xterm"))
        } else {
            #expect(throws: PromptError.unavailable) { try fake.start(["GPG_TTY": "/dev/null", "TERM": "xterm"]) }
        }
    }

    @Test func `a program for windows is not asked for a terminal`() throws {
        let fake = try FakePinentry(flavor: "qt")
        #expect(throws: PromptError.unavailable) { try fake.start(["GPG_TTY": "/dev/null", "TERM": "xterm"]) }
    }

    // MARK: Search for the program

    @Test func `looking at what there is asks nobody, needs no place and starts nothing on the bus`() throws {
        let fake = try FakePinentry(flavor: "gnome3:curses")
        let environment = ["PATH": "/usr/bin:/bin", "DBUS_SESSION_BUS_ADDRESS": "unix:path=x", "XDG_RUNTIME_DIR": "/y"]
        let found = Prompter(PromptPlace { environment[$0] }, program: fake.program).look()
        #expect(found?.program == fake.program && found?.flavor == "gnome3")
        #expect(fake.heard == ["GETINFO flavor"])
        let given = try fake.text("environment")
        #expect(!given.contains("DBUS_SESSION_BUS_ADDRESS") && !given.contains("XDG_RUNTIME_DIR"))
    }

    @Test func `a program that is not there, that ends and that hangs are none`() throws {
        let place = PromptPlace { ["PATH": "/usr/bin:/bin"][$0] }
        #expect(Prompter(place, program: "/nowhere/pinentry").look() == nil)
        #expect(Prompter(place, program: "/bin/true").look() == nil)
        let hung = try FakePinentry(start: "while :; do read -r line || exit; done")
        #expect(Prompter(place, program: hung.program, patience: (answer: 1, command: 0)).look() == nil)
    }
}
