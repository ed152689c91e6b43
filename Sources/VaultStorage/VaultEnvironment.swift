// SPDX-License-Identifier: Apache-2.0
public import SystemPackage
public import VaultCrypto

/// A vault's dependencies on its surroundings.
public struct VaultEnvironment: Sendable {
    package var fileSystem: any VaultFileSystem
    package var clock: any VaultClock
    /// The source of keys, salts and identifiers.
    public var random: any RandomSource
    /// The directory of this device's secret: `$XDG_STATE_HOME/vault`; `nil` if nothing can be bound to this device.
    public var stateDirectory: FilePath?
    /// Whether this device records the states of a vault that it has seen.
    package var remembersStates = true
    /// How long a writer waits for another.
    public var patience = Duration.seconds(30)
    /// Files above this size are copied without the lock when they are rewritten.
    package var lockFreeCopyLength = 4 << 20
    /// Whether an unlock raises the cost of a passphrase slot to that of a new one, if it is lower.
    public var strengthensSlots = false
    /// Whether key derivations may take more than half of the available memory.
    public var forcesMemory = false
    package var background: any Background = DispatchBackground()

    package init(
        fileSystem: any VaultFileSystem, clock: any VaultClock, random: any RandomSource, stateDirectory: FilePath?
    ) {
        self.fileSystem = fileSystem
        self.clock = clock
        self.random = random
        self.stateDirectory = stateDirectory
    }
}
