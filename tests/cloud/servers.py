"""Starts all servers of the tests, prints their addresses as one line of JSON, and ends when its
standard input is closed.

The servers are: a GCS emulator with our XML API in front, an S3 emulator with a proxy, a web
server, and one that returns the log of their requests.
"""

import json
import logging
import os
import sys

import gcp_storage_emulator.server
from moto.server import ThreadedMotoServer

import gcs
import plain
import web


class Control(web.Handler):
    def handle_any(self):
        with web.lock:
            answer_log = json.dumps(web.log).encode()
            web.log.clear()
        self.answer(200, answer_log)

    do_GET = handle_any


def main():
    logging.disable(logging.CRITICAL)
    google = gcp_storage_emulator.server.create_server(
        "127.0.0.1", 0, in_memory=True, default_bucket="bucket"
    )
    google.start()
    s3 = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    s3.start()
    s3_port = s3.get_host_and_port()[1]
    where = {
        "gcs": web.serve(gcs.Handler, name="gcs", emulator=google._api._httpd.server_port),
        "s3": web.serve(web.Proxy, name="s3", port=s3_port),
        "http": web.serve(plain.Handler, name="http"),
        "control": web.serve(Control),
    }
    print(json.dumps(where), flush=True)
    sys.stdin.read()
    os._exit(0)  # does not wait for the threads of the emulators


if __name__ == "__main__":
    main()
