// SPDX-License-Identifier: Apache-2.0
import Foundation
import TestSupport

// libFuzzer's entry points. `$VAULT_FUZZ` names the target; `$VAULT_FUZZ_CORPUS` is the directory for the initial
// inputs.

private let target = ProcessInfo.processInfo.environment["VAULT_FUZZ"]

@_cdecl("LLVMFuzzerInitialize")
public func initialize(
    _ count: UnsafeMutablePointer<CInt>,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>>>
) -> CInt {
    guard let directory = ProcessInfo.processInfo.environment["VAULT_FUZZ_CORPUS"] else { return 0 }
    let seeds =
        switch target {
        case "format": FuzzedFormat.seeds
        case "log": FuzzedLog.seeds
        case "message": (try? FuzzedMessage.seeds) ?? []
        case "value": FuzzedValue.seeds
        case "import": FuzzedImport.seeds
        case "doors": FuzzedDoors.seeds
        default: FuzzedCommand.seeds
        }
    for (number, seed) in seeds.enumerated() {
        guard FileManager.default.createFile(atPath: "\(directory)/seed-\(number)", contents: Data(seed)) else {
            return 1
        }
    }
    return 0
}

/// Runs one input. A failing input ends the process, and libFuzzer keeps the input.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let input = Array(UnsafeBufferPointer(start: start, count: count))
    let holds =
        switch target {
        case "format": FuzzedFormat.holds(input)
        case "log": FuzzedLog.holds(input)
        case "message": FuzzedMessage.holds(input)
        case "value": FuzzedValue.holds(input)
        case "import": FuzzedImport.holds(input)
        case "doors": FuzzedDoors.holds(input)
        default: FuzzedCommand.holds(input)
        }
    precondition(holds, "the property does not hold")
    return 0
}
