// SPDX-License-Identifier: Apache-2.0
import Glibc
import TestSupport
import Testing

/// Logins by OpenSSH at its own server, with the same script for OpenSSH's agent and for the door.
@Suite(.enabled(if: SSHDoorWorld.hasClients && access("/usr/sbin/sshd", X_OK) == 0, "openssh-server is not installed"))
struct SSHLoginTests {
    /// Makes a server, which takes `authorized`, and eight keys.
    private static func world() throws -> SSHDoorWorld {
        let world = try SSHDoorWorld()
        let made = try run(
            world,
            """
            [ "$(id -u)" -ne 0 ] || mkdir -p /run/sshd
            for key in host authority k1 k2 k3 k4 k5 k6 k7 k8; do ssh-keygen -q -t ed25519 -N '' -C $key -f $key; done
            cat > server <<END
            HostKey $PWD/host
            AuthorizedKeysFile $PWD/authorized
            TrustedUserCAKeys $PWD/authority.pub
            StrictModes no
            UsePAM no
            PasswordAuthentication no
            KbdInteractiveAuthentication no
            PermitRootLogin prohibit-password
            KexAlgorithms curve25519-sha256
            END
            cat > config <<END
            Host *
              KexAlgorithms curve25519-sha256
              ProxyCommand /usr/sbin/sshd -i -f $PWD/server
              UserKnownHostsFile $PWD/known
              GlobalKnownHostsFile /dev/null
              IdentityFile none
            END
            echo "server $(cut -d' ' -f1,2 host.pub)" > known
            cat > log-in <<'END'
            ssh -F config -v server echo in >out 2>log || true
            failure=$(grep -o 'Too many authentication failures' log | head -1)
            echo "$(grep -c 'Offering public key' log) $failure$(cat out)"
            END
            """)
        #expect(made.status == 0, "\(made.output)")
        return world
    }

    private static func run(_ world: SSHDoorWorld, _ script: String) throws -> (status: Int32, output: String) {
        try world.run("bash", "-c", "set -e\n" + script)
    }

    @Test
    func `the eighth key logs in at the second try and then at once, where OpenSSH's agent never does`() async throws {
        try await aside {
            let made = try Self.world()
            let script = """
                ssh-add -q k1 k2 k3 k4 k5 k6 k7 k8; cp k8.pub authorized
                for try in 1 2 3; do bash log-in; done
                """
            let tooMany = "6 Too many authentication failures\n"
            #expect(try Self.run(made, "ssh-agent bash -c '\(script)'").output == tooMany + tooMany + tooMany)
            #expect(try Self.run(made, script).output == tooMany + "5 in\n1 in\n")
            // Where the server allows as many tries, the first one suffices.
            let generous = "ssh-add -D -q; echo MaxAuthTries 9 >> server; ssh-keygen -q -t ed25519 -N '' -f other; "
            let renamed = "mv other host; mv other.pub host.pub; echo \"server $(cut -d' ' -f1,2 host.pub)\" > known\n"
            #expect(try Self.run(made, generous + renamed + script).output == "8 in\n1 in\n1 in\n")
        }
    }

    @Test func `expired certificates use up no try`() async throws {
        try await aside {
            let made = try Self.world()
            let script = """
                for key in k1 k2 k3 k4 k5 k6; do
                    ssh-keygen -q -s authority -I $key -n $(id -un) -V -2h:-1h $key.pub
                done
                ssh-add -q k1 k2 k3 k4 k5 k6; cp k6.pub authorized
                bash log-in; bash log-in
                """
            #expect(try Self.run(made, "ssh-agent bash -c '\(script)'").output.hasPrefix("6 Too many"))
            #expect(try Self.run(made, script).output == "6 in\n1 in\n")
            // A valid one is offered, and logs in.
            let renewed = """
                ssh-keygen -q -s authority -I k2 -n $(id -un) -V +1h k2.pub; ssh-add -q -D; ssh-add -q k2; rm authorized
                bash log-in; bash log-in
                """
            #expect(try Self.run(made, renewed).output.hasSuffix("2 in\n2 in\n"))
        }
    }
}
