// SPDX-License-Identifier: Apache-2.0
import Dispatch
import Glibc
import SystemPackage
import TestSupport
import Testing
import VaultSystem

/// A descriptor that closes itself.
struct DescriptorTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    private func path(_ name: String) -> String { directory.path.appending(name).string }

    /// Writes bytes to a new file.
    private func make(_ name: String, _ bytes: [UInt8]) throws {
        let file = try Descriptor(making: path(name))
        #expect(write(file.number, bytes, bytes.count) == bytes.count)
    }

    @Test func `a name that is taken is not opened for a new file, nor a link that leads to none`() throws {
        try make("taken", [1])
        #expect(symlink(path("nowhere"), path("link")) == 0)
        for name in ["taken", "link"] {
            #expect(throws: Errno.fileExists) { _ = try Descriptor(making: path(name)).number }
        }
        #expect(try Descriptor(opening: path("taken"), O_RDONLY).readAll(most: 10) == [1])
        #expect(access(path("nowhere"), F_OK) != 0)
    }

    @Test func `a failure keeps its number`() {
        #expect(throws: Errno.noSuchFileOrDirectory) { _ = try Descriptor(opening: path("none"), O_RDONLY).number }
        #expect(throws: Errno.connectionRefused) { _ = try Descriptor(-Int(ECONNREFUSED)).number }
        #expect(Errno.permissionDenied.text == "permission denied")
    }

    @Test func `reading stops at the bound, and at the end`() throws {
        let bytes = (0..<70_000).map { UInt8(truncatingIfNeeded: $0) }
        try make("long", bytes)
        for most in [0, 1, 65_536, 65_537, 70_000, 80_000] {
            let file = try Descriptor(opening: path("long"), O_RDONLY)
            #expect(try file.readAll(most: most) == Array(bytes.prefix(most)))
        }
    }

    @Test func `a bounded read leaves the rest in the pipe, also after a short part`() throws {
        let pipe = try DescriptorPair()
        let reading = pipe.reading
        let (input, output) = (reading.number, pipe.writing.take())
        DispatchQueue(label: "writer").async {
            let writing = Descriptor(owning: output)
            try? Descriptor.write([1, 2, 3].span, to: writing.number)
            // The second part comes once the first was read.
            var waiting = pollfd(fd: input, events: Int16(POLLIN), revents: 0)
            while poll(&waiting, 1, 0) > 0 { sched_yield() }
            try? Descriptor.write([4, 5, 6, 7].span, to: writing.number)
        }
        #expect(try reading.readAll(most: 5) == [1, 2, 3, 4, 5])
        #expect(try reading.readAll(most: 5) == [6, 7])
    }

    @Test func `only a regular file has a size and permissions`() throws {
        try make("file", [1, 2, 3])
        let file = try Descriptor(opening: path("file"), O_RDONLY)
        #expect(file.regularFile?.size == 3)
        #expect(file.regularFile?.mode == 0o600)
        #expect(try Descriptor(opening: directory.path.string, O_RDONLY | O_DIRECTORY).regularFile == nil)
        #expect(try DescriptorPair().reading.regularFile == nil)
    }

    @Test func `an end of a pipe is closed with its owner, unless a new owner has taken it`() throws {
        let pipe = try DescriptorPair()
        let reading = pipe.reading
        let writing = pipe.writing
        #expect(write(writing.number, [7], 1) == 1)
        let second = Descriptor(owning: writing.take())
        #expect(fcntl(second.number, F_GETFD) == FD_CLOEXEC)
        hangUp(second)
        // The end of the input comes once no writing end is open.
        #expect(try reading.readAll(most: 10) == [7])
    }

    private func hangUp(_ end: consuming Descriptor) {}
}
