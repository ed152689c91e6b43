# SPDX-License-Identifier: Apache-2.0
"""An agent of another release, in front of a current agent.

    older.py SOCKET SOCKET-OF-THE-AGENT              does not know message 27
    older.py SOCKET SOCKET-OF-THE-AGENT VERSION      speaks a version of the protocol, and refuses every other; a later
                                                     version appends bytes to its replies, in which it has no meaning

Prints a line when it listens.
"""
import socket, struct, sys

def frame(link):
    head = link.recv(16, socket.MSG_WAITALL)
    if len(head) < 16: return None
    body, secrets = struct.unpack_from("<II", head)
    return head + (link.recv(body + secrets, socket.MSG_WAITALL) if body + secrets else b"")

def of_version(data, version):
    return data[:8] + bytes([version]) + data[9:]

def refusal(version, number):
    return struct.pack("<IIBBHI", 3, 0, version, 129, 0, number) + bytes([13, 0, 5])

def answer(request, agent):
    """Returns the reply, and whether it is the last one."""
    number = struct.unpack_from("<I", request, 12)[0]
    current = 4
    if spoken is None:
        if request[9] == 27: return refusal(request[8], number), True
        agent.sendall(request)
        return frame(agent), False
    if request[8] != spoken: return refusal(spoken, 0), True
    agent.sendall(of_version(request, current))
    reply = frame(agent)
    if not reply: return None, True
    reply = of_version(reply, spoken)
    if spoken > current and reply[9] in (128, 130):
        body, secrets = struct.unpack_from("<II", reply)
        reply = struct.pack("<II", body + 5, secrets) + reply[8:16 + body] + b"later" + reply[16 + body:]
    return reply, False

spoken = int(sys.argv[3]) if len(sys.argv) > 3 else None
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
listener.listen()
print("listening", flush=True)
while True:
    client, agent = listener.accept()[0], socket.socket(socket.AF_UNIX)
    try:
        agent.connect(sys.argv[2])
        while request := frame(client):
            reply, is_last = answer(request, agent)
            if not reply: break
            client.sendall(reply)
            if is_last: break
    except (ConnectionError, FileNotFoundError):
        pass
    client.close()
    agent.close()
