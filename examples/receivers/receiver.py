#!/usr/bin/env python3
"""Receives webhooks from Waybill, with nothing but Python's standard library.

    WEBHOOK_SECRETS='whsec_…' python3 receiver.py 9000

WEBHOOK_SECRETS: one or more, separated by spaces; any may match, so that the sender can rotate.
WEBHOOK_SET: "standard" (as the sender is set up unless told otherwise) or "outbox".
"""

import base64
import binascii
import hashlib
import hmac
import json
import os
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

BODY_BYTES_MAX = 1 << 20


# [verify]
TOLERANCE_SECONDS = 5 * 60


class Refused(Exception):
    """Why a request is not believed."""


def needed(headers, name):
    value = headers.get(name)
    if not value:
        raise Refused(f"there is no {name}")
    return value


def check_time(text, now):
    if not (text.isascii() and text.isdigit()):
        raise Refused("the timestamp is not a number of seconds")
    if abs(now - int(text)) > TOLERANCE_SECONDS:
        raise Refused("the timestamp is too old or too far ahead")


def verify_standard(headers, body, secrets, now):
    """Standard Webhooks: the id, the time and the body are signed. Returns the message's id."""
    message_id = needed(headers, "webhook-id")
    timestamp = needed(headers, "webhook-timestamp")
    offered = []
    for item in needed(headers, "webhook-signature").split(" "):
        version, _, text = item.partition(",")
        if version == "v1":  # v1a is Ed25519, which Python has no module of its own for
            offered.append(text)
    signed = f"{message_id}.{timestamp}.".encode() + body
    for secret in secrets:
        key = secret.encode()
        if secret.startswith("whsec_"):
            key = base64.b64decode(secret[len("whsec_"):], validate=True)
        expected = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest())
        for text in offered:
            if hmac.compare_digest(expected, text.encode()):
                check_time(timestamp, now)
                return message_id
    raise Refused("no signature is right with any secret")


def verify_outbox(headers, body, secrets, now):
    """X-Outbox-…: the body alone is signed, by the secret as it is written."""
    offered = needed(headers, "X-Outbox-Signature")
    for secret in secrets:
        code = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()  # in lower case
        if hmac.compare_digest(f"sha256={code}".encode(), offered.encode()):
            check_time(needed(headers, "X-Outbox-Timestamp"), now)
            return needed(headers, "X-Outbox-Message-Id")
    raise Refused("the signature is not right with any secret")
# [/verify]


# [handle]
handled = set()  # in a real service: a table, written in the transaction that does the work
one_at_a_time = threading.Lock()


def receive(headers, body, verify, secrets):
    """What to answer: a status and a word."""
    try:
        message_id = verify(headers, body, secrets, time.time())
    except Refused as why:
        return 400, str(why)
    # A message may come more than once: its answer got lost, or its sender crashed.
    key = (message_id, headers.get("X-Outbox-Subscription-Id", ""))
    with one_at_a_time:
        if key in handled:
            return 200, "duplicate"
        print("handled", message_id, flush=True)  # your work
        handled.add(key)
    return 200, "handled"
# [/handle]


class Receiver(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    verify = staticmethod(verify_standard)
    secrets = []

    def do_POST(self):
        length = self.headers.get("Content-Length", "")
        if not length.isdigit() or int(length) > BODY_BYTES_MAX:
            self.close_connection = True
            return self.answer(413, "the body is too large, or its length is not known")
        # The bytes as they came: parsed and written again they would not be the same.
        body = self.rfile.read(int(length))
        return self.answer(*receive(self.headers, body, self.verify, self.secrets))

    def answer(self, status, word):
        text = json.dumps({"status": word}).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


def main():
    Receiver.secrets = os.environ.get("WEBHOOK_SECRETS", "").split()
    if os.environ.get("WEBHOOK_SET", "standard") == "outbox":
        Receiver.verify = staticmethod(verify_outbox)
    if not Receiver.secrets:
        sys.exit("set WEBHOOK_SECRETS to what the sender signs with")
    try:
        for secret in Receiver.secrets:
            if secret.startswith("whsec_"):
                base64.b64decode(secret[len("whsec_"):], validate=True)
    except binascii.Error:
        sys.exit("WEBHOOK_SECRETS: a secret goes on after whsec_ with something that is not base64")
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 0), Receiver)
    print(f"listening on http://127.0.0.1:{server.server_address[1]}/", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
