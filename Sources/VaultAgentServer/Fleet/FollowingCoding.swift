// SPDX-License-Identifier: Apache-2.0
package import VaultAgent
package import VaultSync

// The encoding of the state of automatic syncs, from the agent to the command. Times are whole milliseconds.

extension RemoteFollowing: MessageValue {
    package func write(to writer: inout MessageWriter) {
        writer.put(url)
        writer.put(isWatched)
        writer.put(heard.map(\.wholeMilliseconds))
        writer.put(next.map(\.wholeMilliseconds))
        writer.put(failure)
        writer.put(mended)
    }

    package static func read(from reader: inout MessageReader) throws(MessageError) -> RemoteFollowing {
        RemoteFollowing(
            url: try reader.read(), isWatched: try reader.read(), heard: try time(&reader), next: try time(&reader),
            failure: try reader.read(), mended: try reader.read())
    }

    private static func time(_ reader: inout MessageReader) throws(MessageError) -> Duration? {
        guard let milliseconds = try reader.read(UInt64?.self) else { return nil }
        return try Duration(wholeMilliseconds: milliseconds)
    }
}

extension RemoteFollowing.Mended: MessageValue {
    package func write(to writer: inout MessageWriter) {
        writer.put(alarm)
        writer.put(count)
        writer.put(ago.wholeMilliseconds)
    }

    package static func read(from reader: inout MessageReader) throws(MessageError) -> RemoteFollowing.Mended {
        let (alarm, count): (Alarm, UInt64) = (try reader.read(), try reader.read())
        guard count > 0 else { throw .invalid }
        return RemoteFollowing.Mended(alarm, count: count, ago: try Duration(wholeMilliseconds: reader.read()))
    }
}

extension Duration {
    fileprivate init(wholeMilliseconds: UInt64) throws(MessageError) {
        guard let number = Int64(exactly: wholeMilliseconds) else { throw .invalid }
        self = .milliseconds(number)
    }

    fileprivate var wholeMilliseconds: UInt64 {
        let (seconds, attoseconds) = components
        return UInt64(clamping: seconds) * 1000 + UInt64(clamping: attoseconds / 1_000_000_000_000_000)
    }
}
