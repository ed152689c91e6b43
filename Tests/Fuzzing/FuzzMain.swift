// SPDX-License-Identifier: Apache-2.0

/// libFuzzer's entry. An input that does not hold ends the process, and libFuzzer keeps it.
@_cdecl("LLVMFuzzerTestOneInput") public func fuzz(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    precondition(FuzzTarget.holds(Array(UnsafeBufferPointer(start: start, count: count))), "an accepted input is written otherwise")
    return 0
}
