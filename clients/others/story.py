"""A story with the client that openapi-python-client generates: `python story.py URL KEY`, on a sandbox.

Every response is read into the generated types, which fails where the document and the server differ.
"""

import sys
import uuid

from generated import AuthenticatedClient
from generated.api.health import get_readiness
from generated.api.lists import get_list, list_lists, put_list
from generated.api.messages import create_message, delete_message, get_message, update_message
from generated.api.notifications import create_notification, get_notification, list_notifications
from generated.api.reminders import create_reminder_setting, list_reminder_settings
from generated.api.schedules import create_schedule, list_schedules
from generated.api.work import list_work
from generated.models import (
    BatchResult,
    ListRequest,
    MessageAccepted,
    MessageChange,
    MessageRequest,
    NotificationAccepted,
    NotificationRequest,
    Problem,
    ReminderSettingRequest,
    ScheduleRequest,
)


def main(url: str, key: str) -> None:
    client = AuthenticatedClient(base_url=url, token=key, raise_on_unexpected_status=True)
    assert get_readiness.sync(client=client) is not None
    put_list.sync("others", client=client, body=ListRequest(type_="memory", targets=["ann"]))
    assert get_list.sync("others", client=client).targets == ["ann"]
    assert any(one.name == "others" for one in list_lists.sync(client=client).items)

    wanted = NotificationRequest(id=str(uuid.uuid4()), list_="others", subject="S", body="B")
    first = create_notification.sync(client=client, body=wanted)
    again = create_notification.sync_detailed(client=client, body=wanted)
    assert isinstance(first, NotificationAccepted) and again.status_code == 200, (first, again)
    assert isinstance(again.parsed, NotificationAccepted) and again.parsed.id == first.id
    many = create_notification.sync(client=client, body=[wanted])
    assert isinstance(many, BatchResult) and many.items[0].outcome == "unchanged", many
    assert get_notification.sync(first.id, client=client).id == first.id
    assert list_notifications.sync(client=client, list_="others").items[0].id == first.id
    refused = create_notification.sync(client=client, body=NotificationRequest(list_="others", subject="S"))
    assert isinstance(refused, Problem) and refused.errors[0].pointer == "/body", refused

    message = {"sendAt": "2030-05-14T07:00:00Z", "list": "others", "subject": "S", "body": "B"}
    later = create_message.sync(client=client, body=MessageRequest.from_dict(message))
    assert isinstance(later, MessageAccepted), later
    changed = update_message.sync(later.id, client=client, body=MessageChange(subject="T"))
    assert changed.subject == "T", changed
    assert delete_message.sync_detailed(later.id, client=client).status_code == 204
    assert get_message.sync(later.id, client=client).status == "cancelled"

    schedule = {"topic": "others", "runAt": "2030-05-14T07:00:00Z", "payload": {"n": 1}}
    create_schedule.sync(client=client, body=ScheduleRequest.from_dict(schedule))
    assert list_schedules.sync(client=client).items
    setting = {
        "name": "First aid", "sourceType": "document", "triggerKey": "others", "kind": "dateBased",
        "date": {"field": "/expiresOn", "offsetsDays": [30, 7]}, "recipients": {"list": "others"},
        "delivery": {"channel": "memory:default"},
    }
    create_reminder_setting.sync(client=client, body=ReminderSettingRequest.from_dict(setting))
    assert list_reminder_settings.sync(client=client).items[0].name == "First aid"
    assert list_work.sync(client=client).items


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
    print("the story of a generated Python client ends here")
