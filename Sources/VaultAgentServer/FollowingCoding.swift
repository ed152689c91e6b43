// SPDX-License-Identifier: Apache-2.0
package import VaultAgent
package import VaultSync

// How an agent stands with the remotes, on its way to the command. Times are whole milliseconds.

extension RemoteFollowing: MessageValue {
    package func write(to writer: inout MessageWriter) {
        writer.put(url)
        writer.put(isWatched)
        writer.put(heard.map(\.wholeMilliseconds))
        writer.put(next.map(\.wholeMilliseconds))
        writer.put(failure)
    }

    package static func read(from reader: inout MessageReader) throws(MessageError) -> RemoteFollowing {
        RemoteFollowing(
            url: try reader.read(), isWatched: try reader.read(), heard: try time(&reader), next: try time(&reader),
            failure: try reader.read())
    }

    private static func time(_ reader: inout MessageReader) throws(MessageError) -> Duration? {
        guard let milliseconds = try reader.read(UInt64?.self) else { return nil }
        guard let number = Int64(exactly: milliseconds) else { throw .invalid }
        return .milliseconds(number)
    }
}

extension Duration {
    fileprivate var wholeMilliseconds: UInt64 {
        let (seconds, attoseconds) = components
        return UInt64(clamping: seconds) * 1000 + UInt64(clamping: attoseconds / 1_000_000_000_000_000)
    }
}
