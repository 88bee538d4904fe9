"""How requests leave: the key, the retries, the pages."""

from __future__ import annotations

import http.client
import json
import random
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from typing import Any, Callable, Iterator, Mapping, Optional

from ._problem import Problem, Unreachable

#: What another attempt may get past: too many requests, or a server that is not ready.
RETRIED = frozenset({429, 502, 503, 504})
#: The first pause and the longest, in seconds.
FIRST_PAUSE, LONGEST_PAUSE = 0.2, 20.0


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A key goes to the server that it is meant for and nowhere else."""

    def redirect_request(self, *_arguments: Any) -> None:
        return None


class Transport:
    """A server, a key, and how often something is tried."""

    def __init__(
        self,
        base_url: str,
        key: Optional[str] = None,
        *,
        timeout: float = 30.0,
        attempts: int = 5,
        sleep: Callable[[float], None] = time.sleep,
    ):
        if attempts < 1:
            raise ValueError("`attempts` is at least 1")
        # What no attempt could get past is said at once.
        parts = urllib.parse.urlsplit(base_url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise ValueError(f"`base_url` is such as `https://punctual.example.org`; it is {base_url!r}")
        if key is not None and not (key and all("!" <= letter <= "~" for letter in key)):
            raise ValueError("`key` is one word of ASCII characters, as Punctual printed it")
        self._base_url = base_url.rstrip("/")
        self._key = key
        self._timeout = timeout
        self._attempts = attempts
        self._sleep = sleep
        self._opener = urllib.request.build_opener(_NoRedirect)

    def _call(
        self,
        method: str,
        path: str,
        *,
        query: Optional[Mapping[str, Any]] = None,
        body: Any = None,
        content_type: str = "application/json",
        idempotency_key: Optional[str] = None,
        raw: bool = False,
    ) -> Any:
        headers = {"Accept": "*/*" if raw else "application/json"}
        if self._key is not None:
            headers["Authorization"] = f"Bearer {self._key}"
        if method == "POST":
            # The same for all attempts: whichever arrives first takes effect, the others get its answer.
            headers["Idempotency-Key"] = idempotency_key or str(uuid.uuid4())
        data = None
        if body is not None:
            data = _encoded(body, content_type)
            headers["Content-Type"] = content_type
        request = urllib.request.Request(self._url(path, query), data=data, headers=headers, method=method)
        text = self._sent(request)
        if raw or not text:
            return text if raw else None
        try:
            return json.loads(text)
        except ValueError:
            # Not Punctual, such as a proxy that asks people to sign in.
            raise Problem.read(200, text) from None

    def _sent(self, request: urllib.request.Request) -> bytes:
        attempt = 1
        while True:
            pause = None
            try:
                with self._opener.open(request, timeout=self._timeout) as response:
                    return bytes(response.read())
            except urllib.error.HTTPError as error:
                with error:
                    problem = Problem.read(error.code, error.read(), error.headers.get("Location"))
                if error.code not in RETRIED or attempt == self._attempts:
                    raise problem from None
                pause = _seconds(error.headers.get("Retry-After"))
            except (urllib.error.URLError, http.client.HTTPException, OSError) as error:
                # A PATCH that arrived and is sent again might undo what came between.
                if attempt == self._attempts or request.get_method() == "PATCH":
                    raise Unreachable(f"{request.get_method()} {request.full_url}: {error}") from error
            self._sleep(_pause(attempt) if pause is None else min(pause, LONGEST_PAUSE))
            attempt += 1

    def _url(self, path: str, query: Optional[Mapping[str, Any]]) -> str:
        pairs = [(name, _text(value)) for name, value in (query or {}).items() if value is not None]
        return self._base_url + path + (f"?{urllib.parse.urlencode(pairs)}" if pairs else "")

    @staticmethod
    def _segment(name: str, value: Any) -> str:
        text = _text(value)
        if text in ("", ".", ".."):
            raise ValueError(f"`{name}` is {text!r}, which would be another address; it takes an id or name")
        return urllib.parse.quote(text, safe="")

    @staticmethod
    def _items(page: Callable[[Optional[str]], Any]) -> Iterator[Any]:
        """The items of all pages; each page is asked for when it is reached."""
        cursor: Optional[str] = None
        while True:
            found = page(cursor)
            yield from found["items"]
            cursor = found.get("nextCursor")
            if cursor is None:
                return


def _encoded(body: Any, content_type: str) -> bytes:
    if isinstance(body, bytes):
        return body
    if isinstance(body, str) and not content_type.endswith("json"):
        return body.encode()
    return json.dumps(body, allow_nan=False).encode()


def _text(value: Any) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def _seconds(text: Optional[str]) -> Optional[float]:
    return float(text) if text is not None and text.isascii() and text.isdigit() else None


def _pause(attempt: int) -> float:
    """Twice as long each time, and at random below that, so that clients do not come back together."""
    longest = min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** (attempt - 1))
    return longest * (0.5 + random.random() / 2)
