# SPDX-License-Identifier: Apache-2.0
"""The part of systemd-logind that an agent sees, on a private bus that ends with the script: owns the name, hands out
delay locks, has a session, and sends signals.

    logind.py BUS-SOCKET    reads lines of `sleep`, `wake`, `lock SESSION-USER` or `held COUNT` from standard input, and
                            answers each with the number of held locks; `held` waits for this number
"""
import ctypes, os, select, socket, struct, subprocess, sys

daemon = subprocess.Popen(["dbus-daemon", "--session", "--nofork", "--nopidfile", "--print-address=1", "--address=unix:path=" + sys.argv[1]], stdout=subprocess.PIPE,
    # PR_SET_PDEATHSIG: SIGKILL ends the bus with this process, since the bus may inherit a blocked SIGTERM.
    preexec_fn=lambda: ctypes.CDLL(None).prctl(1, 9))
daemon.stdout.readline()
bus = socket.socket(socket.AF_UNIX)
bus.connect(sys.argv[1])
bus.sendall(b"\0AUTH EXTERNAL " + str(os.getuid()).encode().hex().encode() + b"\r\n")
assert bus.recv(1000).startswith(b"OK")
bus.sendall(b"NEGOTIATE_UNIX_FD\r\n")
assert bus.recv(1000).startswith(b"AGREE")
bus.sendall(b"BEGIN\r\n")
serial = 0
session_user = 0


def pad(data, size):
    return data + b"\0" * (-len(data) % size)


def text(value):
    return struct.pack("<I", len(value)) + value.encode() + b"\0"


def send(kind, fields, signature="", body=b"", fds=()):
    global serial
    serial += 1
    encoded = b""
    if signature:
        fields = fields + [(8, "g", signature)]
    if fds:
        fields = fields + [(9, "u", len(fds))]
    for code, form, value in fields:
        encoded = pad(encoded, 8) + struct.pack("<BB", code, 1) + form.encode() + b"\0"
        if form == "g":
            encoded += struct.pack("<B", len(value)) + value.encode() + b"\0"
        else:
            encoded = pad(encoded, 4) + (struct.pack("<I", value) if form == "u" else text(value))
    head = struct.pack("<cBBBIII", b"l", kind, 0 if kind == 1 else 1, 1, len(body), serial, len(encoded))
    message = pad(head + encoded, 8) + body
    socket.send_fds(bus, [message], fds) if fds else bus.sendall(message)


def call(member, signature="", body=b""):
    send(1, [(1, "o", "/org/freedesktop/DBus"), (3, "s", member), (2, "s", "org.freedesktop.DBus"), (6, "s", "org.freedesktop.DBus")], signature, body)


def signal(path, interface, member, signature="", body=b""):
    send(4, [(1, "o", path), (2, "s", interface), (3, "s", member)], signature, body)


def messages(data):
    """Returns the complete messages at the front, (kind, serial, fields) each, and the remaining bytes."""
    found = []
    while len(data) >= 16:
        length, number, fields_length = struct.unpack("<III", data[4:16])
        total = 16 + fields_length + (-fields_length % 8) + length
        if len(data) < total:
            break
        fields, at, end = {}, 16, 16 + fields_length
        while at < end:
            at += -at % 8
            code, form = data[at], chr(data[at + 2])
            at += 4
            if form == "g":
                size = data[at]
                fields[code] = data[at + 1 : at + 1 + size].decode()
                at += size + 2
            else:
                at += -at % 4
                value = struct.unpack("<I", data[at : at + 4])[0]
                at += 4
                if form in "so":
                    fields[code] = data[at : at + value].decode()
                    at += value + 1
                else:
                    fields[code] = value
        found.append((data[1], number, fields))
        data = data[total:]
    return found, data


call("Hello")
call("RequestName", "su", pad(text("org.freedesktop.login1"), 4) + struct.pack("<I", 0))
locks, pending, awaited = [], b"", None  # awaited: a number of locks; -1: any number; None: no request
while True:
    for ready in select.select([bus, sys.stdin] + locks, [], [], 60)[0] or sys.exit("nobody says anything"):
        if ready in locks:
            # A lock whose other end is closed reads as end of file.
            locks.remove(ready)
        elif ready is bus:
            pending += bus.recv(65536)
            found, pending = messages(pending)
            for kind, number, fields in found:
                if kind != 1:
                    continue
                answer = [(5, "u", number), (6, "s", fields[7])]
                if fields[3] == "Inhibit":
                    reader, writer = os.pipe()
                    locks.append(reader)
                    send(2, answer, "h", struct.pack("<I", 0), (writer,))
                    os.close(writer)
                elif fields[3] == "Get":
                    body = b"\4(uo)\0"
                    body = pad(body, 8) + struct.pack("<I", session_user) + text("/user")
                    send(2, answer, "v", body)
        else:
            command = sys.stdin.readline().split()
            if not command:
                sys.exit()
            awaited = int(command[1]) if command[0] == "held" else -1
            if command[0] in ("sleep", "wake"):
                signal("/org/freedesktop/login1", "org.freedesktop.login1.Manager", "PrepareForSleep", "b", struct.pack("<I", command[0] == "sleep"))
            elif command[0] == "lock":
                session_user = int(command[1])
                signal("/org/freedesktop/login1/session/_31", "org.freedesktop.login1.Session", "Lock")
    if awaited in (-1, len(locks)):
        print(len(locks), flush=True)
        awaited = None
