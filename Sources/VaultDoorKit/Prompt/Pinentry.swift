// SPDX-License-Identifier: Apache-2.0
internal import CLinux
internal import Glibc
package import VaultCrypto
internal import VaultFormat
internal import VaultSystem

/// The reason why the user gave no answer.
package enum PromptError: Error, Equatable, Sendable {
    /// No prompter program is available, or no display or terminal for it.
    case unavailable
    case dismissed
    case timedOut
    /// The program misbehaved; the text is its message, or how it ended.
    case failed(String)
}

/// A program that asks the user in a window or at a terminal, controlled by libassuan's line protocol.
///
/// Not thread-safe. The program is treated as hostile: its output and its time are bounded.
package final class Pinentry {
    private let process: Int32
    private let input: Descriptor
    private let output: Descriptor
    private var received: SecretBytes
    private var length = 0
    private let stop: PromptStop?

    /// The timeouts for the user's answer, and for any other command, in seconds.
    private let patience: (answer: Int, command: Int)

    /// Starts a program and reads its greeting.
    ///
    /// - Parameters:
    ///   - environment: `NAME=value`.
    ///   - stop: cancels the question, as if the user had dismissed it.
    init(
        _ program: String, environment: [String], patience: (answer: Int, command: Int) = (60, 5),
        until stop: PromptStop? = nil
    ) throws(PromptError) {
        (self.patience, self.stop) = (patience, stop)
        do throws(CryptoError) { received = try SecretBytes(zeroed: 2 * Assuan.longestLine) } catch {
            throw .failed("no memory for a secret")
        }
        guard let asking = try? DescriptorPair(), let answering = try? DescriptorPair() else {
            throw .failed("no pipe to the program that asks")
        }
        let started = Pinentry.start(
            program, environment, input: asking.reading.number, output: answering.writing.number)
        // Otherwise the output of a program that has ended would not end.
        asking.reading.close()
        answering.writing.close()
        input = asking.writing
        output = answering.reading
        process = Int32(clamping: started)
        guard started > 0 else { throw .unavailable }
        _ = try answer(within: patience.command)
    }

    deinit {
        guard process > 0 else { return }
        kill(process, SIGKILL)
        var status: Int32 = 0
        while unsafe waitpid(process, &status, 0) < 0, errno == EINTR {}
    }

    private static func start(_ program: String, _ environment: [String], input: Int32, output: Int32) -> Int {
        var arguments = unsafe [strdup(program), nil]
        var variables = unsafe environment.map { unsafe strdup($0) } + [nil]
        defer {
            unsafe arguments.forEach { unsafe free($0) }
            unsafe variables.forEach { unsafe free($0) }
        }
        return unsafe arguments.withUnsafeMutableBufferPointer { arguments in
            unsafe variables.withUnsafeMutableBufferPointer { variables in
                unsafe clinux_spawn_helper(arguments.baseAddress, variables.baseAddress, input, output, -1, 0)
            }
        }
    }

    // MARK: The conversation

    /// Returns the name of its interface, such as `gnome3`, `curses` or, after a fallback, `gnome3:curses`.
    func flavor() throws(PromptError) -> String {
        let data = try command("GETINFO flavor", within: patience.command)
        return data.withBytes { String(decoding: $0.array($0.indices), as: UTF8.self) }
    }

    /// Sets an option that not every program supports.
    func option(_ name: String, _ value: String?) throws(PromptError) {
        do throws(PromptError) {
            _ = try command(
                "OPTION \(name)" + (value.map { "=" + Assuan.escaped([$0]) } ?? ""), within: patience.command)
        } catch .failed {
            // A program that does not support the option still works.
        }
    }

    /// Asks for a passphrase.
    package func ask(_ question: PromptQuestion) throws(PromptError) -> SecretBytes {
        try show(question)
        // `allow-external-password-cache` is never set: that cache is the Secret Service, which may be this vault's.
        try set("SETKEYINFO --clear")
        try set("SETPROMPT " + Assuan.escaped([question.prompt]))
        if question.isNew { try set("SETREPEAT Once more:") }
        return try command("GETPIN", within: patience.answer + 5)
    }

    /// Asks for a confirmation.
    package func confirm(_ question: PromptQuestion) throws(PromptError) -> Bool {
        try show(question)
        do throws(PromptError) { _ = try command("CONFIRM", within: patience.answer + 5) } catch .dismissed {
            return false
        }
        return true
    }

    private func show(_ question: PromptQuestion) throws(PromptError) {
        try set("SETTITLE " + Assuan.escaped([question.title]))
        try set(Assuan.describing(question.description))
        try set("SETTIMEOUT \(patience.answer)")
        if let error = question.error { try set("SETERROR " + Assuan.escaped([error])) }
    }

    private func set(_ line: String) throws(PromptError) { _ = try command(line, within: patience.command) }

    private func command(_ line: String, within seconds: Int) throws(PromptError) -> SecretBytes {
        let bytes = Assuan.sent(line)
        let written = unsafe bytes.withUnsafeBytes { unsafe clinux_write_pipe(input.number, $0.baseAddress, $0.count) }
        guard written == 0 else { throw Pinentry.ended }
        return try answer(within: seconds)
    }

    private static let ended = PromptError.failed("the program that asks has ended")

    /// Reads lines up to the end of the answer, and returns the content of its data lines.
    private func answer(within seconds: Int) throws(PromptError) -> SecretBytes {
        let deadline = ContinuousClock.now + .seconds(seconds)
        var data = try Pinentry.secured { () throws(CryptoError) in try SecretBuffer() }
        while true {
            let end = try lineEnd(before: deadline)
            let answer = try Pinentry.secured { () throws(CryptoError) in
                try received.withBytes { bytes throws(CryptoError) in try Assuan.take(bytes.extracting(0..<end), &data)
                }
            }
            dropLine(end)
            guard data.count <= 4 * Passphrase.longest else { throw .failed("the program that asks says too much") }
            switch answer {
            case .ok: return try Pinentry.secured { () throws(CryptoError) in try data.take() }
            case .failure(Pinentry.timeout, _): throw .timedOut
            case .failure(Pinentry.cancelled, _), .failure(Pinentry.notConfirmed, _): throw .dismissed
            case .failure(_, let text): throw .failed(text)
            case .data, .other: continue
            }
        }
    }

    // libgpg-error's codes.
    private static let timeout = 62
    private static let cancelled = 99
    private static let notConfirmed = 114

    private static func secured<R: ~Copyable>(_ body: () throws(CryptoError) -> R) throws(PromptError) -> R {
        do throws(CryptoError) { return try body() } catch { throw .failed("no memory for a secret") }
    }

    /// Returns the index at which the first line ends.
    private func lineEnd(before deadline: ContinuousClock.Instant) throws(PromptError) -> Int {
        var searched = 0
        while true {
            let found = received.withBytes { bytes in
                (searched..<length).first { bytes[$0] == UInt8(ascii: "\n") }
            }
            if let found { return found }
            searched = length
            guard length < received.count else { throw .failed("the program that asks says too much") }
            try read(before: deadline)
        }
    }

    private func read(before deadline: ContinuousClock.Instant) throws(PromptError) {
        let left = ContinuousClock.now.duration(to: deadline).components
        let milliseconds = left.seconds * 1000 + left.attoseconds / 1_000_000_000_000_000
        // poll(2) ignores negative descriptors.
        var waiting = [output.number, stop?.descriptor ?? -1].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        let ready = unsafe poll(&waiting, nfds_t(waiting.count), Int32(clamping: max(0, milliseconds)))
        if ready < 0, errno == EINTR { return }
        guard stop?.isStopped != true else { throw .dismissed }
        // After a timeout, the program must not receive what the user types into its window later.
        guard ready > 0 else { throw .timedOut }
        let start = length
        let count = received.withMutableBytes { bytes in
            unsafe bytes.withUnsafeMutableBytes {
                unsafe Glibc.read(output.number, $0.baseAddress.map { unsafe $0 + start }, $0.count - start)
            }
        }
        if count < 0, errno == EINTR { return }
        guard count > 0 else { throw Pinentry.ended }
        length += count
    }

    /// Removes a line: moves the rest to the front, and wipes the vacated bytes.
    private func dropLine(_ end: Int) {
        let rest = length - end - 1
        received.withMutableBytes { bytes in
            for index in 0..<rest { bytes[index] = bytes[end + 1 + index] }
            for index in rest..<bytes.count where index < end + 1 + rest { bytes[index] = 0 }
        }
        length = rest
    }
}
