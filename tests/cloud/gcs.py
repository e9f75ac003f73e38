"""Implements the part of Google Cloud Storage's XML API that the library uses, on top of an
emulator that has only the JSON API.

Requests of the JSON API pass through, so that programs of both kinds see the same objects.
"""

import email.utils
import hashlib
import http.client
import json
import re
import time
import urllib.parse
from xml.sax.saxutils import escape

import web

JSON_API = ("storage", "upload", "download", "batch")
HOP = ("transfer-encoding", "content-length", "connection", "date", "server")


def quoted(text):
    return urllib.parse.quote(text, safe="")


class Handler(web.Handler):
    emulator = None  # the port of the emulator
    uploads = {}

    def json_api(self, method, path, body=b"", headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.emulator, timeout=30)
        try:
            connection.request(
                method, path, body, {**(headers or {}), "Content-Length": str(len(body))}
            )
            answer = connection.getresponse()
            return (
                answer.status,
                {k: v for k, v in answer.getheaders() if k.lower() not in HOP},
                answer.read(),
            )
        finally:
            connection.close()

    def meta(self, bucket, key):
        status, _, body = self.json_api("GET", f"/storage/v1/b/{bucket}/o/{quoted(key)}")
        return json.loads(body) if status == 200 else None

    @staticmethod
    def headers_of(meta):
        when = time.mktime(
            time.strptime((meta.get("updated") or meta["timeCreated"])[:19], "%Y-%m-%dT%H:%M:%S")
        )
        return {
            "ETag": '"%s-%s"' % (meta.get("md5Hash", ""), meta.get("generation", 1)),
            "Last-Modified": email.utils.formatdate(when, usegmt=True),
            "x-goog-generation": str(meta.get("generation", 1)),
            "Content-Type": "application/octet-stream",
        }

    def store(self, bucket, key, data):
        path = f"/upload/storage/v1/b/{bucket}/o?name={quoted(key)}&uploadType="
        if data:
            return self.json_api(
                "POST", path + "media", data, {"Content-Type": "application/octet-stream"}
            )
        # the emulator drops the connection on an empty media upload
        _, headers, _ = self.json_api(
            "POST", path + "resumable", b"{}", {"Content-Type": "application/json"}
        )
        there = urllib.parse.urlsplit({k.lower(): v for k, v in headers.items()}["location"])
        return self.json_api(
            "PUT", f"{there.path}?{there.query}", b"", {"Content-Range": "bytes */0"}
        )

    def respond(self, body):
        url = urllib.parse.urlsplit(self.path)
        bucket, _, key = url.path.lstrip("/").partition("/")
        if bucket in JSON_API:
            keep = {k: v for k, v in self.headers.items() if k.lower() not in HOP}
            status, headers, body = self.json_api(self.command, self.path, body, keep)
            return self.answer(status, body, headers)
        key, query = urllib.parse.unquote(key), dict(
            urllib.parse.parse_qsl(url.query, keep_blank_values=True)
        )
        if "uploads" in query or "uploadId" in query:
            return self.multipart(bucket, key, query, body)
        if self.command == "PUT":
            return self.put(bucket, key, body)
        if self.command == "DELETE":
            status, _, _ = self.json_api("DELETE", f"/storage/v1/b/{bucket}/o/{quoted(key)}")
            return self.answer(404 if status == 404 else 204)
        if not key:
            return self.list(bucket, query)
        # simulates an object that another client writes directly after the check
        meta = None if self.command == "HEAD" and "blind" in key else self.meta(bucket, key)
        if meta is None:
            return self.answer(404, b'<?xml version="1.0"?><Error><Code>NoSuchKey</Code></Error>')
        whole = b""
        if self.command == "GET" and int(meta["size"]):
            whole = self.json_api("GET", f"/storage/v1/b/{bucket}/o/{quoted(key)}?alt=media")[2]
        return self.give(whole, int(meta["size"]), self.headers_of(meta))

    def put(self, bucket, key, body):
        before = self.meta(bucket, key)
        requested = self.headers.get("x-goog-if-generation-match")
        if requested is not None and requested != (str(before["generation"]) if before else "0"):
            return self.answer(
                412, b"<?xml version='1.0'?><Error><Code>PreconditionFailed</Code></Error>"
            )
        source = self.headers.get("x-goog-copy-source")
        if source:
            bucket_from, key_from = urllib.parse.unquote(source).lstrip("/").split("/", 1)
            body = self.json_api(
                "GET", f"/storage/v1/b/{bucket_from}/o/{quoted(key_from)}?alt=media"
            )[2]
        self.store(bucket, key, body)
        return self.answer(200, b"", self.headers_of(self.meta(bucket, key)))

    def multipart(self, bucket, key, query, body):
        if "uploads" in query:
            upload = hashlib.md5(f"{key} {time.time_ns()}".encode()).hexdigest()
            self.uploads[upload] = {}
            names = (
                f"<Bucket>{bucket}</Bucket><Key>{escape(key)}</Key><UploadId>{upload}</UploadId>"
            )
            return self.answer(
                200,
                f"<InitiateMultipartUploadResult>{names}</InitiateMultipartUploadResult>".encode(),
            )
        upload = query["uploadId"]
        if self.command == "PUT":
            self.uploads[upload][int(query["partNumber"])] = body
            return self.answer(200, b"", {"ETag": '"%s"' % hashlib.md5(body).hexdigest()})
        parts = self.uploads.pop(upload, {})
        if self.command == "DELETE":
            return self.answer(204)
        numbers = [int(n) for n in re.findall(rb"<PartNumber>(\d+)</PartNumber>", body)]
        self.store(bucket, key, b"".join(parts[n] for n in numbers))
        tag = self.headers_of(self.meta(bucket, key))["ETag"]
        names = f"<Bucket>{bucket}</Bucket><Key>{escape(key)}</Key><ETag>{escape(tag)}</ETag>"
        return self.answer(
            200, f"<CompleteMultipartUploadResult>{names}</CompleteMultipartUploadResult>".encode()
        )

    def list(self, bucket, query):
        prefix = query.get("prefix", "")
        status, _, body = self.json_api("GET", f"/storage/v1/b/{bucket}/o?prefix={quoted(prefix)}")
        if status != 200:
            return self.answer(404)
        items = sorted(json.loads(body).get("items", []), key=lambda i: i["name"])
        found = "".join(
            f"<Contents><Key>{escape(i['name'])}</Key><LastModified>{(i.get('updated') or i['timeCreated'])[:19]}.000Z</LastModified>"
            f"<ETag>{escape(self.headers_of(i)['ETag'])}</ETag><Size>{i['size']}</Size></Contents>"
            for i in items
            if i["name"] > query.get("start-after", "")
        )
        names = f"<Name>{bucket}</Name><Prefix>{escape(prefix)}</Prefix><IsTruncated>false</IsTruncated>"
        return self.answer(200, f"<ListBucketResult>{names}{found}</ListBucketResult>".encode())
