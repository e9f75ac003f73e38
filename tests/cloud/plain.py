"""A web server with a few files that can violate the protocol in several ways: /WAY/NAME."""

import hashlib
import threading
import time
import urllib.parse

import web


class Handler(web.Handler):
    files = {}
    cuts = 0
    busy = 0
    gate = threading.Barrier(4)

    def respond(self, body):
        way, _, name = urllib.parse.unquote(
            urllib.parse.urlsplit(self.path).path.lstrip("/")
        ).partition("/")
        if self.command == "PUT":
            self.files[name] = body
            return self.answer(201)
        if self.command == "DELETE":
            del self.files[name]
            return self.answer(204)
        if name not in self.files:
            return self.answer(404)
        whole = self.files[name]
        headers = {"ETag": '"%s"' % hashlib.md5(whole).hexdigest()}
        return getattr(self, way)(whole, headers)

    def true(self, whole, headers):
        self.give(whole, len(whole), headers)

    def untagged(self, whole, _):
        self.give(whole, len(whole), {})

    def careless(self, whole, headers):
        """Ignores the requested version."""
        del self.headers["If-Match"]
        self.give(whole, len(whole), headers)

    def whole(self, whole, headers):
        del self.headers["Range"]
        self.give(whole, len(whole), headers)

    def bent(self, change):
        """A response that is changed in transit."""
        answer = self.answer
        self.answer = lambda status, body=b"", headers=None, length=None: answer(
            *change(status, body, headers or {}, length)
        )

    def more(self, whole, headers):
        self.bent(lambda s, body, h, _: (s, body + b"!" * 1000, h, len(body) + 1000))
        self.true(whole, headers)

    def less(self, whole, headers):
        self.bent(lambda s, body, h, _: (s, body[: len(body) // 2], h, len(body) // 2))
        self.true(whole, headers)

    def cut(self, whole, headers):
        """Closes every other response in the middle."""
        type(self).cuts += 1
        if type(self).cuts % 2 == 0:
            return self.true(whole, headers)
        self.close_connection = True
        self.bent(lambda s, body, h, _: (s, body[: len(body) // 2], h, len(body)))
        self.true(whole, headers)

    def other(self, whole, headers):
        shifted = f"bytes 1-{len(whole) - 1}/{len(whole)}"
        self.bent(lambda s, body, h, n: (s, body, {**h, "Content-Range": shifted}, n))
        self.true(whole, headers)

    def huge(self, whole, headers):
        end = 2**64 - 1
        self.bent(
            lambda s, body, h, n: (
                s,
                body,
                {**h, "Content-Range": f"bytes {end - len(whole)}-{end - 1}/{end}"},
                n,
            )
        )
        self.true(whole, headers)

    def odd(self, whole, headers):
        self.bent(lambda s, body, h, n: (s, body, {**h, "Content-Range": "bytes x-y/z"}, n))
        self.true(whole, headers)

    def four(self, whole, headers):
        """Answers four concurrent requests together, and fails if there are fewer or more."""
        with web.lock:
            type(self).busy += 1
            too_many = self.busy > 4
        try:
            self.gate.wait(timeout=10)
        except threading.BrokenBarrierError:
            too_many = True
        with web.lock:
            type(self).busy -= 1
        return self.answer(403) if too_many else self.true(whole, headers)

    def failing(self, *_):
        self.answer(503, b"secret of the server")

    def shy(self, *_):
        self.answer(
            403, b"<Error><Code>AccessDenied</Code><Token>secret of the server</Token></Error>"
        )

    def silent(self, *_):
        time.sleep(60)
