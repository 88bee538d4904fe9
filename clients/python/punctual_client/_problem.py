"""What goes wrong, as an exception."""

from __future__ import annotations

import json
from typing import Any


class Problem(Exception):
    """What the server refused, and why (problem+json, RFC 9457)."""

    def __init__(self, status: int, body: dict[str, Any]):
        self.status = status
        #: A stable word that programs may compare, such as `unknown_field`.
        self.code: str = body.get("code", "unknown")
        self.title: str = body.get("title", "")
        self.detail: str = body.get("detail", "")
        #: The places at fault, each with `pointer`, `code` and `detail`.
        self.errors: list[dict[str, str]] = body.get("errors", [])
        #: What the server's log calls the request.
        self.request_id: str | None = body.get("requestId")
        # Where, unless it is the whole request: the detail names the field, and not which of many.
        pointer = self.errors[0].get("pointer") if self.errors else None
        at = f" at {pointer}" if pointer else ""
        super().__init__(f"{status} {self.code}{at}: {self.detail or self.title}")

    @classmethod
    def read(cls, status: int, text: bytes, location: str | None = None) -> "Problem":
        """Also where a proxy answered in words of its own, or wants the request elsewhere."""
        if location is not None:
            return cls(status, {"detail": f"redirects are not followed; `base_url` should lead to {location}"})
        try:
            body = json.loads(text)
        except ValueError:
            body = None
        return cls(status, body if isinstance(body, dict) else {"detail": "no answer of Punctual: " + text[:200].decode("utf-8", "replace")})


class Unreachable(Exception):
    """No answer came, also not to the last attempt. Whether the request took effect is not known."""
