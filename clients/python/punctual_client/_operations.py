"""One method for each operation. Generated from docs/openapi.json by clients/generate; do not edit."""

from __future__ import annotations

from typing import Any, Iterator, Literal, Optional, Union, overload

from . import _models as m
from ._transport import Transport


class Operations(Transport):
    """Every operation of the API, by the name that the OpenAPI document gives it."""

    def acknowledge_notification(self, id: str, body: Optional[m.ActionRequest] = None, *, idempotency_key: Optional[str] = None) -> m.Notification:
        """Say that a person has seen what did not arrive."""
        return self._call("POST", f"/api/v1/notifications/{self._segment('id', id)}/acknowledge", body=body, idempotency_key=idempotency_key)

    def cancel_work(self, id: int, body: Optional[m.ActionRequest] = None, *, idempotency_key: Optional[str] = None) -> m.Work:
        """Stop a row for good."""
        return self._call("POST", f"/api/v1/work/{self._segment('id', id)}/cancel", body=body, idempotency_key=idempotency_key)

    def confirm_callback(self, channel: str) -> bytes:
        """Whether the address is ours."""
        return self._call("GET", f"/api/v1/callbacks/{self._segment('channel', channel)}", raw=True)

    def create_blob(self, body: Union[str, bytes], *, business_unit: Optional[str] = None, content_type: Optional[str] = None, idempotency_key: Optional[str] = None) -> m.Blob:
        """Upload a file that messages can attach."""
        return self._call("POST", "/api/v1/blobs", query={"businessUnit": business_unit, "contentType": content_type}, body=body, content_type="application/octet-stream", idempotency_key=idempotency_key)

    def create_erasure(self, body: m.ErasureRequest, *, idempotency_key: Optional[str] = None) -> m.Erasure:
        """Plan the erasure of a person, or carry it out."""
        return self._call("POST", "/api/v1/erasures", body=body, idempotency_key=idempotency_key)

    def create_key(self, body: m.ApiKeyRequest, *, idempotency_key: Optional[str] = None) -> m.ApiKeyCreated:
        """Make a key."""
        return self._call("POST", "/api/v1/keys", body=body, idempotency_key=idempotency_key)

    @overload
    def create_message(self, body: m.MessageRequest, *, idempotency_key: Optional[str] = None) -> m.MessageAccepted: ...

    @overload
    def create_message(self, body: list[m.MessageRequest], *, idempotency_key: Optional[str] = None) -> m.BatchResult: ...

    def create_message(self, body: Union[m.MessageRequest, list[m.MessageRequest]], *, idempotency_key: Optional[str] = None) -> Union[m.MessageAccepted, m.BatchResult]:
        """Send a message later, or an array of at most 1,000."""
        return self._call("POST", "/api/v1/messages", body=body, idempotency_key=idempotency_key)

    @overload
    def create_notification(self, body: m.NotificationRequest, *, idempotency_key: Optional[str] = None) -> m.NotificationAccepted: ...

    @overload
    def create_notification(self, body: list[m.NotificationRequest], *, idempotency_key: Optional[str] = None) -> m.BatchResult: ...

    def create_notification(self, body: Union[m.NotificationRequest, list[m.NotificationRequest]], *, idempotency_key: Optional[str] = None) -> Union[m.NotificationAccepted, m.BatchResult]:
        """Send a notification, or an array of at most 1,000."""
        return self._call("POST", "/api/v1/notifications", body=body, idempotency_key=idempotency_key)

    def create_operations_event(self, body: m.NewEvent, *, idempotency_key: Optional[str] = None) -> m.Event:
        """Create an event."""
        return self._call("POST", "/api/v1/operations/events", body=body, idempotency_key=idempotency_key)

    def create_operations_feed(self, body: m.FeedRequest, *, idempotency_key: Optional[str] = None) -> m.Feed:
        """Make the secret link to the calendar of an organisation or a person."""
        return self._call("POST", "/api/v1/operations/feeds", body=body, idempotency_key=idempotency_key)

    def create_operations_rule(self, body: m.RuleRequest, *, idempotency_key: Optional[str] = None) -> m.Rule:
        """Add a rule to an event or task."""
        return self._call("POST", "/api/v1/operations/rules", body=body, idempotency_key=idempotency_key)

    def create_operations_task(self, body: m.NewTask, *, idempotency_key: Optional[str] = None) -> m.Task:
        """Create a task."""
        return self._call("POST", "/api/v1/operations/tasks", body=body, idempotency_key=idempotency_key)

    def create_preference_link(self, person: str, *, idempotency_key: Optional[str] = None) -> m.PreferenceLink:
        """A link to a person's own page."""
        return self._call("POST", f"/api/v1/preferences/{self._segment('person', person)}/link", idempotency_key=idempotency_key)

    def create_reminder_setting(self, body: m.ReminderSettingRequest, *, idempotency_key: Optional[str] = None) -> m.ReminderSetting:
        """Make a reminder setting."""
        return self._call("POST", "/api/v1/reminder-settings", body=body, idempotency_key=idempotency_key)

    def create_report_subscription(self, body: m.ReportSubscriptionRequest, *, idempotency_key: Optional[str] = None) -> m.ReportSubscription:
        """Subscribe to a report."""
        return self._call("POST", "/api/v1/report-subscriptions", body=body, idempotency_key=idempotency_key)

    def create_report_subscription_automation_run(self, guid: str, body: Optional[m.RunNowRequest] = None, *, idempotency_key: Optional[str] = None) -> m.RunNowAnswer:
        """Run a report now."""
        return self._call("POST", f"/api/v1/report-subscriptions/{self._segment('guid', guid)}/automation-runs", body=body, idempotency_key=idempotency_key)

    @overload
    def create_schedule(self, body: m.ScheduleRequest, *, idempotency_key: Optional[str] = None) -> m.Schedule: ...

    @overload
    def create_schedule(self, body: list[m.ScheduleRequest], *, idempotency_key: Optional[str] = None) -> m.BatchResult: ...

    def create_schedule(self, body: Union[m.ScheduleRequest, list[m.ScheduleRequest]], *, idempotency_key: Optional[str] = None) -> Union[m.Schedule, m.BatchResult]:
        """Make a schedule, or an array of at most 1,000."""
        return self._call("POST", "/api/v1/schedules", body=body, idempotency_key=idempotency_key)

    def create_site(self, body: m.SiteRequest, *, idempotency_key: Optional[str] = None) -> m.SiteToken:
        """Make a site."""
        return self._call("POST", "/api/v1/sites", body=body, idempotency_key=idempotency_key)

    def create_survey(self, body: m.SurveyRequest, *, idempotency_key: Optional[str] = None) -> m.Survey:
        """Write a survey."""
        return self._call("POST", "/api/v1/surveys", body=body, idempotency_key=idempotency_key)

    def create_survey_campaign(self, id: int, body: m.CampaignRequest, *, idempotency_key: Optional[str] = None) -> m.Ingested:
        """Send a survey by hand, to at most 10,000 people."""
        return self._call("POST", f"/api/v1/surveys/{self._segment('id', id)}/campaigns", body=body, idempotency_key=idempotency_key)

    def create_user(self, body: m.UserRequest, *, idempotency_key: Optional[str] = None) -> m.UserInvited:
        """Add a person and invite them."""
        return self._call("POST", "/api/v1/users", body=body, idempotency_key=idempotency_key)

    def create_user_invitation(self, id: str, *, idempotency_key: Optional[str] = None) -> m.UserInvited:
        """Invite a person again."""
        return self._call("POST", f"/api/v1/users/{self._segment('id', id)}/invitation", idempotency_key=idempotency_key)

    def delete_business_unit(self, id: str) -> None:
        """Remove a business unit."""
        return self._call("DELETE", f"/api/v1/business-units/{self._segment('id', id)}")

    def delete_channel(self, key: str) -> None:
        """Remove a channel."""
        return self._call("DELETE", f"/api/v1/channels/{self._segment('key', key)}")

    def delete_consumer(self, key: str) -> None:
        """Remove a consumer."""
        return self._call("DELETE", f"/api/v1/consumers/{self._segment('key', key)}")

    def delete_key(self, id: str) -> None:
        """Revoke a key."""
        return self._call("DELETE", f"/api/v1/keys/{self._segment('id', id)}")

    def delete_list(self, name: str) -> None:
        """Remove a list."""
        return self._call("DELETE", f"/api/v1/lists/{self._segment('name', name)}")

    def delete_message(self, id: str) -> None:
        """Cancel a message."""
        return self._call("DELETE", f"/api/v1/messages/{self._segment('id', id)}")

    def delete_operations_event(self, id: str) -> None:
        """Delete an event; what was scheduled for it stops."""
        return self._call("DELETE", f"/api/v1/operations/events/{self._segment('id', id)}")

    def delete_operations_feed(self, owner_type: str, owner_id: str) -> None:
        """End the link to a calendar."""
        return self._call("DELETE", f"/api/v1/operations/feeds/{self._segment('ownerType', owner_type)}/{self._segment('ownerId', owner_id)}")

    def delete_operations_organisation(self, id: str) -> None:
        """Remove an organisation."""
        return self._call("DELETE", f"/api/v1/operations/organisations/{self._segment('id', id)}")

    def delete_operations_person(self, id: str) -> None:
        """Remove a person."""
        return self._call("DELETE", f"/api/v1/operations/people/{self._segment('id', id)}")

    def delete_operations_rule(self, id: str) -> None:
        """Delete a rule."""
        return self._call("DELETE", f"/api/v1/operations/rules/{self._segment('id', id)}")

    def delete_operations_task(self, id: str) -> None:
        """Delete a task; what was scheduled for it stops."""
        return self._call("DELETE", f"/api/v1/operations/tasks/{self._segment('id', id)}")

    def delete_preference(self, person: str) -> None:
        """Forget what a person wants."""
        return self._call("DELETE", f"/api/v1/preferences/{self._segment('person', person)}")

    def delete_reminder_setting(self, id: str) -> None:
        """Remove a reminder setting."""
        return self._call("DELETE", f"/api/v1/reminder-settings/{self._segment('id', id)}")

    def delete_report_subscription(self, guid: str) -> None:
        """Remove a subscription."""
        return self._call("DELETE", f"/api/v1/report-subscriptions/{self._segment('guid', guid)}")

    def delete_rollouts_report_subscription(self, scope: str, id: str) -> None:
        """End a rollout: the migration is complete and the old scheduler is no longer used."""
        return self._call("DELETE", f"/api/v1/rollouts/report-subscription/{self._segment('scope', scope)}/{self._segment('id', id)}")

    def delete_schedule(self, id: str) -> None:
        """Cancel a schedule."""
        return self._call("DELETE", f"/api/v1/schedules/{self._segment('id', id)}")

    def delete_source(self, type: str, id: str) -> None:
        """Say that a source is gone."""
        return self._call("DELETE", f"/api/v1/sources/{self._segment('type', type)}/{self._segment('id', id)}")

    def delete_subscriber(self, key: str) -> None:
        """Remove a subscriber."""
        return self._call("DELETE", f"/api/v1/subscribers/{self._segment('key', key)}")

    def delete_suppression(self, channel_type: str, address: str) -> None:
        """Take an address off the list."""
        return self._call("DELETE", f"/api/v1/suppressions/{self._segment('channelType', channel_type)}/{self._segment('address', address)}")

    def delete_survey_instance(self, id: int, public_id: str) -> None:
        """Take a link back."""
        return self._call("DELETE", f"/api/v1/surveys/{self._segment('id', id)}/instances/{self._segment('publicId', public_id)}")

    def delete_template(self, name: str) -> None:
        """Remove a template."""
        return self._call("DELETE", f"/api/v1/templates/{self._segment('name', name)}")

    def delete_user(self, id: str) -> None:
        """Remove a person."""
        return self._call("DELETE", f"/api/v1/users/{self._segment('id', id)}")

    def discard_notification(self, id: str, body: Optional[m.ActionRequest] = None, *, idempotency_key: Optional[str] = None) -> m.Notification:
        """Give a parked notification up."""
        return self._call("POST", f"/api/v1/notifications/{self._segment('id', id)}/discard", body=body, idempotency_key=idempotency_key)

    def discard_restore(self, body: Optional[m.ReasonRequest] = None, *, idempotency_key: Optional[str] = None) -> m.RestoreSettled:
        """Give up what was due when the database was restored."""
        return self._call("POST", "/api/v1/restore/discard", body=body, idempotency_key=idempotency_key)

    def explain_decisions(self, *, source_type: str, source_id: str, date: str) -> m.Why:
        """Why something was sent about a source on a day, or why not."""
        return self._call("GET", "/api/v1/why", query={"sourceType": source_type, "sourceId": source_id, "date": date})

    def export_definitions(self) -> m.DefinitionsDocument:
        """Export every definition."""
        return self._call("GET", "/api/v1/definitions")

    def export_personal_data(self, body: m.PersonalDataRequest, *, idempotency_key: Optional[str] = None) -> m.PersonalData:
        """What is stored about a person."""
        return self._call("POST", "/api/v1/personal-data/export", body=body, idempotency_key=idempotency_key)

    def get_attention(self) -> m.Attention:
        """Everything that needs attention, newest first."""
        return self._call("GET", "/api/v1/attention")

    def get_business_unit(self, id: str) -> m.BusinessUnit:
        """Look at a business unit."""
        return self._call("GET", f"/api/v1/business-units/{self._segment('id', id)}")

    def get_channel(self, key: str) -> m.Channel:
        """Look at a channel."""
        return self._call("GET", f"/api/v1/channels/{self._segment('key', key)}")

    def get_consumer(self, key: str) -> m.Consumer:
        """Look at a consumer."""
        return self._call("GET", f"/api/v1/consumers/{self._segment('key', key)}")

    def get_delivery_policy(self) -> m.DeliveryPolicy:
        """Get the delivery policy."""
        return self._call("GET", "/api/v1/delivery-policy")

    def get_erasure(self, id: str) -> m.Erasure:
        """An erasure with its certificate, or a planned one."""
        return self._call("GET", f"/api/v1/erasures/{self._segment('id', id)}")

    def get_forecast(self, *, from_: Optional[str] = None, to: Optional[str] = None, business_unit: Optional[str] = None) -> m.Forecast:
        """What will be sent, by local day."""
        return self._call("GET", "/api/v1/forecast", query={"from": from_, "to": to, "businessUnit": business_unit})

    def get_health(self) -> m.Health:
        """Whether the process lives."""
        return self._call("GET", "/healthz")

    def get_inbox(self, *, unread: Optional[bool] = None, cursor: Optional[str] = None, limit: Optional[int] = None) -> m.Inbox:
        """Messages to the holder of the key, newest first."""
        return self._call("GET", "/api/v1/inbox", query={"unread": unread, "cursor": cursor, "limit": limit})

    def iter_get_inbox(self, *, unread: Optional[bool] = None, limit: Optional[int] = None) -> Iterator[m.InboxMessage]:
        """Messages to the holder of the key, newest first. Page after page."""
        return self._items(lambda cursor: self.get_inbox(unread=unread, limit=limit, cursor=cursor))

    def get_list(self, name: str) -> m.List:
        """Look at a list."""
        return self._call("GET", f"/api/v1/lists/{self._segment('name', name)}")

    def get_message(self, id: str) -> m.Message:
        """Look at a message."""
        return self._call("GET", f"/api/v1/messages/{self._segment('id', id)}")

    def get_metrics(self) -> bytes:
        """Figures for Prometheus."""
        return self._call("GET", "/metrics", raw=True)

    def get_notification(self, id: str) -> m.Notification:
        """Look at a notification."""
        return self._call("GET", f"/api/v1/notifications/{self._segment('id', id)}")

    def get_notification_kpis(self, *, site: Optional[str] = None) -> m.Kpis:
        """The figures of the outbox, of all of it and of each site."""
        return self._call("GET", "/api/v1/notifications/kpis", query={"site": site})

    def get_notification_timeline(self, id: str) -> m.Timeline:
        """The timeline of a notification, from its cause to the provider's answer."""
        return self._call("GET", f"/api/v1/notifications/{self._segment('id', id)}/timeline")

    def get_operations_event(self, id: str) -> m.Event:
        """Look at an event."""
        return self._call("GET", f"/api/v1/operations/events/{self._segment('id', id)}")

    def get_operations_organisation(self, id: str) -> m.Organisation:
        """Look at an organisation."""
        return self._call("GET", f"/api/v1/operations/organisations/{self._segment('id', id)}")

    def get_operations_person(self, id: str) -> m.Person:
        """Look at a person."""
        return self._call("GET", f"/api/v1/operations/people/{self._segment('id', id)}")

    def get_operations_rule(self, id: str) -> m.Rule:
        """Read a rule; a deleted rule stays readable."""
        return self._call("GET", f"/api/v1/operations/rules/{self._segment('id', id)}")

    def get_operations_task(self, id: str) -> m.Task:
        """Look at a task."""
        return self._call("GET", f"/api/v1/operations/tasks/{self._segment('id', id)}")

    def get_own_site(self) -> m.SiteIdentity:
        """Whose token this is."""
        return self._call("GET", "/api/v1/site")

    def get_preference(self, person: str) -> m.Preference:
        """What a person wants."""
        return self._call("GET", f"/api/v1/preferences/{self._segment('person', person)}")

    def get_public_survey(self, public_id: str) -> m.PublicSurvey:
        """Read what a link asks."""
        return self._call("GET", f"/api/v1/public/surveys/{self._segment('publicId', public_id)}")

    def get_readiness(self, *, write: Optional[Union[str, None]] = None) -> m.Readiness:
        """Whether the database answers."""
        return self._call("GET", "/readyz", query={"write": write})

    def get_reminder_setting(self, id: str) -> m.ReminderSetting:
        """Look at a reminder setting."""
        return self._call("GET", f"/api/v1/reminder-settings/{self._segment('id', id)}")

    def get_report_run_ownership(self, key: str) -> m.Ownership:
        """Ask who owns a run."""
        return self._call("GET", f"/api/v1/report-runs/{self._segment('key', key)}/ownership")

    def get_report_subscription(self, guid: str) -> m.ReportSubscription:
        """Look at a subscription."""
        return self._call("GET", f"/api/v1/report-subscriptions/{self._segment('guid', guid)}")

    def get_report_subscription_automation_run(self, guid: str, run: str) -> m.AutomationRun:
        """Look at a run."""
        return self._call("GET", f"/api/v1/report-subscriptions/{self._segment('guid', guid)}/automation-runs/{self._segment('run', run)}")

    def get_report_subscription_automation_run_artefact(self, guid: str, run: str, name: str) -> bytes:
        """A file of a run."""
        return self._call("GET", f"/api/v1/report-subscriptions/{self._segment('guid', guid)}/automation-runs/{self._segment('run', run)}/artefacts/{self._segment('name', name)}", raw=True)

    def get_report_subscription_automation_run_coordinates(self, guid: str, run: str) -> m.Coordinates:
        """The coordinates of a run."""
        return self._call("GET", f"/api/v1/report-subscriptions/{self._segment('guid', guid)}/automation-runs/{self._segment('run', run)}/coordinates")

    def get_report_subscription_automation_run_ownership(self, guid: str, run: str) -> m.Ownership:
        """Who owns a run."""
        return self._call("GET", f"/api/v1/report-subscriptions/{self._segment('guid', guid)}/automation-runs/{self._segment('run', run)}/ownership")

    def get_report_subscription_upcoming(self, guid: str, *, count: Optional[int] = None) -> m.Upcoming:
        """The next runs of a subscription, in its local time."""
        return self._call("GET", f"/api/v1/report-subscriptions/{self._segment('guid', guid)}/upcoming", query={"count": count})

    def get_restore(self) -> m.Restores:
        """The last restore of the database, and what waits because of it."""
        return self._call("GET", "/api/v1/restore")

    def get_retention(self) -> m.Retention:
        """How long each table keeps its rows, and what the last purge removed."""
        return self._call("GET", "/api/v1/retention")

    def get_rollouts_report_subscription(self, scope: str, id: str) -> m.Rollout:
        """Look at a rollout."""
        return self._call("GET", f"/api/v1/rollouts/report-subscription/{self._segment('scope', scope)}/{self._segment('id', id)}")

    def get_rollouts_report_subscription_comparison(self, scope: str, id: str, *, from_: Optional[str] = None, to: Optional[str] = None) -> m.Comparison:
        """The expected runs against those that the old scheduler has taken."""
        return self._call("GET", f"/api/v1/rollouts/report-subscription/{self._segment('scope', scope)}/{self._segment('id', id)}/comparison", query={"from": from_, "to": to})

    def get_rollouts_report_subscription_figures(self, scope: str, id: str, *, from_: Optional[str] = None, to: Optional[str] = None) -> m.RolloutFigures:
        """Conflicts, failures and latency by stage."""
        return self._call("GET", f"/api/v1/rollouts/report-subscription/{self._segment('scope', scope)}/{self._segment('id', id)}/figures", query={"from": from_, "to": to})

    def get_sandbox_clock(self) -> m.SandboxClock:
        """The time of the clock."""
        return self._call("GET", "/api/v1/sandbox/clock")

    def get_schedule(self, id: str) -> m.Schedule:
        """Look at a schedule."""
        return self._call("GET", f"/api/v1/schedules/{self._segment('id', id)}")

    def get_search(self, *, q: str) -> m.SearchResults:
        """Search messages, work, sources, people and settings."""
        return self._call("GET", "/api/v1/search", query={"q": q})

    def get_site(self, site: str) -> m.Site:
        """Look at a site."""
        return self._call("GET", f"/api/v1/sites/{self._segment('site', site)}")

    def get_site_notification(self, site: str, id: str) -> m.SiteNotificationStatus:
        """The status of a notification of this site."""
        return self._call("GET", f"/api/v1/sites/{self._segment('site', site)}/notifications/{self._segment('id', id)}")

    def get_source(self, type: str, id: str) -> m.Source:
        """Look at a source."""
        return self._call("GET", f"/api/v1/sources/{self._segment('type', type)}/{self._segment('id', id)}")

    def get_subscriber(self, key: str) -> m.Subscriber:
        """Look at a subscriber."""
        return self._call("GET", f"/api/v1/subscribers/{self._segment('key', key)}")

    def get_suppression(self, channel_type: str, address: str) -> m.Suppression:
        """Look at an address."""
        return self._call("GET", f"/api/v1/suppressions/{self._segment('channelType', channel_type)}/{self._segment('address', address)}")

    def get_survey(self, id: int) -> m.Survey:
        """Look at a survey."""
        return self._call("GET", f"/api/v1/surveys/{self._segment('id', id)}")

    def get_survey_instance(self, id: int, public_id: str) -> m.Instance:
        """Look at an instance."""
        return self._call("GET", f"/api/v1/surveys/{self._segment('id', id)}/instances/{self._segment('publicId', public_id)}")

    def get_survey_results(self, id: int, *, trigger_id: Optional[str] = None, from_: Optional[str] = None, to: Optional[str] = None) -> m.SurveyResults:
        """What the answers come to."""
        return self._call("GET", f"/api/v1/surveys/{self._segment('id', id)}/results", query={"triggerId": trigger_id, "from": from_, "to": to})

    def get_survey_results_csv(self, id: int, *, trigger_id: Optional[str] = None, from_: Optional[str] = None, to: Optional[str] = None) -> bytes:
        """Every answer as CSV."""
        return self._call("GET", f"/api/v1/surveys/{self._segment('id', id)}/results.csv", query={"triggerId": trigger_id, "from": from_, "to": to}, raw=True)

    def get_survey_results_xlsx(self, id: int, *, trigger_id: Optional[str] = None, from_: Optional[str] = None, to: Optional[str] = None) -> bytes:
        """Every answer as a spreadsheet."""
        return self._call("GET", f"/api/v1/surveys/{self._segment('id', id)}/results.xlsx", query={"triggerId": trigger_id, "from": from_, "to": to}, raw=True)

    def get_template(self, name: str) -> m.Template:
        """Look at a template."""
        return self._call("GET", f"/api/v1/templates/{self._segment('name', name)}")

    def get_user(self, id: str) -> m.User:
        """Look at a person."""
        return self._call("GET", f"/api/v1/users/{self._segment('id', id)}")

    def get_work(self, id: int) -> m.Work:
        """Look at a work row."""
        return self._call("GET", f"/api/v1/work/{self._segment('id', id)}")

    def get_work_trace(self, id: int) -> m.WorkTrace:
        """How a work row came to where it is."""
        return self._call("GET", f"/api/v1/work/{self._segment('id', id)}/trace")

    def hand_over_notifications(self, site: str, body: m.SiteHandOver, *, idempotency_key: Optional[str] = None) -> m.SiteAckBatch:
        """Hand over at most 10,000 notifications."""
        return self._call("POST", f"/api/v1/sites/{self._segment('site', site)}/notifications", body=body, idempotency_key=idempotency_key)

    def import_calendar(self, body: Union[str, bytes], *, creator: str, organisation: Optional[str] = None, business_unit: Optional[str] = None, idempotency_key: Optional[str] = None) -> m.Imported:
        """Import a calendar file."""
        return self._call("POST", "/api/v1/operations/import", query={"creator": creator, "organisation": organisation, "businessUnit": business_unit}, body=body, content_type="text/calendar", idempotency_key=idempotency_key)

    def import_definitions(self, body: m.DefinitionsRequest, *, idempotency_key: Optional[str] = None) -> m.DefinitionsPlan:
        """Import definitions, or see what an import would change."""
        return self._call("POST", "/api/v1/definitions", body=body, idempotency_key=idempotency_key)

    def ingest_survey_triggers_as_known(self, body: m.IngestRequest, *, idempotency_key: Optional[str] = None) -> m.Ingested:
        """The same, at the address that other systems know."""
        return self._call("POST", "/api/Surveys/Triggers/ingest", body=body, idempotency_key=idempotency_key)

    def ingest_surveys_triggers(self, body: m.IngestRequest, *, idempotency_key: Optional[str] = None) -> m.Ingested:
        """Tell events that surveys may ask about, at most 10,000."""
        return self._call("POST", "/api/v1/surveys/triggers/ingest", body=body, idempotency_key=idempotency_key)

    def list_audit(self, *, from_: Optional[str] = None, to: Optional[str] = None, actor: Optional[str] = None, action: Optional[str] = None, subject: Optional[str] = None, cursor: Optional[str] = None, limit: Optional[int] = None) -> m.AuditEntryPage:
        """What people, keys and the engine did, newest first."""
        return self._call("GET", "/api/v1/audit", query={"from": from_, "to": to, "actor": actor, "action": action, "subject": subject, "cursor": cursor, "limit": limit})

    def iter_audit(self, *, from_: Optional[str] = None, to: Optional[str] = None, actor: Optional[str] = None, action: Optional[str] = None, subject: Optional[str] = None, limit: Optional[int] = None) -> Iterator[m.AuditEntry]:
        """What people, keys and the engine did, newest first. Page after page."""
        return self._items(lambda cursor: self.list_audit(from_=from_, to=to, actor=actor, action=action, subject=subject, limit=limit, cursor=cursor))

    def list_business_units(self, *, cursor: Optional[str] = None, limit: Optional[int] = None) -> m.BusinessUnitPage:
        """All business units, by id."""
        return self._call("GET", "/api/v1/business-units", query={"cursor": cursor, "limit": limit})

    def iter_business_units(self, *, limit: Optional[int] = None) -> Iterator[m.BusinessUnit]:
        """All business units, by id. Page after page."""
        return self._items(lambda cursor: self.list_business_units(limit=limit, cursor=cursor))

    def list_channel_health(self) -> m.ChannelHealthPage:
        """How channels did in the last hour."""
        return self._call("GET", "/api/v1/channels/health")

    def list_channels(self) -> m.ChannelPage:
        """All channels, by key."""
        return self._call("GET", "/api/v1/channels")

    def list_consumers(self) -> m.ConsumerPage:
        """All consumers, by key, with how each is."""
        return self._call("GET", "/api/v1/consumers")

    def list_failed_automation_runs(self, guid: str, *, cursor: Optional[str] = None, limit: Optional[int] = None) -> m.RunSummaryPage:
        """Runs of a subscription that have failed, are held or wait for a retry."""
        return self._call("GET", f"/api/v1/report-subscriptions/{self._segment('guid', guid)}/automation-runs/failed", query={"cursor": cursor, "limit": limit})

    def iter_failed_automation_runs(self, guid: str, *, limit: Optional[int] = None) -> Iterator[m.RunSummary]:
        """Runs of a subscription that have failed, are held or wait for a retry. Page after page."""
        return self._items(lambda cursor: self.list_failed_automation_runs(guid, limit=limit, cursor=cursor))

    def list_failed_report_runs(self, *, cursor: Optional[str] = None, limit: Optional[int] = None) -> m.RunSummaryPage:
        """The failed queue over all subscriptions."""
        return self._call("GET", "/api/v1/report-runs/failed", query={"cursor": cursor, "limit": limit})

    def iter_failed_report_runs(self, *, limit: Optional[int] = None) -> Iterator[m.RunSummary]:
        """The failed queue over all subscriptions. Page after page."""
        return self._items(lambda cursor: self.list_failed_report_runs(limit=limit, cursor=cursor))

    def list_keys(self) -> m.ApiKeyPage:
        """List keys."""
        return self._call("GET", "/api/v1/keys")

    def list_lists(self, *, cursor: Optional[str] = None, limit: Optional[int] = None) -> m.ListPage:
        """All lists, by name."""
        return self._call("GET", "/api/v1/lists", query={"cursor": cursor, "limit": limit})

    def iter_lists(self, *, limit: Optional[int] = None) -> Iterator[m.List]:
        """All lists, by name. Page after page."""
        return self._items(lambda cursor: self.list_lists(limit=limit, cursor=cursor))

    def list_messages(self, *, cursor: Optional[str] = None, limit: Optional[int] = None) -> m.MessagePage:
        """List messages, newest first."""
        return self._call("GET", "/api/v1/messages", query={"cursor": cursor, "limit": limit})

    def iter_messages(self, *, limit: Optional[int] = None) -> Iterator[m.Message]:
        """List messages, newest first. Page after page."""
        return self._items(lambda cursor: self.list_messages(limit=limit, cursor=cursor))

    def list_nodes(self) -> m.Nodes:
        """All nodes, by name."""
        return self._call("GET", "/api/v1/nodes")

    def list_notifications(self, *, status: Optional[str] = None, type: Optional[str] = None, site: Optional[str] = None, list: Optional[str] = None, from_: Optional[str] = None, to: Optional[str] = None, stuck: Optional[bool] = None, q: Optional[str] = None, work: Optional[int] = None, cursor: Optional[str] = None, limit: Optional[int] = None) -> m.NotificationPage:
        """List notifications, newest first."""
        return self._call("GET", "/api/v1/notifications", query={"status": status, "type": type, "site": site, "list": list, "from": from_, "to": to, "stuck": stuck, "q": q, "work": work, "cursor": cursor, "limit": limit})

    def iter_notifications(self, *, status: Optional[str] = None, type: Optional[str] = None, site: Optional[str] = None, list: Optional[str] = None, from_: Optional[str] = None, to: Optional[str] = None, stuck: Optional[bool] = None, q: Optional[str] = None, work: Optional[int] = None, limit: Optional[int] = None) -> Iterator[m.Notification]:
        """List notifications, newest first. Page after page."""
        return self._items(lambda cursor: self.list_notifications(status=status, type=type, site=site, list=list, from_=from_, to=to, stuck=stuck, q=q, work=work, limit=limit, cursor=cursor))

    def list_operations_events(self, *, from_: Optional[str] = None, to: Optional[str] = None, cursor: Optional[str] = None, limit: Optional[int] = None) -> m.EventPage:
        """List events, in the order they were made, or those of a stretch of time by their end."""
        return self._call("GET", "/api/v1/operations/events", query={"from": from_, "to": to, "cursor": cursor, "limit": limit})

    def iter_operations_events(self, *, from_: Optional[str] = None, to: Optional[str] = None, limit: Optional[int] = None) -> Iterator[m.Event]:
        """List events, in the order they were made, or those of a stretch of time by their end. Page after page."""
        return self._items(lambda cursor: self.list_operations_events(from_=from_, to=to, limit=limit, cursor=cursor))

    def list_operations_organisations(self, *, cursor: Optional[str] = None, limit: Optional[int] = None) -> m.OrganisationPage:
        """All organisations, by id."""
        return self._call("GET", "/api/v1/operations/organisations", query={"cursor": cursor, "limit": limit})

    def iter_operations_organisations(self, *, limit: Optional[int] = None) -> Iterator[m.Organisation]:
        """All organisations, by id. Page after page."""
        return self._items(lambda cursor: self.list_operations_organisations(limit=limit, cursor=cursor))

    def list_operations_people(self, *, cursor: Optional[str] = None, limit: Optional[int] = None) -> m.PersonPage:
        """All people, by id."""
        return self._call("GET", "/api/v1/operations/people", query={"cursor": cursor, "limit": limit})

    def iter_operations_people(self, *, limit: Optional[int] = None) -> Iterator[m.Person]:
        """All people, by id. Page after page."""
        return self._items(lambda cursor: self.list_operations_people(limit=limit, cursor=cursor))

    def list_operations_rules(self, *, subject_id: Optional[str] = None, cursor: Optional[str] = None, limit: Optional[int] = None) -> m.RulePage:
        """List rules."""
        return self._call("GET", "/api/v1/operations/rules", query={"subjectId": subject_id, "cursor": cursor, "limit": limit})

    def iter_operations_rules(self, *, subject_id: Optional[str] = None, limit: Optional[int] = None) -> Iterator[m.Rule]:
        """List rules. Page after page."""
        return self._items(lambda cursor: self.list_operations_rules(subject_id=subject_id, limit=limit, cursor=cursor))

    def list_operations_tasks(self, *, from_: Optional[str] = None, to: Optional[str] = None, cursor: Optional[str] = None, limit: Optional[int] = None) -> m.TaskPage:
        """List tasks, in the order they were made, or those of a stretch of time by their end."""
        return self._call("GET", "/api/v1/operations/tasks", query={"from": from_, "to": to, "cursor": cursor, "limit": limit})

    def iter_operations_tasks(self, *, from_: Optional[str] = None, to: Optional[str] = None, limit: Optional[int] = None) -> Iterator[m.Task]:
        """List tasks, in the order they were made, or those of a stretch of time by their end. Page after page."""
        return self._items(lambda cursor: self.list_operations_tasks(from_=from_, to=to, limit=limit, cursor=cursor))

    def list_orphaned_report_subscriptions(self, *, cursor: Optional[str] = None, limit: Optional[int] = None) -> m.OrphanedSubscriptionPage:
        """Subscriptions whose owner or recipients are gone."""
        return self._call("GET", "/api/v1/report-subscriptions/orphans", query={"cursor": cursor, "limit": limit})

    def iter_orphaned_report_subscriptions(self, *, limit: Optional[int] = None) -> Iterator[m.OrphanedSubscription]:
        """Subscriptions whose owner or recipients are gone. Page after page."""
        return self._items(lambda cursor: self.list_orphaned_report_subscriptions(limit=limit, cursor=cursor))

    def list_outbox_events(self, *, cursor: Optional[str] = None, limit: Optional[int] = None) -> m.OutboxEventPage:
        """What happened, newest first, with its deliveries."""
        return self._call("GET", "/api/v1/outbox-events", query={"cursor": cursor, "limit": limit})

    def iter_outbox_events(self, *, limit: Optional[int] = None) -> Iterator[m.OutboxEvent]:
        """What happened, newest first, with its deliveries. Page after page."""
        return self._items(lambda cursor: self.list_outbox_events(limit=limit, cursor=cursor))

    def list_preferences(self, *, cursor: Optional[str] = None, limit: Optional[int] = None) -> m.PreferencePage:
        """What people want, by name."""
        return self._call("GET", "/api/v1/preferences", query={"cursor": cursor, "limit": limit})

    def iter_preferences(self, *, limit: Optional[int] = None) -> Iterator[m.Preference]:
        """What people want, by name. Page after page."""
        return self._items(lambda cursor: self.list_preferences(limit=limit, cursor=cursor))

    def list_recent_automation_runs(self, guid: str, *, cursor: Optional[str] = None, limit: Optional[int] = None) -> m.RunSummaryPage:
        """The latest runs of a subscription."""
        return self._call("GET", f"/api/v1/report-subscriptions/{self._segment('guid', guid)}/automation-runs/recent", query={"cursor": cursor, "limit": limit})

    def iter_recent_automation_runs(self, guid: str, *, limit: Optional[int] = None) -> Iterator[m.RunSummary]:
        """The latest runs of a subscription. Page after page."""
        return self._items(lambda cursor: self.list_recent_automation_runs(guid, limit=limit, cursor=cursor))

    def list_recent_report_runs(self, *, cursor: Optional[str] = None, limit: Optional[int] = None) -> m.RunSummaryPage:
        """The latest runs over all subscriptions."""
        return self._call("GET", "/api/v1/report-runs/recent", query={"cursor": cursor, "limit": limit})

    def iter_recent_report_runs(self, *, limit: Optional[int] = None) -> Iterator[m.RunSummary]:
        """The latest runs over all subscriptions. Page after page."""
        return self._items(lambda cursor: self.list_recent_report_runs(limit=limit, cursor=cursor))

    def list_reconciliations(self) -> m.ReconciliationPage:
        """Every trigger provider, and how far it has looked."""
        return self._call("GET", "/api/v1/reconciliations")

    def list_reminder_settings(self, *, cursor: Optional[str] = None, limit: Optional[int] = None) -> m.ReminderSettingPage:
        """All reminder settings."""
        return self._call("GET", "/api/v1/reminder-settings", query={"cursor": cursor, "limit": limit})

    def iter_reminder_settings(self, *, limit: Optional[int] = None) -> Iterator[m.ReminderSetting]:
        """All reminder settings. Page after page."""
        return self._items(lambda cursor: self.list_reminder_settings(limit=limit, cursor=cursor))

    def list_report_subscription_automation_runs(self, guid: str, *, status: Optional[str] = None, cursor: Optional[str] = None, limit: Optional[int] = None) -> m.RunSummaryPage:
        """The runs of a subscription, newest first."""
        return self._call("GET", f"/api/v1/report-subscriptions/{self._segment('guid', guid)}/automation-runs", query={"status": status, "cursor": cursor, "limit": limit})

    def iter_report_subscription_automation_runs(self, guid: str, *, status: Optional[str] = None, limit: Optional[int] = None) -> Iterator[m.RunSummary]:
        """The runs of a subscription, newest first. Page after page."""
        return self._items(lambda cursor: self.list_report_subscription_automation_runs(guid, status=status, limit=limit, cursor=cursor))

    def list_report_subscriptions(self, *, cursor: Optional[str] = None, limit: Optional[int] = None) -> m.ReportSubscriptionPage:
        """All subscriptions."""
        return self._call("GET", "/api/v1/report-subscriptions", query={"cursor": cursor, "limit": limit})

    def iter_report_subscriptions(self, *, limit: Optional[int] = None) -> Iterator[m.ReportSubscription]:
        """All subscriptions. Page after page."""
        return self._items(lambda cursor: self.list_report_subscriptions(limit=limit, cursor=cursor))

    def list_rollouts_report_subscription(self) -> m.RolloutPage:
        """All rollouts of report subscriptions."""
        return self._call("GET", "/api/v1/rollouts/report-subscription")

    def list_sandbox_sent(self) -> m.SentMessages:
        """What the channels were given, oldest first."""
        return self._call("GET", "/api/v1/sandbox/sent")

    def list_schedules(self, *, cursor: Optional[str] = None, limit: Optional[int] = None) -> m.SchedulePage:
        """List schedules, newest first."""
        return self._call("GET", "/api/v1/schedules", query={"cursor": cursor, "limit": limit})

    def iter_schedules(self, *, limit: Optional[int] = None) -> Iterator[m.Schedule]:
        """List schedules, newest first. Page after page."""
        return self._items(lambda cursor: self.list_schedules(limit=limit, cursor=cursor))

    def list_site_events(self, site: str, *, cursor: Optional[str] = None, limit: Optional[int] = None) -> m.SiteEventPage:
        """A site's event log, newest first."""
        return self._call("GET", f"/api/v1/sites/{self._segment('site', site)}/events", query={"cursor": cursor, "limit": limit})

    def iter_site_events(self, site: str, *, limit: Optional[int] = None) -> Iterator[m.SiteEvent]:
        """A site's event log, newest first. Page after page."""
        return self._items(lambda cursor: self.list_site_events(site, limit=limit, cursor=cursor))

    def list_sites(self, *, cursor: Optional[str] = None, limit: Optional[int] = None) -> m.SitePage:
        """All sites, by id."""
        return self._call("GET", "/api/v1/sites", query={"cursor": cursor, "limit": limit})

    def iter_sites(self, *, limit: Optional[int] = None) -> Iterator[m.Site]:
        """All sites, by id. Page after page."""
        return self._items(lambda cursor: self.list_sites(limit=limit, cursor=cursor))

    def list_sources(self, type: str, *, cursor: Optional[str] = None, limit: Optional[int] = None) -> m.SourcePage:
        """The sources of one type, by id."""
        return self._call("GET", f"/api/v1/sources/{self._segment('type', type)}", query={"cursor": cursor, "limit": limit})

    def iter_sources(self, type: str, *, limit: Optional[int] = None) -> Iterator[m.Source]:
        """The sources of one type, by id. Page after page."""
        return self._items(lambda cursor: self.list_sources(type, limit=limit, cursor=cursor))

    def list_subscribers(self) -> m.SubscriberPage:
        """All subscribers, by key."""
        return self._call("GET", "/api/v1/subscribers")

    def list_suppressions(self, *, channel_type: Optional[str] = None, reason: Optional[str] = None, q: Optional[str] = None, cursor: Optional[str] = None, limit: Optional[int] = None) -> m.SuppressionPage:
        """The list, by type and address."""
        return self._call("GET", "/api/v1/suppressions", query={"channelType": channel_type, "reason": reason, "q": q, "cursor": cursor, "limit": limit})

    def iter_suppressions(self, *, channel_type: Optional[str] = None, reason: Optional[str] = None, q: Optional[str] = None, limit: Optional[int] = None) -> Iterator[m.Suppression]:
        """The list, by type and address. Page after page."""
        return self._items(lambda cursor: self.list_suppressions(channel_type=channel_type, reason=reason, q=q, limit=limit, cursor=cursor))

    def list_survey_instances(self, id: int, *, status: Optional[str] = None, trigger_id: Optional[str] = None, customer_ref: Optional[str] = None, cursor: Optional[str] = None, limit: Optional[int] = None) -> m.InstancePage:
        """List the instances of a survey, newest first."""
        return self._call("GET", f"/api/v1/surveys/{self._segment('id', id)}/instances", query={"status": status, "triggerId": trigger_id, "customerRef": customer_ref, "cursor": cursor, "limit": limit})

    def iter_survey_instances(self, id: int, *, status: Optional[str] = None, trigger_id: Optional[str] = None, customer_ref: Optional[str] = None, limit: Optional[int] = None) -> Iterator[m.Instance]:
        """List the instances of a survey, newest first. Page after page."""
        return self._items(lambda cursor: self.list_survey_instances(id, status=status, trigger_id=trigger_id, customer_ref=customer_ref, limit=limit, cursor=cursor))

    def list_surveys(self, *, cursor: Optional[str] = None, limit: Optional[int] = None) -> m.SurveyPage:
        """List surveys, newest first."""
        return self._call("GET", "/api/v1/surveys", query={"cursor": cursor, "limit": limit})

    def iter_surveys(self, *, limit: Optional[int] = None) -> Iterator[m.Survey]:
        """List surveys, newest first. Page after page."""
        return self._items(lambda cursor: self.list_surveys(limit=limit, cursor=cursor))

    def list_templates(self, *, cursor: Optional[str] = None, limit: Optional[int] = None) -> m.TemplatePage:
        """All templates, by name."""
        return self._call("GET", "/api/v1/templates", query={"cursor": cursor, "limit": limit})

    def iter_templates(self, *, limit: Optional[int] = None) -> Iterator[m.Template]:
        """All templates, by name. Page after page."""
        return self._items(lambda cursor: self.list_templates(limit=limit, cursor=cursor))

    def list_users(self, *, cursor: Optional[str] = None, limit: Optional[int] = None) -> m.UserPage:
        """List people, by email."""
        return self._call("GET", "/api/v1/users", query={"cursor": cursor, "limit": limit})

    def iter_users(self, *, limit: Optional[int] = None) -> Iterator[m.User]:
        """List people, by email. Page after page."""
        return self._items(lambda cursor: self.list_users(limit=limit, cursor=cursor))

    def list_work(self, *, status: Optional[str] = None, kind: Optional[str] = None, hold: Optional[bool] = None, source_type: Optional[str] = None, source_id: Optional[str] = None, from_: Optional[str] = None, to: Optional[str] = None, cursor: Optional[str] = None, limit: Optional[int] = None) -> m.WorkPage:
        """List work, newest first."""
        return self._call("GET", "/api/v1/work", query={"status": status, "kind": kind, "hold": hold, "sourceType": source_type, "sourceId": source_id, "from": from_, "to": to, "cursor": cursor, "limit": limit})

    def iter_work(self, *, status: Optional[str] = None, kind: Optional[str] = None, hold: Optional[bool] = None, source_type: Optional[str] = None, source_id: Optional[str] = None, from_: Optional[str] = None, to: Optional[str] = None, limit: Optional[int] = None) -> Iterator[m.Work]:
        """List work, newest first. Page after page."""
        return self._items(lambda cursor: self.list_work(status=status, kind=kind, hold=hold, source_type=source_type, source_id=source_id, from_=from_, to=to, limit=limit, cursor=cursor))

    def mark_survey_opened(self, public_id: str, *, idempotency_key: Optional[str] = None) -> None:
        """Say that the page is shown to a person."""
        return self._call("POST", f"/api/v1/public/surveys/{self._segment('publicId', public_id)}/opened", idempotency_key=idempotency_key)

    def pause_report_subscription(self, guid: str, body: Optional[m.ActionRequest] = None, *, idempotency_key: Optional[str] = None) -> m.ReportSubscription:
        """Pause a subscription: what waits is deactivated."""
        return self._call("POST", f"/api/v1/report-subscriptions/{self._segment('guid', guid)}/pause", body=body, idempotency_key=idempotency_key)

    def plan_new_reminder_setting(self, body: m.ReminderSettingRequest, *, idempotency_key: Optional[str] = None) -> m.ReminderPlan:
        """See what a new reminder setting would do."""
        return self._call("POST", "/api/v1/reminder-settings/plan", body=body, idempotency_key=idempotency_key)

    def plan_reminder_setting(self, id: str, body: m.ReminderSettingChange, *, idempotency_key: Optional[str] = None) -> m.ReminderPlan:
        """See what a change of a reminder setting would do."""
        return self._call("POST", f"/api/v1/reminder-settings/{self._segment('id', id)}/plan", body=body, idempotency_key=idempotency_key)

    def plan_retention(self, body: m.RetentionSettings, *, idempotency_key: Optional[str] = None) -> m.RetentionPlan:
        """See what other times would remove."""
        return self._call("POST", "/api/v1/retention/plan", body=body, idempotency_key=idempotency_key)

    def preview_template(self, name: str, body: m.PreviewRequest, *, idempotency_key: Optional[str] = None) -> m.Preview:
        """Show a template as a recipient would see it."""
        return self._call("POST", f"/api/v1/templates/{self._segment('name', name)}/preview", body=body, idempotency_key=idempotency_key)

    def publish_survey(self, id: int, *, idempotency_key: Optional[str] = None) -> m.SurveyPublished:
        """Publish a survey."""
        return self._call("POST", f"/api/v1/surveys/{self._segment('id', id)}/publish", idempotency_key=idempotency_key)

    def purge(self, body: Optional[m.PurgeRequest] = None, *, idempotency_key: Optional[str] = None) -> m.PurgeRun:
        """Purge now; with `confirm`, also what the daily run held back."""
        return self._call("POST", "/api/v1/retention/purge", body=body, idempotency_key=idempotency_key)

    def put_business_unit(self, id: str, body: m.BusinessUnitRequest) -> m.BusinessUnit:
        """Define a business unit."""
        return self._call("PUT", f"/api/v1/business-units/{self._segment('id', id)}", body=body)

    def put_channel(self, key: str, body: m.ChannelRequest) -> m.Channel:
        """Define a channel."""
        return self._call("PUT", f"/api/v1/channels/{self._segment('key', key)}", body=body)

    def put_consumer(self, key: str, body: m.ConsumerRequest) -> m.Consumer:
        """Define a consumer."""
        return self._call("PUT", f"/api/v1/consumers/{self._segment('key', key)}", body=body)

    def put_delivery_policy(self, body: m.DeliveryPolicyInput) -> m.DeliveryPolicy:
        """Set the delivery policy."""
        return self._call("PUT", "/api/v1/delivery-policy", body=body)

    def put_list(self, name: str, body: m.ListRequest) -> m.List:
        """Define a list."""
        return self._call("PUT", f"/api/v1/lists/{self._segment('name', name)}", body=body)

    def put_operations_organisation(self, id: str, body: m.OrganisationRequest) -> m.Organisation:
        """Keep an organisation."""
        return self._call("PUT", f"/api/v1/operations/organisations/{self._segment('id', id)}", body=body)

    def put_operations_person(self, id: str, body: m.PersonRequest) -> m.Person:
        """Keep a person."""
        return self._call("PUT", f"/api/v1/operations/people/{self._segment('id', id)}", body=body)

    def put_preference(self, person: str, body: m.PreferenceRequest) -> m.Preference:
        """Say what a person wants."""
        return self._call("PUT", f"/api/v1/preferences/{self._segment('person', person)}", body=body)

    def put_reminder_setting(self, id: str, body: m.ReminderSettingRequest) -> m.ReminderSetting:
        """Define a reminder setting, whole."""
        return self._call("PUT", f"/api/v1/reminder-settings/{self._segment('id', id)}", body=body)

    def put_report_subscription(self, guid: str, body: m.ReportSubscriptionRequest) -> m.ReportSubscription:
        """Define a subscription, whole."""
        return self._call("PUT", f"/api/v1/report-subscriptions/{self._segment('guid', guid)}", body=body)

    def put_retention(self, body: m.RetentionSettings) -> m.Retention:
        """Set how long is kept."""
        return self._call("PUT", "/api/v1/retention", body=body)

    def put_rollouts_report_subscription(self, scope: str, id: str, body: m.RolloutRequest) -> m.Rollout:
        """Set the stage of a rollout."""
        return self._call("PUT", f"/api/v1/rollouts/report-subscription/{self._segment('scope', scope)}/{self._segment('id', id)}", body=body)

    def put_sandbox_channel(self, key: str, body: m.MisbehaviourRequest) -> None:
        """Make a channel misbehave."""
        return self._call("PUT", f"/api/v1/sandbox/channels/{self._segment('key', key)}", body=body)

    def put_sandbox_clock(self, body: m.ClockRequest) -> m.SandboxClock:
        """Move the clock, and run what is ready."""
        return self._call("PUT", "/api/v1/sandbox/clock", body=body)

    def put_source(self, type: str, id: str, body: m.SourceRequest) -> m.Source:
        """Tell the state of a source."""
        return self._call("PUT", f"/api/v1/sources/{self._segment('type', type)}/{self._segment('id', id)}", body=body)

    def put_sources(self, body: m.NamedSourceRequestBatch, *, idempotency_key: Optional[str] = None) -> m.SourceOutcomeBatch:
        """Tell the states of at most 10,000 sources."""
        return self._call("POST", "/api/v1/sources", body=body, idempotency_key=idempotency_key)

    def put_subscriber(self, key: str, body: m.SubscriberRequest) -> m.Subscriber:
        """Define a subscriber."""
        return self._call("PUT", f"/api/v1/subscribers/{self._segment('key', key)}", body=body)

    def put_suppression(self, channel_type: str, address: str, body: Optional[m.SuppressionRequest] = None) -> m.Suppression:
        """Put an address on the list."""
        return self._call("PUT", f"/api/v1/suppressions/{self._segment('channelType', channel_type)}/{self._segment('address', address)}", body=body)

    def put_survey(self, id: int, body: m.SurveyRequest) -> m.Survey:
        """Change a survey."""
        return self._call("PUT", f"/api/v1/surveys/{self._segment('id', id)}", body=body)

    def put_template(self, name: str, body: m.TemplateRequest) -> m.Template:
        """Define a template."""
        return self._call("PUT", f"/api/v1/templates/{self._segment('name', name)}", body=body)

    def read_inbox_message(self, id: str, *, idempotency_key: Optional[str] = None) -> m.InboxMessage:
        """Mark a message as read."""
        return self._call("POST", f"/api/v1/inbox/{self._segment('id', id)}/read", idempotency_key=idempotency_key)

    def read_whole_inbox(self, body: m.InboxRead, *, idempotency_key: Optional[str] = None) -> None:
        """Mark every message up to one as read."""
        return self._call("POST", "/api/v1/inbox/read", body=body, idempotency_key=idempotency_key)

    def receive_callback(self, channel: str, body: Union[str, bytes], *, content_type: str = "application/json", idempotency_key: Optional[str] = None) -> m.ReceiptsTaken:
        """What a provider reports about messages."""
        return self._call("POST", f"/api/v1/callbacks/{self._segment('channel', channel)}", body=body, content_type=content_type, idempotency_key=idempotency_key)

    def receive_secret_callback(self, channel: str, secret: str, body: Union[str, bytes], *, content_type: str = "application/json", idempotency_key: Optional[str] = None) -> m.ReceiptsTaken:
        """The same, for providers that sign nothing: the address itself is the secret."""
        return self._call("POST", f"/api/v1/callbacks/{self._segment('channel', channel)}/{self._segment('secret', secret)}", body=body, content_type=content_type, idempotency_key=idempotency_key)

    def rekey_secrets(self, body: Optional[m.RekeyRequest] = None, *, idempotency_key: Optional[str] = None) -> m.Rekey:
        """Seal every secret again."""
        return self._call("POST", "/api/v1/secrets/rekey", body=body, idempotency_key=idempotency_key)

    def release_restore(self, body: Optional[m.ReasonRequest] = None, *, idempotency_key: Optional[str] = None) -> m.RestoreSettled:
        """Send what was due when the database was restored."""
        return self._call("POST", "/api/v1/restore/release", body=body, idempotency_key=idempotency_key)

    def release_work(self, id: int, body: Optional[m.ActionRequest] = None, *, idempotency_key: Optional[str] = None) -> m.Work:
        """Let a held row go on."""
        return self._call("POST", f"/api/v1/work/{self._segment('id', id)}/release", body=body, idempotency_key=idempotency_key)

    def repair_operations_rule(self, id: str, *, idempotency_key: Optional[str] = None) -> m.Rule:
        """Schedule a rule again that is out of step."""
        return self._call("POST", f"/api/v1/operations/rules/{self._segment('id', id)}/repair", idempotency_key=idempotency_key)

    def report_on_report_run(self, key: str, body: m.OwnershipReport) -> m.Ownership:
        """Report on a run."""
        return self._call("PATCH", f"/api/v1/report-runs/{self._segment('key', key)}/ownership", body=body)

    def respond_to_survey(self, public_id: str, body: m.ResponseRequest, *, idempotency_key: Optional[str] = None) -> m.ResponseTaken:
        """Answer."""
        return self._call("POST", f"/api/v1/public/surveys/{self._segment('publicId', public_id)}/responses", body=body, idempotency_key=idempotency_key)

    def respond_to_survey_instance(self, public_id: str, body: m.ResponseRequest, *, idempotency_key: Optional[str] = None) -> m.ResponseTaken:
        """The same, at the address that other systems know."""
        return self._call("POST", f"/SurveyInstances/{self._segment('publicId', public_id)}/responses", body=body, idempotency_key=idempotency_key)

    def resume_report_subscription(self, guid: str, body: Optional[m.ActionRequest] = None, *, idempotency_key: Optional[str] = None) -> m.ReportSubscription:
        """Resume a subscription: its next run is planned."""
        return self._call("POST", f"/api/v1/report-subscriptions/{self._segment('guid', guid)}/resume", body=body, idempotency_key=idempotency_key)

    def retry_notification(self, id: str, body: Optional[m.ActionRequest] = None, *, idempotency_key: Optional[str] = None) -> m.Notification:
        """Try a parked notification again."""
        return self._call("POST", f"/api/v1/notifications/{self._segment('id', id)}/retry", body=body, idempotency_key=idempotency_key)

    def retry_outbox_event_delivery(self, id: int, subscriber: str, *, idempotency_key: Optional[str] = None) -> m.OutboxEvent:
        """Retry the delivery to one subscriber."""
        return self._call("POST", f"/api/v1/outbox-events/{self._segment('id', id)}/deliveries/{self._segment('subscriber', subscriber)}/retry", idempotency_key=idempotency_key)

    def retry_report_subscription_automation_run(self, guid: str, run: str, body: Optional[m.ActionRequest] = None, *, idempotency_key: Optional[str] = None) -> m.AutomationRun:
        """Try a run again."""
        return self._call("POST", f"/api/v1/report-subscriptions/{self._segment('guid', guid)}/automation-runs/{self._segment('run', run)}/retry", body=body, idempotency_key=idempotency_key)

    def retry_subscriber(self, key: str, body: Optional[m.ReasonRequest] = None, *, idempotency_key: Optional[str] = None) -> m.RetriedDeliveries:
        """Retry all failed deliveries of a subscriber."""
        return self._call("POST", f"/api/v1/subscribers/{self._segment('key', key)}/retry", body=body, idempotency_key=idempotency_key)

    def retry_work(self, id: int, body: Optional[m.ActionRequest] = None, *, idempotency_key: Optional[str] = None) -> m.Work:
        """Try a row again."""
        return self._call("POST", f"/api/v1/work/{self._segment('id', id)}/retry", body=body, idempotency_key=idempotency_key)

    def revoke_site(self, site: str, *, idempotency_key: Optional[str] = None) -> m.Site:
        """Revoke a site's token."""
        return self._call("POST", f"/api/v1/sites/{self._segment('site', site)}/revoke", idempotency_key=idempotency_key)

    def rollback_rollouts_report_subscription(self, scope: str, id: str, body: Optional[m.RollBackRequest] = None, *, idempotency_key: Optional[str] = None) -> m.RolledBack:
        """Go back to the old scheduler."""
        return self._call("POST", f"/api/v1/rollouts/report-subscription/{self._segment('scope', scope)}/{self._segment('id', id)}/rollback", body=body, idempotency_key=idempotency_key)

    def rotate_channel_secret(self, key: str, *, idempotency_key: Optional[str] = None) -> m.RotatedSecret:
        """Give a webhook a new signing secret."""
        return self._call("POST", f"/api/v1/channels/{self._segment('key', key)}/rotate-secret", idempotency_key=idempotency_key)

    def rotate_site_token(self, site: str, body: Optional[m.SiteRotateRequest] = None, *, idempotency_key: Optional[str] = None) -> m.SiteToken:
        """Give a site a new token."""
        return self._call("POST", f"/api/v1/sites/{self._segment('site', site)}/rotate", body=body, idempotency_key=idempotency_key)

    def run_reconciliation(self, provider: str, body: m.RunRequest, *, idempotency_key: Optional[str] = None) -> m.ReconciliationRun:
        """Let a provider look now, or see what it would do."""
        return self._call("POST", f"/api/v1/reconciliations/{self._segment('provider', provider)}/run", body=body, idempotency_key=idempotency_key)

    def send_events(self, body: Union[m.EventRequest, list[m.EventRequest]], *, idempotency_key: Optional[str] = None) -> m.EventOutcomeBatch:
        """Report an event, or an array of at most 1,000."""
        return self._call("POST", "/api/v1/events", body=body, idempotency_key=idempotency_key)

    def take_report_run_ownership(self, key: str, body: m.OwnershipRequest, *, idempotency_key: Optional[str] = None) -> m.Ownership:
        """Take a run."""
        return self._call("POST", f"/api/v1/report-runs/{self._segment('key', key)}/ownership", body=body, idempotency_key=idempotency_key)

    def test_channel(self, key: str, body: m.ChannelTestRequest, *, idempotency_key: Optional[str] = None) -> m.ChannelTest:
        """Send a test message over a channel."""
        return self._call("POST", f"/api/v1/channels/{self._segment('key', key)}/test", body=body, idempotency_key=idempotency_key)

    def tick_scheduler(self, body: Optional[m.TickRequest] = None, *, idempotency_key: Optional[str] = None) -> m.Tick:
        """Run one pass over every stage and return the counts."""
        return self._call("POST", "/api/v1/scheduler/tick", body=body, idempotency_key=idempotency_key)

    def transfer_report_subscription(self, guid: str, body: m.TransferRequest, *, idempotency_key: Optional[str] = None) -> m.ReportSubscription:
        """Hand a subscription over to another owner."""
        return self._call("POST", f"/api/v1/report-subscriptions/{self._segment('guid', guid)}/transfer", body=body, idempotency_key=idempotency_key)

    def update_message(self, id: str, body: m.MessageChange) -> m.Message:
        """Change a message that is pending."""
        return self._call("PATCH", f"/api/v1/messages/{self._segment('id', id)}", body=body)

    def update_operations_event(self, id: str, body: m.EventChange) -> m.Event:
        """Change an event; a changed date moves its messages."""
        return self._call("PATCH", f"/api/v1/operations/events/{self._segment('id', id)}", body=body)

    def update_operations_rule(self, id: str, body: m.RuleChange) -> m.Rule:
        """Change, pause or resume a rule."""
        return self._call("PATCH", f"/api/v1/operations/rules/{self._segment('id', id)}", body=body)

    def update_operations_task(self, id: str, body: m.TaskChange) -> m.Task:
        """Change a task; a changed date moves its messages."""
        return self._call("PATCH", f"/api/v1/operations/tasks/{self._segment('id', id)}", body=body)

    def update_reminder_setting(self, id: str, body: m.ReminderSettingChange) -> m.ReminderSetting:
        """Change some fields of a reminder setting."""
        return self._call("PATCH", f"/api/v1/reminder-settings/{self._segment('id', id)}", body=body)

    def update_report_subscription(self, guid: str, body: m.ReportSubscriptionChange) -> m.ReportSubscription:
        """Change some fields of a subscription."""
        return self._call("PATCH", f"/api/v1/report-subscriptions/{self._segment('guid', guid)}", body=body)

    def update_schedule(self, id: str, body: m.ScheduleChange) -> m.Schedule:
        """Move a schedule to another moment."""
        return self._call("PATCH", f"/api/v1/schedules/{self._segment('id', id)}", body=body)

    def update_site(self, site: str, body: m.SiteChange) -> m.Site:
        """Change whose a site is."""
        return self._call("PATCH", f"/api/v1/sites/{self._segment('site', site)}", body=body)

    def update_user(self, id: str, body: m.UserChangeRequest) -> m.User:
        """Change a person."""
        return self._call("PATCH", f"/api/v1/users/{self._segment('id', id)}", body=body)
