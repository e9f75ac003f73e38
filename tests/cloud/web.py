"""Shared by the servers of the tests, including the log of requests."""

import http.client
import http.server
import re
import sys
import threading

log = []  # (server, method, path, range, status, bytes sent)
lock = threading.Lock()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    name = ""

    def handle_any(self):
        self.respond(self.body())

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = do_PATCH = handle_any

    def body(self):
        if "chunked" not in self.headers.get("Transfer-Encoding", ""):
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        out = b""
        while n := int(self.rfile.readline().split(b";")[0], 16):
            out += self.rfile.read(n)
            self.rfile.readline()
        self.rfile.readline()
        return out

    def answer(self, status, body=b"", headers=None, length=None):
        sent = 0 if self.command == "HEAD" else len(body)
        # before the response is sent, so that a client which has a response finds it in the log.
        # Requests of the log have no name
        if self.name:
            with lock:
                log.append(
                    (self.name, self.command, self.path, self.headers.get("Range"), status, sent)
                )
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def give(self, whole, size, headers):
        """Sends an object, or the requested range of it."""
        requested = self.headers.get("If-Match")
        if requested and requested != headers.get("ETag"):
            return self.answer(412)
        if self.command == "HEAD":
            return self.answer(200, b"", headers, length=size)
        asked = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range") or "")
        if not asked:
            return self.answer(200, whole, headers)
        first, last = asked.groups()
        start = int(first) if first else max(0, size - int(last))
        end = min(size, int(last) + 1) if first and last else size
        if start >= size:
            return self.answer(416, b"", {"Content-Range": f"bytes */{size}"})
        return self.answer(
            206, whole[start:end], {**headers, "Content-Range": f"bytes {start}-{end - 1}/{size}"}
        )

    def log_message(self, *_):
        pass


class Proxy(Handler):
    """Forwards all requests to another server."""

    port = None

    def respond(self, body):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            keep = {
                k: v
                for k, v in self.headers.items()
                if k.lower() not in ("connection", "transfer-encoding", "content-length")
            }
            connection.request(
                self.command, self.path, body, {**keep, "Content-Length": str(len(body))}
            )
            answer = connection.getresponse()
            body = answer.read()
            drop = ("transfer-encoding", "content-length", "connection", "date", "server")
            headers = {k: v for k, v in answer.getheaders() if k.lower() not in drop}
            self.answer(
                answer.status,
                body,
                headers,
                answer.getheader("Content-Length") if self.command == "HEAD" else None,
            )
        finally:
            connection.close()


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def handle_error(self, *about):
        # clients that disconnect are not reported
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(*about)


def serve(handler, **values):
    """Starts a server; returns its port."""
    server = Server(("127.0.0.1", 0), type(handler.__name__, (handler,), values))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_port
