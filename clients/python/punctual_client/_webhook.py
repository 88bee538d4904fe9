"""Whether a webhook comes from Punctual: Standard Webhooks, https://www.standardwebhooks.com."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import time
from typing import Any, Mapping

#: How far the time of a message may be from ours, in seconds: an old one may be a copy.
TOLERANCE = 300


class InvalidWebhook(Exception):
    """It is not signed with this secret, or not now."""


def verify_webhook(body: bytes | str, headers: Mapping[str, str], secret: str, *, now: float | None = None) -> Any:
    """The body as JSON, if its signature is right.

    `body` is what arrived, byte for byte. `secret` is that of the channel or subscriber, `whsec_…`.
    """
    data = body.encode() if isinstance(body, str) else body
    given = {name.lower(): value for name, value in headers.items()}
    try:
        identity, sent, signatures = (given[f"webhook-{part}"] for part in ("id", "timestamp", "signature"))
        at = int(sent)
    except (KeyError, ValueError):
        raise InvalidWebhook("the headers of a signed webhook are missing") from None
    if abs((time.time() if now is None else now) - at) > TOLERANCE:
        raise InvalidWebhook("it was signed at another time")
    signed = f"{identity}.{at}.".encode() + data
    wanted = base64.b64encode(hmac.new(_key(secret), signed, hashlib.sha256).digest())
    # While a secret is changed there is one signature for each.
    for signature in signatures.split():
        version, _, text = signature.partition(",")
        if version == "v1" and hmac.compare_digest(text.encode(), wanted):
            return _json(data)
    raise InvalidWebhook("the signature is not that of this secret")


def _json(data: bytes) -> Any:
    try:
        return json.loads(data)
    except ValueError:
        raise InvalidWebhook("the body is no JSON") from None


def _key(secret: str) -> bytes:
    try:
        return base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except (binascii.Error, ValueError):
        raise InvalidWebhook("the secret is no `whsec_…`") from None
