"""A client of Punctual's API.

    from punctual_client import Client

    client = Client("https://punctual.example.org", key="…")
    client.create_notification({"list": "ops", "subject": "Disk full", "body": "On db-3."})
"""

from . import _models as models
from ._operations import Operations
from ._problem import Problem, Unreachable
from ._webhook import InvalidWebhook, verify_webhook


class Client(Operations):
    """Every operation of the API: `create_notification`, `list_work`, `iter_work` and so on.

    A request that may have failed on its way is repeated, with growing pauses and, for POST, under one
    idempotency key, so that it takes effect once. What the server refuses is raised as a `Problem`.
    """


__all__ = ["Client", "InvalidWebhook", "Problem", "Unreachable", "models", "verify_webhook"]
