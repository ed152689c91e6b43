// SPDX-License-Identifier: Apache-2.0
internal import SystemPackage
internal import VaultCrypto
internal import VaultFormat
internal import VaultSystem

/// The header of a file, with all checks that need no key.
struct HeaderPage {
    let header: Header
    let bytes: [UInt8]

    /// - Parameter isDamaged: accepts a wrong checksum and missing data after the header.
    init(of file: any VaultFile, isDamaged: Bool = false) throws(StorageError) {
        let page = try attempt(.read, file.read(Layout.headerLength, at: 0))
        let status = try attempt(.read, file.status())
        guard page.count == Layout.headerLength, status.size >= Layout.firstFrame || isDamaged else {
            throw .damaged(.notAVault)
        }
        do throws(FormatError) { try Header.checkMagic(page.span) } catch { throw .damaged(.notAVault) }
        let sum = KeyedHash.digest(page.span.extracting(0..<Layout.headerSumOffset))
        let written = page.span.extracting(Layout.headerSumOffset..<Layout.headerLength)
        guard isDamaged || isEqualInConstantTime(sum.bytes.span, written) else { throw .damaged(.headerChecksum) }
        do throws(FormatError) { header = try Header(parsing: page.span) } catch {
            if case .unsupported(let field) = error { throw .unsupported(field) }
            throw .damaged(.header(error))
        }
        bytes = page
    }

    /// The page of a new header.
    init(sealing header: Header, keys: borrowing GenerationKeys) {
        var page = header.encoded()
        page.append(keys.headerMAC(page.span).bytes)
        page.append(KeyedHash.digest(page.span).bytes)
        self.header = header
        bytes = page
    }

    func hasMAC(_ keys: borrowing GenerationKeys) -> Bool {
        let mac = keys.headerMAC(bytes.span.extracting(0..<Layout.headerMACOffset))
        return isEqualInConstantTime(
            mac.bytes.span, bytes.span.extracting(Layout.headerMACOffset..<Layout.headerSumOffset))
    }
}
