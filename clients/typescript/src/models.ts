// The shapes of requests and responses. Generated from docs/openapi.json by clients/generate; do not edit.

/** An operator's word with an action on a work row or notification: `{"reason": "…"}`, all optional. */
export interface ActionRequest {
  /** Kept in the audit. */
  reason?: string | null;
  /** The version that the operator saw; if it has changed, the request is refused with `stale_version`. */
  version?: number | null;
}

/** `amqp1`: AMQP 1.0 takes events from Azure Service Bus, ActiveMQ and others. */
export interface Amqp1ConsumerSettings {
  /** Address: where events are, such as orders. */
  address: string;
  /** Batch: how many messages are taken at once; one commit for all of them; `100` by default. */
  batch?: number | null;
  /** Dead letters: the queue for refused events, such as orders-refused. */
  deadLetterAddress: string;
  /** Password: the account's password. */
  password?: string | StoredSecret | null;
  /** URL: the broker, such as amqps://bus.servicebus.windows.net. */
  url: string;
  /** User name: an account of the broker. */
  username?: string | null;
  /** Virtual host: the virtual host, as RabbitMQ has them. */
  virtualHost?: string | null;
}

/** `amqp1`: AMQP 1.0 sends messages to Azure Service Bus, ActiveMQ and others. */
export interface Amqp1Settings {
  /** Address: a queue, topic or other node, such as survey-answers. */
  address: string;
  /** Password: the account's password. */
  password?: string | StoredSecret | null;
  /** Time-out: how long one attempt may take, in seconds; `15` by default. */
  timeoutSeconds?: number | null;
  /** URL: the broker, such as amqps://bus.servicebus.windows.net. */
  url: string;
  /** User name: an account of the broker. */
  username?: string | null;
  /** Virtual host: the virtual host, as RabbitMQ has them. */
  virtualHost?: string | null;
}

/** `amqp`: AMQP 0.9.1 takes events from a queue of RabbitMQ. */
export interface AmqpConsumerSettings {
  /** Batch: how many messages are taken at once; one commit for all of them; `100` by default. */
  batch?: number | null;
  /** Dead letters: the queue for refused events, such as orders-refused. */
  deadLetterQueue: string;
  /** Password: the account's password. */
  password?: string | StoredSecret | null;
  /** Queue: where events are, such as orders. */
  queue: string;
  /** URL: the broker, such as amqps://rabbit.example.com/vhost. */
  url: string;
  /** User name: an account of the broker. */
  username?: string | null;
}

/** `amqp`: AMQP 0.9.1 publishes messages to RabbitMQ. */
export interface AmqpSettings {
  /** Exchange: where messages go, with a routing key. */
  exchange?: string | null;
  /** Password: the account's password. */
  password?: string | StoredSecret | null;
  /** Persistent: whether messages survive a restart of the broker; `true` by default. */
  persistent?: boolean | null;
  /** Queue: a queue, in place of an exchange. */
  queue?: string | null;
  /** Routing key: the key for the exchange. */
  routingKey?: string | null;
  /** Time-out: how long one attempt may take, in seconds; `15` by default. */
  timeoutSeconds?: number | null;
  /** URL: the broker, such as amqps://rabbit.example.com/vhost. */
  url: string;
  /** User name: an account of the broker. */
  username?: string | null;
}

/** A key as it is stored, without its secret. */
export interface ApiKey {
  businessUnits?: string[] | null;
  createdAt: string;
  expiresAt?: string | null;
  id: string;
  /** To the hour or so: it is not written on every request. */
  lastUsedAt?: string | null;
  name: string;
  revokedAt?: string | null;
  scopes: Scope[];
  /** The site whose token it is. */
  site?: string | null;
}

/** A key that was just made, with its secret for the only time. */
export interface ApiKeyCreated {
  businessUnits?: string[] | null;
  createdAt: string;
  expiresAt?: string | null;
  id: string;
  /** What to send as `Authorization: Bearer …`. It is shown once and kept nowhere; absent where the same request is repeated. */
  key?: string;
  /** To the hour or so: it is not written on every request. */
  lastUsedAt?: string | null;
  name: string;
  revokedAt?: string | null;
  scopes: Scope[];
  /** The site whose token it is. */
  site?: string | null;
}

/** One page of a list. */
export interface ApiKeyPage {
  items: ApiKey[];
  /** Send it as `cursor` for the next page; null on the last page. If few rows match a filter, a page may be short or empty and still have a next page. */
  nextCursor?: string | null;
}

/** A key to be made. */
export interface ApiKeyRequest {
  /** The business units it is limited to; all of them when absent. */
  businessUnits?: string[] | null;
  /** Never when absent. */
  expiresAt?: string | null;
  name: string;
  /** At least one. */
  scopes: Scope[];
}

/** A file of a run. */
export interface Artefact {
  blob: string;
  bytes: number;
  /** Where it can be downloaded. */
  href: string;
  /** The language and zone it is written in: those of the people who get it. */
  locale?: string | null;
  mediaType: string;
  name: string;
  /** When it was removed, after the time for which files are kept. */
  purgedAt?: string | null;
  timeZone?: string | null;
}

/** A file that goes along with a message that is stored. */
export interface Attachment {
  /** The blob of its content, where a caller brought it; it stays as long as the message. */
  blob?: string | null;
  contentType: string;
  name: string;
  /** In bytes, where a caller brought it. */
  size?: number | null;
}

/** A file that goes along: its content here, or a blob that was uploaded before. */
export interface AttachmentRequest {
  /** The id of an uploaded blob; or else `content`. */
  blob?: string | null;
  /** In base64, at most 10 MiB of all files together; or else `blob`. */
  content?: string | null;
  /** The media type: documents, pictures, text and archives. A blob has the one it was uploaded with. */
  contentType?: string | null;
  /** One line of at most 200 bytes, without slashes. */
  name: string;
}

/** Everything that needs attention: the latest of each kind, and how many there are. */
export interface Attention {
  /** How many of each kind, and `total`. Counting stops at 10,000. */
  counts: Record<string, number>;
  /** Newest first. */
  items: AttentionItem[];
}

/** One thing that needs attention. */
export interface AttentionItem {
  /** Why a message is parked, and the object at fault, such as a list that does not exist. */
  cause?: string | null;
  /** How many messages are parked for the same cause. */
  count?: number | null;
  id: string;
  /** `hold`, `parked`, `subscriber`, `sync`, `site`, `receipt`, `runHeld`, `runFailed`, `orphan`, `circuit`, `node`, `clock`, `locked`, `failed`, `owed`, `reconcile`, `purge`, `audit`, `consumer` or `restore`; others may be added. */
  kind: string;
  /** Its page in the console. */
  link: string;
  /** Why, in plain words. */
  reason: string;
  since: string;
  title: string;
  /** The state it is in, as lists show it. */
  word: string;
}

/** One entry. */
export interface AuditEntry {
  action: string;
  /** `key:NAME`, `site:ID`, `recipient`, `operator` (the command line) or `engine`. */
  actor: string;
  at: string;
  businessUnit?: string | null;
  /** Further details; null if there are none or they were erased. */
  data?: unknown;
  /** The seal: it covers this entry and the digest of the one before. Null until the entry is sealed, some seconds after it was written. */
  digest?: string | null;
  /** The state before, where the subject has states. */
  from?: string | null;
  /** A reason code, or what the person said. */
  reason?: string | null;
  /** Its number: entries are sealed in this order. */
  seq: number;
  /** Kind and id of the subject; without the id if it was erased. */
  subject: string;
  to?: string | null;
  /** The version of the subject after it. */
  version?: number | null;
}

/** One page of a list. */
export interface AuditEntryPage {
  items: AuditEntry[];
  /** Send it as `cursor` for the next page; null on the last page. If few rows match a filter, a page may be short or empty and still have a next page. */
  nextCursor?: string | null;
}

/** A run, whole. */
export interface AutomationRun {
  artefacts: Artefact[];
  /** The latest attempts to deliver its messages, newest first, up to 100. */
  attempts: RunAttempt[];
  businessUnit?: string | null;
  coordinates?: Record<string, unknown> | null;
  createdAt: string;
  dueAt: string;
  /** Failed attempts before it was last released or brought back. */
  earlierAttempts?: number;
  /** Why it had ended or was held before it was last released or brought back. */
  earlierReasonCode?: string | null;
  /** Why there is no report, if there is none. */
  fault?: Record<string, unknown> | null;
  id: number;
  /** The digest of its input, in hexadecimal. */
  inputHash: string;
  /** Its business identity. */
  key: string;
  /** The workflow it belongs to: `reminder`, `schedule`, `message`, … */
  kind: string;
  /** The local date that it is for, if it has one. */
  localDate?: string | null;
  /** When it is retried, after a failure. */
  nextRetryAt?: string | null;
  notifications: RunDelivery[];
  /** A person must look: nothing runs until it is released. */
  onHold: boolean;
  /** What ensuring it did: `created`, `updated`, `unchanged`, `reactivated`, `completed` or `inProgress`. */
  outcome?: string | null;
  owner?: string | null;
  ownership: Ownership;
  periodEnd?: string | null;
  periodStart?: string | null;
  /** Why it is where it is. */
  reasonCode?: string | null;
  /** Its results, such as `{"notifications": ["id"]}`. It names the first 20; if there are more, `count` has their number, and `GET /api/v1/notifications?work=` lists all. */
  result?: Record<string, unknown> | null;
  /** Failed attempts since it was planned, released or brought back; its retries are counted from there. */
  retryCount: number;
  /** The row that this one repeats. */
  retryOf?: number | null;
  rows?: number | null;
  /** `delivered`, `shadow`, `skipped`, `retrying`, `failed` or `conflict`; nothing before its turn. */
  runOutcome?: string | null;
  sourceId?: string | null;
  sourceType?: string | null;
  /** `pending`, `processing`, `completed`, `failed`, `deactivated` or `cancelled`. */
  status: string;
  storageRunKeyHash: string;
  subscriptionGuid: string;
  timeZone?: string | null;
  /** What it is about, for people. */
  title?: string;
  /** How often the run itself was decided. */
  tries: number;
  /** `dateBased`, `threshold`, `recurring`, `scheduledRun`, `manualRun` or `at`. */
  trigger: string;
  truncated?: boolean | null;
  updatedAt: string;
  version: number;
}

/** The outcome of one item. */
export interface BatchItem {
  error?: Problem | null;
  id?: string | null;
  /** The item's place in the request, from 0. */
  index: number;
  /** `created`, `updated`, `unchanged` or `rejected`. */
  outcome: string;
  /** Its present status, when it was not rejected. */
  status?: string | null;
  /** Warnings about accepted values that do not work yet, such as a channel that does not exist. */
  warnings?: FieldError[];
}

/** The outcomes of a batch, in the order of its items. */
export interface BatchResult {
  items: BatchItem[];
}

/** A file that was uploaded. */
export interface Blob {
  businessUnit?: string | null;
  contentType: string;
  /** SHA-256 of the content, in hex. */
  digest: string;
  /** When it is removed unless a message uses it. */
  expiresAt: string;
  /** What an attachment names as `blob`. */
  id: string;
  /** In bytes. */
  size: number;
}

/** A business unit as it is stored. */
export interface BusinessUnit {
  id: string;
  name: string;
  quota?: Quota | null;
  timeZone: string;
  updatedAt: string;
  usage?: QuotaUsage | null;
  /** Messages that are due and wait for a call, up to 10,000; only for a single unit with a share of each channel, not in lists. */
  waiting?: number | null;
}

/** One page of a list. */
export interface BusinessUnitPage {
  items: BusinessUnit[];
  /** Send it as `cursor` for the next page; null on the last page. If few rows match a filter, a page may be short or empty and still have a next page. */
  nextCursor?: string | null;
}

/** A business unit to be defined. */
export interface BusinessUnitRequest {
  name: string;
  quota?: QuotaInput | null;
  /** An IANA name. */
  timeZone: string;
}

/** When: `cron`, or `rrule` with `sendTime`, in local time. */
export interface CadenceShape {
  /** Five fields: minute, hour, day, month, weekday. */
  cron?: string | null;
  /** Days by RFC 5545: FREQ, INTERVAL, BYDAY, BYMONTHDAY, BYMONTH, WKST and UNTIL. */
  rrule?: string | null;
  sendTime?: string | null;
  /** The date from which a rule counts. */
  startsOn?: string | null;
  /** By default that of the business unit, or UTC. */
  timeZone?: string | null;
}

/** When: `cron`, or `rrule` with `sendTime`, in local time. */
export interface CadenceShapeInput {
  /** Five fields: minute, hour, day, month, weekday. */
  cron?: string | null;
  /** Days by RFC 5545: FREQ, INTERVAL, BYDAY, BYMONTHDAY, BYMONTH, WKST and UNTIL. */
  rrule?: string | null;
  sendTime?: string | null;
  /** The date from which a rule counts. */
  startsOn?: string | null;
  /** By default that of the business unit, or UTC. */
  timeZone?: string | null;
}

/** A send by an operator: one trigger for given events. */
export interface CampaignRequest {
  /** At most 10,000. */
  items: IngestItem[];
  triggerId: string;
}

/** A channel as it is stored. */
export interface Channel {
  adapter: string;
  atMostOnce: boolean;
  circuit?: CircuitSetting | null;
  /** Concurrent calls from one node, 1 to 200; by default the adapter's own value. */
  concurrency?: number | null;
  health?: ChannelState | null;
  key: string;
  limits?: Limits | null;
  quietHours?: QuietHours | null;
  retry: RetrySettings;
  /** The secrets that are set. */
  secretsSet: string[];
  sendWindow?: SendWindow | null;
  /** The settings without the secrets. */
  settings: Record<string, unknown>;
  /** The zone of these hours for recipients whose own is not known. */
  timeZone?: string | null;
  updatedAt: string;
  version: number;
}

/** How a channel did in the last hour. */
export interface ChannelHealth {
  /** How long an attempt took. */
  averageMs: number;
  channel: string;
  delivered: number;
  /** The error of the last attempt that failed. */
  lastError?: string | null;
  lastErrorAt?: string | null;
  /** Between 0 and 1. */
  successShare: number;
  /** Attempts that have ended. */
  tries: number;
}

/** One page of a list. */
export interface ChannelHealthPage {
  items: ChannelHealth[];
  /** Send it as `cursor` for the next page; null on the last page. If few rows match a filter, a page may be short or empty and still have a next page. */
  nextCursor?: string | null;
}

/** One page of a list. */
export interface ChannelPage {
  items: Channel[];
  /** Send it as `cursor` for the next page; null on the last page. If few rows match a filter, a page may be short or empty and still have a next page. */
  nextCursor?: string | null;
}

/** A channel to be defined. */
export interface ChannelRequest {
  adapter: string;
  /** Do not retry what may have arrived: for receivers that cannot recognise a repetition. */
  atMostOnce?: boolean | null;
  circuit?: CircuitSettingInput | null;
  /** Concurrent calls from one node, 1 to 200; by default the adapter's own value. */
  concurrency?: number | null;
  limits?: LimitsInput | null;
  quietHours?: QuietHoursInput | null;
  retry?: RetrySettingsInput | null;
  sendWindow?: SendWindowInput | null;
  /** What the adapter needs; a secret may be given as `env:NAME`. */
  settings?: AmqpSettings | Amqp1Settings | InProcessSettings | MemorySettings | NatsSettings | SendgridSettings | SlackSettings | SmsGatewaySettings | SmtpSettings | TeamsSettings | TwilioSettings | WebhookSettings | Whatsapp360dialogSettings | WhatsappCloudSettings | WhatsappInfobipSettings | Record<string, unknown> | null;
  /** The zone of these hours for recipients whose own is not known. */
  timeZone?: string | null;
}

/** The state of a channel. */
export interface ChannelState {
  /** `closed`: messages are sent. `open`: the channel failed repeatedly and nothing is sent. `halfOpen`: one message probes whether it works again. */
  circuit: string;
  /** The hosts that targets name themselves and whose circuits are open or half open. */
  hosts?: HostState[];
  lastError?: string | null;
  /** How many times in a row the circuit has opened. */
  openCount: number;
  /** When an open circuit becomes half open. */
  openUntil?: string | null;
  rates: RateState[];
}

/** What came of the trial. */
export interface ChannelTest {
  /** The provider's answer, in words. */
  detail?: string | null;
  durationMs: number;
  messageId?: string | null;
  /** `delivered`, `transient` or `permanent`. */
  outcome: string;
}

/** A message that shows whether the channel works. */
export interface ChannelTestRequest {
  /** The address to send to. */
  address: string;
  body?: string | null;
  subject?: string | null;
}

/** A point that must be confirmed before the shadow begins. */
export interface ChecklistPoint {
  at?: string | null;
  by?: string | null;
  confirmed: boolean;
  name: string;
  what: string;
}

/** When a circuit opens, and for how long. */
export interface Circuit {
  /** It opens after this many failures in a row, 1 to 1000; 10 by default. */
  failures?: number;
  /** The longest time that it stays open without a probe; `5m` by default. */
  maxOpenFor?: string;
  /** How long it stays open at first; twice as long after each probe that fails. `1s` to `1d`, `30s` by default. */
  openFor?: string;
}

/** When a circuit opens, and for how long. */
export interface CircuitInput {
  /** It opens after this many failures in a row, 1 to 1000; 10 by default. */
  failures?: number | null;
  /** The longest time that it stays open without a probe; `5m` by default. */
  maxOpenFor?: string | null;
  /** How long it stays open at first; twice as long after each probe that fails. `1s` to `1d`, `30s` by default. */
  openFor?: string | null;
}

/** The circuit of a channel, or `false`. */
export type CircuitSetting = boolean | Circuit;

/** The circuit of a channel, or `false`. */
export type CircuitSettingInput = boolean | CircuitInput;

/** How to move the clock: to an instant, or ahead by a duration. */
export type ClockRequest = Record<string, unknown>;

/** What went wrong, as a stable word that programs may compare. */
export type Code = "json_syntax" | "json_too_deep" | "json_duplicate_key" | "text_invalid" | "content_type" | "content_encoding" | "body_too_large" | "batch_too_large" | "unknown_field" | "missing_field" | "wrong_type" | "out_of_range" | "field_conflict" | "key_invalid" | "password_weak" | "idempotency_mismatch" | "time_no_offset" | "date_invalid" | "time_in_future" | "date_out_of_range" | "zone_unknown" | "duration_invalid" | "framing_ambiguous" | "unit_unknown" | "schedule_invalid" | "schedule_never" | "months_skipped" | "due_out_of_range" | "due_too_old" | "address_invalid" | "phone_invalid" | "subject_invalid" | "header_not_allowed" | "header_invalid" | "attachment_invalid" | "blob_unknown" | "attachments_not_supported" | "template_syntax" | "template_unknown_variable" | "template_limit" | "channel_unknown" | "url_scheme" | "url_port" | "url_userinfo" | "url_forbidden" | "url_host" | "secret_reference" | "secret_required" | "auth_failed" | "scope_missing" | "not_found" | "gone" | "method_not_allowed" | "request_timeout" | "stale_version" | "state_not_allowed" | "csrf" | "page_size" | "cursor_invalid" | "rate_limited" | "quota_exceeded" | "storage_unavailable" | "id_reused" | "site_mismatch" | "buffer_full" | "owned_by_other" | "import_invalid" | "signature_invalid" | "internal" | "unknown";

export interface ComparedRun {
  /** How much later the old scheduler was. */
  differenceSeconds?: number | null;
  expectedAt?: string | null;
  foundAt?: string | null;
  key: string;
  /** `match`, `missing` or `extra`. */
  verdict: string;
}

/** The expected runs against those of the old scheduler. */
export interface Comparison {
  /** How many of each verdict. */
  counts: Record<string, number>;
  /** There are more rows than one response can hold. */
  cut: boolean;
  from: string;
  items: ComparedRun[];
  to: string;
}

/** A consumer as it is stored, and how it is. */
export interface Consumer {
  active: boolean;
  adapter: string;
  businessUnit?: string | null;
  health: ConsumerHealth;
  key: string;
  /** The secrets that are set. */
  secretsSet: string[];
  /** The settings without the secrets. */
  settings: Record<string, unknown>;
  updatedAt: string;
  version: number;
}

/** How a consumer is, over all nodes that run it. */
export interface ConsumerHealth {
  /** Events that were taken. */
  accepted: number;
  /** Events that the broker handed out again, and that were left aside. */
  duplicates: number;
  /** Messages that wait at the broker, if it reports them. */
  lag?: number | null;
  lastError?: string | null;
  lastErrorAt?: string | null;
  /** When a message was last taken. */
  lastMessageAt?: string | null;
  /** Nodes that are connected. */
  nodes: number;
  /** Events that were refused and sent to the dead letters. */
  refused: number;
  /** Since when it is in this state. */
  since: string;
  /** `connected`, `connecting`, `disconnected`, `notRunning` (no node runs it, as in the sandbox) or `off`. */
  state: string;
}

/** One page of a list. */
export interface ConsumerPage {
  items: Consumer[];
  /** Send it as `cursor` for the next page; null on the last page. If few rows match a filter, a page may be short or empty and still have a next page. */
  nextCursor?: string | null;
}

/** A consumer to be defined. */
export interface ConsumerRequest {
  /** Switched off it takes nothing; its events wait at the broker. */
  active?: boolean | null;
  /** `nats`, `amqp` or `amqp1`. */
  adapter: string;
  /** The business unit that its events belong to. An event that names another one is refused. */
  businessUnit?: string | null;
  /** What the adapter needs; a secret may be given as `env:NAME` or `file:NAME`. */
  settings?: AmqpConsumerSettings | Amqp1ConsumerSettings | NatsConsumerSettings | Record<string, unknown> | null;
}

/** The coordinates of a run. */
export interface Coordinates {
  artefacts: Artefact[];
  coordinates?: Record<string, unknown> | null;
  key: string;
  notifications: RunDelivery[];
  storageRunKeyHash: string;
}

/** So many days before, or after, a date of the source. */
export interface DateRule {
  /** A JSON pointer into the source's state: a date, or an instant whose local date counts. */
  field: string;
  /** Days before the date; negative ones are after it. */
  offsetsDays: number[];
  /** The local time of day in the business unit's zone; by default `09:00`. */
  sendTime?: string | null;
}

/** So many days before, or after, a date of the source. */
export interface DateRuleInput {
  /** A JSON pointer into the source's state: a date, or an instant whose local date counts. */
  field: string;
  /** Days before the date; negative ones are after it. */
  offsetsDays: number[];
  /** The local time of day in the business unit's zone; by default `09:00`. */
  sendTime?: string | null;
}

/** A rule that every new event or task gets. */
export interface DefaultRuleShape {
  /** `["email"]` where none are given. */
  channels?: string[];
  /** The channels to use, in order, if its own channel fails. */
  failover?: string[];
  message?: RuleTexts;
  /** `alarm`, `high`, `normal` or `campaign`; `normal` by default. An alarm knows no quiet hours and no cap. */
  priority?: string | null;
  rule: RuleShape;
  /** What it is about, for people who want messages about some things only. */
  topic?: string | null;
}

/** A rule that every new event or task gets. */
export interface DefaultRuleShapeInput {
  /** `["email"]` where none are given. */
  channels?: string[] | null;
  /** The channels to use, in order, if its own channel fails. */
  failover?: string[] | null;
  message?: RuleTextsInput | null;
  /** `alarm`, `high`, `normal` or `campaign`; `normal` by default. An alarm knows no quiet hours and no cap. */
  priority?: string | null;
  rule: RuleShapeInput;
  /** What it is about, for people who want messages about some things only. */
  topic?: string | null;
}

export type DefinitionAction = "create" | "update" | "delete";

/** A definition that changes. */
export interface DefinitionChange {
  action: DefinitionAction;
  fields: FieldChange[];
  id: string;
  kind: string;
}

/** Definitions by kind and id. */
export interface Definitions {
  /** Business units by id. */
  "business-units"?: Record<string, BusinessUnitRequest> | null;
  /** Channels by key. A secret is a reference such as `env:NAME`, or `{"set": true}` to keep the server's secret. */
  channels?: Record<string, ChannelRequest> | null;
  /** Consumers of events by key; secrets as for channels. */
  consumers?: Record<string, ConsumerRequest> | null;
  /** The delivery policy, under the id `default`. */
  "delivery-policy"?: Record<string, DeliveryPolicyInput> | null;
  /** Lists by name. */
  lists?: Record<string, ListRequest> | null;
  /** Organisations by id, with the rules that new events and tasks get. */
  organisations?: Record<string, OrganisationRequest> | null;
  /** People of events and tasks by id. */
  people?: Record<string, PersonRequest> | null;
  /** Reminder settings by id. */
  "reminder-settings"?: Record<string, ReminderSettingRequest> | null;
  /** Report subscriptions by guid. */
  "report-subscriptions"?: Record<string, ReportSubscriptionRequest> | null;
  /** Sites by id, without their tokens. */
  sites?: Record<string, SiteChange> | null;
  /** Subscribers by key; secrets as for channels. */
  subscribers?: Record<string, SubscriberRequest> | null;
  /** Surveys by name; a second one of the same name has `~2` after it. */
  surveys?: Record<string, SurveyDefinition> | null;
  /** Templates by name. */
  templates?: Record<string, TemplateRequest> | null;
}

/** Everything that is defined. */
export interface DefinitionsDocument {
  /** By kind and id, as the routes of each kind take them. A secret is the reference that is stored, or `{"set": true}`. */
  definitions: Record<string, Record<string, unknown>>;
}

/** What an import changed, or would change. */
export interface DefinitionsPlan {
  /** Whether it was done; a plan and an import without changes do nothing. */
  applied: boolean;
  changes: DefinitionChange[];
  /** What is not given and cannot be removed; only with `prune`. */
  kept: KeptDefinition[];
  /** How many of the given definitions are there as they are given. */
  unchanged: number;
}

/** Definitions to be planned or imported. */
export interface DefinitionsRequest {
  definitions: Definitions;
  /** Say what would change, and change nothing. */
  plan?: boolean | null;
  /** Remove definitions that are not given, of the kinds that are. */
  prune?: boolean | null;
}

/** How it leaves. Read when a reminder is due, so changes here touch no planned row. */
export interface Delivery {
  /** As `subject`. */
  body?: string | null;
  /** By default that of the list, or `email:default`. */
  channel?: string | null;
  /** The channels to use, in order, if its own channel fails. */
  failover?: string[];
  /** The body once more, for those who read HTML. Values are escaped. */
  html?: string | null;
  locale?: string | null;
  /** A JSON pointer to the language in the source's state. */
  localeField?: string | null;
  /** The delivery policy of an embedding program; by default `standard`. */
  policy?: string | null;
  /** `alarm`, `high`, `normal` or `campaign`; `normal` by default. An alarm knows no quiet hours and no cap. */
  priority?: string | null;
  quietHours?: QuietHours | null;
  /** Without a template; by default the setting's name. It sees what a template sees: `{{ state.number }}`. */
  subject?: string | null;
  /** It sees the fields of the source's state, and `state`, `source`, `setting` and `reminder`. */
  template?: string | null;
  /** What it is about, for people who want messages about some things only. */
  topic?: string | null;
}

/** How it leaves. Read when a reminder is due, so changes here touch no planned row. */
export interface DeliveryInput {
  /** As `subject`. */
  body?: string | null;
  /** By default that of the list, or `email:default`. */
  channel?: string | null;
  /** The channels to use, in order, if its own channel fails. */
  failover?: string[] | null;
  /** The body once more, for those who read HTML. Values are escaped. */
  html?: string | null;
  locale?: string | null;
  /** A JSON pointer to the language in the source's state. */
  localeField?: string | null;
  /** The delivery policy of an embedding program; by default `standard`. */
  policy?: string | null;
  /** `alarm`, `high`, `normal` or `campaign`; `normal` by default. An alarm knows no quiet hours and no cap. */
  priority?: string | null;
  quietHours?: QuietHoursInput | null;
  /** Without a template; by default the setting's name. It sees what a template sees: `{{ state.number }}`. */
  subject?: string | null;
  /** It sees the fields of the source's state, and `state`, `source`, `setting` and `reminder`. */
  template?: string | null;
  /** What it is about, for people who want messages about some things only. */
  topic?: string | null;
}

/** One attempt for one message. */
export interface DeliveryLogEntry {
  /** Which attempt of all, from 1. */
  attempt: number;
  error?: string | null;
  /** The provider's id of the message. */
  messageId?: string | null;
  /** Which message of the schedule, from 1: a failed attempt uses up none. */
  ordinal: number;
  sentAt: string;
  /** `delivered`, `failed`, `uncertain`, `underway`, or the reason why there was no attempt, such as `no-channel`. */
  status: string;
}

/** The delivery policy of the whole installation. */
export interface DeliveryPolicy {
  /** The colour of that page. */
  colour?: string | null;
  /** Messages that one person gets on one local day, over all workflows and channels; alarms are not counted. */
  dailyCap?: number | null;
  /** The local time at which the digest of the day before is sent; by default 08:00. */
  digestAt?: string | null;
  /** Who writes to people, as their page says it. */
  organisation?: string | null;
  /** What people can choose from on their page. */
  topics?: TopicTitle[];
}

/** The delivery policy of the whole installation. */
export interface DeliveryPolicyInput {
  /** The colour of that page. */
  colour?: string | null;
  /** Messages that one person gets on one local day, over all workflows and channels; alarms are not counted. */
  dailyCap?: number | null;
  /** The local time at which the digest of the day before is sent; by default 08:00. */
  digestAt?: string | null;
  /** Who writes to people, as their page says it. */
  organisation?: string | null;
  /** What people can choose from on their page. */
  topics?: TopicTitleInput[] | null;
}

/** A planned erasure, or the result of one. */
export interface Erasure {
  certificate?: ErasureCertificate | null;
  createdAt: string;
  /** What was found, by kind. */
  found: KindCount[];
  id: string;
  /** `planned`: nothing was erased. `done`. `incomplete`: some rows were being sent; ask again. */
  status: string;
}

/** The proof of an erasure. It does not name the person. */
export interface ErasureCertificate {
  /** The business units that it was limited to. */
  businessUnits?: string[] | null;
  erased: KindCount[];
  erasedAt: string;
  erasedBy: string;
  id: string;
  /** What stays on purpose, and why. */
  kept: string[];
  /** What a second search still found. */
  remaining: KindCount[];
  salt: string;
  /** Of all the others, with a key that follows from the master key. */
  signature: string;
  /** SHA-256, in hexadecimal, of `SALT:address:ADDRESS` with the address in lower case, or of `SALT:person:ID`. */
  subjectHash: string;
}

/** Who is to be erased: an address, or the id of a person with all their addresses. Without `confirm` it is a plan. */
export interface ErasureRequest {
  /** Where the person is reached. */
  address?: string | null;
  /** Carry it out: what was erased cannot be brought back. */
  confirm?: boolean | null;
  /** Leave suppressions, so that nothing is sent to the address again by mistake. */
  keepSuppressions?: boolean | null;
  /** The id of somebody among the people of operations or of preferences. */
  person?: string | null;
}

/** An event as it is stored. */
export interface Event {
  businessUnit?: string | null;
  createdAt: string;
  creator: string;
  description?: string | null;
  endDate?: string | null;
  id: string;
  isAllDay: boolean;
  location?: string | null;
  organisation?: string | null;
  participants: string[];
  /** When its people are notified. */
  rules?: Rule[];
  startDate?: string | null;
  timeZone?: string | null;
  title: string;
  updatedAt: string;
  version: number;
}

/** What is to be different about an event; a date, organisation or zone of `null` is taken away. */
export interface EventChange {
  creator?: string | null;
  description?: string | null;
  endDate?: string | null;
  isAllDay?: boolean | null;
  location?: string | null;
  organisation?: string | null;
  participants?: string[] | null;
  /** An instant; for a whole day also a date such as `2026-05-14`. */
  startDate?: string | null;
  timeZone?: string | null;
  title?: string | null;
}

/** The outcome of one event. */
export interface EventOutcome {
  error?: Problem | null;
  index: number;
  /** `accepted`, `stale` (older than what is known) or `rejected`. */
  outcome: string;
  /** 1 when nothing listens to its type. */
  unmatched?: number;
  work?: WorkCounts | null;
}

/** The outcomes of a batch, in the order of its items. */
export interface EventOutcomeBatch {
  items: EventOutcome[];
}

/** One page of a list. */
export interface EventPage {
  items: Event[];
  /** Send it as `cursor` for the next page; null on the last page. If few rows match a filter, a page may be short or empty and still have a next page. */
  nextCursor?: string | null;
}

/** One event. Other attributes are allowed and ignored. */
export interface EventRequest {
  /** At most 64 KiB. */
  data?: unknown;
  /** Unique for its `source`. */
  id: string;
  sequence?: Sequence | null;
  /** Where it comes from, as a URI reference. */
  source: string;
  specversion: string;
  /** Its subject, such as `document/42`. */
  subject?: string | null;
  time?: string | null;
  type: string;
}

/** A new link. It is shown once; everyone with the link can read the calendar. */
export interface Feed {
  createdAt: string;
  ownerId: string;
  /** `organisation` or `person`. */
  ownerType: string;
  /** The path of the calendar, with its secret. */
  path: string;
}

/** The owner of the calendar: exactly one of the two. */
export interface FeedRequest {
  organisation?: string | null;
  person?: string | null;
}

/** A field that changes; null stands for a field that is not there. Secrets are never shown. */
export interface FieldChange {
  from: unknown;
  pointer: string;
  to: unknown;
}

/** The error at one place in a request. */
export interface FieldError {
  code: Code;
  /** One sentence with the error and the correct form. */
  detail: string;
  /** A JSON pointer (RFC 6901) to the place, such as `/items/3/subject`; a query parameter counts as a field. */
  pointer: string;
}

/** What will be sent, by local day. */
export interface Forecast {
  /** There are more rows than one response can hold. */
  cut: boolean;
  days: ForecastDay[];
}

export interface ForecastDay {
  /** How many for each workflow. */
  byPath: Record<string, number>;
  /** What is sent; an entry that sends nothing (`expiry`, `shadow`) is not counted. */
  count: number;
  /** At most the first hundred. */
  items: ForecastItem[];
  localDate: string;
  /** How many addresses its reminders go to, as lists and sources are now. */
  recipients: number;
  timeZone: string;
}

export interface ForecastItem {
  /** When it will be sent, with what quiet hours do to it. */
  dueAt: string;
  key: string;
  /** `message`, `expiry`, `run` or `shadow`. */
  kind: string;
  /** Why it is sent at another time than it is due, such as `quiet-hours`. */
  reason?: string | null;
  /** What it is about, for people. */
  title: string;
}

/** That the process responds. */
export interface Health {
  status: string;
  /** The program's version. */
  version: string;
}

/** What a node has claimed. */
export interface Holds {
  notifications: number;
  work: number;
}

/** The circuit of one host. */
export interface HostState {
  /** `open` or `halfOpen`. */
  circuit: string;
  host: string;
  lastError: string;
  openCount: number;
  openUntil: string;
}

/** What became of an imported calendar. */
export interface Imported {
  created: number;
  /** Dates and events to come that were imported before and are no longer in the file. */
  removed?: number;
  /** Components that are not taken, each with its line and why. */
  skipped: SkippedComponent[];
  unchanged: number;
  updated: number;
}

/** `in-process`: In process calls a handler that was registered in this process. */
export interface InProcessSettings {
  /** Handler: the name of a registered handler; `log` is always there. */
  handler: string;
}

/** A page of messages, newest first. */
export interface Inbox {
  items: InboxMessage[];
  nextCursor?: string | null;
  /** How many are not read, counted up to 1,000. */
  unread: number;
}

/** One message to one person. */
export interface InboxMessage {
  body: string;
  channel: string;
  createdAt: string;
  id: string;
  /** The notification it came with. */
  notificationId: string;
  readAt?: string | null;
  subject: string;
  type: string;
}

/** Marks messages as read. */
export interface InboxRead {
  /** Everything up to this message; what came after it stays as it is. */
  upTo: string;
}

/** One event and the recipient of its survey. */
export interface IngestItem {
  /** When it happened; now if absent. */
  occurredAt?: string | null;
  /** Any fields; filters and recipes see them as `candidate.…`. */
  payload: Record<string, unknown>;
  recipient: Recipient;
}

/** Events of one kind. */
export interface IngestRequest {
  eventKind: string;
  /** At most 10,000. */
  items: IngestItem[];
}

/** What became of events. */
export interface Ingested {
  /** Instances that are new. */
  created: number;
  /** Items that could not be taken. */
  failed: number;
  /** In the order of the request. */
  items: IngestedItem[];
  /** Instances that were there already, because the event was reported before. */
  skipped: number;
  /** Items that no trigger took. */
  unmatched: number;
}

export interface IngestedInstance {
  /** `Created`, or `Skipped` where the event was seen before and this is its instance from then. */
  outcome: string;
  publicId: string;
  surveyId: number;
  triggerId: string;
}

export interface IngestedItem {
  error?: Problem | null;
  instances: IngestedInstance[];
  /** `Created`, `Skipped`, `NoMatch` or `Failed`. */
  outcome: string;
  /** Why nothing matched: `no-trigger`, `filter-false` or `disabled`. */
  why?: string | null;
}

/** One link that was offered to somebody. */
export interface Instance {
  businessUnit?: string | null;
  channel: string;
  customerRef?: string | null;
  /** Every attempt, oldest first. */
  deliveryLog: DeliveryLogEntry[];
  finishedAt?: string | null;
  id: number;
  lastSentAt?: string | null;
  /** The event as it came. */
  metadata: Record<string, unknown>;
  nextSendAt?: string | null;
  openedAt?: string | null;
  publicId: string;
  /** Why it expired, where it did. */
  reasonCode?: string | null;
  recipientAddress: string;
  recipientLocale?: string | null;
  remindersRemaining: number;
  /** `pending`, `sent`, `opened`, `completed` or `expired`. */
  status: string;
  surveyId: number;
  /** The version it is pinned to. */
  surveyVersionId: number;
  triggerId: string;
  triggeredAt: string;
  triggeredBy: string;
  uniqueHash?: string | null;
}

/** One page of a list. */
export interface InstancePage {
  items: Instance[];
  /** Send it as `cursor` for the next page; null on the last page. If few rows match a filter, a page may be short or empty and still have a next page. */
  nextCursor?: string | null;
}

/** A definition that a prune leaves, and why. */
export interface KeptDefinition {
  id: string;
  kind: string;
  reason: string;
}

/** How many rows of a kind. */
export interface KindCount {
  kind: string;
  rows: number;
}

/** The metrics of the outbox at one time, computed from the table. */
export interface Kpis {
  at: string;
  bySite: SiteKpis[];
  /** Messages of which a provider said in the last interval that they arrived, and that they did not. */
  confirmedLastInterval?: number;
  deliveredLastInterval: number;
  /** The length of the interval that `deliveredLastInterval` covers. */
  intervalSeconds: number;
  lastPurge?: LastPurge | null;
  notDeliveredLastInterval?: number;
  oldestPendingAgeSeconds?: number | null;
  parkedCount: number;
  /** Pending and retrying. */
  queueDepth: number;
  /** Older than this counts as stuck. */
  stuckAfterSeconds: number;
  /** Those that should have gone long ago, and do not wait for anything. */
  stuckCount: number;
  /** Deliveries whose end is not known. */
  uncertain?: number;
  /** Those that wait for an hour, a slot under a limit, or an open circuit; they are sent later by themselves. */
  waitingCount?: number;
}

/** A purge of notifications that ended longer ago than they are kept. */
export interface LastPurge {
  at: string;
  keepForDays: number;
  /** Notifications that it removed; each left a tombstone. */
  removed: number;
}

/** How much a channel may send. */
export interface Limits {
  /** The account behind the channel, where several channels share one. */
  provider?: string | null;
  /** The same for all channels of that provider together. */
  providerRates?: Rate[];
  /** At most so many sends in any sliding window of that length, over all nodes. */
  rates?: Rate[];
}

/** How much a channel may send. */
export interface LimitsInput {
  /** The account behind the channel, where several channels share one. */
  provider?: string | null;
  /** The same for all channels of that provider together. */
  providerRates?: RateInput[] | null;
  /** At most so many sends in any sliding window of that length, over all nodes. */
  rates?: RateInput[] | null;
}

/** A list as it is stored. */
export interface List {
  businessUnit?: string | null;
  channel: string;
  name: string;
  targets: string[];
  type: string;
  updatedAt: string;
  /** Warnings about accepted values that do not work yet, such as a channel that does not exist. */
  warnings?: FieldError[];
}

/** One page of a list. */
export interface ListPage {
  items: List[];
  /** Send it as `cursor` for the next page; null on the last page. If few rows match a filter, a page may be short or empty and still have a next page. */
  nextCursor?: string | null;
}

/** A list to be defined. */
export interface ListRequest {
  businessUnit?: string | null;
  channel?: string | null;
  /** At most 10,000 addresses; a list may be empty. */
  targets: string[];
  /** What kind of address its targets are; it is sent over the channel `type:default` unless it names another. */
  type: string;
}

/** `memory`: Memory keeps messages in this process, for trying things out. */
export interface MemorySettings {
}

/** A message as it is stored. */
export interface Message {
  /** Files that go along. */
  attachments?: Attachment[];
  body: string;
  businessUnit?: string | null;
  channel?: string | null;
  context?: Record<string, unknown> | null;
  createdAt: string;
  /** The channels to use, in order, if its own channel fails. */
  failover?: string[];
  headers?: Record<string, string>;
  html?: string | null;
  id: string;
  list?: string | null;
  locale?: string | null;
  /** The notifications that it became. */
  notifications: string[];
  onHold: boolean;
  /** `alarm`, `high`, `normal` or `campaign`; `normal` by default. An alarm knows no quiet hours and no cap. */
  priority?: string | null;
  reasonCode?: string | null;
  replyTo?: string | null;
  sendAt: string;
  /** The status of its work row. */
  status: string;
  subject: string;
  targets?: string[] | null;
  template?: string | null;
  /** What it is about, for people who want messages about some things only. */
  topic?: string | null;
  typeData?: Record<string, unknown> | null;
  /** Warnings about accepted values that do not work yet, such as a channel that does not exist. */
  warnings?: FieldError[];
  workId: number;
}

/** The answer to an accepted message. */
export interface MessageAccepted {
  id: string;
  /** `created`, `updated`, `unchanged`, `reactivated`, `completed`, `inProgress` or `cancelled`. */
  outcome: string;
  /** The stored row: a finished one keeps its time. */
  sendAt: string;
  /** The status of its work row. */
  status: string;
  /** Warnings about accepted values that do not work yet, such as a channel that does not exist. */
  warnings?: FieldError[];
  workId: number;
}

/** What is to be different; null takes a field away. */
export interface MessageChange {
  /** At most 20 files: 10 MiB together inline, 25 MiB with blobs. Refused where the channel cannot send files. */
  attachments?: AttachmentRequest[] | null;
  /** At most 256 KiB; not needed with a template. */
  body?: string | null;
  /** The channel's key; by default that of the list or of the type. */
  channel?: string | null;
  /** What the template sees. Without a template, `subject`, `body` and `html` are templates that see it. */
  context?: Record<string, unknown> | null;
  /** The channels to use, in order, if its own channel fails. */
  failover?: string[] | null;
  /** Headers of the mail: `X-…`, `In-Reply-To`, `References`, `List-Id` and `Auto-Submitted`, each one line of ASCII. */
  headers?: Record<string, string> | null;
  /** The body once more, for those who read HTML. */
  html?: string | null;
  /** The name of a list, resolved when the message is delivered; or else `targets`. */
  list?: string | null;
  /** The template's variant; `ar-IQ` falls back to `ar`, then to the default. */
  locale?: string | null;
  /** `alarm`, `high`, `normal` or `campaign`; `normal` by default. An alarm knows no quiet hours and no cap. */
  priority?: string | null;
  /** Where answers to the mail go, instead of to the sender of the channel. */
  replyTo?: string | null;
  sendAt?: string | null;
  /** One line of at most 998 bytes; not needed with a template. */
  subject?: string | null;
  /** 1 to 1,000 addresses; or else `list`. */
  targets?: string[] | null;
  /** The name of a template that makes subject and body. */
  template?: string | null;
  /** What it is about, for people who want messages about some things only. */
  topic?: string | null;
  /** Fields that only this type of channel understands; kept and returned as they are. */
  typeData?: Record<string, unknown> | null;
}

/** One page of a list. */
export interface MessagePage {
  items: Message[];
  /** Send it as `cursor` for the next page; null on the last page. If few rows match a filter, a page may be short or empty and still have a next page. */
  nextCursor?: string | null;
}

/** A message to be sent later. */
export interface MessageRequest {
  /** At most 20 files: 10 MiB together inline, 25 MiB with blobs. Refused where the channel cannot send files. */
  attachments?: AttachmentRequest[] | null;
  /** At most 256 KiB; not needed with a template. */
  body?: string | null;
  businessUnit?: string | null;
  /** The channel's key; by default that of the list or of the type. */
  channel?: string | null;
  /** What the template sees. Without a template, `subject`, `body` and `html` are templates that see it. */
  context?: Record<string, unknown> | null;
  /** The channels to use, in order, if its own channel fails. */
  failover?: string[] | null;
  /** Headers of the mail: `X-…`, `In-Reply-To`, `References`, `List-Id` and `Auto-Submitted`, each one line of ASCII. */
  headers?: Record<string, string> | null;
  /** The body once more, for those who read HTML. */
  html?: string | null;
  /** Its identity, of at most 128 bytes; made by the server when absent. */
  id?: string | null;
  /** The name of a list, resolved when the message is delivered; or else `targets`. */
  list?: string | null;
  /** The template's variant; `ar-IQ` falls back to `ar`, then to the default. */
  locale?: string | null;
  /** `alarm`, `high`, `normal` or `campaign`; `normal` by default. An alarm knows no quiet hours and no cap. */
  priority?: string | null;
  /** Where answers to the mail go, instead of to the sender of the channel. */
  replyTo?: string | null;
  /** Reactivates a cancelled message with this id; without it, the cancelled message is returned. */
  revive?: boolean | null;
  sendAt: string;
  /** One line of at most 998 bytes; not needed with a template. */
  subject?: string | null;
  /** 1 to 1,000 addresses; or else `list`. */
  targets?: string[] | null;
  /** The name of a template that makes subject and body. */
  template?: string | null;
  /** What it is about, for people who want messages about some things only. */
  topic?: string | null;
  /** Fields that only this type of channel understands; kept and returned as they are. */
  typeData?: Record<string, unknown> | null;
}

/** How a captured channel is to misbehave. */
export interface MisbehaviourRequest {
  /** What the provider is to say. */
  error?: string | null;
  outcome: SandboxOutcome;
  /** For how many sends; for all of them when absent. */
  times?: number | null;
}

/** A source in a bulk request. */
export interface NamedSourceRequest {
  /** False if it is no longer active. */
  active?: boolean | null;
  businessUnit?: string | null;
  id: string;
  /** When it became so, for producers without a sequence; by default now. */
  occurredAt?: string | null;
  sequence?: Sequence | null;
  /** At most 64 KiB. */
  state?: Record<string, unknown>;
  type: string;
}

/** The outcomes of a batch, in the order of its items. */
export interface NamedSourceRequestBatch {
  items: NamedSourceRequest[];
}

/** `nats`: NATS JetStream takes events from a stream. */
export interface NatsConsumerSettings {
  /** Batch: how many messages are taken at once; one commit for all of them; `100` by default. */
  batch?: number | null;
  /** Credentials: what a `.creds` file has, such as `file:nats.creds`. */
  credentials?: string | StoredSecret | null;
  /** Dead letters: where messages that are refused go, such as orders-refused; another stream keeps it. */
  deadLetterSubject: string;
  /** Durable consumer: its name at the server; `punctual` by default. */
  durable?: string | null;
  /** NKey seed: a user's seed, which starts with `SU`. */
  nkeySeed?: string | StoredSecret | null;
  /** Password: the account's password. */
  password?: string | StoredSecret | null;
  /** Stream: the stream with the events, such as ORDERS. */
  stream: string;
  /** Subject: which messages of the stream are meant; all of them where it is missing. */
  subject?: string | null;
  /** Token: a token, in place of a user name. */
  token?: string | StoredSecret | null;
  /** URL: the server, such as tls://nats.example.com. */
  url: string;
  /** User name: an account of the broker. */
  username?: string | null;
}

/** `nats`: NATS JetStream publishes messages to a subject. */
export interface NatsSettings {
  /** Credentials: what a `.creds` file has, such as `file:nats.creds`. */
  credentials?: string | StoredSecret | null;
  /** NKey seed: a user's seed, which starts with `SU`. */
  nkeySeed?: string | StoredSecret | null;
  /** Password: the account's password. */
  password?: string | StoredSecret | null;
  /** Stream: the stream that must take the message. */
  stream?: string | null;
  /** Subject: where to publish, such as surveys.answers. */
  subject: string;
  /** Time-out: how long one attempt may take, in seconds; `15` by default. */
  timeoutSeconds?: number | null;
  /** Token: a token, in place of a user name. */
  token?: string | StoredSecret | null;
  /** URL: the server, such as tls://nats.example.com. */
  url: string;
  /** User name: an account of the broker. */
  username?: string | null;
}

/** An event to be created. */
export interface NewEvent {
  businessUnit?: string | null;
  /** The id of a person. */
  creator: string;
  description?: string | null;
  /** An instant; for a whole day also a date. */
  endDate?: string | null;
  isAllDay?: boolean | null;
  location?: string | null;
  organisation?: string | null;
  participants?: string[] | null;
  /** An instant; for a whole day also a date such as `2026-05-14`. */
  startDate?: string | null;
  /** The time zone of its dates; by default that of the organisation. */
  timeZone?: string | null;
  title: string;
}

/** A task to be created. */
export interface NewTask {
  businessUnit?: string | null;
  /** The id of a person. */
  creator: string;
  description?: string | null;
  finishedAt?: string | null;
  location?: string | null;
  organisation?: string | null;
  relatedUsers?: string[] | null;
  startedAt?: string | null;
  timeZone?: string | null;
  title: string;
}

/** A node, as it last reported itself. */
export interface Node {
  /** How far the machine's clock is ahead of the time that the node uses, in milliseconds. */
  clockOffsetMs: number;
  holds: Holds;
  lastSeenAt: string;
  node: string;
  /** `all`, `api` or `worker`. */
  role: string;
  startedAt: string;
  version: string;
}

/** All nodes, by name. */
export interface Nodes {
  items: Node[];
}

/** A notification as it is stored. */
export interface Notification {
  /** Files that go along. */
  attachments?: Attachment[];
  body?: string | null;
  businessUnit?: string | null;
  channel: string;
  content?: NotificationContent | null;
  context?: Record<string, unknown> | null;
  createdAt: string;
  deliveredAt?: string | null;
  /** When the site accepted it, if it came through a site. */
  enqueuedAt?: string | null;
  /** The channels that are used after its own. */
  failover?: string[];
  headers?: Record<string, string>;
  html?: string | null;
  id: string;
  lastAttemptAt?: string | null;
  lastError?: string | null;
  list?: string | null;
  locale?: string | null;
  nextAttemptAt?: string | null;
  /** `alarm`, `high`, `normal` or `campaign`. */
  priority?: string;
  reasonCode?: string | null;
  replyTo?: string | null;
  /** Each target with what became of it; empty until the first attempt. */
  resolvedTargets?: ResolvedTarget[];
  /** Attempts made. */
  retryCount: number;
  source?: NotificationSource;
  /** `pending`, `retrying`, `delivered`, `parked`, `withdrawn` or `discarded`. */
  status: string;
  subject: string;
  targets?: string[] | null;
  template?: string | null;
  topic?: string | null;
  type: string;
  typeData?: Record<string, unknown> | null;
  /** Attempts whose end is not known: each may have reached its target. */
  uncertain?: number;
  version: number;
  /** The work row it was born from. */
  workId?: number | null;
}

/** The response for one accepted notification: its id and status. */
export interface NotificationAccepted {
  id: string;
  /** `pending` when it is new; else the present state. */
  status: string;
  /** Warnings about accepted values that do not work yet, such as a channel that does not exist. */
  warnings?: FieldError[];
}

/** What a notification said, or will say. */
export interface NotificationContent {
  /** `stored` (its own texts and values), `template` (the version of its template that was in force when it was sent), `now` (the present template: no attempt was made yet) or `gone` (that version is no longer stored). */
  basis: string;
  body?: string | null;
  html?: string | null;
  note?: string | null;
  /** Null where it cannot be made again; `note` says why. */
  subject?: string | null;
  templateVersion?: number | null;
}

/** One page of a list. */
export interface NotificationPage {
  items: Notification[];
  /** Send it as `cursor` for the next page; null on the last page. If few rows match a filter, a page may be short or empty and still have a next page. */
  nextCursor?: string | null;
}

/** A notification to be sent. */
export interface NotificationRequest {
  /** At most 20 files: 10 MiB together inline, 25 MiB with blobs. Refused where the channel cannot send files. */
  attachments?: AttachmentRequest[] | null;
  /** At most 256 KiB; not needed with a template. */
  body?: string | null;
  businessUnit?: string | null;
  /** The channel's key; by default that of the list or of the type. */
  channel?: string | null;
  /** What the template sees. Without a template, `subject`, `body` and `html` are templates that see it. */
  context?: Record<string, unknown> | null;
  /** The channels to use, in order, if its own channel fails. */
  failover?: string[] | null;
  /** Headers of the mail: `X-…`, `In-Reply-To`, `References`, `List-Id` and `Auto-Submitted`, each one line of ASCII. */
  headers?: Record<string, string> | null;
  /** The body once more, for those who read HTML. */
  html?: string | null;
  /** A GUID made by the producer, and its idempotency key; made by the server when absent. */
  id?: string | null;
  /** The name of a list, resolved when the message is delivered; or else `targets`. */
  list?: string | null;
  /** The template's variant; `ar-IQ` falls back to `ar`, then to the default. */
  locale?: string | null;
  /** `alarm`, `high`, `normal` or `campaign`; `normal` by default. An alarm knows no quiet hours and no cap. */
  priority?: string | null;
  /** Where answers to the mail go, instead of to the sender of the channel. */
  replyTo?: string | null;
  source?: NotificationSourceRequest | null;
  /** One line of at most 998 bytes; not needed with a template. */
  subject?: string | null;
  /** 1 to 1,000 addresses; or else `list`. */
  targets?: string[] | null;
  /** The name of a template that makes subject and body. */
  template?: string | null;
  /** What it is about, for people who want messages about some things only. */
  topic?: string | null;
  /** What kind of message it is, for filters and figures; by default the channel's type. */
  type?: string | null;
  /** Fields that only this type of channel understands; kept and returned as they are. */
  typeData?: Record<string, unknown> | null;
}

/** Where a notification comes from. */
export interface NotificationSource {
  instance?: string | null;
  script?: string | null;
  site?: string | null;
}

/** The origin of a notification, as given by the caller. Only the token of a site determines the site. */
export interface NotificationSourceRequest {
  instance?: string | null;
  script?: string | null;
}

/** An organisation as kept. */
export interface Organisation {
  allDayAt?: string | null;
  businessUnit?: string | null;
  id: string;
  name: string;
  rules?: DefaultRuleShape[] | null;
  timeZone?: string | null;
  updatedAt: string;
}

/** One page of a list. */
export interface OrganisationPage {
  items: Organisation[];
  /** Send it as `cursor` for the next page; null on the last page. If few rows match a filter, a page may be short or empty and still have a next page. */
  nextCursor?: string | null;
}

/** An organisation to be kept. */
export interface OrganisationRequest {
  /** The local time at which a whole day counts, `HH:MM`; 12:00 if not given. */
  allDayAt?: string | null;
  businessUnit?: string | null;
  name: string;
  /** The messages of a new event or task; by default one at its start and one at its end. */
  rules?: DefaultRuleShapeInput[] | null;
  /** If set, whole days count at `allDayAt` in this zone instead of at noon UTC. */
  timeZone?: string | null;
}

/** A subscription without an owner or without recipients. */
export interface OrphanedSubscription {
  businessUnit?: string | null;
  guid: string;
  list?: string | null;
  name: string;
  owner?: string | null;
  /** `owner-gone`, `recipients-gone`, or both. */
  reasons: string[];
}

/** One page of a list. */
export interface OrphanedSubscriptionPage {
  items: OrphanedSubscription[];
  /** Send it as `cursor` for the next page; null on the last page. If few rows match a filter, a page may be short or empty and still have a next page. */
  nextCursor?: string | null;
}

/** The state of an event for one subscriber. */
export interface OutboxDelivery {
  attempts: number;
  deliveredAt?: string | null;
  lastError?: string | null;
  notificationId: string;
  /** That of its notification: `pending`, `retrying`, `delivered`, `parked` or `discarded`. */
  status: string;
  subscriber: string;
}

/** Something that happened, and its deliveries. */
export interface OutboxEvent {
  createdAt: string;
  deliveries: OutboxDelivery[];
  eventType: string;
  id: number;
  /** The instance and its survey, if the event belongs to one. */
  instancePublicId?: string | null;
  payload: Record<string, unknown>;
  /** `pending`, `dispatched` or `failed`: it follows from the deliveries. */
  status: string;
  surveyId?: number | null;
  /** The work row that arrived, if the event is about one. */
  workKey?: string | null;
}

/** One page of a list. */
export interface OutboxEventPage {
  items: OutboxEvent[];
  /** Send it as `cursor` for the next page; null on the last page. If few rows match a filter, a page may be short or empty and still have a next page. */
  nextCursor?: string | null;
}

/** Who owns a run. */
export interface Ownership {
  coordinates?: Record<string, unknown> | null;
  key: string;
  /** Whether the old scheduler could take it now. */
  oldSchedulerMayTake: boolean;
  /** `oldScheduler`, `automationScheduler`, or nobody yet. */
  owner?: string | null;
  ownerVersion?: string | null;
  /** The stage of its rollout, if there is one. */
  stage?: number | null;
  /** `owned`, `deliveryCreated` or `cancelled`. */
  status?: string | null;
  takenAt?: string | null;
}

/** What an owner has to say about its run. */
export interface OwnershipReport {
  /** The coordinates of the created files. */
  coordinates?: Record<string, unknown> | null;
  owner: string;
  /** The version that reports; a version below that of the owner is refused. */
  ownerVersion?: string | null;
  /** `deliveryCreated`, or `cancelled`: then the run is free again. */
  status: string;
}

/** A side that takes a run. */
export interface OwnershipRequest {
  /** `oldScheduler` or `automationScheduler`. */
  owner: string;
  /** Numbers separated by dots. A newer version of the same owner takes over an undelivered run; an older one is refused. */
  ownerVersion: string;
}

/** A person as kept. */
export interface Person {
  addresses: Record<string, string>;
  businessUnit?: string | null;
  channels: string[];
  email?: string | null;
  id: string;
  locale?: string | null;
  name: string;
  timeZone?: string | null;
  updatedAt: string;
}

/** One page of a list. */
export interface PersonPage {
  items: Person[];
  /** Send it as `cursor` for the next page; null on the last page. If few rows match a filter, a page may be short or empty and still have a next page. */
  nextCursor?: string | null;
}

/** A person to be kept. */
export interface PersonRequest {
  /** Where they are reached besides e-mail: type of channel to address. */
  addresses?: Record<string, string> | null;
  businessUnit?: string | null;
  /** The channels of the person, in order; the next one is used if one fails. */
  channels?: string[] | null;
  email?: string | null;
  locale?: string | null;
  name: string;
  /** The time zone of the given times; by default that of the event or its organisation. */
  timeZone?: string | null;
}

/** What is stored about a person. */
export interface PersonalData {
  at: string;
  /** Kinds of which there are more rows than the ten thousand in this document. */
  cut: string[];
  /** Kind to its rows. */
  data: Record<string, unknown>;
}

/** Whose data is wanted: an address, or the id of a person with all their addresses. */
export interface PersonalDataRequest {
  address?: string | null;
  person?: string | null;
}

/** What is known of a person. */
export interface Preference {
  /** Where they are reached: type of channel to address. */
  addresses?: Record<string, string>;
  /** The channels, or types of channels, that may be used. */
  channels?: string[] | null;
  /** Messages on one local day; the rest comes as a digest. */
  dailyCap?: number | null;
  /** The channels to use, in order, for messages without their own order. */
  failover?: string[];
  locale?: string | null;
  /** Their name here, or the address they are known by. */
  person: string;
  quietHours?: QuietHours | null;
  timeZone?: string | null;
  /** What they want of each topic. */
  topics?: Record<string, TopicChoice>;
  updatedAt: string;
  version: number;
}

/** The page on which a person says what they want. */
export interface PreferenceLink {
  /** Everyone with the link can change the preferences of this person, and nothing else. */
  url: string;
}

/** One page of a list. */
export interface PreferencePage {
  items: Preference[];
  /** Send it as `cursor` for the next page; null on the last page. If few rows match a filter, a page may be short or empty and still have a next page. */
  nextCursor?: string | null;
}

/** What a person wants. What is left out is not limited. */
export interface PreferenceRequest {
  /** Where they are reached: type of channel to address. */
  addresses?: Record<string, string> | null;
  /** The channels, or types of channels, that may be used. */
  channels?: string[] | null;
  /** Messages on one local day; the rest comes as a digest. */
  dailyCap?: number | null;
  /** The channels to use, in order, for messages without their own order. */
  failover?: string[] | null;
  locale?: string | null;
  quietHours?: QuietHoursInput | null;
  timeZone?: string | null;
  /** What they want of each topic. */
  topics?: Record<string, TopicChoiceInput> | null;
}

/** A template as a recipient would see it. */
export interface Preview {
  body: string;
  html?: string | null;
  /** The variant that was used. */
  locale: string;
  subject: string;
}

/** What to show a template with. */
export interface PreviewRequest {
  /** What the template sees. */
  context?: Record<string, unknown> | null;
  /** By default the template's own default. */
  locale?: string | null;
}

/** An error answer. */
export interface Problem {
  code: Code;
  /** One sentence with the error and the correct form. */
  detail: string;
  /** The places at fault, where the request had them. */
  errors?: FieldError[];
  /** What the server's log calls this request. */
  requestId?: string | null;
  /** The HTTP status, repeated. */
  status: number;
  /** The same for every problem with this code. */
  title: string;
}

/** A survey as the person sees it who has the link. */
export interface PublicSurvey {
  /** The language the recipient gets. */
  locale: string;
  publicId: string;
  rightToLeft: boolean;
  /** `open` or `completed`. */
  status: string;
  /** Title, texts and questions, in every language; empty once it is answered. */
  survey: Record<string, unknown>;
}

/** What is published of a survey. */
export type PublishedSchema = boolean | Record<string, unknown>;

/** That a purge may remove what it held back. */
export interface PurgeRequest {
  /** Remove everything past its window, however much it is. */
  confirm?: boolean | null;
}

/** One run of the purge. */
export interface PurgeRun {
  at: string;
  /** Removed files, such as those of reports. */
  files?: number;
  /** Rows past their window that wait for a person, because they are more than the usual share. */
  heldBack?: number | null;
  removed: number;
}

/** Local times of day; `from` may be later than `to`, over midnight. */
export interface QuietHours {
  from: string;
  to: string;
}

/** Local times of day; `from` may be later than `to`, over midnight. */
export interface QuietHoursInput {
  from: string;
  to: string;
}

/** What a business unit may use. */
export interface Quota {
  /** The per cent of a channel's calls that it may have under way on a node, with messages that are not urgent. */
  channelShare?: number | null;
  /** Notifications and work that are accepted on a day of its time zone. */
  rowsPerDay?: number | null;
}

/** What a business unit may use. */
export interface QuotaInput {
  /** The per cent of a channel's calls that it may have under way on a node, with messages that are not urgent. */
  channelShare?: number | null;
  /** Notifications and work that are accepted on a day of its time zone. */
  rowsPerDay?: number | null;
}

/** What a business unit has used of its rows today. */
export interface QuotaUsage {
  /** Today, in its time zone. */
  localDate: string;
  /** Rows that were accepted today, since it has a quota. */
  rows: number;
  /** When its next day begins. */
  until: string;
}

/** At most `max` in any sliding window of that length. */
export interface Rate {
  max: number;
  /** `1s` to `30d`. */
  per: string;
}

/** At most `max` in any sliding window of that length. */
export interface RateInput {
  max: number;
  /** `1s` to `30d`. */
  per: string;
}

/** How much of one limit is used. */
export interface RateState {
  /** `channel:KEY` or `provider:NAME`. */
  limiter: string;
  max: number;
  /** When the next ordinary message may go, where it may not now. */
  nextAt?: string | null;
  per: string;
  used: number;
}

/** That the database responds, and how well it keeps what it acknowledged. */
export interface Readiness {
  /** `sqlite` or `postgres`. */
  database: string;
  databaseVersion: string;
  /** The settings that decide it, as the database reports them. */
  durability: Record<string, unknown>;
  sandbox: boolean;
  status: string;
  /** Whether an acknowledged row survives a power cut. */
  survivesPowerLoss: boolean;
}

/** Why something is done to many rows. */
export interface ReasonRequest {
  /** Kept in the audit. */
  reason?: string | null;
}

/** How much a call of a provider said. */
export interface ReceiptsTaken {
  /** Receipts that said something new. */
  new: number;
  receipts: number;
  /** Receipts about messages that are not known. */
  unknown: number;
}

export interface Recipient {
  address: string;
  customerRef?: string | null;
  locale?: string | null;
}

/** How far a trigger provider's reconciliation has looked, how it is bounded, and what its last run did. */
export interface Reconciliation {
  batch: number;
  created: number;
  deactivated: number;
  everySeconds: number;
  lastRunAt?: string | null;
  /** Sources that changed before it have been checked. */
  lookedUntil?: string | null;
  moved: number;
  provider: string;
  sources: number;
  /** Rows that become due within so many days are repaired. */
  windowDays: number;
}

/** One page of a list. */
export interface ReconciliationPage {
  items: Reconciliation[];
  /** Send it as `cursor` for the next page; null on the last page. If few rows match a filter, a page may be short or empty and still have a next page. */
  nextCursor?: string | null;
}

/** What a run would do, or the due work that does it. */
export interface ReconciliationRun {
  create?: number | null;
  deactivate?: number | null;
  dryRun: boolean;
  move?: number | null;
  provider: string;
  sources?: number | null;
  workId?: number | null;
}

/** Every year or month after a date of the source. An anniversary of 29 February is on 28 February in other years. */
export interface RecurringRule {
  /** `year` or `month`. */
  every?: string | null;
  field: string;
  /** Days before each occurrence; negative ones are after it. */
  offsetDays?: number | null;
  sendTime?: string | null;
}

/** Every year or month after a date of the source. An anniversary of 29 February is on 28 February in other years. */
export interface RecurringRuleInput {
  /** `year` or `month`. */
  every?: string | null;
  field: string;
  /** Days before each occurrence; negative ones are after it. */
  offsetDays?: number | null;
  sendTime?: string | null;
}

/** The secrets that were sealed again. */
export interface Rekey {
  /** The id of the key that is now in use; it reveals nothing about the key. */
  keyId: string;
  /** How many channels were written. */
  resealed: number;
}

/** Seal all secrets again. */
export interface RekeyRequest {
  /** Make a key first and put it in front of the others. */
  newKey?: boolean | null;
}

/** What a change of a setting does to due work. */
export interface ReminderPlan {
  create: number;
  deactivate: number;
  /** Of those created or moved: at a local time that a clock change skips; they move forward by the gap. */
  gap: number;
  /** The same row at another moment. */
  move: number;
  /** Of those created or moved: at a local time that happens twice; the first counts. */
  overlap: number;
  unchanged: number;
}

/** A setting as it is stored: its definition, and who and when. */
export interface ReminderSetting {
  active?: boolean;
  /** Only sources of this business unit; all of them by default. */
  businessUnit?: string | null;
  createdAt: string;
  /** What a trigger of the embedding program reads. */
  custom?: Record<string, unknown> | null;
  date?: DateRule | null;
  delivery: Delivery;
  /** Only sources for which it is true: tests on `state.FIELD`, `businessUnit`, `type` or `id`, combined with `all`, `any` and `not`. */
  filter?: Record<string, unknown> | null;
  id: string;
  /** Whether to also send one message at once when a matching source is added. */
  immediate?: boolean;
  /** `dateBased`, `recurring` or `threshold`; a program that embeds Punctual may know more. */
  kind: string;
  /** How late it may be sent, such as `1d`; by default until the end of its local day. */
  maxLateness?: string | null;
  name: string;
  plan?: ReminderPlan | null;
  /** One of `{"addresses": […]}`, `{"list": "ops"}`, `{"field": "/email"}` and `{"lookup": {"sourceType": "person", "idField": "/ownerId", "field": "/email"}}`. */
  recipients: Record<string, unknown>;
  recurring?: RecurringRule | null;
  sourceType: string;
  threshold?: ThresholdRule | null;
  /** A key that stays when the setting's own name changes: it is part of every key. */
  triggerKey: string;
  updatedAt: string;
  /** Send it with a change: if the object was changed meanwhile, the request is refused with `stale_version`. */
  version: number;
  /** Warnings about accepted values that do not work yet, such as a channel that does not exist. */
  warnings?: FieldError[];
}

/** What is to be different; null takes a field away. */
export interface ReminderSettingChange {
  active?: boolean | null;
  /** Only sources of this business unit; all of them by default. */
  businessUnit?: string | null;
  /** What a trigger of the embedding program reads. */
  custom?: Record<string, unknown> | null;
  date?: DateRuleInput | null;
  delivery?: DeliveryInput | null;
  /** Only sources for which it is true: tests on `state.FIELD`, `businessUnit`, `type` or `id`, combined with `all`, `any` and `not`. */
  filter?: Record<string, unknown> | null;
  /** Whether to also send one message at once when a matching source is added. */
  immediate?: boolean | null;
  /** `dateBased`, `recurring` or `threshold`; a program that embeds Punctual may know more. */
  kind?: string | null;
  /** How late it may be sent, such as `1d`; by default until the end of its local day. */
  maxLateness?: string | null;
  name?: string | null;
  /** One of `{"addresses": […]}`, `{"list": "ops"}`, `{"field": "/email"}` and `{"lookup": {"sourceType": "person", "idField": "/ownerId", "field": "/email"}}`. */
  recipients?: Record<string, unknown> | null;
  recurring?: RecurringRuleInput | null;
  sourceType?: string | null;
  threshold?: ThresholdRuleInput | null;
  /** A key that stays when the setting's own name changes: it is part of every key. */
  triggerKey?: string | null;
  /** The version that is changed; where it is another by now, the request is refused with `stale_version`. */
  version?: number | null;
}

/** One page of a list. */
export interface ReminderSettingPage {
  items: ReminderSetting[];
  /** Send it as `cursor` for the next page; null on the last page. If few rows match a filter, a page may be short or empty and still have a next page. */
  nextCursor?: string | null;
}

/** A setting to be made. */
export interface ReminderSettingRequest {
  active?: boolean | null;
  /** Only sources of this business unit; all of them by default. */
  businessUnit?: string | null;
  /** What a trigger of the embedding program reads. */
  custom?: Record<string, unknown> | null;
  date?: DateRuleInput | null;
  delivery: DeliveryInput;
  /** Only sources for which it is true: tests on `state.FIELD`, `businessUnit`, `type` or `id`, combined with `all`, `any` and `not`. */
  filter?: Record<string, unknown> | null;
  /** Whether to also send one message at once when a matching source is added. */
  immediate?: boolean | null;
  /** `dateBased`, `recurring` or `threshold`; a program that embeds Punctual may know more. */
  kind: string;
  /** How late it may be sent, such as `1d`; by default until the end of its local day. */
  maxLateness?: string | null;
  name: string;
  /** One of `{"addresses": […]}`, `{"list": "ops"}`, `{"field": "/email"}` and `{"lookup": {"sourceType": "person", "idField": "/ownerId", "field": "/email"}}`. */
  recipients: Record<string, unknown>;
  recurring?: RecurringRuleInput | null;
  sourceType: string;
  threshold?: ThresholdRuleInput | null;
  /** A key that stays when the setting's own name changes: it is part of every key. */
  triggerKey: string;
  /** The version that is changed; where it is another by now, the request is refused with `stale_version`. */
  version?: number | null;
}

/** `{"list": "ops"}` or `{"addresses": ["a@b.example"]}`. */
export interface ReportRecipients {
  addresses?: string[] | null;
  list?: string | null;
}

/** `{"list": "ops"}` or `{"addresses": ["a@b.example"]}`. */
export interface ReportRecipientsInput {
  addresses?: string[] | null;
  list?: string | null;
}

/** A subscription as it is stored. */
export interface ReportSubscription {
  businessUnit?: string | null;
  cadence: CadenceShape;
  /** What is done about runs that were missed: `skip`, `last` (the default) or `all`. */
  catchUp?: string | null;
  /** By default that of the list, or `email:default`. */
  channel?: string | null;
  createdAt: string;
  /** The channels to use, in order, if its own channel fails. */
  failover?: string[];
  guid: string;
  locale?: string | null;
  name: string;
  /** The next run that is planned. */
  nextRunAt?: string | null;
  owner?: string | null;
  paused: boolean;
  /** What a run is about: the last complete `day`, `week`, `month`, `quarter` or `year`, or all `sinceLast`; by default the longest in which the cadence fires once. */
  period?: string | null;
  /** `alarm`, `high`, `normal` or `campaign`; `normal` by default. An alarm knows no quiet hours and no cap. */
  priority?: string | null;
  recipients: ReportRecipients;
  /** Where the table comes from and how it is presented. */
  report: Record<string, unknown>;
  /** By default the name with the dates of the period. */
  subject?: string | null;
  /** It sees `subscription`, `period` and `report`. */
  template?: string | null;
  /** The zone that counts. */
  timeZone: string;
  /** What it is about, for people who want messages about some things only. */
  topic?: string | null;
  updatedAt: string;
  /** Send it with a change: if the object was changed meanwhile, the request is refused with `stale_version`. */
  version: number;
  warnings?: FieldError[];
  /** The first day of a week, such as `SUN`; by default `MON`. */
  weekStart?: string | null;
  /** `send` (the default) or `skip` a report without rows. */
  whenEmpty?: string | null;
}

/** What is to be different; null takes a field away. */
export interface ReportSubscriptionChange {
  businessUnit?: string | null;
  cadence?: CadenceShapeInput | null;
  /** What is done about runs that were missed: `skip`, `last` (the default) or `all`. */
  catchUp?: string | null;
  /** By default that of the list, or `email:default`. */
  channel?: string | null;
  /** The channels to use, in order, if its own channel fails. */
  failover?: string[] | null;
  locale?: string | null;
  name?: string | null;
  /** The id of the person who owns it. */
  owner?: string | null;
  paused?: boolean | null;
  /** What a run is about: the last complete `day`, `week`, `month`, `quarter` or `year`, or all `sinceLast`; by default the longest in which the cadence fires once. */
  period?: string | null;
  /** `alarm`, `high`, `normal` or `campaign`; `normal` by default. An alarm knows no quiet hours and no cap. */
  priority?: string | null;
  recipients?: ReportRecipientsInput | null;
  /** Where the table comes from and how it is presented. */
  report?: Record<string, unknown> | null;
  /** By default the name with the dates of the period. */
  subject?: string | null;
  /** It sees `subscription`, `period` and `report`. */
  template?: string | null;
  /** What it is about, for people who want messages about some things only. */
  topic?: string | null;
  /** The version that is changed; where it is another by now, the request is refused with `stale_version`. */
  version?: number | null;
  /** The first day of a week, such as `SUN`; by default `MON`. */
  weekStart?: string | null;
  /** `send` (the default) or `skip` a report without rows. */
  whenEmpty?: string | null;
}

/** One page of a list. */
export interface ReportSubscriptionPage {
  items: ReportSubscription[];
  /** Send it as `cursor` for the next page; null on the last page. If few rows match a filter, a page may be short or empty and still have a next page. */
  nextCursor?: string | null;
}

/** A subscription to be made. */
export interface ReportSubscriptionRequest {
  businessUnit?: string | null;
  cadence: CadenceShapeInput;
  /** What is done about runs that were missed: `skip`, `last` (the default) or `all`. */
  catchUp?: string | null;
  /** By default that of the list, or `email:default`. */
  channel?: string | null;
  /** The channels to use, in order, if its own channel fails. */
  failover?: string[] | null;
  locale?: string | null;
  name: string;
  /** The id of the person who owns it. */
  owner?: string | null;
  paused?: boolean | null;
  /** What a run is about: the last complete `day`, `week`, `month`, `quarter` or `year`, or all `sinceLast`; by default the longest in which the cadence fires once. */
  period?: string | null;
  /** `alarm`, `high`, `normal` or `campaign`; `normal` by default. An alarm knows no quiet hours and no cap. */
  priority?: string | null;
  recipients: ReportRecipientsInput;
  /** Where the table comes from and how it is presented. */
  report: Record<string, unknown>;
  /** By default the name with the dates of the period. */
  subject?: string | null;
  /** It sees `subscription`, `period` and `report`. */
  template?: string | null;
  /** What it is about, for people who want messages about some things only. */
  topic?: string | null;
  /** The version that is changed; where it is another by now, the request is refused with `stale_version`. */
  version?: number | null;
  /** The first day of a week, such as `SUN`; by default `MON`. */
  weekStart?: string | null;
  /** `send` (the default) or `skip` a report without rows. */
  whenEmpty?: string | null;
}

/** The outcome of one target. */
export interface ResolvedTarget {
  address: string;
  at?: string | null;
  /** When it arrived, as the provider says: another fact than that it was taken. */
  confirmedAt?: string | null;
  /** The provider's id for it. */
  messageId?: string | null;
  /** `delivered` (the provider took it), `transient`, `permanent` or `uncertain`; `suppressed` where it was left out; null while the attempt is under way. */
  outcome?: string | null;
  receipt?: TargetReceipt | null;
}

/** About an answer. */
export interface ResponseMeta {
  agentId?: string | null;
  completedAt?: string | null;
}

/** An answer to a survey. */
export interface ResponseRequest {
  /** Who filled it in, where that was not the recipient. */
  agentId?: string | null;
  /** By question; at most 200, each of at most 8 KiB. */
  answers: Record<string, unknown>;
  /** When the survey was completed, if that was before this request. */
  completedAt?: string | null;
  locale?: string | null;
  meta?: ResponseMeta | null;
  /** The sender's own id: the same again gets the same result. */
  submissionId?: string | null;
}

/** An answer that was taken. */
export interface ResponseTaken {
  completedAt: string;
  publicId: string;
  /** `completed`. */
  status: string;
  submissionId?: string | null;
}

/** A restore of the database. */
export interface Restore {
  /** When the backup was taken, where that is known. */
  backupAt?: string | null;
  /** What was due by this moment, the first start after the restore, waits for a person. */
  heldBy?: string | null;
  restoredAt: string;
  /** What still waits, counted up to 10,000 each. */
  waiting: RestoredRows;
}

/** What was released or discarded. */
export interface RestoreSettled {
  notifications: number;
  owed?: number;
  /** The remaining rows, counted up to 10,000 each: one request processes at most ten thousand rows of each kind. */
  remaining: RestoredRows;
  work: number;
}

/** Rows that were due or under way between the backup and the first start after the restore. */
export interface RestoredRows {
  /** Parked notifications. */
  notifications: number;
  /** Messages that had settled and whose workflow was not called yet: what follows from them may have been sent. */
  owed?: number;
  /** Work on hold. */
  work: number;
}

/** The last restore, if there was one. */
export interface Restores {
  last?: Restore | null;
}

/** How long is kept, and the last run of the purge. */
export interface Retention {
  /** Settings that the configuration of the server sets: they cannot be changed here. */
  fixed?: string[];
  /** Days for which entries of the audit are kept; null where they are kept for good. */
  keepAuditForDays?: number | null;
  /** Days for which the files of reports are kept. */
  keepFilesForDays?: number;
  /** Days for which finished notifications are kept. */
  keepForDays: number;
  /** Days for which ids of removed messages are known; null where they are known for good. */
  keepIdsForDays?: number | null;
  /** Days for which finished surveys keep recipients and answers; null where they are kept for good. */
  keepSurveysForDays?: number | null;
  /** Days for which finished work keeps its input and its trace. */
  keepWorkForDays?: number;
  lastRun?: PurgeRun | null;
  /** The rule of every table. */
  tables?: TableRetention[];
}

/** The effect of another time for one setting. */
export interface RetentionChange {
  /** Days now; null for good. */
  fromDays?: number | null;
  /** There are more than were counted. */
  isMore: boolean;
  /** Rows that the next purge would take; null where they are not counted. */
  rows?: number | null;
  setting: string;
  /** Days then; null for good. */
  toDays?: number | null;
}

/** What other times would do. */
export interface RetentionPlan {
  /** Null if nothing changes. */
  changes: RetentionChange[];
}

/** How long is kept, as somebody wants it. What is left out or null is kept as the configuration says, or as Punctual comes. */
export interface RetentionSettings {
  /** Days for which entries of the audit are kept. */
  keepAuditForDays?: number | null;
  /** Days for which the files of reports are kept. */
  keepFilesForDays?: number | null;
  /** Days for which finished notifications are kept. */
  keepForDays?: number | null;
  /** Days for which ids of removed messages are known. */
  keepIdsForDays?: number | null;
  /** Days for which finished surveys keep recipients and answers. */
  keepSurveysForDays?: number | null;
  /** Days for which finished work keeps its input and its trace. */
  keepWorkForDays?: number | null;
}

/** What a retry of all failed deliveries came to. */
export interface RetriedDeliveries {
  /** Deliveries of the subscriber that are still parked: ask again. */
  remaining: number;
  /** Deliveries queued again, at most 10,000 per request. */
  retried: number;
}

/** How the waits between attempts grow. */
export type RetryPolicy = "fixed" | "exponential" | "steps";

/** When a failed delivery is retried. */
export interface RetrySettings {
  /** The wait before each attempt after the first, 1 to 100 of them; `steps` only. */
  afterSeconds?: number[] | null;
  /** The longest wait; exponential only. */
  capSeconds?: number | null;
  /** The factor by which each delay grows; exponential only. */
  factor?: number | null;
  /** The wait before each attempt, or before the first repetition of an exponential policy; 60 by default. Not for `steps`. */
  intervalSeconds?: number | null;
  /** How much of each wait may be taken off at random; exponential only. */
  jitterPercent?: number | null;
  /** Attempts after the first, 0 to 100; 3 by default. Not for `steps`. */
  max?: number | null;
  /** `fixed` by default. */
  policy?: RetryPolicy;
}

/** When a failed delivery is retried. */
export interface RetrySettingsInput {
  /** The wait before each attempt after the first, 1 to 100 of them; `steps` only. */
  afterSeconds?: number[] | null;
  /** The longest wait; exponential only. */
  capSeconds?: number | null;
  /** The factor by which each delay grows; exponential only. */
  factor?: number | null;
  /** The wait before each attempt, or before the first repetition of an exponential policy; 60 by default. Not for `steps`. */
  intervalSeconds?: number | null;
  /** How much of each wait may be taken off at random; exponential only. */
  jitterPercent?: number | null;
  /** Attempts after the first, 0 to 100; 3 by default. Not for `steps`. */
  max?: number | null;
  policy?: RetryPolicy | null;
}

/** What a person may do. */
export type Role = "viewer" | "operator" | "author" | "admin";

/** Going back. */
export interface RollBackRequest {
  /** Kept in the audit. */
  reason?: string | null;
  /** The stage to go back to; by default 1, the shadow. */
  stage?: number | null;
}

/** What going back gave back. */
export interface RolledBack {
  /** Runs that were taken here and not delivered: the old scheduler may take them. */
  givenBack: string[];
  rollout: Rollout;
}

/** A rollout as it is stored. */
export interface Rollout {
  checklist: ChecklistPoint[];
  id: string;
  /** The workflow it belongs to: `report-subscription`. */
  path: string;
  /** The runs that were chosen at stage 2, where some were. */
  runs?: string[] | null;
  /** `subscription` or `business-unit`. */
  scope: string;
  stage: number;
  /** `designValidation`, `shadow`, `runNowAllowlist`, `scheduledAllowlist` or `cutover`. */
  stageName: string;
  updatedAt: string;
  version: number;
}

/** What each stage came to. */
export interface RolloutFigures {
  from: string;
  stages: StageFigures[];
  to: string;
}

/** One page of a list. */
export interface RolloutPage {
  items: Rollout[];
  /** Send it as `cursor` for the next page; null on the last page. If few rows match a filter, a page may be short or empty and still have a next page. */
  nextCursor?: string | null;
}

/** A stage to be set. */
export interface RolloutRequest {
  /** Points of the checklist that are confirmed with it; those from before stay. */
  confirm?: string[] | null;
  /** At stage 2: the runs that are made here, by their `manualRunGuid`; the old scheduler keeps the others. Left out, all that people ask for are made here. */
  runs?: string[] | null;
  /** 0 design validation, 1 shadow, 2 run-now allowlist, 3 scheduled allowlist, 4 cutover. */
  stage: number;
}

/** A webhook's new signing secret. */
export interface RotatedSecret {
  channel: Channel;
  /** Shown once; a repetition of the request does not have it. */
  secret?: string | null;
}

/** A rule as it is stored. */
export interface Rule {
  active: boolean;
  channels: string[];
  deletedAt?: string | null;
  /** The channels to use, in order, if its own channel fails. */
  failover?: string[];
  id: string;
  /** The date that it is relative to: `start` or `end`. */
  kind: string;
  lastSentAt?: string | null;
  message?: RuleTexts;
  nextRunAt?: string | null;
  /** `alarm`, `high`, `normal` or `campaign`; `normal` by default. An alarm knows no quiet hours and no cap. */
  priority?: string | null;
  rule: RuleShape;
  /** What is scheduled: `GET /api/v1/schedules/{id}`. */
  scheduleId?: string | null;
  subjectId: string;
  subjectType: string;
  syncError?: string | null;
  /** `pending`, `synced` or `failed`: whether the schedule is as the rule wants it. */
  syncStatus: string;
  /** What it is about, for people who want messages about some things only. */
  topic?: string | null;
  /** Warnings about accepted values that do not work yet, such as a channel that does not exist. */
  warnings?: FieldError[];
}

/** What is to be different about a rule. */
export interface RuleChange {
  /** `false` pauses it. */
  active?: boolean | null;
  channels?: string[] | null;
  failover?: string[] | null;
  message?: RuleTextsInput | null;
  /** `alarm`, `high`, `normal` or `campaign`. */
  priority?: string | null;
  rule?: RuleShapeInput | null;
  topic?: string | null;
}

/** One page of a list. */
export interface RulePage {
  items: Rule[];
  /** Send it as `cursor` for the next page; null on the last page. If few rows match a filter, a page may be short or empty and still have a next page. */
  nextCursor?: string | null;
}

/** A rule to be added. */
export interface RuleRequest {
  /** Channels that it may use, such as `email`; without any, `["email"]`. */
  channels?: string[] | null;
  /** The channels to use, in order, if its own channel fails. */
  failover?: string[] | null;
  message?: RuleTextsInput | null;
  /** `alarm`, `high`, `normal` or `campaign`; `normal` by default. An alarm knows no quiet hours and no cap. */
  priority?: string | null;
  rule: RuleShapeInput;
  subjectId: string;
  /** `event` or `task`. */
  subjectType: string;
  /** What it is about, for people who want messages about some things only. */
  topic?: string | null;
}

/** What a rule says. */
export interface RuleShape {
  /** `start` or `end`. */
  anchor: string;
  /** For `on_day`: the local time, `HH:MM`. */
  at?: string | null;
  /** For `on_day`: so many days after the day of the date, or before it if negative. */
  dayOffset?: number | null;
  /** For `relative`: how long before (`-24h`) or after (`+15m`) the date. */
  offset?: string | null;
  /** For `on_day`: the zone; without one, that of the event or its organisation. */
  timeZone?: string | null;
  /** `at_subject_date`, `relative` or `on_day`. */
  type: string;
}

/** What a rule says. */
export interface RuleShapeInput {
  /** `start` or `end`. */
  anchor: string;
  /** For `on_day`: the local time, `HH:MM`. */
  at?: string | null;
  /** For `on_day`: so many days after the day of the date, or before it if negative. */
  dayOffset?: number | null;
  /** For `relative`: how long before (`-24h`) or after (`+15m`) the date. */
  offset?: string | null;
  /** For `on_day`: the zone; without one, that of the event or its organisation. */
  timeZone?: string | null;
  /** `at_subject_date`, `relative` or `on_day`. */
  type: string;
}

/** The texts of a rule's messages, each a template with `title`, `whenLabel`, `timeZone`, `subjectType`, `subjectId`, `kind`, `isAllDay`, `startsAt` and `endsAt`. What is left out is said in the usual words. */
export interface RuleTexts {
  body?: string | null;
  /** The body once more, for those who read HTML. Values are escaped. */
  html?: string | null;
  subject?: string | null;
}

/** The texts of a rule's messages, each a template with `title`, `whenLabel`, `timeZone`, `subjectType`, `subjectId`, `kind`, `isAllDay`, `startsAt` and `endsAt`. What is left out is said in the usual words. */
export interface RuleTextsInput {
  body?: string | null;
  /** The body once more, for those who read HTML. Values are escaped. */
  html?: string | null;
  subject?: string | null;
}

/** One attempt to deliver a message of a run to one address. */
export interface RunAttempt {
  /** What the provider answered. */
  answer?: string | null;
  /** Which attempt for this address it was. */
  attempt: number;
  channel: string;
  finishedAt?: string | null;
  /** The id of the message. */
  notification: string;
  /** `delivered`, `transient`, `permanent` or `uncertain`; nothing while it is under way. */
  outcome?: string | null;
  startedAt: string;
  target: string;
}

/** A message of a run, and whether its send was claimed. */
export interface RunDelivery {
  channel: string;
  deliveredAt?: string | null;
  id: string;
  lastError?: string | null;
  status: string;
  /** How often a send was claimed. */
  tries: number;
}

/** A run that was asked for, and where it is. */
export interface RunNowAnswer {
  key: string;
  manualRunGuid: string;
  /** `created`, `unchanged`, `reactivated`, `completed` or `inProgress`. */
  outcome: string;
  status: string;
  workId: number;
}

/** A run that is asked for. */
export interface RunNowRequest {
  /** The caller's id, so that a repeated request is the same run; created by the server if absent. */
  manualRunGuid?: string | null;
}

/** `{"dryRun": true}` changes nothing. */
export interface RunRequest {
  dryRun?: boolean | null;
}

/** A run in a list. */
export interface RunSummary {
  businessUnit?: string | null;
  createdAt: string;
  dueAt: string;
  /** Failed attempts before it was last released or brought back. */
  earlierAttempts?: number;
  /** Why it had ended or was held before it was last released or brought back. */
  earlierReasonCode?: string | null;
  id: number;
  /** The digest of its input, in hexadecimal. */
  inputHash: string;
  /** Its business identity. */
  key: string;
  /** The workflow it belongs to: `reminder`, `schedule`, `message`, … */
  kind: string;
  /** The local date that it is for, if it has one. */
  localDate?: string | null;
  /** When it is retried, after a failure. */
  nextRetryAt?: string | null;
  /** A person must look: nothing runs until it is released. */
  onHold: boolean;
  /** What ensuring it did: `created`, `updated`, `unchanged`, `reactivated`, `completed` or `inProgress`. */
  outcome?: string | null;
  owner?: string | null;
  /** Why it is where it is. */
  reasonCode?: string | null;
  /** Its results, such as `{"notifications": ["id"]}`. It names the first 20; if there are more, `count` has their number, and `GET /api/v1/notifications?work=` lists all. */
  result?: Record<string, unknown> | null;
  /** Failed attempts since it was planned, released or brought back; its retries are counted from there. */
  retryCount: number;
  /** The row that this one repeats. */
  retryOf?: number | null;
  /** `delivered`, `shadow`, `skipped`, `retrying`, `failed` or `conflict`; nothing before its turn. */
  runOutcome?: string | null;
  sourceId?: string | null;
  sourceType?: string | null;
  /** `pending`, `processing`, `completed`, `failed`, `deactivated` or `cancelled`. */
  status: string;
  storageRunKeyHash: string;
  subscriptionGuid: string;
  timeZone?: string | null;
  /** What it is about, for people. */
  title?: string;
  /** `dateBased`, `threshold`, `recurring`, `scheduledRun`, `manualRun` or `at`. */
  trigger: string;
  updatedAt: string;
  version: number;
}

/** One page of a list. */
export interface RunSummaryPage {
  items: RunSummary[];
  /** Send it as `cursor` for the next page; null on the last page. If few rows match a filter, a page may be short or empty and still have a next page. */
  nextCursor?: string | null;
}

/** The time of the clock. */
export interface SandboxClock {
  now: string;
}

/** What a captured channel returns. */
export type SandboxOutcome = "delivered" | "transient" | "permanent" | "lostReply";

/** A stored schedule: its work row and its content. */
export interface Schedule {
  businessUnit?: string | null;
  createdAt: string;
  dueAt: string;
  /** Failed attempts before it was last released or brought back. */
  earlierAttempts?: number;
  /** Why it had ended or was held before it was last released or brought back. */
  earlierReasonCode?: string | null;
  id: number;
  /** The digest of its input, in hexadecimal. */
  inputHash: string;
  /** Its business identity. */
  key: string;
  /** The workflow it belongs to: `reminder`, `schedule`, `message`, … */
  kind: string;
  /** The local date that it is for, if it has one. */
  localDate?: string | null;
  /** When it is retried, after a failure. */
  nextRetryAt?: string | null;
  /** A person must look: nothing runs until it is released. */
  onHold: boolean;
  /** What ensuring it did: `created`, `updated`, `unchanged`, `reactivated`, `completed` or `inProgress`. */
  outcome?: string | null;
  payload: Record<string, unknown>;
  /** Why it is where it is. */
  reasonCode?: string | null;
  /** Its results, such as `{"notifications": ["id"]}`. It names the first 20; if there are more, `count` has their number, and `GET /api/v1/notifications?work=` lists all. */
  result?: Record<string, unknown> | null;
  /** Failed attempts since it was planned, released or brought back; its retries are counted from there. */
  retryCount: number;
  /** The row that this one repeats. */
  retryOf?: number | null;
  runAt: string;
  /** Its id as a GUID, which the routes of schedules take as well. */
  scheduleId?: string;
  sourceId?: string | null;
  sourceType?: string | null;
  /** `pending`, `processing`, `completed`, `failed`, `deactivated` or `cancelled`. */
  status: string;
  timeZone?: string | null;
  /** What it is about, for people. */
  title?: string;
  topic: string;
  /** `dateBased`, `threshold`, `recurring`, `scheduledRun`, `manualRun` or `at`. */
  trigger: string;
  updatedAt: string;
  version: number;
}

/** A new moment for a schedule. */
export interface ScheduleChange {
  runAt: string;
}

/** One page of a list. */
export interface SchedulePage {
  items: Schedule[];
  /** Send it as `cursor` for the next page; null on the last page. If few rows match a filter, a page may be short or empty and still have a next page. */
  nextCursor?: string | null;
}

/** A schedule to be made. */
export interface ScheduleRequest {
  businessUnit?: string | null;
  /** Its identity: the same key again moves the same schedule. Made by the server when absent. */
  key?: string | null;
  /** At most 8 KiB, handed to the listener. */
  payload?: Record<string, unknown> | null;
  /** Reactivates a cancelled schedule with this key; without it, the cancelled schedule is returned. */
  revive?: boolean | null;
  runAt: string;
  /** The time zone in which it was planned, for display; `UTC` by default. */
  timeZone?: string | null;
  /** Who gets it when it is due. */
  topic: string;
}

/** What a key may be used for. */
export type Scope = "admin" | "operate" | "author" | "ingest" | "send" | "read" | "site";

/** Something that was found. */
export interface SearchHit {
  id: string;
  /** `message`, `work`, `source`, `person` or `setting`; others may be added. */
  kind: string;
  /** Its page in the console. */
  link: string;
  /** What it is, and what else it was found by. */
  note: string;
  title: string;
}

/** The best matches. */
export interface SearchResults {
  /** Kinds of which only the newest rows were searched for the text or the address, because there are more. Ids and keys are found all the same. For a caller who is limited to business units it is every kind, so that nothing is said of how much others have. */
  cut: string[];
  /** At most twenty, the best first. */
  items: SearchHit[];
}

/** The days and hours in which a channel sends. */
export interface SendWindow {
  /** `mon` to `sun`; every day where none is named. */
  days?: string[];
  from: string;
  to: string;
}

/** The days and hours in which a channel sends. */
export interface SendWindowInput {
  /** `mon` to `sun`; every day where none is named. */
  days?: string[] | null;
  from: string;
  to: string;
}

/** `sendgrid`: SendGrid sends mail through SendGrid. */
export interface SendgridSettings {
  /** API key: a key with the right to send mail, `SG.…`. */
  apiKey?: string | StoredSecret | null;
  /** Region URL: another region, such as https://api.eu.sendgrid.com; `https://api.sendgrid.com` by default. */
  baseUrl?: string | null;
  /** From: the sender, such as reminders@example.com. */
  from: string;
  /** Reply to: where answers go, if not to the sender. */
  replyTo?: string | null;
  /** Time-out: how long one attempt may take, in seconds; `15` by default. */
  timeoutSeconds?: number | null;
  /** Webhook public key: the verification key of the event webhook, in base64, `MFkw…`. */
  webhookPublicKey?: string | null;
}

/** A message that a captured channel kept. */
export interface SentMessage {
  address: string;
  at: string;
  /** Which attempt it was, from 1. */
  attempt: number;
  body: string;
  channel: string;
  html?: string | null;
  notificationId: string;
  subject: string;
}

/** All that was sent, oldest first. */
export interface SentMessages {
  items: SentMessage[];
}

/** A whole number, or one written as text as CloudEvents has it. */
export type Sequence = number | string;

/** A site as it is stored. */
export interface Site {
  /** The agents that spoke for it, by name. What waits at the site waits with all of them. */
  agents: SiteAgent[];
  /** Rows that waited at the site after the last contact, when what it brought was acknowledged. */
  backlog?: number | null;
  /** What it hands over belongs to this business unit. */
  businessUnit?: string | null;
  /** Central's clock minus the site's, in milliseconds; the way of the request is in it. */
  clockOffsetMs?: number | null;
  /** The site's clock is off by more than a day; its times are not to be trusted. */
  clockSuspect: boolean;
  createdAt: string;
  id: string;
  /** When the agent last spoke to central, by central's clock. */
  lastContactAt?: string | null;
  /** How long the oldest of them had waited. */
  oldestBufferedAgeSeconds?: number | null;
  /** Rows that the central server refused permanently and the site keeps. */
  refused?: number | null;
  /** Set once its token was revoked. */
  revokedAt?: string | null;
  /** The agent's version. */
  version?: string | null;
}

/** The outcome of one forwarded item; returned after the commit. */
export interface SiteAck {
  code?: Code | null;
  /** Why not, in a sentence. */
  detail?: string | null;
  /** The digest of the item as the central server read it; null if it could not read it. */
  digest?: string | null;
  id?: string | null;
  /** `stored`, `duplicate` (known with the same content), `conflict` (known with other content, or from another site) or `rejected`. */
  outcome: string;
}

/** The outcomes of a batch, in the order of its items. */
export interface SiteAckBatch {
  items: SiteAck[];
}

/** An agent of a site, as it was at its last contact. */
export interface SiteAgent {
  backlog: number;
  clockOffsetMs?: number | null;
  lastContactAt: string;
  /** Nothing for an agent that was given no name. */
  name?: string | null;
  oldestBufferedAgeSeconds?: number | null;
  refused: number;
  version?: string | null;
}

/** What is to be different about a site. */
export interface SiteChange {
  /** What the site hands over from now on belongs to this business unit; `null` for none. */
  businessUnit?: string | null;
}

/** An entry of a site's event log: a failure to forward, or rows that wait too long. Success is not logged. */
export interface SiteEvent {
  /** When it began. */
  at: string;
  category: string;
  /** How often, or for how many rows. */
  count: number;
  detail: string;
  /** A GUID made at the site. */
  id: string;
  /** `forward-failed`, `long-buffered` or `refused`. */
  kind: string;
  /** When it was last seen. */
  lastAt: string;
}

/** One page of a list. */
export interface SiteEventPage {
  items: SiteEvent[];
  /** Send it as `cursor` for the next page; null on the last page. If few rows match a filter, a page may be short or empty and still have a next page. */
  nextCursor?: string | null;
}

/** What a site forwards: notifications in their order, and how the site is doing. */
export interface SiteHandOver {
  /** At most 10,000. */
  items: SiteItem[];
  report?: SiteReport | null;
}

/** Whose token a request carries. */
export interface SiteIdentity {
  id: string;
}

/** One notification from a site. */
export interface SiteItem {
  body: string;
  /** When the site took it. */
  enqueuedAt?: string | null;
  /** A GUID made at the site, and the idempotency key. */
  id: string;
  instance?: string | null;
  list: string;
  script?: string | null;
  subject: string;
}

/** The metrics of one site. */
export interface SiteKpis {
  deliveredLastInterval: number;
  oldestPendingAgeSeconds?: number | null;
  parkedCount: number;
  /** Pending and retrying. */
  queueDepth: number;
  site: string;
  /** Those that should have gone long ago, and do not wait for anything. */
  stuckCount: number;
  /** Those that wait for an hour, a slot under a limit, or an open circuit; they are sent later by themselves. */
  waitingCount?: number;
}

/** The status of one notification of a site at central. */
export interface SiteNotificationStatus {
  deliveredAt?: string | null;
  enqueuedAt?: string | null;
  id: string;
  lastError?: string | null;
  /** Why it is parked: `retries-exhausted`, or a reason that no retry would change. */
  reasonCode?: string | null;
  retryCount: number;
  /** `pending`, `retrying`, `delivered`, `parked`, `withdrawn` or `discarded`. */
  status: string;
}

/** One page of a list. */
export interface SitePage {
  items: Site[];
  /** Send it as `cursor` for the next page; null on the last page. If few rows match a filter, a page may be short or empty and still have a next page. */
  nextCursor?: string | null;
}

/** The state of the site, sent with each contact. */
export interface SiteReport {
  /** The agent's name, where a site has several. */
  agent?: string | null;
  /** Rows that wait, those of this request included. */
  backlog?: number | null;
  /** New or changed entries of the site's event log, at most 200. */
  events?: SiteEvent[] | null;
  oldestBufferedAgeSeconds?: number | null;
  /** Rows that the central server refused permanently and the site keeps. */
  refused?: number | null;
  /** The site's clock when it sent this. */
  sentAt?: string | null;
  /** The agent's version. */
  version?: string | null;
}

/** A site to be made. */
export interface SiteRequest {
  /** What the site hands over belongs to this business unit. */
  businessUnit?: string | null;
  /** 1 to 64 letters, digits, `-`, `_` or `.`. */
  id: string;
}

/** How the token of a site is to be replaced. */
export interface SiteRotateRequest {
  /** How many seconds the old token stays valid, so that the agent can be switched to the new one without a gap. */
  keepOldSeconds?: number | null;
}

/** A site with its token, for the only time. */
export interface SiteToken {
  id: string;
  /** What the agent is started with. It is shown once and kept nowhere; absent where the same request is repeated. */
  token?: string;
}

/** A part of an imported calendar that was not taken. */
export interface SkippedComponent {
  line: number;
  reason: string;
}

/** `slack`: Slack posts into one room through an incoming webhook. */
export interface SlackSettings {
  /** Time-out: how long one attempt may take, in seconds; `15` by default. */
  timeoutSeconds?: number | null;
  /** Webhook URL: the URL of an incoming webhook, https://hooks.slack.com/services/…. */
  url?: string | StoredSecret | null;
}

/** `sms-gateway`: SMS gateway sends SMS through any gateway that takes a POST. */
export interface SmsGatewaySettings {
  /** Constant fields: fields that every request has. */
  extra?: Record<string, string> | null;
  /** Field names: what the gateway calls `to`, `text`, `from` and `id`. */
  fields?: Record<string, string> | null;
  /** Format: how the request is written; `json` by default. */
  format?: "json" | "form" | null;
  /** From: the sender that people see. */
  from?: string | null;
  /** Id in the answer: a JSON pointer to the gateway's id, such as /messages/0/id. */
  idField?: string | null;
  /** Longest text: how many characters a text may have; `1600` by default. */
  maxCharacters?: number | null;
  /** Number format: how a number is written; `plus` by default. */
  numberFormat?: "plus" | "digits" | null;
  /** Password: the password of the user name. */
  password?: string | StoredSecret | null;
  /** Id in a receipt: a JSON pointer to the id of the message; `/id` by default. */
  receiptIdField?: string | null;
  /** Receipts in the body: a JSON pointer to the list of receipts. */
  receiptItems?: string | null;
  /** Receipt secret: what the gateway signs its receipts with. */
  receiptSecret?: string | StoredSecret | null;
  /** Signature header: the header with the signature; `x-signature` by default. */
  receiptSignatureHeader?: string | null;
  /** Words of the states: what each word means: accepted, sent, delivered, read, failed, bounced or optedOut. */
  receiptStates?: Record<string, string> | null;
  /** State in a receipt: a JSON pointer to the state of the message; `/status` by default. */
  receiptStatusField?: string | null;
  /** Time header: the header with the time that is signed too. */
  receiptTimestampHeader?: string | null;
  /** Result in the answer: a JSON pointer to the result, where 200 is not enough. */
  successField?: string | null;
  /** Results that mean success: the words that the result has on success. */
  successValues?: string[] | null;
  /** Text: the parts of a message that are sent; `body` by default. */
  text?: "body" | "subject" | "both" | null;
  /** Time-out: how long one attempt may take, in seconds; `15` by default. */
  timeoutSeconds?: number | null;
  /** Token: a key of the gateway, in place of a user name. */
  token?: string | StoredSecret | null;
  /** Token goes into: `bearer`, `header:NAME` or `field:NAME`; `bearer` by default. */
  tokenIn?: string | null;
  /** URL: where the gateway takes messages. */
  url: string;
  /** User name: a name for Basic authentication. */
  username?: string | null;
}

/** `smtp`: Mail over SMTP sends mail to a relay. */
export interface SmtpSettings {
  /** Certificate authority: certificates in PEM that are trusted too, as `file:NAME`. */
  ca?: string | StoredSecret | null;
  /** From: the sender, such as reminders@example.com. */
  from: string;
  /** Greeting: the full name of this host, such as mail.example.com. */
  helo?: string | null;
  /** Host: the name of the relay, such as mail.example.com. */
  host: string;
  /** Password: the account's password. */
  password?: string | StoredSecret | null;
  /** Port: 587 for STARTTLS, 465 for TLS from the start, 25 without. */
  port?: number | null;
  /** Reply to: where answers go, if not to the sender and the message names no other. */
  replyTo?: string | null;
  /** Time-out: how long one attempt may take, in seconds; `60` by default. */
  timeoutSeconds?: number | null;
  /** Encryption: how the connection is protected; a password is sent over TLS only; `required` by default. */
  tls?: "required" | "starttls" | "implicit" | "none" | null;
  /** User name: the account at the relay, with a password. */
  username?: string | null;
}

/** A source as it is stored. */
export interface Source {
  active: boolean;
  businessUnit?: string | null;
  id: string;
  occurredAt: string;
  /** `accepted`, or `stale` when something newer was known; only in the answer to a change. */
  outcome?: string | null;
  sequence?: number | null;
  state: Record<string, unknown>;
  type: string;
  updatedAt: string;
  version: number;
  work?: WorkCounts | null;
}

/** The outcome of one source of a bulk request. */
export interface SourceOutcome {
  error?: Problem | null;
  index: number;
  /** `accepted`, `stale` (older than what is known) or `rejected`. */
  outcome: string;
  work?: WorkCounts | null;
}

/** The outcomes of a batch, in the order of its items. */
export interface SourceOutcomeBatch {
  items: SourceOutcome[];
}

/** One page of a list. */
export interface SourcePage {
  items: Source[];
  /** Send it as `cursor` for the next page; null on the last page. If few rows match a filter, a page may be short or empty and still have a next page. */
  nextCursor?: string | null;
}

/** The state of one source. */
export interface SourceRequest {
  /** False if it is no longer active. */
  active?: boolean | null;
  businessUnit?: string | null;
  /** When it became so, for producers without a sequence; by default now. */
  occurredAt?: string | null;
  sequence?: Sequence | null;
  /** At most 64 KiB. */
  state?: Record<string, unknown>;
}

export interface StageFigures {
  conflicts: number;
  delivered: number;
  failed: number;
  longestLatencyMs?: number | null;
  meanLatencyMs?: number | null;
  retrying: number;
  runs: number;
  shadow: number;
  skipped: number;
  /** Nothing for runs without a rollout. */
  stage?: number | null;
}

/** A stored secret, kept unchanged. Reading and exporting return this in its place. */
export interface StoredSecret {
  set: boolean;
}

/** A subscriber as it is stored. */
export interface Subscriber {
  active: boolean;
  adapter: string;
  events: string[];
  filter?: Record<string, unknown> | null;
  key: string;
  retry: Record<string, unknown>;
  /** The secrets that are set. */
  secretsSet: string[];
  /** The settings without the secrets. */
  settings: Record<string, unknown>;
  updatedAt: string;
  version: number;
}

/** One page of a list. */
export interface SubscriberPage {
  items: Subscriber[];
  /** Send it as `cursor` for the next page; null on the last page. If few rows match a filter, a page may be short or empty and still have a next page. */
  nextCursor?: string | null;
}

/** A subscriber to be defined. */
export interface SubscriberRequest {
  /** Switched off it gets nothing new; what is queued is still delivered. */
  active?: boolean | null;
  adapter: string;
  /** The types of events it subscribes to: `response-completed` (the default), `instance-sent`, `instance-opened`, `instance-expired`, `schedule.arrived`, or topics of schedules; a topic that ends in `*` matches all topics with that prefix. */
  events?: string[] | null;
  /** Only events that match this filter. It can test the answers and the fields of the payload; for an arrival, `topic` and the payload of the schedule, such as `payload.month`. */
  filter?: Record<string, unknown> | null;
  retry?: RetrySettingsInput | null;
  /** What the adapter needs; a secret may be given as `env:NAME`. */
  settings?: AmqpSettings | Amqp1Settings | InProcessSettings | MemorySettings | NatsSettings | SendgridSettings | SlackSettings | SmsGatewaySettings | SmtpSettings | TeamsSettings | TwilioSettings | WebhookSettings | Whatsapp360dialogSettings | WhatsappCloudSettings | WhatsappInfobipSettings | Record<string, unknown> | null;
}

/** An address that gets nothing. */
export interface Suppression {
  /** The normalised address, as used for comparison. */
  address: string;
  channelType: string;
  detail?: string | null;
  expiresAt?: string | null;
  reason: string;
  since: string;
  /** Who or what put it there: `key:NAME`, `notification:ID` or `receipt:MESSAGE`. */
  source: string;
}

/** One page of a list. */
export interface SuppressionPage {
  items: Suppression[];
  /** Send it as `cursor` for the next page; null on the last page. If few rows match a filter, a page may be short or empty and still have a next page. */
  nextCursor?: string | null;
}

/** What is said about an address that is to get nothing. */
export interface SuppressionRequest {
  /** A label for people. */
  detail?: string | null;
  /** From then on it gets messages again. */
  expiresAt?: string | null;
  /** `manual` (default), `hardBounce`, `complaint` or `unsubscribed`. */
  reason?: string | null;
}

/** A survey as it is stored. */
export interface Survey {
  businessUnit?: string | null;
  createdAt: string;
  id: number;
  integrationId?: string | null;
  name: string;
  /** The number of the version that events make instances of; null before the first publishing. */
  publishedVersionNumber?: number | null;
  /** The schema as its author left it, published or not. */
  schema: Record<string, unknown>;
  updatedAt: string;
  version: number;
}

export interface SurveyChoiceCount {
  count: number;
  /** Of those who answered the question, 0 to 1. */
  share: number;
  text: string;
  value: unknown;
}

/** The number of satisfied ratings: those in the top quarter of the scale, such as 4 and 5 of 1 to 5. */
export interface SurveyCsat {
  satisfied: number;
  /** 0 to 100. */
  score: number;
}

export interface SurveyDay {
  answered: number;
  /** A date in UTC. */
  day: string;
  triggered: number;
}

/** A survey with what is published of it. */
export interface SurveyDefinition {
  businessUnit?: string | null;
  /** How other systems know it; sent to subscribers. */
  integrationId?: string | null;
  name: string;
  published?: PublishedSchema | null;
  /** Title, questions and triggers; checked when it is published. */
  schema: Record<string, unknown>;
}

export interface SurveyNps {
  detractors: number;
  passives: number;
  promoters: number;
  /** −100 to 100. */
  score: number;
}

/** One page of a list. */
export interface SurveyPage {
  items: Survey[];
  /** Send it as `cursor` for the next page; null on the last page. If few rows match a filter, a page may be short or empty and still have a next page. */
  nextCursor?: string | null;
}

/** What publishing came to. */
export interface SurveyPublished {
  /** The number under which the schema is pinned. */
  version: number;
  warnings: SurveyWarning[];
}

export interface SurveyQuestionResults {
  answered: number;
  average?: number | null;
  counts: SurveyChoiceCount[];
  csat?: SurveyCsat | null;
  id: string;
  nps?: SurveyNps | null;
  text: string;
  /** The latest answers in words; the export has all of them. */
  texts: string[];
  type: string;
}

/** A survey to be made or changed. */
export interface SurveyRequest {
  businessUnit?: string | null;
  /** How other systems know it; sent to subscribers. */
  integrationId?: string | null;
  name: string;
  /** Title, questions and triggers; checked when it is published. */
  schema: Record<string, unknown>;
}

export interface SurveyResults {
  answered: number;
  byDay: SurveyDay[];
  byStatus: Record<string, number>;
  byTrigger: SurveyTriggerCount[];
  countedAt: string;
  instances: number;
  medianSecondsToAnswer?: number | null;
  /** Only so many of the newest links are counted so far; all of them are being counted. */
  newest?: number | null;
  questions: SurveyQuestionResults[];
  /** Answered among those that were reached, 0 to 1. */
  responseRate?: number | null;
  /** Instances that were reached: at least one message arrived, or there is an answer. */
  sent: number;
  surveyId: number;
  /** The newest version; the questions are those of all versions. */
  version?: number | null;
}

export interface SurveyTriggerCount {
  answered: number;
  instances: number;
  sent: number;
  triggerId: string;
}

/** Something that is probably a mistake; it keeps nobody from publishing. */
export interface SurveyWarning {
  code: string;
  detail: string;
  pointer: string;
}

/** How long a table keeps its rows. */
export interface TableRetention {
  /** What happens to a row, as a sentence. */
  rule: string;
  /** The setting that has the time, if there is one. */
  setting?: string | null;
  table: string;
  /** Why it is so. */
  why?: string | null;
}

/** What a provider reported about a message that it accepted. */
export interface TargetReceipt {
  /** The provider's own code and words. */
  code?: string | null;
  detail?: string | null;
  failedAt?: string | null;
  /** When the last receipt came that said something new. */
  receivedAt?: string | null;
  /** `accepted` until the provider says more; then `sent`, `delivered`, `read`, `failed` or `complained`. */
  state: string;
}

/** A task as it is stored. */
export interface Task {
  businessUnit?: string | null;
  createdAt: string;
  creator: string;
  description?: string | null;
  finishedAt?: string | null;
  id: string;
  location?: string | null;
  organisation?: string | null;
  relatedUsers: string[];
  /** When its people are notified. */
  rules?: Rule[];
  startedAt?: string | null;
  timeZone?: string | null;
  title: string;
  updatedAt: string;
  version: number;
}

/** What is to be different about a task; a date, organisation or zone of `null` is taken away. */
export interface TaskChange {
  creator?: string | null;
  description?: string | null;
  finishedAt?: string | null;
  location?: string | null;
  organisation?: string | null;
  relatedUsers?: string[] | null;
  startedAt?: string | null;
  timeZone?: string | null;
  title?: string | null;
}

/** One page of a list. */
export interface TaskPage {
  items: Task[];
  /** Send it as `cursor` for the next page; null on the last page. If few rows match a filter, a page may be short or empty and still have a next page. */
  nextCursor?: string | null;
}

/** `teams`: Microsoft Teams posts into one conversation through a workflow. */
export interface TeamsSettings {
  /** Time-out: how long one attempt may take, in seconds; `15` by default. */
  timeoutSeconds?: number | null;
  /** Workflow URL: the URL of the workflow `Post to a channel when a webhook request is received`. */
  url?: string | StoredSecret | null;
}

/** A template as it is stored. */
export interface Template {
  defaultLocale: string;
  name: string;
  updatedAt: string;
  variants: Record<string, Variant>;
  version: number;
}

/** One page of a list. */
export interface TemplatePage {
  items: Template[];
  /** Send it as `cursor` for the next page; null on the last page. If few rows match a filter, a page may be short or empty and still have a next page. */
  nextCursor?: string | null;
}

/** A template to be defined. */
export interface TemplateRequest {
  /** The variant for everyone whose locale has none. */
  defaultLocale: string;
  /** By locale, 1 to 100 of them. */
  variants: Record<string, VariantInput>;
}

/** A measure of the source that reaches a value. */
export interface ThresholdRule {
  /** `OncePerSource`, `OncePerThreshold`, `OncePerDay` or `FalseToTrue`. */
  firingPolicy: string;
  /** `{"field": "/booked"}`, `{"share": ["/booked", "/capacity"]}`, or `{"count": {"sourceType": "booking", "parentField": "/classId", "where": {…}}}`; `sum` takes a `field` beside these. */
  metric: Record<string, unknown>;
  /** `>=`, `>`, `<=` or `<`. */
  op: string;
  /** A name that keeps reminders of one kind apart; by default `all`. */
  scope?: string | null;
  value: number;
}

/** A measure of the source that reaches a value. */
export interface ThresholdRuleInput {
  /** `OncePerSource`, `OncePerThreshold`, `OncePerDay` or `FalseToTrue`. */
  firingPolicy: string;
  /** `{"field": "/booked"}`, `{"share": ["/booked", "/capacity"]}`, or `{"count": {"sourceType": "booking", "parentField": "/classId", "where": {…}}}`; `sum` takes a `field` beside these. */
  metric: Record<string, unknown>;
  /** `>=`, `>`, `<=` or `<`. */
  op: string;
  /** A name that keeps reminders of one kind apart; by default `all`. */
  scope?: string | null;
  value: number;
}

/** The counts of one tick. */
export interface Tick {
  deliveries: TickDeliveries;
  /** Outbox events that every subscriber of this pass took. */
  dispatched: number;
  /** Surveys whose time was over. */
  expired: number;
  /** Work that failed, and outbox events that a subscriber did not take. */
  failed: number;
  now: string;
  /** Work rows that were claimed and settled. */
  processed: number;
  work: TickWork;
}

/** What became of the notifications. */
export interface TickDeliveries {
  delivered: number;
  parked: number;
  retrying: number;
}

/** The limits of one tick. */
export interface TickRequest {
  /** Rows per stage, 1 to 10,000. */
  batchSize?: number | null;
}

/** What became of the work. */
export interface TickWork {
  completed: number;
  deactivated: number;
  held: number;
}

/** All that is known to have happened, oldest first. */
export interface Timeline {
  /** The id of the thing it is about. */
  id: string;
  items: TimelineEntry[];
}

/** One thing that happened. */
export interface TimelineEntry {
  at: string;
  /** The facts behind the sentence. */
  data?: Record<string, unknown> | null;
  /** A sentence for people. */
  detail: string;
  /** What it is called for people. */
  title: string;
  /** A code for programs, such as `workCreated`, `queued`, `attemptEnded`, `delivered`, `audit`. */
  what: string;
}

/** The preferences of a person for one topic. */
export interface TopicChoice {
  channels?: string[] | null;
  subscribed: boolean;
}

/** The preferences of a person for one topic. */
export interface TopicChoiceInput {
  channels?: string[] | null;
  subscribed: boolean;
}

/** A topic as people see it. */
export interface TopicTitle {
  name: string;
  title: string;
}

/** A topic as people see it. */
export interface TopicTitleInput {
  name: string;
  title: string;
}

/** The new owner of a subscription. */
export interface TransferRequest {
  /** The id of a person; null for nobody. */
  owner?: string | null;
}

/** `twilio`: Twilio sends SMS through Twilio. */
export interface TwilioSettings {
  /** Account SID: `AC` and 32 hexadecimal digits. */
  accountSid: string;
  /** API key secret: the secret shown when the API key was made. */
  apiKeySecret?: string | StoredSecret | null;
  /** API key: `SK` and 32 hexadecimal digits, in place of the auth token. */
  apiKeySid?: string | null;
  /** Auth token: the account's token in Twilio's console. */
  authToken?: string | StoredSecret | null;
  /** Region URL: another region, such as https://api.dublin.ie1.twilio.com; `https://api.twilio.com` by default. */
  baseUrl?: string | null;
  /** Callback token: the account's token, with which Twilio signs. */
  callbackToken?: string | StoredSecret | null;
  /** Callback URL: where Twilio reaches this server to report deliveries. */
  callbackUrl?: string | null;
  /** From: the sending number such as +14155552671, a short code, or a name. */
  from?: string | null;
  /** Messaging service: `MG` and 32 hexadecimal digits, in place of `from`. */
  messagingServiceSid?: string | null;
  /** Text: the parts of a message that are sent; `body` by default. */
  text?: "body" | "subject" | "both" | null;
  /** Time-out: how long one attempt may take, in seconds; `15` by default. */
  timeoutSeconds?: number | null;
}

/** The next runs of a subscription. */
export interface Upcoming {
  items: UpcomingRun[];
}

/** A future run. */
export interface UpcomingRun {
  /** Where the clock changes: `gap`, the time is skipped and moves forward; `overlap`, it happens twice and the first counts. */
  adjusted?: string | null;
  key: string;
  /** The local time at which it runs, with its offset. */
  local: string;
  periodEnd: string;
  periodStart: string;
  runAt: string;
  timeZone: string;
}

/** A person as they are stored. */
export interface User {
  active: boolean;
  /** `null` for all of them. */
  businessUnits?: string[] | null;
  createdAt: string;
  email: string;
  /** What the single sign-on calls them, once they have come through it. */
  externalSubject?: string | null;
  /** Whether they have set a password. */
  hasPassword: boolean;
  id: string;
  lastSignInAt?: string | null;
  name: string;
  /** Role and business units come from the groups of the single sign-on, at each sign-in. */
  rightsFromProvider: boolean;
  role: Role;
  updatedAt: string;
}

/** What is to be different about a person; what is absent stays. */
export interface UserChangeRequest {
  /** Who is not active cannot sign in, and loses their sessions at once. */
  active?: boolean | null;
  /** The business units they are limited to; `null` for all of them. */
  businessUnits?: string[] | null;
  email?: string | null;
  name?: string | null;
  role?: Role | null;
}

/** The link with which somebody sets their password, for the only time. */
export interface UserInvitation {
  expiresAt: string;
  /** Works once. It is shown here and kept nowhere: a repeat of the request has `null`. */
  link?: string | null;
  /** Why the mail did not leave. */
  mailError?: string | null;
  /** The channel over which the link was mailed; `null` where it was not. */
  mailedOver?: string | null;
}

/** A person with the link of their invitation. */
export interface UserInvited {
  active: boolean;
  /** `null` for all of them. */
  businessUnits?: string[] | null;
  createdAt: string;
  email: string;
  /** What the single sign-on calls them, once they have come through it. */
  externalSubject?: string | null;
  /** Whether they have set a password. */
  hasPassword: boolean;
  id: string;
  invitation: UserInvitation;
  lastSignInAt?: string | null;
  name: string;
  /** Role and business units come from the groups of the single sign-on, at each sign-in. */
  rightsFromProvider: boolean;
  role: Role;
  updatedAt: string;
}

/** One page of a list. */
export interface UserPage {
  items: User[];
  /** Send it as `cursor` for the next page; null on the last page. If few rows match a filter, a page may be short or empty and still have a next page. */
  nextCursor?: string | null;
}

/** A person to be added. */
export interface UserRequest {
  /** The business units they are limited to: `null` or absent for all of them, an empty array for none. */
  businessUnits?: string[] | null;
  /** What they sign in with; unique without regard to case. */
  email: string;
  name: string;
  role: Role;
}

/** A template in one language. */
export interface Variant {
  body: string;
  html?: string | null;
  subject: string;
}

/** A template in one language. */
export interface VariantInput {
  body: string;
  html?: string | null;
  subject: string;
}

/** `webhook`: Webhook posts signed JSON to a URL. */
export interface WebhookSettings {
  /** Previous secret: the one before, with which messages are signed too. */
  previousSecret?: string | StoredSecret | null;
  /** Signing secret: `whsec_` and 24 to 64 random bytes in base64. */
  secret?: string | StoredSecret | null;
  /** Time-out: how long one attempt may take, in seconds; `15` by default. */
  timeoutSeconds?: number | null;
  /** URL: the URL that messages are posted to, unless a target is itself a URL. */
  url?: string | null;
}

/** `whatsapp-360dialog`: WhatsApp, 360dialog sends WhatsApp messages through 360dialog. */
export interface Whatsapp360dialogSettings {
  /** API key: the key of the number, from 360dialog's hub. */
  apiKey?: string | StoredSecret | null;
  /** Base URL: the address of 360dialog's API; `https://waba-v2.360dialog.io` by default. */
  baseUrl?: string | null;
  /** Callback secret: at least 16 letters and digits, which the provider's calls must know. */
  callbackSecret?: string | StoredSecret | null;
  /** Language: that of the approved template, such as `en`, `en_US` or `ar`; `en` by default; only with `template`. */
  language?: string | null;
  /** Other languages: those that the template is approved in too; only with `template`. */
  languages?: string[] | null;
  /** Parameters: `subject`, `body` and JSON pointers into the message's context, in the order of the template; `body` by default; only with `template`. */
  parameters?: string[] | null;
  /** Approved template: the name of an approved template; without one, text is sent. */
  template?: string | null;
  /** Text: the parts of a message that are sent; `body` by default. */
  text?: "body" | "subject" | "both" | null;
  /** Time-out: how long one attempt may take, in seconds; `15` by default. */
  timeoutSeconds?: number | null;
}

/** `whatsapp-cloud`: WhatsApp, Meta Cloud API sends WhatsApp messages through Meta. */
export interface WhatsappCloudSettings {
  /** Access token: the token of a system user that may send messages. */
  accessToken?: string | StoredSecret | null;
  /** API version: a version of Meta's API, written like `v23.0`; `v23.0` by default. */
  apiVersion?: string | null;
  /** App secret: the app's secret, with which Meta signs its calls. */
  appSecret?: string | StoredSecret | null;
  /** Base URL: the address of Meta's API; `https://graph.facebook.com` by default. */
  baseUrl?: string | null;
  /** Language: that of the approved template, such as `en`, `en_US` or `ar`; `en` by default; only with `template`. */
  language?: string | null;
  /** Other languages: those that the template is approved in too; only with `template`. */
  languages?: string[] | null;
  /** Parameters: `subject`, `body` and JSON pointers into the message's context, in the order of the template; `body` by default; only with `template`. */
  parameters?: string[] | null;
  /** Phone number id: the id of the sending number, which is not the number. */
  phoneNumberId: string;
  /** Approved template: the name of an approved template; without one, text is sent. */
  template?: string | null;
  /** Text: the parts of a message that are sent; `body` by default. */
  text?: "body" | "subject" | "both" | null;
  /** Time-out: how long one attempt may take, in seconds; `15` by default. */
  timeoutSeconds?: number | null;
  /** Verify token: what Meta must know when it asks whether the address is ours. */
  verifyToken?: string | StoredSecret | null;
}

/** `whatsapp-infobip`: WhatsApp, Infobip sends WhatsApp messages through Infobip. */
export interface WhatsappInfobipSettings {
  /** API key: a key that may send WhatsApp messages. */
  apiKey?: string | StoredSecret | null;
  /** Base URL: your own address, such as https://xyz123.api.infobip.com. */
  baseUrl: string;
  /** Callback secret: at least 16 letters and digits, which the provider's calls must know. */
  callbackSecret?: string | StoredSecret | null;
  /** From: the sending number, such as +442071234567. */
  from: string;
  /** Language: that of the approved template, such as `en`, `en_US` or `ar`; `en` by default; only with `template`. */
  language?: string | null;
  /** Other languages: those that the template is approved in too; only with `template`. */
  languages?: string[] | null;
  /** Parameters: `subject`, `body` and JSON pointers into the message's context, in the order of the template; `body` by default; only with `template`. */
  parameters?: string[] | null;
  /** Approved template: the name of an approved template; without one, text is sent. */
  template?: string | null;
  /** Text: the parts of a message that are sent; `body` by default. */
  text?: "body" | "subject" | "both" | null;
  /** Time-out: how long one attempt may take, in seconds; `15` by default. */
  timeoutSeconds?: number | null;
}

/** Why something was sent on a day, or why not. */
export interface Why {
  /** Oldest first. */
  decisions: WhyStep[];
}

export interface WhyStep {
  at: string;
  key?: string | null;
  /** `planned`, a status of work, an act in the audit, or `notWanted`, `otherDay`, `notPlanned`. */
  outcome: string;
  reason?: string | null;
  /** The setting's name. */
  setting?: string | null;
  settingId?: string | null;
  /** What was checked. */
  values: Record<string, unknown>;
  workId?: number | null;
}

/** A work row as it is stored. */
export interface Work {
  businessUnit?: string | null;
  createdAt: string;
  dueAt: string;
  /** Failed attempts before it was last released or brought back. */
  earlierAttempts?: number;
  /** Why it had ended or was held before it was last released or brought back. */
  earlierReasonCode?: string | null;
  id: number;
  /** The digest of its input, in hexadecimal. */
  inputHash: string;
  /** Its business identity. */
  key: string;
  /** The workflow it belongs to: `reminder`, `schedule`, `message`, … */
  kind: string;
  /** The local date that it is for, if it has one. */
  localDate?: string | null;
  /** When it is retried, after a failure. */
  nextRetryAt?: string | null;
  /** A person must look: nothing runs until it is released. */
  onHold: boolean;
  /** What ensuring it did: `created`, `updated`, `unchanged`, `reactivated`, `completed` or `inProgress`. */
  outcome?: string | null;
  /** Why it is where it is. */
  reasonCode?: string | null;
  /** Its results, such as `{"notifications": ["id"]}`. It names the first 20; if there are more, `count` has their number, and `GET /api/v1/notifications?work=` lists all. */
  result?: Record<string, unknown> | null;
  /** Failed attempts since it was planned, released or brought back; its retries are counted from there. */
  retryCount: number;
  /** The row that this one repeats. */
  retryOf?: number | null;
  sourceId?: string | null;
  sourceType?: string | null;
  /** `pending`, `processing`, `completed`, `failed`, `deactivated` or `cancelled`. */
  status: string;
  timeZone?: string | null;
  /** What it is about, for people. */
  title?: string;
  /** `dateBased`, `threshold`, `recurring`, `scheduledRun`, `manualRun` or `at`. */
  trigger: string;
  updatedAt: string;
  version: number;
}

/** How many work rows a change touched, and how. */
export interface WorkCounts {
  created: number;
  deactivated: number;
  unchanged: number;
  updated: number;
}

/** One page of a list. */
export interface WorkPage {
  items: Work[];
  /** Send it as `cursor` for the next page; null on the last page. If few rows match a filter, a page may be short or empty and still have a next page. */
  nextCursor?: string | null;
}

/** The history of one work row. */
export interface WorkTrace {
  id: number;
  /** Oldest first. */
  items: TimelineEntry[];
  key: string;
  /** What it is about, for people. */
  title?: string;
  /** What the workflow recorded when it decided, if anything. */
  trace?: Record<string, unknown> | null;
}

