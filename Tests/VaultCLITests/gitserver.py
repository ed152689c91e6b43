#!/usr/bin/python3
"""Serves repositories over HTTP to authenticated clients: git's own http-backend behind basic authentication.

usage: gitserver.py DIRECTORY USER:PASSWORD

Prints its port. The password is also accepted as a token of the scheme Bearer. Each request appends a line to the
file `requests` in the directory: its path, and whether it was admitted.
"""
import base64, http.server, os, subprocess, sys

directory, login = sys.argv[1], sys.argv[2]
password = login.split(":", 1)[1]
accepted = {"Basic " + base64.b64encode(login.encode()).decode(), "Bearer " + password}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.0"

    def log_message(self, *_):
        pass

    def serve(self):
        path, _, query = self.path.partition("?")
        isKnown = self.headers.get("Authorization") in accepted
        with open(os.path.join(directory, "requests"), "a") as log:
            log.write(f"{path} {'yes' if isKnown else 'no'}\n")
        if not isKnown:
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="git"')
            self.end_headers()
            return
        length = int(self.headers.get("Content-Length") or 0)
        environment = dict(
            os.environ, GIT_PROJECT_ROOT=directory, GIT_HTTP_EXPORT_ALL="1", REQUEST_METHOD=self.command,
            PATH_INFO=path, QUERY_STRING=query, CONTENT_TYPE=self.headers.get("Content-Type", ""),
            CONTENT_LENGTH=str(length), REMOTE_USER=login.split(":")[0],
            HTTP_CONTENT_ENCODING=self.headers.get("Content-Encoding", ""),
            GIT_PROTOCOL=self.headers.get("Git-Protocol", ""))
        answer = subprocess.run(
            ["git", "http-backend"], input=self.rfile.read(length), env=environment, stdout=subprocess.PIPE).stdout
        head, _, body = answer.partition(b"\r\n\r\n")
        lines = [line.split(": ", 1) for line in head.decode().split("\r\n")]
        status = next((value for name, value in lines if name == "Status"), "200 OK")
        self.send_response(int(status.split()[0]))
        for name, value in lines:
            if name != "Status":
                self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = serve


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
