// swift-tools-version: 6.2
import PackageDescription

// A package of a user's own: builds the product with -c release, as users build it.
let package = Package(
    name: "dependent",
    // The libraries alone: nothing is fetched that only the command is made of.
    dependencies: [.package(name: "vault", path: "../..", traits: [])],
    targets: [
        .target(name: "SecItemCases", dependencies: [.product(name: "KeychainServices", package: "vault")]),
        // Sources that say `import Security` and know nothing of this product, in Swift 5 mode.
        .target(
            name: "OlderSources",
            dependencies: [
                .product(name: "Security", package: "vault"), .product(name: "Vault", package: "vault"),
                .product(name: "VaultAgent", package: "vault"), .product(name: "CommonCrypto", package: "vault"),
            ],
            swiftSettings: [.swiftLanguageMode(.v5)]),
        // FoundationNetworking loads libcrypto into the process; a case of the executable must do without libcrypto.
        .target(name: "NetworkingExample"),
        .executableTarget(
            name: "dependent",
            dependencies: [
                "SecItemCases", "OlderSources", .product(name: "Vault", package: "vault"),
                .product(name: "VaultAgent", package: "vault"),
                .product(name: "KeychainServices", package: "vault"), .product(name: "Security", package: "vault"),
                .product(name: "LocalAuthentication", package: "vault"),
            ]),
    ],
    swiftLanguageModes: [.v6]
)
