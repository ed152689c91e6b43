// SPDX-License-Identifier: Apache-2.0
internal import CLinux

/// The name of this process, as ps(1) and top(1) show it.
package enum ProcessName {
    /// Sets the name; the kernel keeps its first 15 bytes.
    package static func set(_ name: String) { unsafe clinux_set_name(name) }
}
