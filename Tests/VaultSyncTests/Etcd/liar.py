#!/usr/bin/env python3
# Answers every request with the bytes of a file: liar.py FILE [endless]. With `endless` the last line of the file is
# sent again and again; with an empty file nothing is sent. Prints the port, and ends with its standard input.
import os
import socket
import sys
import threading


def serve(connection, content, repeats):
    with connection:
        connection.settimeout(60)
        try:
            head = b''
            while b'\r\n\r\n' not in head:
                part = connection.recv(65536)
                if not part:
                    return
                head += part
            head, body = head.split(b'\r\n\r\n', 1)
            length = 0
            for line in head.split(b'\r\n'):
                if line.lower().startswith(b'content-length:'):
                    length = int(line.split(b':')[1])
            while len(body) < length:
                body += connection.recv(65536)
            connection.sendall(content)
            last = content.splitlines(True)[-1] if content else b''
            if repeats and not last:
                threading.Event().wait()
            while repeats:
                connection.sendall(last * 64)
        except OSError:
            pass


def main():
    with open(sys.argv[1], 'rb') as file:
        content = file.read()
    listener = socket.create_server(('127.0.0.1', 0))
    print(listener.getsockname()[1], flush=True)

    def accept():
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=serve, args=(connection, content, 'endless' in sys.argv), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    sys.stdin.read()
    os._exit(0)


main()
