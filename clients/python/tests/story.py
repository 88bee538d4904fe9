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
from typing import Callable

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

    file = client.create_blob(b"%PDF \x00\xff", content_type="application/pdf")
    assert (file["size"], file["contentType"]) == (7, "application/pdf"), file
    late = {"list": "python", "subject": "S", "body": "B", "sendAt": "2031-05-14T07:00:00Z"}
    later = client.create_message({**late, "attachments": [{"name": "a.pdf", "blob": file["id"]}]})
    assert client.get_message(later["id"])["attachments"][0]["size"] == 7
    client.delete_message(later["id"])
    try:
        client.create_notification({"list": "python", "subject": "S"})
        raise AssertionError("it was accepted")
    except Problem as problem:
        assert (problem.status, problem.code) == (422, "missing_field"), problem
        assert problem.errors[0]["pointer"] == "/body" and problem.request_id
        assert str(problem).startswith("422 missing_field at /body: "), problem
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


def raises(kind: type[Exception], words: str, call: Callable[[], object]) -> None:
    try:
        call()
    except kind as error:
        assert words in str(error), error
        return
    raise AssertionError(f"nothing was raised: {words}")


def mistakes(url: str, key: str) -> None:
    """What no attempt could get past is refused at once, in words that say what is right."""
    pauses: list[float] = []

    def client(url: str, key: str = key) -> Client:
        return Client(url, key, sleep=pauses.append)

    for wrong in ("127.0.0.1:8080", "ftp://127.0.0.1", "https://", "http://127.0.0.1/?a=b", ""):
        raises(ValueError, "`base_url` is such as", lambda wrong=wrong: client(wrong))
    for wrong in ("…", "a key", "key\n", ""):
        raises(ValueError, "`key` is one word", lambda wrong=wrong: client(url, wrong))
    for wrong in ("", ".", ".."):
        raises(ValueError, f"`name` is {wrong!r}", lambda wrong=wrong: client(url).get_list(wrong))
    number = {"list": "python", "subject": "S", "body": "B", "typeData": {"a": float("nan")}}
    raises(ValueError, "not JSON compliant", lambda: client(url).create_notification(number))
    raises(Problem, "404 not_found", lambda: client(f"{url}/elsewhere").list_work())
    assert not pauses, "none of it was tried again"


def strangers() -> None:
    """A proxy that asks people to sign in, one that redirects, and an answer that breaks off."""
    answers = {
        "/page": b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>",
        "/moved": b"HTTP/1.1 301 Moved\r\nLocation: https://other.example/\r\nContent-Length: 0\r\n\r\n",
        "/short": b"HTTP/1.1 200 OK\r\nContent-Length: 600\r\n\r\n{",
    }

    class Stranger(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.wfile.write(answers[self.path.removesuffix("/api/v1/work")])
            self.close_connection = True

        def log_message(self, *_arguments: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Stranger)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    pauses: list[float] = []
    at = lambda path: Client(f"http://127.0.0.1:{server.server_port}{path}", "k", sleep=pauses.append)  # noqa: E731
    raises(Problem, "no answer of Punctual: <html>", at("/page").list_work)
    raises(Problem, "should lead to https://other.example/", at("/moved").list_work)
    assert not pauses, "it would be the same again"
    raises(Unreachable, "/short", at("/short").list_work)
    assert len(pauses) == 4
    server.shutdown()
    server.server_close()


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
        lambda: verify_webhook(body, {**headers, "Webhook-Signature": "v1,ü"}, secret),
        lambda: verify_webhook(body, headers, "whsec_ü"),
    ):
        try:
            wrong()
        except InvalidWebhook:
            continue
        raise AssertionError("it was believed")


if __name__ == "__main__":
    webhooks()
    retries()
    strangers()
    mistakes(sys.argv[1], sys.argv[2])
    story(sys.argv[1], sys.argv[2])
    print("the story of the Python client ends here")
