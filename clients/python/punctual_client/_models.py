"""The shapes of requests and responses. Generated from docs/openapi.json by clients/generate; do not edit."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypeAlias, TypedDict, Union


ActionRequest = TypedDict(
    "ActionRequest",
    {
        "reason": NotRequired["Union[str, None]"],
        "version": NotRequired["Union[int, None]"],
    },
)

Amqp1ConsumerSettings = TypedDict(
    "Amqp1ConsumerSettings",
    {
        "address": "str",
        "batch": NotRequired["Union[int, None]"],
        "deadLetterAddress": "str",
        "password": NotRequired["Union[str, StoredSecret, None]"],
        "url": "str",
        "username": NotRequired["Union[str, None]"],
        "virtualHost": NotRequired["Union[str, None]"],
    },
)

Amqp1Settings = TypedDict(
    "Amqp1Settings",
    {
        "address": "str",
        "password": NotRequired["Union[str, StoredSecret, None]"],
        "timeoutSeconds": NotRequired["Union[int, None]"],
        "url": "str",
        "username": NotRequired["Union[str, None]"],
        "virtualHost": NotRequired["Union[str, None]"],
    },
)

AmqpConsumerSettings = TypedDict(
    "AmqpConsumerSettings",
    {
        "batch": NotRequired["Union[int, None]"],
        "deadLetterQueue": "str",
        "password": NotRequired["Union[str, StoredSecret, None]"],
        "queue": "str",
        "url": "str",
        "username": NotRequired["Union[str, None]"],
    },
)

AmqpSettings = TypedDict(
    "AmqpSettings",
    {
        "exchange": NotRequired["Union[str, None]"],
        "password": NotRequired["Union[str, StoredSecret, None]"],
        "persistent": NotRequired["Union[bool, None]"],
        "queue": NotRequired["Union[str, None]"],
        "routingKey": NotRequired["Union[str, None]"],
        "timeoutSeconds": NotRequired["Union[int, None]"],
        "url": "str",
        "username": NotRequired["Union[str, None]"],
    },
)

ApiKey = TypedDict(
    "ApiKey",
    {
        "businessUnits": NotRequired["Union[list[str], None]"],
        "createdAt": "str",
        "expiresAt": NotRequired["Union[str, None]"],
        "id": "str",
        "lastUsedAt": NotRequired["Union[str, None]"],
        "name": "str",
        "revokedAt": NotRequired["Union[str, None]"],
        "scopes": "list[Scope]",
        "site": NotRequired["Union[str, None]"],
    },
)

ApiKeyCreated = TypedDict(
    "ApiKeyCreated",
    {
        "businessUnits": NotRequired["Union[list[str], None]"],
        "createdAt": "str",
        "expiresAt": NotRequired["Union[str, None]"],
        "id": "str",
        "key": NotRequired["str"],
        "lastUsedAt": NotRequired["Union[str, None]"],
        "name": "str",
        "revokedAt": NotRequired["Union[str, None]"],
        "scopes": "list[Scope]",
        "site": NotRequired["Union[str, None]"],
    },
)

ApiKeyPage = TypedDict(
    "ApiKeyPage",
    {
        "items": "list[ApiKey]",
        "nextCursor": NotRequired["Union[str, None]"],
    },
)

ApiKeyRequest = TypedDict(
    "ApiKeyRequest",
    {
        "businessUnits": NotRequired["Union[list[str], None]"],
        "expiresAt": NotRequired["Union[str, None]"],
        "name": "str",
        "scopes": "list[Scope]",
    },
)

Artefact = TypedDict(
    "Artefact",
    {
        "blob": "str",
        "bytes": "int",
        "href": "str",
        "locale": NotRequired["Union[str, None]"],
        "mediaType": "str",
        "name": "str",
        "purgedAt": NotRequired["Union[str, None]"],
        "timeZone": NotRequired["Union[str, None]"],
    },
)

Attachment = TypedDict(
    "Attachment",
    {
        "blob": NotRequired["Union[str, None]"],
        "contentType": "str",
        "name": "str",
        "size": NotRequired["Union[int, None]"],
    },
)

AttachmentRequest = TypedDict(
    "AttachmentRequest",
    {
        "blob": NotRequired["Union[str, None]"],
        "content": NotRequired["Union[str, None]"],
        "contentType": NotRequired["Union[str, None]"],
        "name": "str",
    },
)

Attention = TypedDict(
    "Attention",
    {
        "counts": "dict[str, int]",
        "items": "list[AttentionItem]",
    },
)

AttentionItem = TypedDict(
    "AttentionItem",
    {
        "cause": NotRequired["Union[str, None]"],
        "count": NotRequired["Union[int, None]"],
        "id": "str",
        "kind": "str",
        "link": "str",
        "reason": "str",
        "since": "str",
        "title": "str",
        "word": "str",
    },
)

AuditEntry = TypedDict(
    "AuditEntry",
    {
        "action": "str",
        "actor": "str",
        "at": "str",
        "businessUnit": NotRequired["Union[str, None]"],
        "data": NotRequired["Any"],
        "digest": NotRequired["Union[str, None]"],
        "from": NotRequired["Union[str, None]"],
        "reason": NotRequired["Union[str, None]"],
        "seq": "int",
        "subject": "str",
        "to": NotRequired["Union[str, None]"],
        "version": NotRequired["Union[int, None]"],
    },
)

AuditEntryPage = TypedDict(
    "AuditEntryPage",
    {
        "items": "list[AuditEntry]",
        "nextCursor": NotRequired["Union[str, None]"],
    },
)

AutomationRun = TypedDict(
    "AutomationRun",
    {
        "artefacts": "list[Artefact]",
        "attempts": "list[RunAttempt]",
        "businessUnit": NotRequired["Union[str, None]"],
        "coordinates": NotRequired["Union[dict[str, Any], None]"],
        "createdAt": "str",
        "dueAt": "str",
        "earlierAttempts": NotRequired["int"],
        "earlierReasonCode": NotRequired["Union[str, None]"],
        "fault": NotRequired["Union[dict[str, Any], None]"],
        "id": "int",
        "inputHash": "str",
        "key": "str",
        "kind": "str",
        "localDate": NotRequired["Union[str, None]"],
        "nextRetryAt": NotRequired["Union[str, None]"],
        "notifications": "list[RunDelivery]",
        "onHold": "bool",
        "outcome": NotRequired["Union[str, None]"],
        "owner": NotRequired["Union[str, None]"],
        "ownership": "Ownership",
        "periodEnd": NotRequired["Union[str, None]"],
        "periodStart": NotRequired["Union[str, None]"],
        "reasonCode": NotRequired["Union[str, None]"],
        "result": NotRequired["Union[dict[str, Any], None]"],
        "retryCount": "int",
        "retryOf": NotRequired["Union[int, None]"],
        "rows": NotRequired["Union[int, None]"],
        "runOutcome": NotRequired["Union[str, None]"],
        "sourceId": NotRequired["Union[str, None]"],
        "sourceType": NotRequired["Union[str, None]"],
        "status": "str",
        "storageRunKeyHash": "str",
        "subscriptionGuid": "str",
        "timeZone": NotRequired["Union[str, None]"],
        "title": NotRequired["str"],
        "tries": "int",
        "trigger": "str",
        "truncated": NotRequired["Union[bool, None]"],
        "updatedAt": "str",
        "version": "int",
    },
)

BatchItem = TypedDict(
    "BatchItem",
    {
        "error": NotRequired["Union[Problem, None]"],
        "id": NotRequired["Union[str, None]"],
        "index": "int",
        "outcome": "str",
        "status": NotRequired["Union[str, None]"],
        "warnings": NotRequired["list[FieldError]"],
    },
)

BatchResult = TypedDict(
    "BatchResult",
    {
        "items": "list[BatchItem]",
    },
)

Blob = TypedDict(
    "Blob",
    {
        "businessUnit": NotRequired["Union[str, None]"],
        "contentType": "str",
        "digest": "str",
        "expiresAt": "str",
        "id": "str",
        "size": "int",
    },
)

BusinessUnit = TypedDict(
    "BusinessUnit",
    {
        "id": "str",
        "name": "str",
        "quota": NotRequired["Union[Quota, None]"],
        "timeZone": "str",
        "updatedAt": "str",
        "usage": NotRequired["Union[QuotaUsage, None]"],
        "waiting": NotRequired["Union[int, None]"],
    },
)

BusinessUnitPage = TypedDict(
    "BusinessUnitPage",
    {
        "items": "list[BusinessUnit]",
        "nextCursor": NotRequired["Union[str, None]"],
    },
)

BusinessUnitRequest = TypedDict(
    "BusinessUnitRequest",
    {
        "name": "str",
        "quota": NotRequired["Union[QuotaInput, None]"],
        "timeZone": "str",
    },
)

CadenceShape = TypedDict(
    "CadenceShape",
    {
        "cron": NotRequired["Union[str, None]"],
        "rrule": NotRequired["Union[str, None]"],
        "sendTime": NotRequired["Union[str, None]"],
        "startsOn": NotRequired["Union[str, None]"],
        "timeZone": NotRequired["Union[str, None]"],
    },
)

CadenceShapeInput = TypedDict(
    "CadenceShapeInput",
    {
        "cron": NotRequired["Union[str, None]"],
        "rrule": NotRequired["Union[str, None]"],
        "sendTime": NotRequired["Union[str, None]"],
        "startsOn": NotRequired["Union[str, None]"],
        "timeZone": NotRequired["Union[str, None]"],
    },
)

CampaignRequest = TypedDict(
    "CampaignRequest",
    {
        "items": "list[IngestItem]",
        "triggerId": "str",
    },
)

Channel = TypedDict(
    "Channel",
    {
        "adapter": "str",
        "atMostOnce": "bool",
        "circuit": NotRequired["Union[CircuitSetting, None]"],
        "concurrency": NotRequired["Union[int, None]"],
        "health": NotRequired["Union[ChannelState, None]"],
        "key": "str",
        "limits": NotRequired["Union[Limits, None]"],
        "quietHours": NotRequired["Union[QuietHours, None]"],
        "retry": "RetrySettings",
        "secretsSet": "list[str]",
        "sendWindow": NotRequired["Union[SendWindow, None]"],
        "settings": "dict[str, Any]",
        "timeZone": NotRequired["Union[str, None]"],
        "updatedAt": "str",
        "version": "int",
    },
)

ChannelHealth = TypedDict(
    "ChannelHealth",
    {
        "averageMs": "int",
        "channel": "str",
        "delivered": "int",
        "lastError": NotRequired["Union[str, None]"],
        "lastErrorAt": NotRequired["Union[str, None]"],
        "successShare": "float",
        "tries": "int",
    },
)

ChannelHealthPage = TypedDict(
    "ChannelHealthPage",
    {
        "items": "list[ChannelHealth]",
        "nextCursor": NotRequired["Union[str, None]"],
    },
)

ChannelPage = TypedDict(
    "ChannelPage",
    {
        "items": "list[Channel]",
        "nextCursor": NotRequired["Union[str, None]"],
    },
)

ChannelRequest = TypedDict(
    "ChannelRequest",
    {
        "adapter": "str",
        "atMostOnce": NotRequired["Union[bool, None]"],
        "circuit": NotRequired["Union[CircuitSettingInput, None]"],
        "concurrency": NotRequired["Union[int, None]"],
        "limits": NotRequired["Union[LimitsInput, None]"],
        "quietHours": NotRequired["Union[QuietHoursInput, None]"],
        "retry": NotRequired["Union[RetrySettingsInput, None]"],
        "sendWindow": NotRequired["Union[SendWindowInput, None]"],
        "settings": NotRequired["Union[AmqpSettings, Amqp1Settings, InProcessSettings, MemorySettings, NatsSettings, SendgridSettings, SlackSettings, SmsGatewaySettings, SmtpSettings, TeamsSettings, TwilioSettings, WebhookSettings, Whatsapp360dialogSettings, WhatsappCloudSettings, WhatsappInfobipSettings, Union[dict[str, Any], None]]"],
        "timeZone": NotRequired["Union[str, None]"],
    },
)

ChannelState = TypedDict(
    "ChannelState",
    {
        "circuit": "str",
        "hosts": NotRequired["list[HostState]"],
        "lastError": NotRequired["Union[str, None]"],
        "openCount": "int",
        "openUntil": NotRequired["Union[str, None]"],
        "rates": "list[RateState]",
    },
)

ChannelTest = TypedDict(
    "ChannelTest",
    {
        "detail": NotRequired["Union[str, None]"],
        "durationMs": "int",
        "messageId": NotRequired["Union[str, None]"],
        "outcome": "str",
    },
)

ChannelTestRequest = TypedDict(
    "ChannelTestRequest",
    {
        "address": "str",
        "body": NotRequired["Union[str, None]"],
        "subject": NotRequired["Union[str, None]"],
    },
)

ChecklistPoint = TypedDict(
    "ChecklistPoint",
    {
        "at": NotRequired["Union[str, None]"],
        "by": NotRequired["Union[str, None]"],
        "confirmed": "bool",
        "name": "str",
        "what": "str",
    },
)

Circuit = TypedDict(
    "Circuit",
    {
        "failures": NotRequired["int"],
        "maxOpenFor": NotRequired["str"],
        "openFor": NotRequired["str"],
    },
)

CircuitInput = TypedDict(
    "CircuitInput",
    {
        "failures": NotRequired["Union[int, None]"],
        "maxOpenFor": NotRequired["Union[str, None]"],
        "openFor": NotRequired["Union[str, None]"],
    },
)

CircuitSetting: TypeAlias = "Union[bool, Circuit]"

CircuitSettingInput: TypeAlias = "Union[bool, CircuitInput]"

ClockRequest: TypeAlias = "dict[str, Any]"

Code: TypeAlias = "Literal['json_syntax', 'json_too_deep', 'json_duplicate_key', 'text_invalid', 'content_type', 'content_encoding', 'body_too_large', 'batch_too_large', 'unknown_field', 'missing_field', 'wrong_type', 'out_of_range', 'field_conflict', 'key_invalid', 'password_weak', 'idempotency_mismatch', 'time_no_offset', 'date_invalid', 'time_in_future', 'date_out_of_range', 'zone_unknown', 'duration_invalid', 'framing_ambiguous', 'unit_unknown', 'schedule_invalid', 'schedule_never', 'months_skipped', 'due_out_of_range', 'due_too_old', 'address_invalid', 'phone_invalid', 'subject_invalid', 'header_not_allowed', 'header_invalid', 'attachment_invalid', 'blob_unknown', 'attachments_not_supported', 'template_syntax', 'template_unknown_variable', 'template_limit', 'channel_unknown', 'url_scheme', 'url_port', 'url_userinfo', 'url_forbidden', 'url_host', 'secret_reference', 'secret_required', 'auth_failed', 'scope_missing', 'not_found', 'gone', 'method_not_allowed', 'request_timeout', 'stale_version', 'state_not_allowed', 'csrf', 'page_size', 'cursor_invalid', 'rate_limited', 'quota_exceeded', 'storage_unavailable', 'id_reused', 'site_mismatch', 'buffer_full', 'owned_by_other', 'import_invalid', 'signature_invalid', 'internal', 'unknown']"

ComparedRun = TypedDict(
    "ComparedRun",
    {
        "differenceSeconds": NotRequired["Union[int, None]"],
        "expectedAt": NotRequired["Union[str, None]"],
        "foundAt": NotRequired["Union[str, None]"],
        "key": "str",
        "verdict": "str",
    },
)

Comparison = TypedDict(
    "Comparison",
    {
        "counts": "dict[str, int]",
        "cut": "bool",
        "from": "str",
        "items": "list[ComparedRun]",
        "to": "str",
    },
)

Consumer = TypedDict(
    "Consumer",
    {
        "active": "bool",
        "adapter": "str",
        "businessUnit": NotRequired["Union[str, None]"],
        "health": "ConsumerHealth",
        "key": "str",
        "secretsSet": "list[str]",
        "settings": "dict[str, Any]",
        "updatedAt": "str",
        "version": "int",
    },
)

ConsumerHealth = TypedDict(
    "ConsumerHealth",
    {
        "accepted": "int",
        "duplicates": "int",
        "lag": NotRequired["Union[int, None]"],
        "lastError": NotRequired["Union[str, None]"],
        "lastErrorAt": NotRequired["Union[str, None]"],
        "lastMessageAt": NotRequired["Union[str, None]"],
        "nodes": "int",
        "refused": "int",
        "since": "str",
        "state": "str",
    },
)

ConsumerPage = TypedDict(
    "ConsumerPage",
    {
        "items": "list[Consumer]",
        "nextCursor": NotRequired["Union[str, None]"],
    },
)

ConsumerRequest = TypedDict(
    "ConsumerRequest",
    {
        "active": NotRequired["Union[bool, None]"],
        "adapter": "str",
        "businessUnit": NotRequired["Union[str, None]"],
        "settings": NotRequired["Union[AmqpConsumerSettings, Amqp1ConsumerSettings, NatsConsumerSettings, Union[dict[str, Any], None]]"],
    },
)

Coordinates = TypedDict(
    "Coordinates",
    {
        "artefacts": "list[Artefact]",
        "coordinates": NotRequired["Union[dict[str, Any], None]"],
        "key": "str",
        "notifications": "list[RunDelivery]",
        "storageRunKeyHash": "str",
    },
)

DateRule = TypedDict(
    "DateRule",
    {
        "field": "str",
        "offsetsDays": "list[int]",
        "sendTime": NotRequired["Union[str, None]"],
    },
)

DateRuleInput = TypedDict(
    "DateRuleInput",
    {
        "field": "str",
        "offsetsDays": "list[int]",
        "sendTime": NotRequired["Union[str, None]"],
    },
)

DefaultRuleShape = TypedDict(
    "DefaultRuleShape",
    {
        "channels": NotRequired["list[str]"],
        "failover": NotRequired["list[str]"],
        "message": NotRequired["RuleTexts"],
        "priority": NotRequired["Union[str, None]"],
        "rule": "RuleShape",
        "topic": NotRequired["Union[str, None]"],
    },
)

DefaultRuleShapeInput = TypedDict(
    "DefaultRuleShapeInput",
    {
        "channels": NotRequired["Union[list[str], None]"],
        "failover": NotRequired["Union[list[str], None]"],
        "message": NotRequired["Union[RuleTextsInput, None]"],
        "priority": NotRequired["Union[str, None]"],
        "rule": "RuleShapeInput",
        "topic": NotRequired["Union[str, None]"],
    },
)

DefinitionAction: TypeAlias = "Literal['create', 'update', 'delete']"

DefinitionChange = TypedDict(
    "DefinitionChange",
    {
        "action": "DefinitionAction",
        "fields": "list[FieldChange]",
        "id": "str",
        "kind": "str",
    },
)

Definitions = TypedDict(
    "Definitions",
    {
        "business-units": NotRequired["Union[dict[str, BusinessUnitRequest], None]"],
        "channels": NotRequired["Union[dict[str, ChannelRequest], None]"],
        "consumers": NotRequired["Union[dict[str, ConsumerRequest], None]"],
        "delivery-policy": NotRequired["Union[dict[str, DeliveryPolicyInput], None]"],
        "lists": NotRequired["Union[dict[str, ListRequest], None]"],
        "organisations": NotRequired["Union[dict[str, OrganisationRequest], None]"],
        "people": NotRequired["Union[dict[str, PersonRequest], None]"],
        "reminder-settings": NotRequired["Union[dict[str, ReminderSettingRequest], None]"],
        "report-subscriptions": NotRequired["Union[dict[str, ReportSubscriptionRequest], None]"],
        "sites": NotRequired["Union[dict[str, SiteChange], None]"],
        "subscribers": NotRequired["Union[dict[str, SubscriberRequest], None]"],
        "surveys": NotRequired["Union[dict[str, SurveyDefinition], None]"],
        "templates": NotRequired["Union[dict[str, TemplateRequest], None]"],
    },
)

DefinitionsDocument = TypedDict(
    "DefinitionsDocument",
    {
        "definitions": "dict[str, dict[str, Any]]",
    },
)

DefinitionsPlan = TypedDict(
    "DefinitionsPlan",
    {
        "applied": "bool",
        "changes": "list[DefinitionChange]",
        "kept": "list[KeptDefinition]",
        "unchanged": "int",
    },
)

DefinitionsRequest = TypedDict(
    "DefinitionsRequest",
    {
        "definitions": "Definitions",
        "plan": NotRequired["Union[bool, None]"],
        "prune": NotRequired["Union[bool, None]"],
    },
)

Delivery = TypedDict(
    "Delivery",
    {
        "body": NotRequired["Union[str, None]"],
        "channel": NotRequired["Union[str, None]"],
        "failover": NotRequired["list[str]"],
        "html": NotRequired["Union[str, None]"],
        "locale": NotRequired["Union[str, None]"],
        "localeField": NotRequired["Union[str, None]"],
        "policy": NotRequired["Union[str, None]"],
        "priority": NotRequired["Union[str, None]"],
        "quietHours": NotRequired["Union[QuietHours, None]"],
        "subject": NotRequired["Union[str, None]"],
        "template": NotRequired["Union[str, None]"],
        "topic": NotRequired["Union[str, None]"],
    },
)

DeliveryInput = TypedDict(
    "DeliveryInput",
    {
        "body": NotRequired["Union[str, None]"],
        "channel": NotRequired["Union[str, None]"],
        "failover": NotRequired["Union[list[str], None]"],
        "html": NotRequired["Union[str, None]"],
        "locale": NotRequired["Union[str, None]"],
        "localeField": NotRequired["Union[str, None]"],
        "policy": NotRequired["Union[str, None]"],
        "priority": NotRequired["Union[str, None]"],
        "quietHours": NotRequired["Union[QuietHoursInput, None]"],
        "subject": NotRequired["Union[str, None]"],
        "template": NotRequired["Union[str, None]"],
        "topic": NotRequired["Union[str, None]"],
    },
)

DeliveryLogEntry = TypedDict(
    "DeliveryLogEntry",
    {
        "attempt": "int",
        "error": NotRequired["Union[str, None]"],
        "messageId": NotRequired["Union[str, None]"],
        "ordinal": "int",
        "sentAt": "str",
        "status": "str",
    },
)

DeliveryPolicy = TypedDict(
    "DeliveryPolicy",
    {
        "colour": NotRequired["Union[str, None]"],
        "dailyCap": NotRequired["Union[int, None]"],
        "digestAt": NotRequired["Union[str, None]"],
        "organisation": NotRequired["Union[str, None]"],
        "topics": NotRequired["list[TopicTitle]"],
    },
)

DeliveryPolicyInput = TypedDict(
    "DeliveryPolicyInput",
    {
        "colour": NotRequired["Union[str, None]"],
        "dailyCap": NotRequired["Union[int, None]"],
        "digestAt": NotRequired["Union[str, None]"],
        "organisation": NotRequired["Union[str, None]"],
        "topics": NotRequired["Union[list[TopicTitleInput], None]"],
    },
)

Erasure = TypedDict(
    "Erasure",
    {
        "certificate": NotRequired["Union[ErasureCertificate, None]"],
        "createdAt": "str",
        "found": "list[KindCount]",
        "id": "str",
        "status": "str",
    },
)

ErasureCertificate = TypedDict(
    "ErasureCertificate",
    {
        "businessUnits": NotRequired["Union[list[str], None]"],
        "erased": "list[KindCount]",
        "erasedAt": "str",
        "erasedBy": "str",
        "id": "str",
        "kept": "list[str]",
        "remaining": "list[KindCount]",
        "salt": "str",
        "signature": "str",
        "subjectHash": "str",
    },
)

ErasureRequest = TypedDict(
    "ErasureRequest",
    {
        "address": NotRequired["Union[str, None]"],
        "confirm": NotRequired["Union[bool, None]"],
        "keepSuppressions": NotRequired["Union[bool, None]"],
        "person": NotRequired["Union[str, None]"],
    },
)

Event = TypedDict(
    "Event",
    {
        "businessUnit": NotRequired["Union[str, None]"],
        "createdAt": "str",
        "creator": "str",
        "description": NotRequired["Union[str, None]"],
        "endDate": NotRequired["Union[str, None]"],
        "id": "str",
        "isAllDay": "bool",
        "location": NotRequired["Union[str, None]"],
        "organisation": NotRequired["Union[str, None]"],
        "participants": "list[str]",
        "rules": NotRequired["list[Rule]"],
        "startDate": NotRequired["Union[str, None]"],
        "timeZone": NotRequired["Union[str, None]"],
        "title": "str",
        "updatedAt": "str",
        "version": "int",
    },
)

EventChange = TypedDict(
    "EventChange",
    {
        "creator": NotRequired["Union[str, None]"],
        "description": NotRequired["Union[str, None]"],
        "endDate": NotRequired["Union[str, None]"],
        "isAllDay": NotRequired["Union[bool, None]"],
        "location": NotRequired["Union[str, None]"],
        "organisation": NotRequired["Union[str, None]"],
        "participants": NotRequired["Union[list[str], None]"],
        "startDate": NotRequired["Union[str, None]"],
        "timeZone": NotRequired["Union[str, None]"],
        "title": NotRequired["Union[str, None]"],
    },
)

EventOutcome = TypedDict(
    "EventOutcome",
    {
        "error": NotRequired["Union[Problem, None]"],
        "index": "int",
        "outcome": "str",
        "unmatched": NotRequired["int"],
        "work": NotRequired["Union[WorkCounts, None]"],
    },
)

EventOutcomeBatch = TypedDict(
    "EventOutcomeBatch",
    {
        "items": "list[EventOutcome]",
    },
)

EventPage = TypedDict(
    "EventPage",
    {
        "items": "list[Event]",
        "nextCursor": NotRequired["Union[str, None]"],
    },
)

EventRequest = TypedDict(
    "EventRequest",
    {
        "data": NotRequired["Any"],
        "id": "str",
        "sequence": NotRequired["Union[Sequence, None]"],
        "source": "str",
        "specversion": "str",
        "subject": NotRequired["Union[str, None]"],
        "time": NotRequired["Union[str, None]"],
        "type": "str",
    },
)

Feed = TypedDict(
    "Feed",
    {
        "createdAt": "str",
        "ownerId": "str",
        "ownerType": "str",
        "path": "str",
    },
)

FeedRequest = TypedDict(
    "FeedRequest",
    {
        "organisation": NotRequired["Union[str, None]"],
        "person": NotRequired["Union[str, None]"],
    },
)

FieldChange = TypedDict(
    "FieldChange",
    {
        "from": "Any",
        "pointer": "str",
        "to": "Any",
    },
)

FieldError = TypedDict(
    "FieldError",
    {
        "code": "Code",
        "detail": "str",
        "pointer": "str",
    },
)

Forecast = TypedDict(
    "Forecast",
    {
        "cut": "bool",
        "days": "list[ForecastDay]",
    },
)

ForecastDay = TypedDict(
    "ForecastDay",
    {
        "byPath": "dict[str, int]",
        "count": "int",
        "items": "list[ForecastItem]",
        "localDate": "str",
        "recipients": "int",
        "timeZone": "str",
    },
)

ForecastItem = TypedDict(
    "ForecastItem",
    {
        "dueAt": "str",
        "key": "str",
        "kind": "str",
        "reason": NotRequired["Union[str, None]"],
        "title": "str",
    },
)

Health = TypedDict(
    "Health",
    {
        "status": "str",
        "version": "str",
    },
)

Holds = TypedDict(
    "Holds",
    {
        "notifications": "int",
        "work": "int",
    },
)

HostState = TypedDict(
    "HostState",
    {
        "circuit": "str",
        "host": "str",
        "lastError": "str",
        "openCount": "int",
        "openUntil": "str",
    },
)

Imported = TypedDict(
    "Imported",
    {
        "created": "int",
        "removed": NotRequired["int"],
        "skipped": "list[SkippedComponent]",
        "unchanged": "int",
        "updated": "int",
    },
)

InProcessSettings = TypedDict(
    "InProcessSettings",
    {
        "handler": "str",
    },
)

Inbox = TypedDict(
    "Inbox",
    {
        "items": "list[InboxMessage]",
        "nextCursor": NotRequired["Union[str, None]"],
        "unread": "int",
    },
)

InboxMessage = TypedDict(
    "InboxMessage",
    {
        "body": "str",
        "channel": "str",
        "createdAt": "str",
        "id": "str",
        "notificationId": "str",
        "readAt": NotRequired["Union[str, None]"],
        "subject": "str",
        "type": "str",
    },
)

InboxRead = TypedDict(
    "InboxRead",
    {
        "upTo": "str",
    },
)

IngestItem = TypedDict(
    "IngestItem",
    {
        "occurredAt": NotRequired["Union[str, None]"],
        "payload": "dict[str, Any]",
        "recipient": "Recipient",
    },
)

IngestRequest = TypedDict(
    "IngestRequest",
    {
        "eventKind": "str",
        "items": "list[IngestItem]",
    },
)

Ingested = TypedDict(
    "Ingested",
    {
        "created": "int",
        "failed": "int",
        "items": "list[IngestedItem]",
        "skipped": "int",
        "unmatched": "int",
    },
)

IngestedInstance = TypedDict(
    "IngestedInstance",
    {
        "outcome": "str",
        "publicId": "str",
        "surveyId": "int",
        "triggerId": "str",
    },
)

IngestedItem = TypedDict(
    "IngestedItem",
    {
        "error": NotRequired["Union[Problem, None]"],
        "instances": "list[IngestedInstance]",
        "outcome": "str",
        "why": NotRequired["Union[str, None]"],
    },
)

Instance = TypedDict(
    "Instance",
    {
        "businessUnit": NotRequired["Union[str, None]"],
        "channel": "str",
        "customerRef": NotRequired["Union[str, None]"],
        "deliveryLog": "list[DeliveryLogEntry]",
        "finishedAt": NotRequired["Union[str, None]"],
        "id": "int",
        "lastSentAt": NotRequired["Union[str, None]"],
        "metadata": "dict[str, Any]",
        "nextSendAt": NotRequired["Union[str, None]"],
        "openedAt": NotRequired["Union[str, None]"],
        "publicId": "str",
        "reasonCode": NotRequired["Union[str, None]"],
        "recipientAddress": "str",
        "recipientLocale": NotRequired["Union[str, None]"],
        "remindersRemaining": "int",
        "status": "str",
        "surveyId": "int",
        "surveyVersionId": "int",
        "triggerId": "str",
        "triggeredAt": "str",
        "triggeredBy": "str",
        "uniqueHash": NotRequired["Union[str, None]"],
    },
)

InstancePage = TypedDict(
    "InstancePage",
    {
        "items": "list[Instance]",
        "nextCursor": NotRequired["Union[str, None]"],
    },
)

KeptDefinition = TypedDict(
    "KeptDefinition",
    {
        "id": "str",
        "kind": "str",
        "reason": "str",
    },
)

KindCount = TypedDict(
    "KindCount",
    {
        "kind": "str",
        "rows": "int",
    },
)

Kpis = TypedDict(
    "Kpis",
    {
        "at": "str",
        "bySite": "list[SiteKpis]",
        "confirmedLastInterval": NotRequired["int"],
        "deliveredLastInterval": "int",
        "intervalSeconds": "int",
        "lastPurge": NotRequired["Union[LastPurge, None]"],
        "notDeliveredLastInterval": NotRequired["int"],
        "oldestPendingAgeSeconds": NotRequired["Union[int, None]"],
        "parkedCount": "int",
        "queueDepth": "int",
        "stuckAfterSeconds": "int",
        "stuckCount": "int",
        "uncertain": NotRequired["int"],
        "waitingCount": NotRequired["int"],
    },
)

LastPurge = TypedDict(
    "LastPurge",
    {
        "at": "str",
        "keepForDays": "int",
        "removed": "int",
    },
)

Limits = TypedDict(
    "Limits",
    {
        "provider": NotRequired["Union[str, None]"],
        "providerRates": NotRequired["list[Rate]"],
        "rates": NotRequired["list[Rate]"],
    },
)

LimitsInput = TypedDict(
    "LimitsInput",
    {
        "provider": NotRequired["Union[str, None]"],
        "providerRates": NotRequired["Union[list[RateInput], None]"],
        "rates": NotRequired["Union[list[RateInput], None]"],
    },
)

List = TypedDict(
    "List",
    {
        "businessUnit": NotRequired["Union[str, None]"],
        "channel": "str",
        "name": "str",
        "targets": "list[str]",
        "type": "str",
        "updatedAt": "str",
        "warnings": NotRequired["list[FieldError]"],
    },
)

ListPage = TypedDict(
    "ListPage",
    {
        "items": "list[List]",
        "nextCursor": NotRequired["Union[str, None]"],
    },
)

ListRequest = TypedDict(
    "ListRequest",
    {
        "businessUnit": NotRequired["Union[str, None]"],
        "channel": NotRequired["Union[str, None]"],
        "targets": "list[str]",
        "type": "str",
    },
)

MemorySettings = TypedDict(
    "MemorySettings",
    {

    },
)

Message = TypedDict(
    "Message",
    {
        "attachments": NotRequired["list[Attachment]"],
        "body": "str",
        "businessUnit": NotRequired["Union[str, None]"],
        "channel": NotRequired["Union[str, None]"],
        "context": NotRequired["Union[dict[str, Any], None]"],
        "createdAt": "str",
        "failover": NotRequired["list[str]"],
        "headers": NotRequired["dict[str, str]"],
        "html": NotRequired["Union[str, None]"],
        "id": "str",
        "list": NotRequired["Union[str, None]"],
        "locale": NotRequired["Union[str, None]"],
        "notifications": "list[str]",
        "onHold": "bool",
        "priority": NotRequired["Union[str, None]"],
        "reasonCode": NotRequired["Union[str, None]"],
        "replyTo": NotRequired["Union[str, None]"],
        "sendAt": "str",
        "status": "str",
        "subject": "str",
        "targets": NotRequired["Union[list[str], None]"],
        "template": NotRequired["Union[str, None]"],
        "topic": NotRequired["Union[str, None]"],
        "typeData": NotRequired["Union[dict[str, Any], None]"],
        "warnings": NotRequired["list[FieldError]"],
        "workId": "int",
    },
)

MessageAccepted = TypedDict(
    "MessageAccepted",
    {
        "id": "str",
        "outcome": "str",
        "sendAt": "str",
        "status": "str",
        "warnings": NotRequired["list[FieldError]"],
        "workId": "int",
    },
)

MessageChange = TypedDict(
    "MessageChange",
    {
        "attachments": NotRequired["Union[list[AttachmentRequest], None]"],
        "body": NotRequired["Union[str, None]"],
        "channel": NotRequired["Union[str, None]"],
        "context": NotRequired["Union[dict[str, Any], None]"],
        "failover": NotRequired["Union[list[str], None]"],
        "headers": NotRequired["Union[dict[str, str], None]"],
        "html": NotRequired["Union[str, None]"],
        "list": NotRequired["Union[str, None]"],
        "locale": NotRequired["Union[str, None]"],
        "priority": NotRequired["Union[str, None]"],
        "replyTo": NotRequired["Union[str, None]"],
        "sendAt": NotRequired["Union[str, None]"],
        "subject": NotRequired["Union[str, None]"],
        "targets": NotRequired["Union[list[str], None]"],
        "template": NotRequired["Union[str, None]"],
        "topic": NotRequired["Union[str, None]"],
        "typeData": NotRequired["Union[dict[str, Any], None]"],
    },
)

MessagePage = TypedDict(
    "MessagePage",
    {
        "items": "list[Message]",
        "nextCursor": NotRequired["Union[str, None]"],
    },
)

MessageRequest = TypedDict(
    "MessageRequest",
    {
        "attachments": NotRequired["Union[list[AttachmentRequest], None]"],
        "body": NotRequired["Union[str, None]"],
        "businessUnit": NotRequired["Union[str, None]"],
        "channel": NotRequired["Union[str, None]"],
        "context": NotRequired["Union[dict[str, Any], None]"],
        "failover": NotRequired["Union[list[str], None]"],
        "headers": NotRequired["Union[dict[str, str], None]"],
        "html": NotRequired["Union[str, None]"],
        "id": NotRequired["Union[str, None]"],
        "list": NotRequired["Union[str, None]"],
        "locale": NotRequired["Union[str, None]"],
        "priority": NotRequired["Union[str, None]"],
        "replyTo": NotRequired["Union[str, None]"],
        "revive": NotRequired["Union[bool, None]"],
        "sendAt": "str",
        "subject": NotRequired["Union[str, None]"],
        "targets": NotRequired["Union[list[str], None]"],
        "template": NotRequired["Union[str, None]"],
        "topic": NotRequired["Union[str, None]"],
        "typeData": NotRequired["Union[dict[str, Any], None]"],
    },
)

MisbehaviourRequest = TypedDict(
    "MisbehaviourRequest",
    {
        "error": NotRequired["Union[str, None]"],
        "outcome": "SandboxOutcome",
        "times": NotRequired["Union[int, None]"],
    },
)

NamedSourceRequest = TypedDict(
    "NamedSourceRequest",
    {
        "active": NotRequired["Union[bool, None]"],
        "businessUnit": NotRequired["Union[str, None]"],
        "id": "str",
        "occurredAt": NotRequired["Union[str, None]"],
        "sequence": NotRequired["Union[Sequence, None]"],
        "state": NotRequired["dict[str, Any]"],
        "type": "str",
    },
)

NamedSourceRequestBatch = TypedDict(
    "NamedSourceRequestBatch",
    {
        "items": "list[NamedSourceRequest]",
    },
)

NatsConsumerSettings = TypedDict(
    "NatsConsumerSettings",
    {
        "batch": NotRequired["Union[int, None]"],
        "credentials": NotRequired["Union[str, StoredSecret, None]"],
        "deadLetterSubject": "str",
        "durable": NotRequired["Union[str, None]"],
        "nkeySeed": NotRequired["Union[str, StoredSecret, None]"],
        "password": NotRequired["Union[str, StoredSecret, None]"],
        "stream": "str",
        "subject": NotRequired["Union[str, None]"],
        "token": NotRequired["Union[str, StoredSecret, None]"],
        "url": "str",
        "username": NotRequired["Union[str, None]"],
    },
)

NatsSettings = TypedDict(
    "NatsSettings",
    {
        "credentials": NotRequired["Union[str, StoredSecret, None]"],
        "nkeySeed": NotRequired["Union[str, StoredSecret, None]"],
        "password": NotRequired["Union[str, StoredSecret, None]"],
        "stream": NotRequired["Union[str, None]"],
        "subject": "str",
        "timeoutSeconds": NotRequired["Union[int, None]"],
        "token": NotRequired["Union[str, StoredSecret, None]"],
        "url": "str",
        "username": NotRequired["Union[str, None]"],
    },
)

NewEvent = TypedDict(
    "NewEvent",
    {
        "businessUnit": NotRequired["Union[str, None]"],
        "creator": "str",
        "description": NotRequired["Union[str, None]"],
        "endDate": NotRequired["Union[str, None]"],
        "isAllDay": NotRequired["Union[bool, None]"],
        "location": NotRequired["Union[str, None]"],
        "organisation": NotRequired["Union[str, None]"],
        "participants": NotRequired["Union[list[str], None]"],
        "startDate": NotRequired["Union[str, None]"],
        "timeZone": NotRequired["Union[str, None]"],
        "title": "str",
    },
)

NewTask = TypedDict(
    "NewTask",
    {
        "businessUnit": NotRequired["Union[str, None]"],
        "creator": "str",
        "description": NotRequired["Union[str, None]"],
        "finishedAt": NotRequired["Union[str, None]"],
        "location": NotRequired["Union[str, None]"],
        "organisation": NotRequired["Union[str, None]"],
        "relatedUsers": NotRequired["Union[list[str], None]"],
        "startedAt": NotRequired["Union[str, None]"],
        "timeZone": NotRequired["Union[str, None]"],
        "title": "str",
    },
)

Node = TypedDict(
    "Node",
    {
        "clockOffsetMs": "int",
        "holds": "Holds",
        "lastSeenAt": "str",
        "node": "str",
        "role": "str",
        "startedAt": "str",
        "version": "str",
    },
)

Nodes = TypedDict(
    "Nodes",
    {
        "items": "list[Node]",
    },
)

Notification = TypedDict(
    "Notification",
    {
        "attachments": NotRequired["list[Attachment]"],
        "body": NotRequired["Union[str, None]"],
        "businessUnit": NotRequired["Union[str, None]"],
        "channel": "str",
        "content": NotRequired["Union[NotificationContent, None]"],
        "context": NotRequired["Union[dict[str, Any], None]"],
        "createdAt": "str",
        "deliveredAt": NotRequired["Union[str, None]"],
        "enqueuedAt": NotRequired["Union[str, None]"],
        "failover": NotRequired["list[str]"],
        "headers": NotRequired["dict[str, str]"],
        "html": NotRequired["Union[str, None]"],
        "id": "str",
        "lastAttemptAt": NotRequired["Union[str, None]"],
        "lastError": NotRequired["Union[str, None]"],
        "list": NotRequired["Union[str, None]"],
        "locale": NotRequired["Union[str, None]"],
        "nextAttemptAt": NotRequired["Union[str, None]"],
        "priority": NotRequired["str"],
        "reasonCode": NotRequired["Union[str, None]"],
        "replyTo": NotRequired["Union[str, None]"],
        "resolvedTargets": NotRequired["list[ResolvedTarget]"],
        "retryCount": "int",
        "source": NotRequired["NotificationSource"],
        "status": "str",
        "subject": "str",
        "targets": NotRequired["Union[list[str], None]"],
        "template": NotRequired["Union[str, None]"],
        "topic": NotRequired["Union[str, None]"],
        "type": "str",
        "typeData": NotRequired["Union[dict[str, Any], None]"],
        "uncertain": NotRequired["int"],
        "version": "int",
        "workId": NotRequired["Union[int, None]"],
    },
)

NotificationAccepted = TypedDict(
    "NotificationAccepted",
    {
        "id": "str",
        "status": "str",
        "warnings": NotRequired["list[FieldError]"],
    },
)

NotificationContent = TypedDict(
    "NotificationContent",
    {
        "basis": "str",
        "body": NotRequired["Union[str, None]"],
        "html": NotRequired["Union[str, None]"],
        "note": NotRequired["Union[str, None]"],
        "subject": NotRequired["Union[str, None]"],
        "templateVersion": NotRequired["Union[int, None]"],
    },
)

NotificationPage = TypedDict(
    "NotificationPage",
    {
        "items": "list[Notification]",
        "nextCursor": NotRequired["Union[str, None]"],
    },
)

NotificationRequest = TypedDict(
    "NotificationRequest",
    {
        "attachments": NotRequired["Union[list[AttachmentRequest], None]"],
        "body": NotRequired["Union[str, None]"],
        "businessUnit": NotRequired["Union[str, None]"],
        "channel": NotRequired["Union[str, None]"],
        "context": NotRequired["Union[dict[str, Any], None]"],
        "failover": NotRequired["Union[list[str], None]"],
        "headers": NotRequired["Union[dict[str, str], None]"],
        "html": NotRequired["Union[str, None]"],
        "id": NotRequired["Union[str, None]"],
        "list": NotRequired["Union[str, None]"],
        "locale": NotRequired["Union[str, None]"],
        "priority": NotRequired["Union[str, None]"],
        "replyTo": NotRequired["Union[str, None]"],
        "source": NotRequired["Union[NotificationSourceRequest, None]"],
        "subject": NotRequired["Union[str, None]"],
        "targets": NotRequired["Union[list[str], None]"],
        "template": NotRequired["Union[str, None]"],
        "topic": NotRequired["Union[str, None]"],
        "type": NotRequired["Union[str, None]"],
        "typeData": NotRequired["Union[dict[str, Any], None]"],
    },
)

NotificationSource = TypedDict(
    "NotificationSource",
    {
        "instance": NotRequired["Union[str, None]"],
        "script": NotRequired["Union[str, None]"],
        "site": NotRequired["Union[str, None]"],
    },
)

NotificationSourceRequest = TypedDict(
    "NotificationSourceRequest",
    {
        "instance": NotRequired["Union[str, None]"],
        "script": NotRequired["Union[str, None]"],
    },
)

Organisation = TypedDict(
    "Organisation",
    {
        "allDayAt": NotRequired["Union[str, None]"],
        "businessUnit": NotRequired["Union[str, None]"],
        "id": "str",
        "name": "str",
        "rules": NotRequired["Union[list[DefaultRuleShape], None]"],
        "timeZone": NotRequired["Union[str, None]"],
        "updatedAt": "str",
    },
)

OrganisationPage = TypedDict(
    "OrganisationPage",
    {
        "items": "list[Organisation]",
        "nextCursor": NotRequired["Union[str, None]"],
    },
)

OrganisationRequest = TypedDict(
    "OrganisationRequest",
    {
        "allDayAt": NotRequired["Union[str, None]"],
        "businessUnit": NotRequired["Union[str, None]"],
        "name": "str",
        "rules": NotRequired["Union[list[DefaultRuleShapeInput], None]"],
        "timeZone": NotRequired["Union[str, None]"],
    },
)

OrphanedSubscription = TypedDict(
    "OrphanedSubscription",
    {
        "businessUnit": NotRequired["Union[str, None]"],
        "guid": "str",
        "list": NotRequired["Union[str, None]"],
        "name": "str",
        "owner": NotRequired["Union[str, None]"],
        "reasons": "list[str]",
    },
)

OrphanedSubscriptionPage = TypedDict(
    "OrphanedSubscriptionPage",
    {
        "items": "list[OrphanedSubscription]",
        "nextCursor": NotRequired["Union[str, None]"],
    },
)

OutboxDelivery = TypedDict(
    "OutboxDelivery",
    {
        "attempts": "int",
        "deliveredAt": NotRequired["Union[str, None]"],
        "lastError": NotRequired["Union[str, None]"],
        "notificationId": "str",
        "status": "str",
        "subscriber": "str",
    },
)

OutboxEvent = TypedDict(
    "OutboxEvent",
    {
        "createdAt": "str",
        "deliveries": "list[OutboxDelivery]",
        "eventType": "str",
        "id": "int",
        "instancePublicId": NotRequired["Union[str, None]"],
        "payload": "dict[str, Any]",
        "status": "str",
        "surveyId": NotRequired["Union[int, None]"],
        "workKey": NotRequired["Union[str, None]"],
    },
)

OutboxEventPage = TypedDict(
    "OutboxEventPage",
    {
        "items": "list[OutboxEvent]",
        "nextCursor": NotRequired["Union[str, None]"],
    },
)

Ownership = TypedDict(
    "Ownership",
    {
        "coordinates": NotRequired["Union[dict[str, Any], None]"],
        "key": "str",
        "oldSchedulerMayTake": "bool",
        "owner": NotRequired["Union[str, None]"],
        "ownerVersion": NotRequired["Union[str, None]"],
        "stage": NotRequired["Union[int, None]"],
        "status": NotRequired["Union[str, None]"],
        "takenAt": NotRequired["Union[str, None]"],
    },
)

OwnershipReport = TypedDict(
    "OwnershipReport",
    {
        "coordinates": NotRequired["Union[dict[str, Any], None]"],
        "owner": "str",
        "ownerVersion": NotRequired["Union[str, None]"],
        "status": "str",
    },
)

OwnershipRequest = TypedDict(
    "OwnershipRequest",
    {
        "owner": "str",
        "ownerVersion": "str",
    },
)

Person = TypedDict(
    "Person",
    {
        "addresses": "dict[str, str]",
        "businessUnit": NotRequired["Union[str, None]"],
        "channels": "list[str]",
        "email": NotRequired["Union[str, None]"],
        "id": "str",
        "locale": NotRequired["Union[str, None]"],
        "name": "str",
        "timeZone": NotRequired["Union[str, None]"],
        "updatedAt": "str",
    },
)

PersonPage = TypedDict(
    "PersonPage",
    {
        "items": "list[Person]",
        "nextCursor": NotRequired["Union[str, None]"],
    },
)

PersonRequest = TypedDict(
    "PersonRequest",
    {
        "addresses": NotRequired["Union[dict[str, str], None]"],
        "businessUnit": NotRequired["Union[str, None]"],
        "channels": NotRequired["Union[list[str], None]"],
        "email": NotRequired["Union[str, None]"],
        "locale": NotRequired["Union[str, None]"],
        "name": "str",
        "timeZone": NotRequired["Union[str, None]"],
    },
)

PersonalData = TypedDict(
    "PersonalData",
    {
        "at": "str",
        "cut": "list[str]",
        "data": "dict[str, Any]",
    },
)

PersonalDataRequest = TypedDict(
    "PersonalDataRequest",
    {
        "address": NotRequired["Union[str, None]"],
        "person": NotRequired["Union[str, None]"],
    },
)

Preference = TypedDict(
    "Preference",
    {
        "addresses": NotRequired["dict[str, str]"],
        "channels": NotRequired["Union[list[str], None]"],
        "dailyCap": NotRequired["Union[int, None]"],
        "failover": NotRequired["list[str]"],
        "locale": NotRequired["Union[str, None]"],
        "person": "str",
        "quietHours": NotRequired["Union[QuietHours, None]"],
        "timeZone": NotRequired["Union[str, None]"],
        "topics": NotRequired["dict[str, TopicChoice]"],
        "updatedAt": "str",
        "version": "int",
    },
)

PreferenceLink = TypedDict(
    "PreferenceLink",
    {
        "url": "str",
    },
)

PreferencePage = TypedDict(
    "PreferencePage",
    {
        "items": "list[Preference]",
        "nextCursor": NotRequired["Union[str, None]"],
    },
)

PreferenceRequest = TypedDict(
    "PreferenceRequest",
    {
        "addresses": NotRequired["Union[dict[str, str], None]"],
        "channels": NotRequired["Union[list[str], None]"],
        "dailyCap": NotRequired["Union[int, None]"],
        "failover": NotRequired["Union[list[str], None]"],
        "locale": NotRequired["Union[str, None]"],
        "quietHours": NotRequired["Union[QuietHoursInput, None]"],
        "timeZone": NotRequired["Union[str, None]"],
        "topics": NotRequired["Union[dict[str, TopicChoiceInput], None]"],
    },
)

Preview = TypedDict(
    "Preview",
    {
        "body": "str",
        "html": NotRequired["Union[str, None]"],
        "locale": "str",
        "subject": "str",
    },
)

PreviewRequest = TypedDict(
    "PreviewRequest",
    {
        "context": NotRequired["Union[dict[str, Any], None]"],
        "locale": NotRequired["Union[str, None]"],
    },
)

Problem = TypedDict(
    "Problem",
    {
        "code": "Code",
        "detail": "str",
        "errors": NotRequired["list[FieldError]"],
        "requestId": NotRequired["Union[str, None]"],
        "status": "int",
        "title": "str",
    },
)

PublicSurvey = TypedDict(
    "PublicSurvey",
    {
        "locale": "str",
        "publicId": "str",
        "rightToLeft": "bool",
        "status": "str",
        "survey": "dict[str, Any]",
    },
)

PublishedSchema: TypeAlias = "Union[bool, dict[str, Any]]"

PurgeRequest = TypedDict(
    "PurgeRequest",
    {
        "confirm": NotRequired["Union[bool, None]"],
    },
)

PurgeRun = TypedDict(
    "PurgeRun",
    {
        "at": "str",
        "files": NotRequired["int"],
        "heldBack": NotRequired["Union[int, None]"],
        "removed": "int",
    },
)

QuietHours = TypedDict(
    "QuietHours",
    {
        "from": "str",
        "to": "str",
    },
)

QuietHoursInput = TypedDict(
    "QuietHoursInput",
    {
        "from": "str",
        "to": "str",
    },
)

Quota = TypedDict(
    "Quota",
    {
        "channelShare": NotRequired["Union[int, None]"],
        "rowsPerDay": NotRequired["Union[int, None]"],
    },
)

QuotaInput = TypedDict(
    "QuotaInput",
    {
        "channelShare": NotRequired["Union[int, None]"],
        "rowsPerDay": NotRequired["Union[int, None]"],
    },
)

QuotaUsage = TypedDict(
    "QuotaUsage",
    {
        "localDate": "str",
        "rows": "int",
        "until": "str",
    },
)

Rate = TypedDict(
    "Rate",
    {
        "max": "int",
        "per": "str",
    },
)

RateInput = TypedDict(
    "RateInput",
    {
        "max": "int",
        "per": "str",
    },
)

RateState = TypedDict(
    "RateState",
    {
        "limiter": "str",
        "max": "int",
        "nextAt": NotRequired["Union[str, None]"],
        "per": "str",
        "used": "int",
    },
)

Readiness = TypedDict(
    "Readiness",
    {
        "database": "str",
        "databaseVersion": "str",
        "durability": "dict[str, Any]",
        "sandbox": "bool",
        "status": "str",
        "survivesPowerLoss": "bool",
    },
)

ReasonRequest = TypedDict(
    "ReasonRequest",
    {
        "reason": NotRequired["Union[str, None]"],
    },
)

ReceiptsTaken = TypedDict(
    "ReceiptsTaken",
    {
        "new": "int",
        "receipts": "int",
        "unknown": "int",
    },
)

Recipient = TypedDict(
    "Recipient",
    {
        "address": "str",
        "customerRef": NotRequired["Union[str, None]"],
        "locale": NotRequired["Union[str, None]"],
    },
)

Reconciliation = TypedDict(
    "Reconciliation",
    {
        "batch": "int",
        "created": "int",
        "deactivated": "int",
        "everySeconds": "int",
        "lastRunAt": NotRequired["Union[str, None]"],
        "lookedUntil": NotRequired["Union[str, None]"],
        "moved": "int",
        "provider": "str",
        "sources": "int",
        "windowDays": "int",
    },
)

ReconciliationPage = TypedDict(
    "ReconciliationPage",
    {
        "items": "list[Reconciliation]",
        "nextCursor": NotRequired["Union[str, None]"],
    },
)

ReconciliationRun = TypedDict(
    "ReconciliationRun",
    {
        "create": NotRequired["Union[int, None]"],
        "deactivate": NotRequired["Union[int, None]"],
        "dryRun": "bool",
        "move": NotRequired["Union[int, None]"],
        "provider": "str",
        "sources": NotRequired["Union[int, None]"],
        "workId": NotRequired["Union[int, None]"],
    },
)

RecurringRule = TypedDict(
    "RecurringRule",
    {
        "every": NotRequired["Union[str, None]"],
        "field": "str",
        "offsetDays": NotRequired["Union[int, None]"],
        "sendTime": NotRequired["Union[str, None]"],
    },
)

RecurringRuleInput = TypedDict(
    "RecurringRuleInput",
    {
        "every": NotRequired["Union[str, None]"],
        "field": "str",
        "offsetDays": NotRequired["Union[int, None]"],
        "sendTime": NotRequired["Union[str, None]"],
    },
)

Rekey = TypedDict(
    "Rekey",
    {
        "keyId": "str",
        "resealed": "int",
    },
)

RekeyRequest = TypedDict(
    "RekeyRequest",
    {
        "newKey": NotRequired["Union[bool, None]"],
    },
)

ReminderPlan = TypedDict(
    "ReminderPlan",
    {
        "create": "int",
        "deactivate": "int",
        "gap": "int",
        "move": "int",
        "overlap": "int",
        "unchanged": "int",
    },
)

ReminderSetting = TypedDict(
    "ReminderSetting",
    {
        "active": NotRequired["bool"],
        "businessUnit": NotRequired["Union[str, None]"],
        "createdAt": "str",
        "custom": NotRequired["Union[dict[str, Any], None]"],
        "date": NotRequired["Union[DateRule, None]"],
        "delivery": "Delivery",
        "filter": NotRequired["Union[dict[str, Any], None]"],
        "id": "str",
        "immediate": NotRequired["bool"],
        "kind": "str",
        "maxLateness": NotRequired["Union[str, None]"],
        "name": "str",
        "plan": NotRequired["Union[ReminderPlan, None]"],
        "recipients": "dict[str, Any]",
        "recurring": NotRequired["Union[RecurringRule, None]"],
        "sourceType": "str",
        "threshold": NotRequired["Union[ThresholdRule, None]"],
        "triggerKey": "str",
        "updatedAt": "str",
        "version": "int",
        "warnings": NotRequired["list[FieldError]"],
    },
)

ReminderSettingChange = TypedDict(
    "ReminderSettingChange",
    {
        "active": NotRequired["Union[bool, None]"],
        "businessUnit": NotRequired["Union[str, None]"],
        "custom": NotRequired["Union[dict[str, Any], None]"],
        "date": NotRequired["Union[DateRuleInput, None]"],
        "delivery": NotRequired["Union[DeliveryInput, None]"],
        "filter": NotRequired["Union[dict[str, Any], None]"],
        "immediate": NotRequired["Union[bool, None]"],
        "kind": NotRequired["Union[str, None]"],
        "maxLateness": NotRequired["Union[str, None]"],
        "name": NotRequired["Union[str, None]"],
        "recipients": NotRequired["Union[dict[str, Any], None]"],
        "recurring": NotRequired["Union[RecurringRuleInput, None]"],
        "sourceType": NotRequired["Union[str, None]"],
        "threshold": NotRequired["Union[ThresholdRuleInput, None]"],
        "triggerKey": NotRequired["Union[str, None]"],
        "version": NotRequired["Union[int, None]"],
    },
)

ReminderSettingPage = TypedDict(
    "ReminderSettingPage",
    {
        "items": "list[ReminderSetting]",
        "nextCursor": NotRequired["Union[str, None]"],
    },
)

ReminderSettingRequest = TypedDict(
    "ReminderSettingRequest",
    {
        "active": NotRequired["Union[bool, None]"],
        "businessUnit": NotRequired["Union[str, None]"],
        "custom": NotRequired["Union[dict[str, Any], None]"],
        "date": NotRequired["Union[DateRuleInput, None]"],
        "delivery": "DeliveryInput",
        "filter": NotRequired["Union[dict[str, Any], None]"],
        "immediate": NotRequired["Union[bool, None]"],
        "kind": "str",
        "maxLateness": NotRequired["Union[str, None]"],
        "name": "str",
        "recipients": "dict[str, Any]",
        "recurring": NotRequired["Union[RecurringRuleInput, None]"],
        "sourceType": "str",
        "threshold": NotRequired["Union[ThresholdRuleInput, None]"],
        "triggerKey": "str",
        "version": NotRequired["Union[int, None]"],
    },
)

ReportRecipients = TypedDict(
    "ReportRecipients",
    {
        "addresses": NotRequired["Union[list[str], None]"],
        "list": NotRequired["Union[str, None]"],
    },
)

ReportRecipientsInput = TypedDict(
    "ReportRecipientsInput",
    {
        "addresses": NotRequired["Union[list[str], None]"],
        "list": NotRequired["Union[str, None]"],
    },
)

ReportSubscription = TypedDict(
    "ReportSubscription",
    {
        "businessUnit": NotRequired["Union[str, None]"],
        "cadence": "CadenceShape",
        "catchUp": NotRequired["Union[str, None]"],
        "channel": NotRequired["Union[str, None]"],
        "createdAt": "str",
        "failover": NotRequired["list[str]"],
        "guid": "str",
        "locale": NotRequired["Union[str, None]"],
        "name": "str",
        "nextRunAt": NotRequired["Union[str, None]"],
        "owner": NotRequired["Union[str, None]"],
        "paused": "bool",
        "period": NotRequired["Union[str, None]"],
        "priority": NotRequired["Union[str, None]"],
        "recipients": "ReportRecipients",
        "report": "dict[str, Any]",
        "subject": NotRequired["Union[str, None]"],
        "template": NotRequired["Union[str, None]"],
        "timeZone": "str",
        "topic": NotRequired["Union[str, None]"],
        "updatedAt": "str",
        "version": "int",
        "warnings": NotRequired["list[FieldError]"],
        "weekStart": NotRequired["Union[str, None]"],
        "whenEmpty": NotRequired["Union[str, None]"],
    },
)

ReportSubscriptionChange = TypedDict(
    "ReportSubscriptionChange",
    {
        "businessUnit": NotRequired["Union[str, None]"],
        "cadence": NotRequired["Union[CadenceShapeInput, None]"],
        "catchUp": NotRequired["Union[str, None]"],
        "channel": NotRequired["Union[str, None]"],
        "failover": NotRequired["Union[list[str], None]"],
        "locale": NotRequired["Union[str, None]"],
        "name": NotRequired["Union[str, None]"],
        "owner": NotRequired["Union[str, None]"],
        "paused": NotRequired["Union[bool, None]"],
        "period": NotRequired["Union[str, None]"],
        "priority": NotRequired["Union[str, None]"],
        "recipients": NotRequired["Union[ReportRecipientsInput, None]"],
        "report": NotRequired["Union[dict[str, Any], None]"],
        "subject": NotRequired["Union[str, None]"],
        "template": NotRequired["Union[str, None]"],
        "topic": NotRequired["Union[str, None]"],
        "version": NotRequired["Union[int, None]"],
        "weekStart": NotRequired["Union[str, None]"],
        "whenEmpty": NotRequired["Union[str, None]"],
    },
)

ReportSubscriptionPage = TypedDict(
    "ReportSubscriptionPage",
    {
        "items": "list[ReportSubscription]",
        "nextCursor": NotRequired["Union[str, None]"],
    },
)

ReportSubscriptionRequest = TypedDict(
    "ReportSubscriptionRequest",
    {
        "businessUnit": NotRequired["Union[str, None]"],
        "cadence": "CadenceShapeInput",
        "catchUp": NotRequired["Union[str, None]"],
        "channel": NotRequired["Union[str, None]"],
        "failover": NotRequired["Union[list[str], None]"],
        "locale": NotRequired["Union[str, None]"],
        "name": "str",
        "owner": NotRequired["Union[str, None]"],
        "paused": NotRequired["Union[bool, None]"],
        "period": NotRequired["Union[str, None]"],
        "priority": NotRequired["Union[str, None]"],
        "recipients": "ReportRecipientsInput",
        "report": "dict[str, Any]",
        "subject": NotRequired["Union[str, None]"],
        "template": NotRequired["Union[str, None]"],
        "topic": NotRequired["Union[str, None]"],
        "version": NotRequired["Union[int, None]"],
        "weekStart": NotRequired["Union[str, None]"],
        "whenEmpty": NotRequired["Union[str, None]"],
    },
)

ResolvedTarget = TypedDict(
    "ResolvedTarget",
    {
        "address": "str",
        "at": NotRequired["Union[str, None]"],
        "confirmedAt": NotRequired["Union[str, None]"],
        "messageId": NotRequired["Union[str, None]"],
        "outcome": NotRequired["Union[str, None]"],
        "receipt": NotRequired["Union[TargetReceipt, None]"],
    },
)

ResponseMeta = TypedDict(
    "ResponseMeta",
    {
        "agentId": NotRequired["Union[str, None]"],
        "completedAt": NotRequired["Union[str, None]"],
    },
)

ResponseRequest = TypedDict(
    "ResponseRequest",
    {
        "agentId": NotRequired["Union[str, None]"],
        "answers": "dict[str, Any]",
        "completedAt": NotRequired["Union[str, None]"],
        "locale": NotRequired["Union[str, None]"],
        "meta": NotRequired["Union[ResponseMeta, None]"],
        "submissionId": NotRequired["Union[str, None]"],
    },
)

ResponseTaken = TypedDict(
    "ResponseTaken",
    {
        "completedAt": "str",
        "publicId": "str",
        "status": "str",
        "submissionId": NotRequired["Union[str, None]"],
    },
)

Restore = TypedDict(
    "Restore",
    {
        "backupAt": NotRequired["Union[str, None]"],
        "heldBy": NotRequired["Union[str, None]"],
        "restoredAt": "str",
        "waiting": "RestoredRows",
    },
)

RestoreSettled = TypedDict(
    "RestoreSettled",
    {
        "notifications": "int",
        "owed": NotRequired["int"],
        "remaining": "RestoredRows",
        "work": "int",
    },
)

RestoredRows = TypedDict(
    "RestoredRows",
    {
        "notifications": "int",
        "owed": NotRequired["int"],
        "work": "int",
    },
)

Restores = TypedDict(
    "Restores",
    {
        "last": NotRequired["Union[Restore, None]"],
    },
)

Retention = TypedDict(
    "Retention",
    {
        "fixed": NotRequired["list[str]"],
        "keepAuditForDays": NotRequired["Union[int, None]"],
        "keepFilesForDays": NotRequired["int"],
        "keepForDays": "int",
        "keepIdsForDays": NotRequired["Union[int, None]"],
        "keepSurveysForDays": NotRequired["Union[int, None]"],
        "keepWorkForDays": NotRequired["int"],
        "lastRun": NotRequired["Union[PurgeRun, None]"],
        "tables": NotRequired["list[TableRetention]"],
    },
)

RetentionChange = TypedDict(
    "RetentionChange",
    {
        "fromDays": NotRequired["Union[int, None]"],
        "isMore": "bool",
        "rows": NotRequired["Union[int, None]"],
        "setting": "str",
        "toDays": NotRequired["Union[int, None]"],
    },
)

RetentionPlan = TypedDict(
    "RetentionPlan",
    {
        "changes": "list[RetentionChange]",
    },
)

RetentionSettings = TypedDict(
    "RetentionSettings",
    {
        "keepAuditForDays": NotRequired["Union[int, None]"],
        "keepFilesForDays": NotRequired["Union[int, None]"],
        "keepForDays": NotRequired["Union[int, None]"],
        "keepIdsForDays": NotRequired["Union[int, None]"],
        "keepSurveysForDays": NotRequired["Union[int, None]"],
        "keepWorkForDays": NotRequired["Union[int, None]"],
    },
)

RetriedDeliveries = TypedDict(
    "RetriedDeliveries",
    {
        "remaining": "int",
        "retried": "int",
    },
)

RetryPolicy: TypeAlias = "Literal['fixed', 'exponential', 'steps']"

RetrySettings = TypedDict(
    "RetrySettings",
    {
        "afterSeconds": NotRequired["Union[list[int], None]"],
        "capSeconds": NotRequired["Union[int, None]"],
        "factor": NotRequired["Union[int, None]"],
        "intervalSeconds": NotRequired["Union[int, None]"],
        "jitterPercent": NotRequired["Union[int, None]"],
        "max": NotRequired["Union[int, None]"],
        "policy": NotRequired["RetryPolicy"],
    },
)

RetrySettingsInput = TypedDict(
    "RetrySettingsInput",
    {
        "afterSeconds": NotRequired["Union[list[int], None]"],
        "capSeconds": NotRequired["Union[int, None]"],
        "factor": NotRequired["Union[int, None]"],
        "intervalSeconds": NotRequired["Union[int, None]"],
        "jitterPercent": NotRequired["Union[int, None]"],
        "max": NotRequired["Union[int, None]"],
        "policy": NotRequired["Union[RetryPolicy, None]"],
    },
)

Role: TypeAlias = "Literal['viewer', 'operator', 'author', 'admin']"

RollBackRequest = TypedDict(
    "RollBackRequest",
    {
        "reason": NotRequired["Union[str, None]"],
        "stage": NotRequired["Union[int, None]"],
    },
)

RolledBack = TypedDict(
    "RolledBack",
    {
        "givenBack": "list[str]",
        "rollout": "Rollout",
    },
)

Rollout = TypedDict(
    "Rollout",
    {
        "checklist": "list[ChecklistPoint]",
        "id": "str",
        "path": "str",
        "runs": NotRequired["Union[list[str], None]"],
        "scope": "str",
        "stage": "int",
        "stageName": "str",
        "updatedAt": "str",
        "version": "int",
    },
)

RolloutFigures = TypedDict(
    "RolloutFigures",
    {
        "from": "str",
        "stages": "list[StageFigures]",
        "to": "str",
    },
)

RolloutPage = TypedDict(
    "RolloutPage",
    {
        "items": "list[Rollout]",
        "nextCursor": NotRequired["Union[str, None]"],
    },
)

RolloutRequest = TypedDict(
    "RolloutRequest",
    {
        "confirm": NotRequired["Union[list[str], None]"],
        "runs": NotRequired["Union[list[str], None]"],
        "stage": "int",
    },
)

RotatedSecret = TypedDict(
    "RotatedSecret",
    {
        "channel": "Channel",
        "secret": NotRequired["Union[str, None]"],
    },
)

Rule = TypedDict(
    "Rule",
    {
        "active": "bool",
        "channels": "list[str]",
        "deletedAt": NotRequired["Union[str, None]"],
        "failover": NotRequired["list[str]"],
        "id": "str",
        "kind": "str",
        "lastSentAt": NotRequired["Union[str, None]"],
        "message": NotRequired["RuleTexts"],
        "nextRunAt": NotRequired["Union[str, None]"],
        "priority": NotRequired["Union[str, None]"],
        "rule": "RuleShape",
        "scheduleId": NotRequired["Union[str, None]"],
        "subjectId": "str",
        "subjectType": "str",
        "syncError": NotRequired["Union[str, None]"],
        "syncStatus": "str",
        "topic": NotRequired["Union[str, None]"],
        "warnings": NotRequired["list[FieldError]"],
    },
)

RuleChange = TypedDict(
    "RuleChange",
    {
        "active": NotRequired["Union[bool, None]"],
        "channels": NotRequired["Union[list[str], None]"],
        "failover": NotRequired["Union[list[str], None]"],
        "message": NotRequired["Union[RuleTextsInput, None]"],
        "priority": NotRequired["Union[str, None]"],
        "rule": NotRequired["Union[RuleShapeInput, None]"],
        "topic": NotRequired["Union[str, None]"],
    },
)

RulePage = TypedDict(
    "RulePage",
    {
        "items": "list[Rule]",
        "nextCursor": NotRequired["Union[str, None]"],
    },
)

RuleRequest = TypedDict(
    "RuleRequest",
    {
        "channels": NotRequired["Union[list[str], None]"],
        "failover": NotRequired["Union[list[str], None]"],
        "message": NotRequired["Union[RuleTextsInput, None]"],
        "priority": NotRequired["Union[str, None]"],
        "rule": "RuleShapeInput",
        "subjectId": "str",
        "subjectType": "str",
        "topic": NotRequired["Union[str, None]"],
    },
)

RuleShape = TypedDict(
    "RuleShape",
    {
        "anchor": "str",
        "at": NotRequired["Union[str, None]"],
        "dayOffset": NotRequired["Union[int, None]"],
        "offset": NotRequired["Union[str, None]"],
        "timeZone": NotRequired["Union[str, None]"],
        "type": "str",
    },
)

RuleShapeInput = TypedDict(
    "RuleShapeInput",
    {
        "anchor": "str",
        "at": NotRequired["Union[str, None]"],
        "dayOffset": NotRequired["Union[int, None]"],
        "offset": NotRequired["Union[str, None]"],
        "timeZone": NotRequired["Union[str, None]"],
        "type": "str",
    },
)

RuleTexts = TypedDict(
    "RuleTexts",
    {
        "body": NotRequired["Union[str, None]"],
        "html": NotRequired["Union[str, None]"],
        "subject": NotRequired["Union[str, None]"],
    },
)

RuleTextsInput = TypedDict(
    "RuleTextsInput",
    {
        "body": NotRequired["Union[str, None]"],
        "html": NotRequired["Union[str, None]"],
        "subject": NotRequired["Union[str, None]"],
    },
)

RunAttempt = TypedDict(
    "RunAttempt",
    {
        "answer": NotRequired["Union[str, None]"],
        "attempt": "int",
        "channel": "str",
        "finishedAt": NotRequired["Union[str, None]"],
        "notification": "str",
        "outcome": NotRequired["Union[str, None]"],
        "startedAt": "str",
        "target": "str",
    },
)

RunDelivery = TypedDict(
    "RunDelivery",
    {
        "channel": "str",
        "deliveredAt": NotRequired["Union[str, None]"],
        "id": "str",
        "lastError": NotRequired["Union[str, None]"],
        "status": "str",
        "tries": "int",
    },
)

RunNowAnswer = TypedDict(
    "RunNowAnswer",
    {
        "key": "str",
        "manualRunGuid": "str",
        "outcome": "str",
        "status": "str",
        "workId": "int",
    },
)

RunNowRequest = TypedDict(
    "RunNowRequest",
    {
        "manualRunGuid": NotRequired["Union[str, None]"],
    },
)

RunRequest = TypedDict(
    "RunRequest",
    {
        "dryRun": NotRequired["Union[bool, None]"],
    },
)

RunSummary = TypedDict(
    "RunSummary",
    {
        "businessUnit": NotRequired["Union[str, None]"],
        "createdAt": "str",
        "dueAt": "str",
        "earlierAttempts": NotRequired["int"],
        "earlierReasonCode": NotRequired["Union[str, None]"],
        "id": "int",
        "inputHash": "str",
        "key": "str",
        "kind": "str",
        "localDate": NotRequired["Union[str, None]"],
        "nextRetryAt": NotRequired["Union[str, None]"],
        "onHold": "bool",
        "outcome": NotRequired["Union[str, None]"],
        "owner": NotRequired["Union[str, None]"],
        "reasonCode": NotRequired["Union[str, None]"],
        "result": NotRequired["Union[dict[str, Any], None]"],
        "retryCount": "int",
        "retryOf": NotRequired["Union[int, None]"],
        "runOutcome": NotRequired["Union[str, None]"],
        "sourceId": NotRequired["Union[str, None]"],
        "sourceType": NotRequired["Union[str, None]"],
        "status": "str",
        "storageRunKeyHash": "str",
        "subscriptionGuid": "str",
        "timeZone": NotRequired["Union[str, None]"],
        "title": NotRequired["str"],
        "trigger": "str",
        "updatedAt": "str",
        "version": "int",
    },
)

RunSummaryPage = TypedDict(
    "RunSummaryPage",
    {
        "items": "list[RunSummary]",
        "nextCursor": NotRequired["Union[str, None]"],
    },
)

SandboxClock = TypedDict(
    "SandboxClock",
    {
        "now": "str",
    },
)

SandboxOutcome: TypeAlias = "Literal['delivered', 'transient', 'permanent', 'lostReply']"

Schedule = TypedDict(
    "Schedule",
    {
        "businessUnit": NotRequired["Union[str, None]"],
        "createdAt": "str",
        "dueAt": "str",
        "earlierAttempts": NotRequired["int"],
        "earlierReasonCode": NotRequired["Union[str, None]"],
        "id": "int",
        "inputHash": "str",
        "key": "str",
        "kind": "str",
        "localDate": NotRequired["Union[str, None]"],
        "nextRetryAt": NotRequired["Union[str, None]"],
        "onHold": "bool",
        "outcome": NotRequired["Union[str, None]"],
        "payload": "dict[str, Any]",
        "reasonCode": NotRequired["Union[str, None]"],
        "result": NotRequired["Union[dict[str, Any], None]"],
        "retryCount": "int",
        "retryOf": NotRequired["Union[int, None]"],
        "runAt": "str",
        "scheduleId": NotRequired["str"],
        "sourceId": NotRequired["Union[str, None]"],
        "sourceType": NotRequired["Union[str, None]"],
        "status": "str",
        "timeZone": NotRequired["Union[str, None]"],
        "title": NotRequired["str"],
        "topic": "str",
        "trigger": "str",
        "updatedAt": "str",
        "version": "int",
    },
)

ScheduleChange = TypedDict(
    "ScheduleChange",
    {
        "runAt": "str",
    },
)

SchedulePage = TypedDict(
    "SchedulePage",
    {
        "items": "list[Schedule]",
        "nextCursor": NotRequired["Union[str, None]"],
    },
)

ScheduleRequest = TypedDict(
    "ScheduleRequest",
    {
        "businessUnit": NotRequired["Union[str, None]"],
        "key": NotRequired["Union[str, None]"],
        "payload": NotRequired["Union[dict[str, Any], None]"],
        "revive": NotRequired["Union[bool, None]"],
        "runAt": "str",
        "timeZone": NotRequired["Union[str, None]"],
        "topic": "str",
    },
)

Scope: TypeAlias = "Literal['admin', 'operate', 'author', 'ingest', 'send', 'read', 'site']"

SearchHit = TypedDict(
    "SearchHit",
    {
        "id": "str",
        "kind": "str",
        "link": "str",
        "note": "str",
        "title": "str",
    },
)

SearchResults = TypedDict(
    "SearchResults",
    {
        "cut": "list[str]",
        "items": "list[SearchHit]",
    },
)

SendWindow = TypedDict(
    "SendWindow",
    {
        "days": NotRequired["list[str]"],
        "from": "str",
        "to": "str",
    },
)

SendWindowInput = TypedDict(
    "SendWindowInput",
    {
        "days": NotRequired["Union[list[str], None]"],
        "from": "str",
        "to": "str",
    },
)

SendgridSettings = TypedDict(
    "SendgridSettings",
    {
        "apiKey": NotRequired["Union[str, StoredSecret, None]"],
        "baseUrl": NotRequired["Union[str, None]"],
        "from": "str",
        "replyTo": NotRequired["Union[str, None]"],
        "timeoutSeconds": NotRequired["Union[int, None]"],
        "webhookPublicKey": NotRequired["Union[str, None]"],
    },
)

SentMessage = TypedDict(
    "SentMessage",
    {
        "address": "str",
        "at": "str",
        "attempt": "int",
        "body": "str",
        "channel": "str",
        "html": NotRequired["Union[str, None]"],
        "notificationId": "str",
        "subject": "str",
    },
)

SentMessages = TypedDict(
    "SentMessages",
    {
        "items": "list[SentMessage]",
    },
)

Sequence: TypeAlias = "Union[int, str]"

Site = TypedDict(
    "Site",
    {
        "agents": "list[SiteAgent]",
        "backlog": NotRequired["Union[int, None]"],
        "businessUnit": NotRequired["Union[str, None]"],
        "clockOffsetMs": NotRequired["Union[int, None]"],
        "clockSuspect": "bool",
        "createdAt": "str",
        "id": "str",
        "lastContactAt": NotRequired["Union[str, None]"],
        "oldestBufferedAgeSeconds": NotRequired["Union[int, None]"],
        "refused": NotRequired["Union[int, None]"],
        "revokedAt": NotRequired["Union[str, None]"],
        "version": NotRequired["Union[str, None]"],
    },
)

SiteAck = TypedDict(
    "SiteAck",
    {
        "code": NotRequired["Union[Code, None]"],
        "detail": NotRequired["Union[str, None]"],
        "digest": NotRequired["Union[str, None]"],
        "id": NotRequired["Union[str, None]"],
        "outcome": "str",
    },
)

SiteAckBatch = TypedDict(
    "SiteAckBatch",
    {
        "items": "list[SiteAck]",
    },
)

SiteAgent = TypedDict(
    "SiteAgent",
    {
        "backlog": "int",
        "clockOffsetMs": NotRequired["Union[int, None]"],
        "lastContactAt": "str",
        "name": NotRequired["Union[str, None]"],
        "oldestBufferedAgeSeconds": NotRequired["Union[int, None]"],
        "refused": "int",
        "version": NotRequired["Union[str, None]"],
    },
)

SiteChange = TypedDict(
    "SiteChange",
    {
        "businessUnit": NotRequired["Union[str, None]"],
    },
)

SiteEvent = TypedDict(
    "SiteEvent",
    {
        "at": "str",
        "category": "str",
        "count": "int",
        "detail": "str",
        "id": "str",
        "kind": "str",
        "lastAt": "str",
    },
)

SiteEventPage = TypedDict(
    "SiteEventPage",
    {
        "items": "list[SiteEvent]",
        "nextCursor": NotRequired["Union[str, None]"],
    },
)

SiteHandOver = TypedDict(
    "SiteHandOver",
    {
        "items": "list[SiteItem]",
        "report": NotRequired["Union[SiteReport, None]"],
    },
)

SiteIdentity = TypedDict(
    "SiteIdentity",
    {
        "id": "str",
    },
)

SiteItem = TypedDict(
    "SiteItem",
    {
        "body": "str",
        "enqueuedAt": NotRequired["Union[str, None]"],
        "id": "str",
        "instance": NotRequired["Union[str, None]"],
        "list": "str",
        "script": NotRequired["Union[str, None]"],
        "subject": "str",
    },
)

SiteKpis = TypedDict(
    "SiteKpis",
    {
        "deliveredLastInterval": "int",
        "oldestPendingAgeSeconds": NotRequired["Union[int, None]"],
        "parkedCount": "int",
        "queueDepth": "int",
        "site": "str",
        "stuckCount": "int",
        "waitingCount": NotRequired["int"],
    },
)

SiteNotificationStatus = TypedDict(
    "SiteNotificationStatus",
    {
        "deliveredAt": NotRequired["Union[str, None]"],
        "enqueuedAt": NotRequired["Union[str, None]"],
        "id": "str",
        "lastError": NotRequired["Union[str, None]"],
        "reasonCode": NotRequired["Union[str, None]"],
        "retryCount": "int",
        "status": "str",
    },
)

SitePage = TypedDict(
    "SitePage",
    {
        "items": "list[Site]",
        "nextCursor": NotRequired["Union[str, None]"],
    },
)

SiteReport = TypedDict(
    "SiteReport",
    {
        "agent": NotRequired["Union[str, None]"],
        "backlog": NotRequired["Union[int, None]"],
        "events": NotRequired["Union[list[SiteEvent], None]"],
        "oldestBufferedAgeSeconds": NotRequired["Union[int, None]"],
        "refused": NotRequired["Union[int, None]"],
        "sentAt": NotRequired["Union[str, None]"],
        "version": NotRequired["Union[str, None]"],
    },
)

SiteRequest = TypedDict(
    "SiteRequest",
    {
        "businessUnit": NotRequired["Union[str, None]"],
        "id": "str",
    },
)

SiteRotateRequest = TypedDict(
    "SiteRotateRequest",
    {
        "keepOldSeconds": NotRequired["Union[int, None]"],
    },
)

SiteToken = TypedDict(
    "SiteToken",
    {
        "id": "str",
        "token": NotRequired["str"],
    },
)

SkippedComponent = TypedDict(
    "SkippedComponent",
    {
        "line": "int",
        "reason": "str",
    },
)

SlackSettings = TypedDict(
    "SlackSettings",
    {
        "timeoutSeconds": NotRequired["Union[int, None]"],
        "url": NotRequired["Union[str, StoredSecret, None]"],
    },
)

SmsGatewaySettings = TypedDict(
    "SmsGatewaySettings",
    {
        "extra": NotRequired["Union[dict[str, str], None]"],
        "fields": NotRequired["Union[dict[str, str], None]"],
        "format": NotRequired["Literal['json', 'form', None]"],
        "from": NotRequired["Union[str, None]"],
        "idField": NotRequired["Union[str, None]"],
        "maxCharacters": NotRequired["Union[int, None]"],
        "numberFormat": NotRequired["Literal['plus', 'digits', None]"],
        "password": NotRequired["Union[str, StoredSecret, None]"],
        "receiptIdField": NotRequired["Union[str, None]"],
        "receiptItems": NotRequired["Union[str, None]"],
        "receiptSecret": NotRequired["Union[str, StoredSecret, None]"],
        "receiptSignatureHeader": NotRequired["Union[str, None]"],
        "receiptStates": NotRequired["Union[dict[str, str], None]"],
        "receiptStatusField": NotRequired["Union[str, None]"],
        "receiptTimestampHeader": NotRequired["Union[str, None]"],
        "successField": NotRequired["Union[str, None]"],
        "successValues": NotRequired["Union[list[str], None]"],
        "text": NotRequired["Literal['body', 'subject', 'both', None]"],
        "timeoutSeconds": NotRequired["Union[int, None]"],
        "token": NotRequired["Union[str, StoredSecret, None]"],
        "tokenIn": NotRequired["Union[str, None]"],
        "url": "str",
        "username": NotRequired["Union[str, None]"],
    },
)

SmtpSettings = TypedDict(
    "SmtpSettings",
    {
        "ca": NotRequired["Union[str, StoredSecret, None]"],
        "from": "str",
        "helo": NotRequired["Union[str, None]"],
        "host": "str",
        "password": NotRequired["Union[str, StoredSecret, None]"],
        "port": NotRequired["Union[int, None]"],
        "replyTo": NotRequired["Union[str, None]"],
        "timeoutSeconds": NotRequired["Union[int, None]"],
        "tls": NotRequired["Literal['required', 'starttls', 'implicit', 'none', None]"],
        "username": NotRequired["Union[str, None]"],
    },
)

Source = TypedDict(
    "Source",
    {
        "active": "bool",
        "businessUnit": NotRequired["Union[str, None]"],
        "id": "str",
        "occurredAt": "str",
        "outcome": NotRequired["Union[str, None]"],
        "sequence": NotRequired["Union[int, None]"],
        "state": "dict[str, Any]",
        "type": "str",
        "updatedAt": "str",
        "version": "int",
        "work": NotRequired["Union[WorkCounts, None]"],
    },
)

SourceOutcome = TypedDict(
    "SourceOutcome",
    {
        "error": NotRequired["Union[Problem, None]"],
        "index": "int",
        "outcome": "str",
        "work": NotRequired["Union[WorkCounts, None]"],
    },
)

SourceOutcomeBatch = TypedDict(
    "SourceOutcomeBatch",
    {
        "items": "list[SourceOutcome]",
    },
)

SourcePage = TypedDict(
    "SourcePage",
    {
        "items": "list[Source]",
        "nextCursor": NotRequired["Union[str, None]"],
    },
)

SourceRequest = TypedDict(
    "SourceRequest",
    {
        "active": NotRequired["Union[bool, None]"],
        "businessUnit": NotRequired["Union[str, None]"],
        "occurredAt": NotRequired["Union[str, None]"],
        "sequence": NotRequired["Union[Sequence, None]"],
        "state": NotRequired["dict[str, Any]"],
    },
)

StageFigures = TypedDict(
    "StageFigures",
    {
        "conflicts": "int",
        "delivered": "int",
        "failed": "int",
        "longestLatencyMs": NotRequired["Union[int, None]"],
        "meanLatencyMs": NotRequired["Union[int, None]"],
        "retrying": "int",
        "runs": "int",
        "shadow": "int",
        "skipped": "int",
        "stage": NotRequired["Union[int, None]"],
    },
)

StoredSecret = TypedDict(
    "StoredSecret",
    {
        "set": "bool",
    },
)

Subscriber = TypedDict(
    "Subscriber",
    {
        "active": "bool",
        "adapter": "str",
        "events": "list[str]",
        "filter": NotRequired["Union[dict[str, Any], None]"],
        "key": "str",
        "retry": "dict[str, Any]",
        "secretsSet": "list[str]",
        "settings": "dict[str, Any]",
        "updatedAt": "str",
        "version": "int",
    },
)

SubscriberPage = TypedDict(
    "SubscriberPage",
    {
        "items": "list[Subscriber]",
        "nextCursor": NotRequired["Union[str, None]"],
    },
)

SubscriberRequest = TypedDict(
    "SubscriberRequest",
    {
        "active": NotRequired["Union[bool, None]"],
        "adapter": "str",
        "events": NotRequired["Union[list[str], None]"],
        "filter": NotRequired["Union[dict[str, Any], None]"],
        "retry": NotRequired["Union[RetrySettingsInput, None]"],
        "settings": NotRequired["Union[AmqpSettings, Amqp1Settings, InProcessSettings, MemorySettings, NatsSettings, SendgridSettings, SlackSettings, SmsGatewaySettings, SmtpSettings, TeamsSettings, TwilioSettings, WebhookSettings, Whatsapp360dialogSettings, WhatsappCloudSettings, WhatsappInfobipSettings, Union[dict[str, Any], None]]"],
    },
)

Suppression = TypedDict(
    "Suppression",
    {
        "address": "str",
        "channelType": "str",
        "detail": NotRequired["Union[str, None]"],
        "expiresAt": NotRequired["Union[str, None]"],
        "reason": "str",
        "since": "str",
        "source": "str",
    },
)

SuppressionPage = TypedDict(
    "SuppressionPage",
    {
        "items": "list[Suppression]",
        "nextCursor": NotRequired["Union[str, None]"],
    },
)

SuppressionRequest = TypedDict(
    "SuppressionRequest",
    {
        "detail": NotRequired["Union[str, None]"],
        "expiresAt": NotRequired["Union[str, None]"],
        "reason": NotRequired["Union[str, None]"],
    },
)

Survey = TypedDict(
    "Survey",
    {
        "businessUnit": NotRequired["Union[str, None]"],
        "createdAt": "str",
        "id": "int",
        "integrationId": NotRequired["Union[str, None]"],
        "name": "str",
        "publishedVersionNumber": NotRequired["Union[int, None]"],
        "schema": "dict[str, Any]",
        "updatedAt": "str",
        "version": "int",
    },
)

SurveyChoiceCount = TypedDict(
    "SurveyChoiceCount",
    {
        "count": "int",
        "share": "float",
        "text": "str",
        "value": "Any",
    },
)

SurveyCsat = TypedDict(
    "SurveyCsat",
    {
        "satisfied": "int",
        "score": "float",
    },
)

SurveyDay = TypedDict(
    "SurveyDay",
    {
        "answered": "int",
        "day": "str",
        "triggered": "int",
    },
)

SurveyDefinition = TypedDict(
    "SurveyDefinition",
    {
        "businessUnit": NotRequired["Union[str, None]"],
        "integrationId": NotRequired["Union[str, None]"],
        "name": "str",
        "published": NotRequired["Union[PublishedSchema, None]"],
        "schema": "dict[str, Any]",
    },
)

SurveyNps = TypedDict(
    "SurveyNps",
    {
        "detractors": "int",
        "passives": "int",
        "promoters": "int",
        "score": "float",
    },
)

SurveyPage = TypedDict(
    "SurveyPage",
    {
        "items": "list[Survey]",
        "nextCursor": NotRequired["Union[str, None]"],
    },
)

SurveyPublished = TypedDict(
    "SurveyPublished",
    {
        "version": "int",
        "warnings": "list[SurveyWarning]",
    },
)

SurveyQuestionResults = TypedDict(
    "SurveyQuestionResults",
    {
        "answered": "int",
        "average": NotRequired["Union[float, None]"],
        "counts": "list[SurveyChoiceCount]",
        "csat": NotRequired["Union[SurveyCsat, None]"],
        "id": "str",
        "nps": NotRequired["Union[SurveyNps, None]"],
        "text": "str",
        "texts": "list[str]",
        "type": "str",
    },
)

SurveyRequest = TypedDict(
    "SurveyRequest",
    {
        "businessUnit": NotRequired["Union[str, None]"],
        "integrationId": NotRequired["Union[str, None]"],
        "name": "str",
        "schema": "dict[str, Any]",
    },
)

SurveyResults = TypedDict(
    "SurveyResults",
    {
        "answered": "int",
        "byDay": "list[SurveyDay]",
        "byStatus": "dict[str, int]",
        "byTrigger": "list[SurveyTriggerCount]",
        "countedAt": "str",
        "instances": "int",
        "medianSecondsToAnswer": NotRequired["Union[int, None]"],
        "newest": NotRequired["Union[int, None]"],
        "questions": "list[SurveyQuestionResults]",
        "responseRate": NotRequired["Union[float, None]"],
        "sent": "int",
        "surveyId": "int",
        "version": NotRequired["Union[int, None]"],
    },
)

SurveyTriggerCount = TypedDict(
    "SurveyTriggerCount",
    {
        "answered": "int",
        "instances": "int",
        "sent": "int",
        "triggerId": "str",
    },
)

SurveyWarning = TypedDict(
    "SurveyWarning",
    {
        "code": "str",
        "detail": "str",
        "pointer": "str",
    },
)

TableRetention = TypedDict(
    "TableRetention",
    {
        "rule": "str",
        "setting": NotRequired["Union[str, None]"],
        "table": "str",
        "why": NotRequired["Union[str, None]"],
    },
)

TargetReceipt = TypedDict(
    "TargetReceipt",
    {
        "code": NotRequired["Union[str, None]"],
        "detail": NotRequired["Union[str, None]"],
        "failedAt": NotRequired["Union[str, None]"],
        "receivedAt": NotRequired["Union[str, None]"],
        "state": "str",
    },
)

Task = TypedDict(
    "Task",
    {
        "businessUnit": NotRequired["Union[str, None]"],
        "createdAt": "str",
        "creator": "str",
        "description": NotRequired["Union[str, None]"],
        "finishedAt": NotRequired["Union[str, None]"],
        "id": "str",
        "location": NotRequired["Union[str, None]"],
        "organisation": NotRequired["Union[str, None]"],
        "relatedUsers": "list[str]",
        "rules": NotRequired["list[Rule]"],
        "startedAt": NotRequired["Union[str, None]"],
        "timeZone": NotRequired["Union[str, None]"],
        "title": "str",
        "updatedAt": "str",
        "version": "int",
    },
)

TaskChange = TypedDict(
    "TaskChange",
    {
        "creator": NotRequired["Union[str, None]"],
        "description": NotRequired["Union[str, None]"],
        "finishedAt": NotRequired["Union[str, None]"],
        "location": NotRequired["Union[str, None]"],
        "organisation": NotRequired["Union[str, None]"],
        "relatedUsers": NotRequired["Union[list[str], None]"],
        "startedAt": NotRequired["Union[str, None]"],
        "timeZone": NotRequired["Union[str, None]"],
        "title": NotRequired["Union[str, None]"],
    },
)

TaskPage = TypedDict(
    "TaskPage",
    {
        "items": "list[Task]",
        "nextCursor": NotRequired["Union[str, None]"],
    },
)

TeamsSettings = TypedDict(
    "TeamsSettings",
    {
        "timeoutSeconds": NotRequired["Union[int, None]"],
        "url": NotRequired["Union[str, StoredSecret, None]"],
    },
)

Template = TypedDict(
    "Template",
    {
        "defaultLocale": "str",
        "name": "str",
        "updatedAt": "str",
        "variants": "dict[str, Variant]",
        "version": "int",
    },
)

TemplatePage = TypedDict(
    "TemplatePage",
    {
        "items": "list[Template]",
        "nextCursor": NotRequired["Union[str, None]"],
    },
)

TemplateRequest = TypedDict(
    "TemplateRequest",
    {
        "defaultLocale": "str",
        "variants": "dict[str, VariantInput]",
    },
)

ThresholdRule = TypedDict(
    "ThresholdRule",
    {
        "firingPolicy": "str",
        "metric": "dict[str, Any]",
        "op": "str",
        "scope": NotRequired["Union[str, None]"],
        "value": "float",
    },
)

ThresholdRuleInput = TypedDict(
    "ThresholdRuleInput",
    {
        "firingPolicy": "str",
        "metric": "dict[str, Any]",
        "op": "str",
        "scope": NotRequired["Union[str, None]"],
        "value": "float",
    },
)

Tick = TypedDict(
    "Tick",
    {
        "deliveries": "TickDeliveries",
        "dispatched": "int",
        "expired": "int",
        "failed": "int",
        "now": "str",
        "processed": "int",
        "work": "TickWork",
    },
)

TickDeliveries = TypedDict(
    "TickDeliveries",
    {
        "delivered": "int",
        "parked": "int",
        "retrying": "int",
    },
)

TickRequest = TypedDict(
    "TickRequest",
    {
        "batchSize": NotRequired["Union[int, None]"],
    },
)

TickWork = TypedDict(
    "TickWork",
    {
        "completed": "int",
        "deactivated": "int",
        "held": "int",
    },
)

Timeline = TypedDict(
    "Timeline",
    {
        "id": "str",
        "items": "list[TimelineEntry]",
    },
)

TimelineEntry = TypedDict(
    "TimelineEntry",
    {
        "at": "str",
        "data": NotRequired["Union[dict[str, Any], None]"],
        "detail": "str",
        "title": "str",
        "what": "str",
    },
)

TopicChoice = TypedDict(
    "TopicChoice",
    {
        "channels": NotRequired["Union[list[str], None]"],
        "subscribed": "bool",
    },
)

TopicChoiceInput = TypedDict(
    "TopicChoiceInput",
    {
        "channels": NotRequired["Union[list[str], None]"],
        "subscribed": "bool",
    },
)

TopicTitle = TypedDict(
    "TopicTitle",
    {
        "name": "str",
        "title": "str",
    },
)

TopicTitleInput = TypedDict(
    "TopicTitleInput",
    {
        "name": "str",
        "title": "str",
    },
)

TransferRequest = TypedDict(
    "TransferRequest",
    {
        "owner": NotRequired["Union[str, None]"],
    },
)

TwilioSettings = TypedDict(
    "TwilioSettings",
    {
        "accountSid": "str",
        "apiKeySecret": NotRequired["Union[str, StoredSecret, None]"],
        "apiKeySid": NotRequired["Union[str, None]"],
        "authToken": NotRequired["Union[str, StoredSecret, None]"],
        "baseUrl": NotRequired["Union[str, None]"],
        "callbackToken": NotRequired["Union[str, StoredSecret, None]"],
        "callbackUrl": NotRequired["Union[str, None]"],
        "from": NotRequired["Union[str, None]"],
        "messagingServiceSid": NotRequired["Union[str, None]"],
        "text": NotRequired["Literal['body', 'subject', 'both', None]"],
        "timeoutSeconds": NotRequired["Union[int, None]"],
    },
)

Upcoming = TypedDict(
    "Upcoming",
    {
        "items": "list[UpcomingRun]",
    },
)

UpcomingRun = TypedDict(
    "UpcomingRun",
    {
        "adjusted": NotRequired["Union[str, None]"],
        "key": "str",
        "local": "str",
        "periodEnd": "str",
        "periodStart": "str",
        "runAt": "str",
        "timeZone": "str",
    },
)

User = TypedDict(
    "User",
    {
        "active": "bool",
        "businessUnits": NotRequired["Union[list[str], None]"],
        "createdAt": "str",
        "email": "str",
        "externalSubject": NotRequired["Union[str, None]"],
        "hasPassword": "bool",
        "id": "str",
        "lastSignInAt": NotRequired["Union[str, None]"],
        "name": "str",
        "rightsFromProvider": "bool",
        "role": "Role",
        "updatedAt": "str",
    },
)

UserChangeRequest = TypedDict(
    "UserChangeRequest",
    {
        "active": NotRequired["Union[bool, None]"],
        "businessUnits": NotRequired["Union[list[str], None]"],
        "email": NotRequired["Union[str, None]"],
        "name": NotRequired["Union[str, None]"],
        "role": NotRequired["Union[Role, None]"],
    },
)

UserInvitation = TypedDict(
    "UserInvitation",
    {
        "expiresAt": "str",
        "link": NotRequired["Union[str, None]"],
        "mailError": NotRequired["Union[str, None]"],
        "mailedOver": NotRequired["Union[str, None]"],
    },
)

UserInvited = TypedDict(
    "UserInvited",
    {
        "active": "bool",
        "businessUnits": NotRequired["Union[list[str], None]"],
        "createdAt": "str",
        "email": "str",
        "externalSubject": NotRequired["Union[str, None]"],
        "hasPassword": "bool",
        "id": "str",
        "invitation": "UserInvitation",
        "lastSignInAt": NotRequired["Union[str, None]"],
        "name": "str",
        "rightsFromProvider": "bool",
        "role": "Role",
        "updatedAt": "str",
    },
)

UserPage = TypedDict(
    "UserPage",
    {
        "items": "list[User]",
        "nextCursor": NotRequired["Union[str, None]"],
    },
)

UserRequest = TypedDict(
    "UserRequest",
    {
        "businessUnits": NotRequired["Union[list[str], None]"],
        "email": "str",
        "name": "str",
        "role": "Role",
    },
)

Variant = TypedDict(
    "Variant",
    {
        "body": "str",
        "html": NotRequired["Union[str, None]"],
        "subject": "str",
    },
)

VariantInput = TypedDict(
    "VariantInput",
    {
        "body": "str",
        "html": NotRequired["Union[str, None]"],
        "subject": "str",
    },
)

WebhookSettings = TypedDict(
    "WebhookSettings",
    {
        "previousSecret": NotRequired["Union[str, StoredSecret, None]"],
        "secret": NotRequired["Union[str, StoredSecret, None]"],
        "timeoutSeconds": NotRequired["Union[int, None]"],
        "url": NotRequired["Union[str, None]"],
    },
)

Whatsapp360dialogSettings = TypedDict(
    "Whatsapp360dialogSettings",
    {
        "apiKey": NotRequired["Union[str, StoredSecret, None]"],
        "baseUrl": NotRequired["Union[str, None]"],
        "callbackSecret": NotRequired["Union[str, StoredSecret, None]"],
        "language": NotRequired["Union[str, None]"],
        "languages": NotRequired["Union[list[str], None]"],
        "parameters": NotRequired["Union[list[str], None]"],
        "template": NotRequired["Union[str, None]"],
        "text": NotRequired["Literal['body', 'subject', 'both', None]"],
        "timeoutSeconds": NotRequired["Union[int, None]"],
    },
)

WhatsappCloudSettings = TypedDict(
    "WhatsappCloudSettings",
    {
        "accessToken": NotRequired["Union[str, StoredSecret, None]"],
        "apiVersion": NotRequired["Union[str, None]"],
        "appSecret": NotRequired["Union[str, StoredSecret, None]"],
        "baseUrl": NotRequired["Union[str, None]"],
        "language": NotRequired["Union[str, None]"],
        "languages": NotRequired["Union[list[str], None]"],
        "parameters": NotRequired["Union[list[str], None]"],
        "phoneNumberId": "str",
        "template": NotRequired["Union[str, None]"],
        "text": NotRequired["Literal['body', 'subject', 'both', None]"],
        "timeoutSeconds": NotRequired["Union[int, None]"],
        "verifyToken": NotRequired["Union[str, StoredSecret, None]"],
    },
)

WhatsappInfobipSettings = TypedDict(
    "WhatsappInfobipSettings",
    {
        "apiKey": NotRequired["Union[str, StoredSecret, None]"],
        "baseUrl": "str",
        "callbackSecret": NotRequired["Union[str, StoredSecret, None]"],
        "from": "str",
        "language": NotRequired["Union[str, None]"],
        "languages": NotRequired["Union[list[str], None]"],
        "parameters": NotRequired["Union[list[str], None]"],
        "template": NotRequired["Union[str, None]"],
        "text": NotRequired["Literal['body', 'subject', 'both', None]"],
        "timeoutSeconds": NotRequired["Union[int, None]"],
    },
)

Why = TypedDict(
    "Why",
    {
        "decisions": "list[WhyStep]",
    },
)

WhyStep = TypedDict(
    "WhyStep",
    {
        "at": "str",
        "key": NotRequired["Union[str, None]"],
        "outcome": "str",
        "reason": NotRequired["Union[str, None]"],
        "setting": NotRequired["Union[str, None]"],
        "settingId": NotRequired["Union[str, None]"],
        "values": "dict[str, Any]",
        "workId": NotRequired["Union[int, None]"],
    },
)

Work = TypedDict(
    "Work",
    {
        "businessUnit": NotRequired["Union[str, None]"],
        "createdAt": "str",
        "dueAt": "str",
        "earlierAttempts": NotRequired["int"],
        "earlierReasonCode": NotRequired["Union[str, None]"],
        "id": "int",
        "inputHash": "str",
        "key": "str",
        "kind": "str",
        "localDate": NotRequired["Union[str, None]"],
        "nextRetryAt": NotRequired["Union[str, None]"],
        "onHold": "bool",
        "outcome": NotRequired["Union[str, None]"],
        "reasonCode": NotRequired["Union[str, None]"],
        "result": NotRequired["Union[dict[str, Any], None]"],
        "retryCount": "int",
        "retryOf": NotRequired["Union[int, None]"],
        "sourceId": NotRequired["Union[str, None]"],
        "sourceType": NotRequired["Union[str, None]"],
        "status": "str",
        "timeZone": NotRequired["Union[str, None]"],
        "title": NotRequired["str"],
        "trigger": "str",
        "updatedAt": "str",
        "version": "int",
    },
)

WorkCounts = TypedDict(
    "WorkCounts",
    {
        "created": "int",
        "deactivated": "int",
        "unchanged": "int",
        "updated": "int",
    },
)

WorkPage = TypedDict(
    "WorkPage",
    {
        "items": "list[Work]",
        "nextCursor": NotRequired["Union[str, None]"],
    },
)

WorkTrace = TypedDict(
    "WorkTrace",
    {
        "id": "int",
        "items": "list[TimelineEntry]",
        "key": "str",
        "title": NotRequired["str"],
        "trace": NotRequired["Union[dict[str, Any], None]"],
    },
)

__all__ = [
    "ActionRequest",
    "Amqp1ConsumerSettings",
    "Amqp1Settings",
    "AmqpConsumerSettings",
    "AmqpSettings",
    "ApiKey",
    "ApiKeyCreated",
    "ApiKeyPage",
    "ApiKeyRequest",
    "Artefact",
    "Attachment",
    "AttachmentRequest",
    "Attention",
    "AttentionItem",
    "AuditEntry",
    "AuditEntryPage",
    "AutomationRun",
    "BatchItem",
    "BatchResult",
    "Blob",
    "BusinessUnit",
    "BusinessUnitPage",
    "BusinessUnitRequest",
    "CadenceShape",
    "CadenceShapeInput",
    "CampaignRequest",
    "Channel",
    "ChannelHealth",
    "ChannelHealthPage",
    "ChannelPage",
    "ChannelRequest",
    "ChannelState",
    "ChannelTest",
    "ChannelTestRequest",
    "ChecklistPoint",
    "Circuit",
    "CircuitInput",
    "CircuitSetting",
    "CircuitSettingInput",
    "ClockRequest",
    "Code",
    "ComparedRun",
    "Comparison",
    "Consumer",
    "ConsumerHealth",
    "ConsumerPage",
    "ConsumerRequest",
    "Coordinates",
    "DateRule",
    "DateRuleInput",
    "DefaultRuleShape",
    "DefaultRuleShapeInput",
    "DefinitionAction",
    "DefinitionChange",
    "Definitions",
    "DefinitionsDocument",
    "DefinitionsPlan",
    "DefinitionsRequest",
    "Delivery",
    "DeliveryInput",
    "DeliveryLogEntry",
    "DeliveryPolicy",
    "DeliveryPolicyInput",
    "Erasure",
    "ErasureCertificate",
    "ErasureRequest",
    "Event",
    "EventChange",
    "EventOutcome",
    "EventOutcomeBatch",
    "EventPage",
    "EventRequest",
    "Feed",
    "FeedRequest",
    "FieldChange",
    "FieldError",
    "Forecast",
    "ForecastDay",
    "ForecastItem",
    "Health",
    "Holds",
    "HostState",
    "Imported",
    "InProcessSettings",
    "Inbox",
    "InboxMessage",
    "InboxRead",
    "IngestItem",
    "IngestRequest",
    "Ingested",
    "IngestedInstance",
    "IngestedItem",
    "Instance",
    "InstancePage",
    "KeptDefinition",
    "KindCount",
    "Kpis",
    "LastPurge",
    "Limits",
    "LimitsInput",
    "List",
    "ListPage",
    "ListRequest",
    "MemorySettings",
    "Message",
    "MessageAccepted",
    "MessageChange",
    "MessagePage",
    "MessageRequest",
    "MisbehaviourRequest",
    "NamedSourceRequest",
    "NamedSourceRequestBatch",
    "NatsConsumerSettings",
    "NatsSettings",
    "NewEvent",
    "NewTask",
    "Node",
    "Nodes",
    "Notification",
    "NotificationAccepted",
    "NotificationContent",
    "NotificationPage",
    "NotificationRequest",
    "NotificationSource",
    "NotificationSourceRequest",
    "Organisation",
    "OrganisationPage",
    "OrganisationRequest",
    "OrphanedSubscription",
    "OrphanedSubscriptionPage",
    "OutboxDelivery",
    "OutboxEvent",
    "OutboxEventPage",
    "Ownership",
    "OwnershipReport",
    "OwnershipRequest",
    "Person",
    "PersonPage",
    "PersonRequest",
    "PersonalData",
    "PersonalDataRequest",
    "Preference",
    "PreferenceLink",
    "PreferencePage",
    "PreferenceRequest",
    "Preview",
    "PreviewRequest",
    "Problem",
    "PublicSurvey",
    "PublishedSchema",
    "PurgeRequest",
    "PurgeRun",
    "QuietHours",
    "QuietHoursInput",
    "Quota",
    "QuotaInput",
    "QuotaUsage",
    "Rate",
    "RateInput",
    "RateState",
    "Readiness",
    "ReasonRequest",
    "ReceiptsTaken",
    "Recipient",
    "Reconciliation",
    "ReconciliationPage",
    "ReconciliationRun",
    "RecurringRule",
    "RecurringRuleInput",
    "Rekey",
    "RekeyRequest",
    "ReminderPlan",
    "ReminderSetting",
    "ReminderSettingChange",
    "ReminderSettingPage",
    "ReminderSettingRequest",
    "ReportRecipients",
    "ReportRecipientsInput",
    "ReportSubscription",
    "ReportSubscriptionChange",
    "ReportSubscriptionPage",
    "ReportSubscriptionRequest",
    "ResolvedTarget",
    "ResponseMeta",
    "ResponseRequest",
    "ResponseTaken",
    "Restore",
    "RestoreSettled",
    "RestoredRows",
    "Restores",
    "Retention",
    "RetentionChange",
    "RetentionPlan",
    "RetentionSettings",
    "RetriedDeliveries",
    "RetryPolicy",
    "RetrySettings",
    "RetrySettingsInput",
    "Role",
    "RollBackRequest",
    "RolledBack",
    "Rollout",
    "RolloutFigures",
    "RolloutPage",
    "RolloutRequest",
    "RotatedSecret",
    "Rule",
    "RuleChange",
    "RulePage",
    "RuleRequest",
    "RuleShape",
    "RuleShapeInput",
    "RuleTexts",
    "RuleTextsInput",
    "RunAttempt",
    "RunDelivery",
    "RunNowAnswer",
    "RunNowRequest",
    "RunRequest",
    "RunSummary",
    "RunSummaryPage",
    "SandboxClock",
    "SandboxOutcome",
    "Schedule",
    "ScheduleChange",
    "SchedulePage",
    "ScheduleRequest",
    "Scope",
    "SearchHit",
    "SearchResults",
    "SendWindow",
    "SendWindowInput",
    "SendgridSettings",
    "SentMessage",
    "SentMessages",
    "Sequence",
    "Site",
    "SiteAck",
    "SiteAckBatch",
    "SiteAgent",
    "SiteChange",
    "SiteEvent",
    "SiteEventPage",
    "SiteHandOver",
    "SiteIdentity",
    "SiteItem",
    "SiteKpis",
    "SiteNotificationStatus",
    "SitePage",
    "SiteReport",
    "SiteRequest",
    "SiteRotateRequest",
    "SiteToken",
    "SkippedComponent",
    "SlackSettings",
    "SmsGatewaySettings",
    "SmtpSettings",
    "Source",
    "SourceOutcome",
    "SourceOutcomeBatch",
    "SourcePage",
    "SourceRequest",
    "StageFigures",
    "StoredSecret",
    "Subscriber",
    "SubscriberPage",
    "SubscriberRequest",
    "Suppression",
    "SuppressionPage",
    "SuppressionRequest",
    "Survey",
    "SurveyChoiceCount",
    "SurveyCsat",
    "SurveyDay",
    "SurveyDefinition",
    "SurveyNps",
    "SurveyPage",
    "SurveyPublished",
    "SurveyQuestionResults",
    "SurveyRequest",
    "SurveyResults",
    "SurveyTriggerCount",
    "SurveyWarning",
    "TableRetention",
    "TargetReceipt",
    "Task",
    "TaskChange",
    "TaskPage",
    "TeamsSettings",
    "Template",
    "TemplatePage",
    "TemplateRequest",
    "ThresholdRule",
    "ThresholdRuleInput",
    "Tick",
    "TickDeliveries",
    "TickRequest",
    "TickWork",
    "Timeline",
    "TimelineEntry",
    "TopicChoice",
    "TopicChoiceInput",
    "TopicTitle",
    "TopicTitleInput",
    "TransferRequest",
    "TwilioSettings",
    "Upcoming",
    "UpcomingRun",
    "User",
    "UserChangeRequest",
    "UserInvitation",
    "UserInvited",
    "UserPage",
    "UserRequest",
    "Variant",
    "VariantInput",
    "WebhookSettings",
    "Whatsapp360dialogSettings",
    "WhatsappCloudSettings",
    "WhatsappInfobipSettings",
    "Why",
    "WhyStep",
    "Work",
    "WorkCounts",
    "WorkPage",
    "WorkTrace",
]
