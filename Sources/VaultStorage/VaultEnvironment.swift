// SPDX-License-Identifier: Apache-2.0
public import SystemPackage
public import VaultCrypto

/// What a vault needs of the world around it.
public struct VaultEnvironment: Sendable {
    public var fileSystem: any VaultFileSystem
    public var clock: any VaultClock
    public var random: any RandomSource
    /// Where the secret of this device is kept: `$XDG_STATE_HOME/vault`. Nil: nothing can be bound to this device.
    public var stateDirectory: FilePath?
    /// Whether this device writes down what it has seen of a vault.
    package var remembersStates = true
    /// How long a writer waits for another one.
    public var patience = Duration.seconds(30)
    /// Files above this size are copied without the lock when they are rewritten.
    package var lockFreeCopyLength = 4 << 20
    /// Whether an unlock makes a passphrase slot as dear as a new one where it is cheaper.
    public var strengthensSlots = false
    /// Whether key derivations may take more than half of the available memory.
    public var forcesMemory = false
    package var background: any Background = DispatchBackground()

    public init(
        fileSystem: any VaultFileSystem, clock: any VaultClock, random: any RandomSource, stateDirectory: FilePath?
    ) {
        self.fileSystem = fileSystem
        self.clock = clock
        self.random = random
        self.stateDirectory = stateDirectory
    }
}
