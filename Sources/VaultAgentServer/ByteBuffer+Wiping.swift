// SPDX-License-Identifier: Apache-2.0
internal import NIOCore
internal import VaultCrypto

extension ByteBuffer {
    /// Wipes the storage in place. A mutation would copy the buffer first if NIO shares it.
    func wipe() {
        unsafe withVeryUnsafeBytes { storage in
            let bytes = unsafe UnsafeMutableRawBufferPointer(mutating: storage)
            // The storage is allocated, and NIO has finished with the buffer.
            unsafe VaultCrypto.wipe(unsafe UnsafeMutableRawBufferPointer(rebasing: bytes[readerIndex..<writerIndex]))
        }
    }
}
