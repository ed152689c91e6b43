// SPDX-License-Identifier: Apache-2.0
internal import CLinux
internal import Glibc
internal import SystemPackage
internal import Vault
internal import VaultCrypto
internal import VaultSystem

/// The controlling terminal of the process, independent of its standard streams.
struct Terminal: ~Copyable {
    private let opened: Descriptor
    private var descriptor: Int32 { opened.number }

    /// Fails if the process has no terminal.
    init?() {
        guard let opened = try? Descriptor(opening: "/dev/tty", O_RDWR | O_NOCTTY) else { return nil }
        self.opened = opened
    }

    /// Whether a standard stream is a terminal.
    static func isTerminal(_ stream: Int32) -> Bool { isatty(stream) == 1 }

    /// Returns the width in characters; 0 if unknown.
    static func width(of stream: Int32) -> Int { Int(clinux_terminal_width(stream)) }

    /// Returns the height in lines; 0 if unknown.
    static func height(of stream: Int32) -> Int { Int(clinux_terminal_height(stream)) }

    /// Lends the descriptor, which stays open while the body runs.
    borrowing func withDescriptor<R>(_ body: (Int32) throws -> R) rethrows -> R { try body(descriptor) }

    func write(_ text: String) {
        var bytes = Array(text.utf8)
        _ = unsafe bytes.withUnsafeMutableBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
    }

    func write(_ bytes: Span<UInt8>) { try? Output.write(bytes, to: descriptor) }

    /// Asks and reads a line.
    func ask(_ question: String) throws -> String {
        try Progress.held {
            write(question)
            let line = try readLine()
            return line.withBytes { String(decoding: $0.array, as: UTF8.self) }
        }
    }

    /// Asks and reads a line without echo.
    ///
    /// Signals that terminate or stop the process are deferred until the echo is on again; SIGINT is then a
    /// ``CommandError`` with code 130.
    ///
    /// - Parameter isMultiline: whether to read lines until the end of the input, which is Ctrl-D on an empty line.
    func readSecret(_ prompt: String, isMultiline: Bool = false) throws -> SecretBytes {
        try Progress.held { try readHiddenLine(prompt, isMultiline: isMultiline) }
    }

    /// Asks for a new secret twice, since a typing mistake would lock its owner out. After a mistake both are asked for
    /// again: a command that ended here would leave the next secret that the user types to the shell, which keeps it.
    ///
    /// - Parameter make: makes the value; a passphrase that it refuses is a mistake as well.
    /// - Throws: the last mistake, after three tries.
    func readTwice<R: ~Copyable>(_ prompt: String, _ make: (consuming SecretBytes) throws -> R) throws -> R {
        var tries = 3
        while true {
            let first = try readSecret(prompt)
            let mistake: CommandError
            do {
                let value = try make(first.copy(of: 0..<first.count))
                let second = try readSecret("Once more: ")
                if first.withBytes({ a in second.withBytes { b in isEqualInConstantTime(a, b) } }) { return value }
                mistake = CommandError(.cancelled, "the two differ")
            } catch CryptoError.unacceptablePassphrase(let flaw) {
                mistake = CommandError(CryptoError.unacceptablePassphrase(flaw))
            }
            tries -= 1
            guard tries > 0 else { throw mistake }
            write("\(mistake.message.prefix(1).uppercased() + mistake.message.dropFirst()): try again.\n")
        }
    }

    private func readHiddenLine(_ prompt: String, isMultiline: Bool) throws -> SecretBytes {
        var lines = try SecretBuffer()
        var saved = termios()
        guard unsafe tcgetattr(descriptor, &saved) == 0 else {
            throw CommandError(.inputOutput, "cannot read from the terminal")
        }
        let interruptions = try Interruptions()
        while true {
            var silent = saved
            silent.c_lflag &= ~tcflag_t(ECHO)
            silent.c_lflag |= tcflag_t(ECHONL | ICANON | ISIG)
            // Flushes typed-ahead input only before the first line: pasted text is several lines.
            unsafe tcsetattr(descriptor, lines.count == 0 ? TCSAFLUSH : TCSADRAIN, &silent)
            if lines.count == 0 { write(prompt) }
            let signal = interruptions.wait(orInputOf: descriptor)
            if signal == 0 {
                do {
                    // The echo stays off until all lines are read: pasted text arrives at once.
                    if isMultiline, let line = try nextLine() {
                        try line.withBytes { bytes throws(CryptoError) in try lines.append(bytes) }
                        continue
                    }
                    let typed = isMultiline ? try lines.take() : try readLine()
                    unsafe tcsetattr(descriptor, TCSAFLUSH, &saved)
                    return typed
                } catch {
                    unsafe tcsetattr(descriptor, TCSAFLUSH, &saved)
                    throw error
                }
            }
            unsafe tcsetattr(descriptor, TCSAFLUSH, &saved)
            guard signal > 0 else { throw CommandError(.inputOutput, "cannot read from the terminal") }
            write("\n")
            if signal == SIGINT { throw CommandError(.interrupted, "interrupted") }
            // With the echo on; after a stop the prompt is shown again.
            try interruptions.obey(signal)
        }
    }

    private func readLine() throws -> SecretBytes {
        guard let line = try nextLine() else { throw CommandError(.cancelled, "cancelled") }
        let end = line.withBytes { $0[$0.count - 1] == 0x0a ? $0.count - 1 : $0.count }
        return try line.copy(of: 0..<end)
    }

    /// Reads a line with its newline; returns `nil` at the end of the input.
    private func nextLine() throws -> SecretBytes? {
        let limit = 4096
        var line = try SecretBytes(zeroed: limit)
        var length = 0
        while length < limit {
            let read: Int
            do throws(Errno) {
                read = try line.withMutableBytes { bytes throws(Errno) in
                    try Descriptor.read(descriptor, into: &bytes, from: length)
                }
            } catch { throw CommandError(.inputOutput, "cannot read from the terminal") }
            guard read > 0 else { break }
            length += read
            if line.withBytes({ $0[length - 1] }) == 0x0a { break }
        }
        if length == 0 { return nil }
        // A terminal truncates longer lines, which would go unnoticed.
        guard length < limit - 1 else {
            throw CommandError.usage("the line is too long for a terminal", hint: "use a file or a pipe")
        }
        return try line.copy(of: 0..<length)
    }
}

extension Span<UInt8> {
    /// Returns a copy in ordinary memory, for non-secrets.
    var array: [UInt8] {
        var copy: [UInt8] = []
        copy.reserveCapacity(count)
        for index in indices { copy.append(self[index]) }
        return copy
    }
}

/// Defers the signals that terminate or stop the process, while a clean-up is pending.
struct Interruptions: ~Copyable {
    private let signals: Descriptor

    init() throws {
        guard let signals = try? Descriptor(Int(clinux_block_terminal_signals(-1))) else { throw Interruptions.failure }
        self.signals = signals
    }

    deinit { clinux_unblock_terminal_signals() }

    /// Waits for a signal, or until the input can be read.
    ///
    /// - Returns: the signal, 0 for input, or a negated error number.
    func wait(orInputOf input: Int32) -> Int32 { clinux_wait_for_input(input, signals.number) }

    /// Lets the signal take effect, and defers the next ones.
    func obey(_ signal: Int32) throws {
        kill(getpid(), signal)
        clinux_unblock_terminal_signals()
        guard clinux_block_terminal_signals(signals.number) >= 0 else { throw Interruptions.failure }
    }

    private static let failure = CommandError(.resources, "cannot wait for signals")

    /// - Throws: code 130 if a signal is pending.
    func check() throws {
        if clinux_pending_terminal_signal(signals.number) > 0 { throw CommandError(.interrupted, "interrupted") }
    }
}
