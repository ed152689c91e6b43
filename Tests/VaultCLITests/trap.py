#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A server, and a trap that no client of the server may contact.

trap.py CERTIFICATE KEY: prints two ports. The first serves HTTP over TLS and answers every request with 404; the second
makes the file `trapped` at any connection. Ends at the end of its standard input.
"""
import os
import socket
import ssl
import sys
import threading

context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[1], sys.argv[2])
server, trap = (socket.create_server(('127.0.0.1', 0)) for _ in range(2))


def serve():
    while True:
        connection, _ = server.accept()
        try:
            with context.wrap_socket(connection, server_side=True) as secure:
                secure.recv(65536)
                secure.sendall(b'HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n')
        except OSError:
            pass


def catch():
    while True:
        trap.accept()[0].close()
        open('trapped', 'w').close()


for work in (serve, catch):
    threading.Thread(target=work, daemon=True).start()
print(server.getsockname()[1], trap.getsockname()[1], flush=True)
sys.stdin.read()
