# SPDX-License-Identifier: Apache-2.0
"""An agent that does not know message 27, and forwards all others to a current agent.

    older.py SOCKET SOCKET-OF-THE-AGENT    prints a line when it listens
"""
import socket, struct, sys

def frame(link):
    head = link.recv(16, socket.MSG_WAITALL)
    if len(head) < 16: return None
    body, secrets = struct.unpack_from("<II", head)
    return head + (link.recv(body + secrets, socket.MSG_WAITALL) if body + secrets else b"")

listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
listener.listen()
print("listening", flush=True)
while True:
    client, agent = listener.accept()[0], socket.socket(socket.AF_UNIX)
    agent.connect(sys.argv[2])
    while request := frame(client):
        if request[9] == 27:
            client.sendall(struct.pack("<IIBBHI", 3, 0, 1, 129, 0, struct.unpack_from("<I", request, 12)[0]) + bytes([13, 0, 5]))
            break
        agent.sendall(request)
        if not (reply := frame(agent)): break
        client.sendall(reply)
    client.close()
    agent.close()
