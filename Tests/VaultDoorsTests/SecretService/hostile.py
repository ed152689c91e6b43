# SPDX-License-Identifier: Apache-2.0
"""A program that writes D-Bus messages byte by byte, including those that a library would refuse to send.

    hostile.py SOCKET large           a call of nearly 128 MiB; says the name of the error, or "cut"
    hostile.py SOCKET longer          a header that promises more than a message may have
    hostile.py SOCKET text            names and values that are not UTF-8
    hostile.py SOCKET descriptors     searches with as many descriptors as the bus lets through
    hostile.py SOCKET silent PATH     asks for an item's secret a thousand times and reads no answer

Prints a line at the end. The last two then wait for the end of their standard input.
"""
import os, socket, struct, sys

address, scenario = sys.argv[1:3]
ROOT = "/org/freedesktop/secrets"
bus = socket.socket(socket.AF_UNIX)
bus.connect(address)
serial = 0


def padded(data, to):
    return data + b"\0" * (-len(data) % to)


def text(value):
    value = value if isinstance(value, bytes) else value.encode()
    return struct.pack("<I", len(value)) + value + b"\0"


def call(member, signature="", body=b"", interface="org.freedesktop.Secret.Service", path=ROOT, *,
         to="org.freedesktop.secrets", size=None, descriptors=()):
    global serial
    size = len(body) if size is None else size
    serial += 1
    fields = b""
    for code, kind, value in [(1, "o", path), (2, "s", interface), (3, "s", member), (6, "s", to)]:
        fields = padded(fields, 8) + struct.pack("<B", code) + b"\1" + kind.encode() + b"\0" + text(value)
    if signature:
        fields = padded(fields, 8) + b"\x08\1g\0" + bytes([len(signature)]) + signature.encode() + b"\0"
    if descriptors:
        fields = padded(fields, 8) + b"\x09\1u\0" + struct.pack("<I", len(descriptors))
    header = struct.pack("<BBBBIII", ord("l"), 1, 0, 1, size, serial, len(fields)) + fields
    message = padded(header, 8) + body
    if descriptors:
        socket.send_fds(bus, [message], descriptors)
    else:
        bus.sendall(message)


def take(count):
    data = b""
    while len(data) < count:
        part = bus.recv(count - len(data))
        if not part:
            raise EOFError
        data += part
    return data


def answer():
    """Returns the type of the answer to the last call, its header and its body."""
    while True:
        fixed = take(16)
        _, kind, _, _, size, _, fields = struct.unpack("<BBBBIII", fixed)
        header, body = take(fields + -fields % 8), take(size)
        # Header field 5, of type u: the serial number of the answered call.
        if kind in (2, 3) and b"\x05\1u\0" + struct.pack("<I", serial) in header:
            return kind, header, body


def outcome():
    try:
        kind, header, _ = answer()
    except (EOFError, ConnectionError):
        return "cut"
    if kind == 2:
        return "answered"
    at = header.index(b"\x04\1s\0") + 4
    return header[at + 4 : at + 4 + struct.unpack("<I", header[at : at + 4])[0]].decode()


bus.sendall(b"\0AUTH EXTERNAL " + str(os.getuid()).encode().hex().encode() + b"\r\nNEGOTIATE_UNIX_FD\r\nBEGIN\r\n")
lines = b""
while lines.count(b"\r\n") < 2:
    lines += bus.recv(1)
call("Hello", interface="org.freedesktop.DBus", path="/org/freedesktop/DBus", to="org.freedesktop.DBus")
answer()


def searching(name, value):
    entries = text(name)
    entries = padded(entries, 4) + text(value)
    return struct.pack("<II", len(entries), 0) + entries


def session():
    call("OpenSession", "sv", padded(text("plain") + b"\1s\0", 4) + text(""))
    kind, _, body = answer()
    assert kind == 2, "no session"
    # A variant with an empty text, and a path.
    start = body.index(b"/org/")
    return body[start : body.index(b"\0", start)].decode()


if scenario == "large":
    # CreateItem without properties, and with arrays of 63 MiB as the vector and the secret.
    half = b"x" * (63 << 20)
    body = struct.pack("<II", 0, 0) + text(session())
    for part in (half, half):
        body = padded(body, 4) + struct.pack("<I", len(part)) + part
    body = padded(padded(body, 4) + text("text/plain"), 4) + struct.pack("<I", 0)
    try:
        call("CreateItem", "a{sv}(oayays)b", body, "org.freedesktop.Secret.Collection", ROOT + "/collection/login")
        print(outcome(), flush=True)
    except ConnectionError:
        print("cut", flush=True)
elif scenario == "longer":
    call("SearchItems", "a{ss}", searching("k", "v"), size=200 << 20)
    print(outcome(), flush=True)
elif scenario == "text":
    call("SearchItems", "a{ss}", searching(b"k\xff\xfe", b"\xc3"))
    print(outcome(), flush=True)
elif scenario == "descriptors":
    null = os.open("/dev/null", os.O_RDONLY)
    for number in range(200):
        call("SearchItems", "a{ss}", searching("k", str(number)), descriptors=[null] * 16)
    print("sent", flush=True)
    sys.stdin.read()
elif scenario == "silent":
    body = text(session())
    for number in range(1000):
        call("GetSecret", "o", body, "org.freedesktop.Secret.Item", sys.argv[3])
    print("sent", flush=True)
    sys.stdin.read()
