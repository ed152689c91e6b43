// SPDX-License-Identifier: Apache-2.0
internal import CLinux
internal import Glibc
internal import Synchronization
internal import Vault
internal import VaultCrypto
internal import VaultSystem

/// A key press, as far as it has a meaning here.
enum Key: Equatable {
    case character(Unicode.Scalar)
    /// A control key, with the letter in lower case.
    case control(Character)
    case up, down, pageUp, pageDown, home, end, enter, escape, backspace, delete
    case resized
    /// The wait was ended by the waker, or by a key without a meaning.
    case woken
    /// The terminal has disconnected.
    case gone
}

/// A row of the screen, as parts with styles.
struct Row {
    enum Style: Int32 {
        case plain, bold, reverse, underline
    }

    enum Part {
        /// Text without characters that a terminal obeys.
        case text(String)
        /// The same for a secret, as UTF-8.
        case secret(Secret)
    }

    var parts: [(part: Part, style: Style)] = []
    /// The indentation, in cells.
    var indent = 0

    init(_ text: String, _ style: Style = .plain) { parts = [(.text(text), style)] }

    init(secret: Secret, indent: Int) {
        parts = [(.secret(secret), .plain)]
        self.indent = indent
    }
}

/// The terminal's whole screen, drawn by ncursesw. Wiped before the terminal is returned.
struct Screen: ~Copyable {
    private let wake: Descriptor
    private let bell: Bell

    /// - Throws: code 1 without a terminal, or without ncursesw.
    static func open() throws -> Screen {
        let pipe = try Helper.pipe()
        let result = clinux_screen_open()
        guard result == 0 else {
            throw result == Int(-ENOENT)
                ? CommandError(.failure, "ncursesw is not installed", hint: "install libncursesw6")
                : CommandError.usage("browsing needs a terminal")
        }
        return Screen(wake: pipe.reading, bell: Bell(pipe.writing))
    }

    private init(wake: consuming Descriptor, bell: Bell) {
        self.wake = wake
        self.bell = bell
    }

    deinit {
        clinux_screen_close()
        bell.remove()
    }

    var rows: Int { Int(clinux_screen_rows()) }
    var columns: Int { Int(clinux_screen_columns()) }

    /// Ends a wait for a key, from any thread.
    var waker: @Sendable () -> Void { { [bell] in bell.ring() } }

    func draw(_ rows: [Row], cursor: (row: Int, column: Int)) {
        clinux_screen_erase()
        for (index, row) in rows.enumerated() {
            var column = row.indent
            for (part, style) in row.parts {
                switch part {
                case .text(let text):
                    var text = text
                    text.withUTF8 { utf8 in
                        unsafe clinux_screen_put(
                            Int32(index), Int32(column), utf8.baseAddress, utf8.count, style.rawValue)
                    }
                    column += text.cells
                case .secret(let secret):
                    secret.withBytes { bytes in
                        unsafe bytes.withUnsafeBytes { bytes in
                            unsafe clinux_screen_put(
                                Int32(index), Int32(column), bytes.baseAddress, bytes.count, style.rawValue)
                        }
                    }
                }
            }
        }
        clinux_screen_refresh(Int32(cursor.row), Int32(cursor.column))
    }

    /// Waits for a key.
    ///
    /// - Parameter patience: the timeout in milliseconds; -1 for none.
    /// - Returns: `nil` on timeout.
    func key(patience: Int32) -> Key? {
        let number = clinux_screen_key(wake.number, patience)
        switch number {
        case 0: return nil
        case CLINUX_KEY_WOKEN:
            while clinux_readable(wake.number) > 0 {
                var byte: UInt8 = 0
                guard unsafe Glibc.read(wake.number, &byte, 1) == 1 else { break }
            }
            return .woken
        case CLINUX_KEY_GONE: return .gone
        case CLINUX_KEY + 0o402: return .down
        case CLINUX_KEY + 0o403: return .up
        case CLINUX_KEY + 0o406: return .home
        case CLINUX_KEY + 0o407, 0x7F, 0x08: return .backspace
        case CLINUX_KEY + 0o512: return .delete
        case CLINUX_KEY + 0o522: return .pageDown
        case CLINUX_KEY + 0o523: return .pageUp
        case CLINUX_KEY + 0o527, 0x0D, 0x0A: return .enter
        case CLINUX_KEY + 0o550: return .end
        case CLINUX_KEY + 0o632: return .resized
        case 0x1B: return .escape
        case 1...0x1A: return .control(Character(UnicodeScalar(UInt8(number) + 0x60)))
        // A key without a meaning here.
        case CLINUX_KEY...: return .woken
        default: return Unicode.Scalar(UInt32(number)).map { .character($0) }
        }
    }

    /// Returns the terminal to normal mode while the body runs.
    func suspended<R>(_ body: () throws -> R) rethrows -> R {
        clinux_screen_suspend()
        defer { clinux_screen_resume() }
        return try body()
    }
}

/// Ends a wait for a key, as long as the screen exists.
private final class Bell: Sendable {
    private let descriptor: Mutex<Descriptor?>

    init(_ descriptor: consuming Descriptor) { self.descriptor = Mutex(descriptor) }

    func ring() {
        descriptor.withLock { descriptor in
            var byte: UInt8 = 1
            switch descriptor {
            case .some(let descriptor): _ = unsafe Glibc.write(descriptor.number, &byte, 1)
            case .none: break
            }
        }
    }

    func remove() { descriptor.withLock { $0 = nil } }
}

extension Unicode.Scalar {
    /// The number of terminal cells that the character takes.
    var cells: Int { value >= 0x20 && value < 0x7F ? 1 : Int(clinux_cell_width(value)) }
}

extension String {
    /// The number of terminal cells that the text takes.
    var cells: Int { unicodeScalars.reduce(0) { $0 + $1.cells } }

    /// Returns the text truncated with an ellipsis if necessary, and padded with blanks to the width.
    func fitted(to width: Int) -> String {
        guard width > 0 else { return "" }
        var (output, used) = ("", 0)
        let isTooLong = cells > width
        for scalar in unicodeScalars {
            guard used + scalar.cells <= (isTooLong ? width - 1 : width) else { break }
            output.unicodeScalars.append(scalar)
            used += scalar.cells
        }
        if isTooLong {
            output += "…"
            used += 1
        }
        return output + String(repeating: " ", count: max(0, width - used))
    }
}
