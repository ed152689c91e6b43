// SPDX-License-Identifier: Apache-2.0
import Foundation
import Glibc
import SystemPackage
import TestSupport

/// A command at a terminal, and a simulated user that reads the screen and types.
final class PseudoTerminal {
    struct TimedOut: Error { let screen: String }

    private let master: Int32
    private let slave: Int32
    private let process = Process()
    /// Whose home lasts as long as the command.
    private let shell: Shell
    private(set) var screen = ""

    /// - Parameter program: The program to run; `nil` for the command itself.
    init(_ arguments: [String], in shell: Shell, program: String? = nil, columns: UInt16? = nil) throws {
        self.shell = shell
        // Glibc's posix_openpt and related functions are not imported, so these ioctls (TIOCSPTLCK, TIOCGPTN) replace
        // them.
        master = open("/dev/ptmx", O_RDWR | O_NOCTTY)
        var (unlocked, number): (Int32, Int32) = (0, 0)
        guard master >= 0, ioctl(master, 0x4004_5431, &unlocked) == 0, ioctl(master, 0x8004_5430, &number) == 0 else {
            throw Errno(rawValue: errno)
        }
        slave = open("/dev/pts/\(number)", O_RDWR | O_NOCTTY)
        guard slave >= 0 else { throw Errno(rawValue: errno) }
        if let columns {
            var size = winsize(ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
            _ = ioctl(slave, UInt(TIOCSWINSZ), &size)
        }
        process.executableURL = URL(filePath: "/usr/bin/env")
        // The shell turns the signal that ended the command into 128 plus the signal's number.
        process.arguments =
            [
                "--default-signal=PIPE", "setsid", "--ctty", "--wait", "/bin/bash", "-c",
                "trap : INT; \"$0\" \"$@\"; exit $?",
                program ?? Shell.commands + "/vault",
            ] + arguments
        process.environment = shell.environment
        process.currentDirectoryURL = URL(filePath: shell.home.path.string)
        let terminal = FileHandle(fileDescriptor: slave, closeOnDealloc: false)
        process.standardInput = terminal
        process.standardOutput = terminal
        process.standardError = terminal
        try process.run()
    }

    deinit {
        if process.isRunning { kill(processIdentifier, SIGKILL) }
        close(master)
        close(slave)
    }

    /// Reads until the text has appeared on the screen `times` times.
    func wait(for text: String, times: Int = 1, within limit: Duration = Patience.duration) throws {
        let deadline = ContinuousClock.now + limit
        while screen.ranges(of: text).count < times {
            // The time limit also ends the wait for a command that draws without end.
            let left = Int32((deadline - ContinuousClock.now) / .milliseconds(1))
            guard left > 0, read(waiting: left) else { throw TimedOut(screen: screen) }
        }
    }

    /// Gives the terminal another width, of which its foreground programs are told.
    func resize(columns: UInt16) {
        var size = winsize(ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
        _ = ioctl(master, UInt(TIOCSWINSZ), &size)
    }

    /// Clears the recorded screen.
    func clear() { screen = "" }

    func type(_ text: String) {
        let bytes = Array(text.utf8)
        _ = bytes.withUnsafeBytes { write(master, $0.baseAddress, $0.count) }
    }

    /// The process id of the command itself, below the programs that gave it a terminal.
    var processIdentifier: Int32 {
        var pid = process.processIdentifier
        while let children = try? String(contentsOfFile: "/proc/\(pid)/task/\(pid)/children", encoding: .utf8),
            let child = children.split(separator: " ").first.flatMap({ Int32($0) })
        {
            pid = child
        }
        return pid
    }

    func signal(_ signal: Int32) { kill(processIdentifier, signal) }

    var isEchoing: Bool {
        var settings = termios()
        tcgetattr(slave, &settings)
        return settings.c_lflag & tcflag_t(ECHO) != 0
    }

    /// Waits for the command to end.
    ///
    /// - Returns: the exit code, or 128 plus the number of the signal; -1 if the command does not end.
    func end() -> Int32 {
        var patience = 600
        while process.isRunning, patience > 0 {
            _ = read(waiting: 50)
            patience -= 1
        }
        guard !process.isRunning else {
            kill(processIdentifier, SIGKILL)
            process.waitUntilExit()
            return -1
        }
        while read(waiting: 0) {}
        return process.terminationStatus
    }

    private func read(waiting milliseconds: Int32) -> Bool {
        var descriptor = pollfd(fd: master, events: Int16(POLLIN), revents: 0)
        guard poll(&descriptor, 1, milliseconds) > 0 else { return false }
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = Glibc.read(master, &buffer, buffer.count)
        guard count > 0 else { return false }
        screen += String(decoding: buffer[..<count], as: UTF8.self)
        return true
    }
}
