"""What people do with the client, against a server: `python story.py URL KEY`, on a sandbox."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import sys
import threading
import uuid
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from punctual_client import Client, InvalidWebhook, Problem, Unreachable, verify_webhook  # noqa: E402


def story(url: str, key: str) -> None:
    client = Client(url, key)
    client.put_list("python", {"type": "memory", "targets": ["ann", "ben"]})
    ids = [
        client.create_notification({"list": "python", "subject": f"Nr {number}", "body": "B"})["id"]
        for number in range(7)
    ]
    client.put_sandbox_clock({"advance": "1m"})
    assert client.get_notification(ids[0])["status"] == "delivered"

    listed = [one["id"] for one in client.iter_notifications(list="python", limit=3)]
    assert sorted(listed) == sorted(ids), (listed, ids)

    again = {"id": str(uuid.uuid4()), "list": "python", "subject": "S", "body": "B"}
    assert client.create_notification(again) == client.create_notification(again)
    batch = client.create_notification([again, {**again, "id": str(uuid.uuid4())}])
    assert [item["outcome"] for item in batch["items"]] == ["unchanged", "created"], batch

    once = str(uuid.uuid4())
    plain = {"list": "python", "subject": "Once", "body": "B"}
    first = client.create_notification(plain, idempotency_key=once)
    assert client.create_notification(plain, idempotency_key=once) == first

    try:
        client.create_notification({"list": "python", "subject": "S"})
        raise AssertionError("it was accepted")
    except Problem as problem:
        assert (problem.status, problem.code) == (422, "missing_field"), problem
        assert problem.errors[0]["pointer"] == "/body" and problem.request_id
    try:
        client.get_notification(str(uuid.uuid4()))
        raise AssertionError("it was found")
    except Problem as problem:
        assert problem.status == 404
    try:
        Client(url, "a-wrong-key").list_work()
        raise AssertionError("it was let in")
    except Problem as problem:
        assert problem.status == 401
    client.delete_list("python")


def retries() -> None:
    """A server that is not ready at first, and one that never answers."""
    seen: list[tuple[str, str]] = []

    class Busy(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            seen.append((self.command, self.headers["Idempotency-Key"]))
            ready = len(seen) == 3
            body = b'{"id": "1", "status": "pending"}' if ready else b'{"code": "storage_unavailable"}'
            self.send_response(201 if ready else 503)
            self.send_header("Retry-After", "2")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_arguments: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Busy)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    pauses: list[float] = []
    client = Client(f"http://127.0.0.1:{server.server_port}", "k", sleep=pauses.append)
    assert client.create_notification({"list": "l", "subject": "S", "body": "B"}) == {"id": "1", "status": "pending"}
    assert len(seen) == 3 and len(set(seen)) == 1, seen
    assert pauses == [2.0, 2.0], pauses
    server.shutdown()
    server.server_close()
    pauses.clear()
    try:
        client.list_work()
        raise AssertionError("somebody answered")
    except Unreachable:
        assert len(pauses) == 4 and pauses[0] < pauses[3], pauses
    pauses.clear()
    try:
        client.update_schedule("1", {"runAt": "2031-05-14T07:00:00Z"})
        raise AssertionError("somebody answered")
    except Unreachable:
        assert not pauses


def webhooks() -> None:
    """As the reference library signs; a changed byte, another secret and another time are refused."""
    import standardwebhooks
    from datetime import datetime, timezone

    secret = "whsec_" + base64.b64encode(b"0123456789abcdef0123456789abcdef").decode()
    body = json.dumps({"type": "response-completed"})
    at = datetime.now(timezone.utc)
    signature = standardwebhooks.Webhook(secret).sign("msg_1", at, body)
    headers = {
        "Webhook-Id": "msg_1",
        "Webhook-Timestamp": str(int(at.timestamp())),
        "Webhook-Signature": f"v1,{base64.b64encode(hmac.new(b'x', b'y', hashlib.sha256).digest()).decode()} {signature}",
    }
    assert verify_webhook(body, headers, secret) == {"type": "response-completed"}
    other = "whsec_" + base64.b64encode(b"another").decode()
    for wrong in (
        lambda: verify_webhook(body + " ", headers, secret),
        lambda: verify_webhook(body, headers, other),
        lambda: verify_webhook(body, headers, secret, now=at.timestamp() + 600),
        lambda: verify_webhook(body, {}, secret),
    ):
        try:
            wrong()
        except InvalidWebhook:
            continue
        raise AssertionError("it was believed")


if __name__ == "__main__":
    webhooks()
    retries()
    story(sys.argv[1], sys.argv[2])
    print("the story of the Python client ends here")
