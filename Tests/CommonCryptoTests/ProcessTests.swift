// SPDX-License-Identifier: Apache-2.0
import CommonCrypto
import Foundation
import Testing

/// Properties of the whole process.
@Suite struct ProcessTests {
    private static func isLoaded() throws -> Bool {
        let maps = try FileHandle(forReadingFrom: URL(filePath: "/proc/self/maps")).readToEnd() ?? Data()
        return String(decoding: maps, as: UTF8.self).contains("libcrypto.so")
    }

    @Test func `libcrypto is loaded by the first digest`() async {
        await #expect(processExitsWith: .success) {
            var output = [UInt8](repeating: 0, count: 32)
            guard CCRandomGenerateBytes(&output, 32) == kCCSuccess, CCSymmetricWrappedSize(1, 16) == 24,
                try !Self.isLoaded()
            else { exit(10) }
            guard CC_SHA256("abc", 3, &output) != nil, try Self.isLoaded() else { exit(11) }
        }
    }

    @Test func `no key and no text stays in the memory of a cryptor that is released`() async {
        await #expect(processExitsWith: .success) {
            // Made at run time, so that the program's text does not contain it.
            let key = (0..<32).map { UInt8(truncatingIfNeeded: 131 &* $0 &+ 77) }
            var text = (0..<64).map { UInt8(truncatingIfNeeded: 61 &* $0 &+ 19) }
            var (cryptor, moved) = (nil as CCCryptorRef?, 0)
            var keyCopy = key
            guard CCCryptorCreate(0, 0, 1, &keyCopy, 32, nil, &cryptor) == kCCSuccess,
                CCCryptorUpdate(cryptor, text, 5, &text, 64, &moved) == kCCSuccess
            else { exit(10) }
            let place = UnsafeRawPointer(cryptor!)
            // The text is held until the block is complete.
            let held = UnsafeRawBufferPointer(start: place, count: 64)
            guard held.indices.contains(where: { held[$0...].starts(with: [19, 80, 141, 202, 7]) }) else { exit(11) }
            guard CCCryptorReset(cryptor, nil) == kCCSuccess else { exit(12) }
            guard !held.indices.contains(where: { held[$0...].starts(with: [19, 80, 141, 202, 7]) }) else { exit(13) }
            CCCryptorRelease(cryptor)
        }
    }
}
