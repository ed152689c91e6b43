# SPDX-License-Identifier: Apache-2.0
"""A TPM2 chip for one command: swtpm behind a stand-in for Linux's /dev/tpmrm0, which flushes the sessions that a
client leaves behind.

    chip.py DIRECTORY COMMAND [ARGUMENT ...]

DIRECTORY keeps the chip's seeds, so the same directory is the same chip. VAULT_TPM2_DEVICE names the chip to the command.
"""
import os, socket, struct, subprocess, sys, threading

START_SESSION, FLUSH = 0x176, 0x165
NO_ROOM_FOR_SESSION = 0x903

directory = os.path.abspath(sys.argv[1])
os.makedirs(directory, exist_ok=True)
path = directory + "/socket"
chip, other = socket.socketpair()
swtpm = subprocess.Popen(
    ["swtpm", "socket", "--tpm2", "--tpmstate", "dir=" + directory, "--fd", str(other.fileno()), "--flags", "startup-clear"],
    pass_fds=[other.fileno()], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
other.close()
sessions = []


def receive(stream):
    head = stream.recv(10, socket.MSG_WAITALL)
    if len(head) < 10:
        return None
    return head + stream.recv(struct.unpack(">I", head[2:6])[0] - 10, socket.MSG_WAITALL)


def ask(command):
    chip.sendall(command)
    answer = receive(chip)
    code = struct.unpack(">I", command[6:10])[0]
    result = struct.unpack(">I", answer[6:10])[0]
    if code == START_SESSION and result == 0:
        sessions.append(answer[10:14])
    if code == START_SESSION and result == NO_ROOM_FOR_SESSION and sessions:
        ask(struct.pack(">HII", 0x8001, 14, FLUSH) + sessions.pop(0))
        return ask(command)
    return answer


def serve(listener, answer):
    while True:
        connection, _ = listener.accept()
        answer(connection)
        connection.close()


def forward(connection):
    while command := receive(connection):
        connection.sendall(ask(command))


def agree(connection):
    """Acknowledges every request to the chip's control channel, such as setting a locality."""
    while connection.recv(4096):
        connection.sendall(bytes(4))


for name, answer in [(path, forward), (path + ".ctrl", agree)]:
    if os.path.exists(name):
        os.unlink(name)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(name)
    listener.listen(8)
    threading.Thread(target=serve, args=[listener, answer], daemon=True).start()
result = subprocess.run(sys.argv[2:], env=dict(os.environ, VAULT_TPM2_DEVICE="swtpm:path=" + path))
# Without TPM2_Shutdown the chip counts the next start as a failed authorization.
ask(struct.pack(">HIIH", 0x8001, 12, 0x145, 0))
chip.close()
swtpm.wait(10)
os._exit(result.returncode)
