// SPDX-License-Identifier: Apache-2.0
internal import SystemPackage

/// Disk space reserved after the end of the log, so that a delete works on a full disk.
struct DiskReserve {
    /// In bytes.
    static let length = 65_536

    private enum State {
        case none
        case through(Int)
        /// The file system does not support reservation.
        case unsupported
    }

    private var state = State.none

    /// Forgets the reserve, which truncation releases.
    mutating func forget() { state = .none }

    /// Ensures the reserve after a commit that is about to be written.
    ///
    /// - Parameters:
    ///   - end: of the commit.
    ///   - isDelete: whether the commit may use up the reserve.
    mutating func take(through end: Int, from start: Int, of file: any VaultFile, isDelete: Bool) throws(StorageError) {
        switch state {
        case .unsupported: return
        case .through(let reserved) where end + DiskReserve.length <= reserved: return
        case .none, .through: break
        }
        do throws(Errno) {
            try take(end + 2 * DiskReserve.length, from: start, of: file)
        } catch {
            if error == .notSupported {
                state = .unsupported
                return
            }
            if isDelete, error == .noSpace || error == .diskQuotaExceeded { return }
            // The first half is required; the second only saves later reservations.
            do throws(Errno) { try take(end + DiskReserve.length, from: start, of: file) } catch {
                throw .inputOutput(error, .reserve)
            }
        }
    }

    private mutating func take(_ end: Int, from start: Int, of file: any VaultFile) throws(Errno) {
        try file.reserve(end - start, at: start)
        state = .through(end)
    }
}
