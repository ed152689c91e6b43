// SPDX-License-Identifier: Apache-2.0
internal import NIOCore
internal import VaultCrypto

extension ByteBuffer {
    /// Wipes the storage itself. Changing the buffer would make a copy first when NIO has it too.
    func wipe() {
        unsafe withVeryUnsafeBytes { storage in
            let bytes = unsafe UnsafeMutableRawBufferPointer(mutating: storage)
            // The storage was allocated, and NIO is done with the buffer.
            unsafe VaultCrypto.wipe(unsafe UnsafeMutableRawBufferPointer(rebasing: bytes[readerIndex..<writerIndex]))
        }
    }
}
