// SPDX-License-Identifier: Apache-2.0
internal import CLinux
internal import Glibc
internal import VaultCrypto
internal import VaultSystem

/// A stream of a command's output, without secrets: through a terminal if it goes to one, so that the command finds
/// what it would find without the mask, else through a pipe.
final class MaskedStream {
    /// Closed once its output cannot be written.
    private var source: Descriptor?
    let target: Int32
    private let isTerminal: Bool
    private var mask: Mask
    private var buffer: SecretBytes?
    private(set) var isAtEnd = false
    /// Whether the command has changed the modes of its terminal since this was last asked.
    private var hasNewModes = false

    /// - Parameter target: the descriptor to which the output goes.
    /// - Returns: the stream, and the descriptor for the command, which the caller closes.
    static func make(to target: Int32, hiding secrets: [Secret]) throws -> (stream: MaskedStream, writing: Int32) {
        let mask = try Mask(secrets)
        if Terminal.isTerminal(target) {
            var slave: Int32 = -1
            let master = unsafe clinux_open_terminal(target, &slave)
            // Without pseudoterminals, as in some chroots, there are still pipes.
            if let master = try? Descriptor(master) {
                return (MaskedStream(from: master, to: target, isTerminal: true, mask: mask), slave)
            }
        }
        let pipe = try Helper.pipe()
        let (reading, writing) = (pipe.reading.take(), pipe.writing.take())
        return (
            MaskedStream(from: Descriptor(owning: reading), to: target, isTerminal: false, mask: mask), writing
        )
    }

    private init(from source: consuming Descriptor, to target: Int32, isTerminal: Bool, mask: consuming Mask) {
        self.source = consume source
        (self.target, self.isTerminal) = (target, isTerminal)
        self.mask = mask
    }

    /// For poll(2), which ignores a negative number.
    var number: Int32 {
        switch source {
        case .some(let source): isAtEnd ? -1 : source.number
        case .none: -1
        }
    }

    /// Whether there is output, or its end, to be read without waiting.
    var isReady: Bool {
        var waiting = pollfd(fd: number, events: Int16(POLLIN), revents: 0)
        guard waiting.fd >= 0 else { return false }
        return unsafe poll(&waiting, 1, 0) > 0
    }

    /// - Returns: the number of bytes read.
    func pass(_ write: (Span<UInt8>) throws -> Void) throws -> Int {
        var buffer = try self.buffer.take() ?? SecretBytes(zeroed: 32_768)
        let number = number
        let count = buffer.withMutableBytes { bytes in
            unsafe bytes.withUnsafeMutableBytes { unsafe Glibc.read(number, $0.baseAddress, $0.count) }
        }
        if count > 0 {
            let notice = isTerminal ? buffer.withBytes { $0[0] } : 0
            if clinux_tells_of_modes(notice) != 0 { hasNewModes = true }
            let start = isTerminal ? 1 : 0
            if notice == 0 { try buffer.withBytes { try mask.pass($0.extracting(start..<count), write) } }
        } else if count == 0 || errno != EINTR {
            isAtEnd = true
        }
        self.buffer = consume buffer
        return max(count, 0)
    }

    func finish(_ write: (Span<UInt8>) throws -> Void) throws { try mask.finish(write) }

    func end() {
        guard !isAtEnd else { return }
        isAtEnd = true
        source = nil
    }

    /// Gives the target the modes that the command has set on its own terminal.
    ///
    /// - Parameter isAllowed: whether the target's foreground process group belongs to the command.
    func followModes(_ isAllowed: (Int32) -> Bool) {
        guard hasNewModes else { return }
        hasNewModes = false
        if isAllowed(tcgetpgrp(target)) { clinux_follow_modes(number, target) }
    }

    /// Gives the command's terminal the size of the target.
    ///
    /// - Returns: whether it has changed.
    func followSize() -> Bool { isTerminal && number >= 0 && clinux_follow_size(number, target) != 0 }

    /// The foreground process group of the target; -1 if it is not this process's terminal.
    var foreground: Int32 { isTerminal ? tcgetpgrp(target) : -1 }
}
