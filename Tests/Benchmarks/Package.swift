// swift-tools-version: 6.2
import PackageDescription

// A separate package, so that users of the vault do not resolve the dependencies of the measurements.
let package = Package(
    name: "benchmarks",
    dependencies: [
        .package(name: "vault", path: "../..", traits: []),
        // Provides the timing loops.
        .package(url: "https://github.com/google/swift-benchmark", from: "0.1.2"),
    ],
    targets: [
        // Measures the limits of the machine: libsodium and system calls, in C.
        .target(
            name: "CLimits", cSettings: [.unsafeFlags(["-O2"])], linkerSettings: [.linkedLibrary("sodium")]),
        // Calls databases, which are loaded at run time if they are installed.
        .target(name: "CPeers", cSettings: [.unsafeFlags(["-O2"])], linkerSettings: [.linkedLibrary("dl")]),
        .executableTarget(
            name: "LimitKDF", cSettings: [.unsafeFlags(["-O2"])], linkerSettings: [.linkedLibrary("sodium")]),
        .executableTarget(
            name: "VaultBench",
            dependencies: [
                "CLimits", "CPeers", .product(name: "Vault", package: "vault"),
                .product(name: "VaultAgent", package: "vault"),
                .product(name: "KeychainServices", package: "vault"),
                .product(name: "CommonCrypto", package: "vault"),
                .product(name: "Benchmark", package: "swift-benchmark"),
            ]),
    ],
    swiftLanguageModes: [.v6]
)
