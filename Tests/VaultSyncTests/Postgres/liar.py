# SPDX-License-Identifier: Apache-2.0
"""A server that speaks PostgreSQL's protocol and answers statements with what no server answers.

liar.py LIE: prints its port, and serves connections until its input ends.
"""
import os
import socket
import struct
import sys
import threading

LIE = sys.argv[1]
INT2, INT8, BYTEA, TEXT = 21, 20, 17, 25


def message(kind, body=b""):
    return kind + struct.pack("!i", len(body) + 4) + body


def description(types, form=1):
    columns = b"".join(b"c\0" + struct.pack("!ihihih", 0, 0, kind, -1, -1, form) for kind in types)
    return message(b"T", struct.pack("!h", len(types)) + columns)


def row(values):
    fields = b"".join(struct.pack("!i", -1) if v is None else struct.pack("!i", len(v)) + v for v in values)
    return message(b"D", struct.pack("!h", len(values)) + fields)


def int2(value):
    return struct.pack("!h", value)


def int8(value):
    return struct.pack("!q", value)


NAME, BODY = b"\1" * 16, b"." * 600
HONEST = {
    "heads": ([INT2, BYTEA, INT8, INT8, INT8], [int2(1), NAME, int8(1), int8(2), int8(2)]),
    "page": ([INT8, BYTEA], [int8(1), BODY]),
    "body": ([BYTEA], [BODY]),
    "insert": ([INT8], [int8(1)]),
    "settings": ([TEXT] * 3, [b"", b"", b""]),
    "realms": ([BYTEA], [NAME]),
}


def what(statement):
    for beginning, name in [
        (b"SELECT set_config", "settings"), (b"SELECT kind", "heads"), (b"SELECT seq", "page"),
        (b"SELECT body", "body"), (b"INSERT", "insert"), (b"WITH RECURSIVE r", "realms"),
    ]:
        if statement.startswith(beginning):
            return name
    return "heads"


def lies(name):
    """Yields what comes in the place of the description, the rows and the end of them."""
    types, values = HONEST[name]
    done = message(b"C", b"SELECT 1\0")
    if name == "settings":
        yield description(types) + row(values) + done
    elif LIE == "null":
        yield description(types) + row([None] * len(types)) + done
    elif LIE == "text":
        yield description(types, 0) + row([b"1"] * len(types)) + done
    elif LIE == "short":
        yield description(types) + row([value[:-1] for value in values]) + done
    elif LIE == "long":
        yield description(types) + row([value + bytes(2 << 20) for value in values]) + done
    elif LIE == "types":
        yield description([TEXT] * len(types)) + row(values) + done
    elif LIE == "columns":
        yield description(types[:-1]) + row(values[:-1]) + done
    elif LIE == "fields":
        yield description(types) + row(values[:-1]) + done
    elif LIE == "numbers":
        yield description(types) + row([int8(-1) if kind == INT8 else int2(-1) if kind == INT2 else b""
                                        for kind in types]) + done
    elif LIE == "endless" and name == "heads":
        yield description(types) + row(values) * 64 + done
    elif LIE == "endless":
        yield description(types)
        number = 1
        while True:
            number += 1
            yield row([int8(number) if kind == INT8 else value for kind, value in zip(types, values)]) * 64
    elif LIE == "twice":
        yield description(types) + row(values) * 2 + done + done + done
    elif LIE == "nothing":
        yield b""
    elif LIE == "copy":
        yield message(b"G", b"\1\0\0")
    elif LIE == "both":
        yield message(b"W", b"\1\0\0")
    elif LIE == "error":
        yield message(b"E", b"SERROR\0C\x1b[2J!\0M\x1b]0;owned\x07\n\xff\xfe" + b"x" * 100000 + b"\0\0")
    elif LIE == "huge":
        yield description(types) + b"D" + struct.pack("!i", 0x3fffffff) + b"\0"
    elif LIE == "garbage":
        yield os.urandom(4096)
    elif LIE == "ends":
        raise ConnectionError
    elif LIE == "notices":
        while True:
            yield message(b"N", b"SNOTICE\0C00000\0Mhear\0\0") * 64
    elif LIE == "news":
        while True:
            yield message(b"A", struct.pack("!i", 1) + b"vault_x\0" + b"x" * 7000 + b"\0") * 64
    elif LIE == "settings":
        number = 0
        while True:
            number += 1
            yield message(b"S", b"name%d\0" % number + b"x" * 29000 + b"\0")
    elif LIE == "silent":
        threading.Event().wait()


def take(connection, count):
    data = b""
    while len(data) < count:
        part = connection.recv(count - len(data))
        if not part:
            raise ConnectionError
        data += part
    return data


def serve(connection):
    try:
        while True:
            length, code = struct.unpack("!ii", take(connection, 8))
            take(connection, length - 8)
            if code != 80877103:
                break
            connection.sendall(b"N")
        settings = {b"server_version": b"15.0", b"client_encoding": b"UTF8", b"in_hot_standby": b"off",
                    b"default_transaction_read_only": b"off", b"standard_conforming_strings": b"on"}
        greeting = message(b"R", struct.pack("!i", 0))
        for name, value in settings.items():
            greeting += message(b"S", name + b"\0" + value + b"\0")
        while LIE == "welcome":
            greeting = greeting[-65536:] + message(b"S", b"name\0" + b"x" * 1000 + b"\0")
            connection.sendall(greeting)
        connection.sendall(greeting + message(b"K", struct.pack("!ii", 1, 1)) + message(b"Z", b"I"))
        statement = b""
        while True:
            kind, length = struct.unpack("!ci", take(connection, 5))
            body = take(connection, length - 4)
            if kind == b"P":
                statement = body.split(b"\0")[1]
                connection.sendall(message(b"1"))
            elif kind == b"B":
                connection.sendall(message(b"2"))
            elif kind == b"E":
                for part in lies(what(statement)):
                    connection.sendall(part)
            elif kind == b"S":
                connection.sendall(message(b"Z", b"I"))
            elif kind == b"X":
                break
    except OSError:
        pass
    finally:
        connection.close()


listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)


def accept():
    while True:
        threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()


threading.Thread(target=accept, daemon=True).start()
sys.stdin.read()
