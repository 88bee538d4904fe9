// One method for each operation. Generated from docs/openapi.json by clients/generate; do not edit.

import type * as m from "./models.js";
import { Transport, type PostOptions } from "./transport.js";

/** Every operation of the API, by the name that the OpenAPI document gives it. */
export class Operations extends Transport {
  /** Say that a person has seen what did not arrive */
  acknowledgeNotification(id: string, body?: m.ActionRequest, options: PostOptions = {}): Promise<m.Notification> {
    return this.call("POST", `/api/v1/notifications/${this.segment(id)}/acknowledge`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** Stop a row for good */
  cancelWork(id: number, body?: m.ActionRequest, options: PostOptions = {}): Promise<m.Work> {
    return this.call("POST", `/api/v1/work/${this.segment(id)}/cancel`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** Whether the address is ours */
  confirmCallback(channel: string): Promise<ArrayBuffer> {
    return this.raw("GET", `/api/v1/callbacks/${this.segment(channel)}`);
  }

  /** Upload a file that messages can attach */
  createBlob(body: string, query: { businessUnit?: string } = {}, options: PostOptions = {}): Promise<m.Blob> {
    return this.call("POST", `/api/v1/blobs`, { query, body, contentType: "application/octet-stream", idempotencyKey: options.idempotencyKey });
  }

  /** Plan the erasure of a person, or carry it out */
  createErasure(body: m.ErasureRequest, options: PostOptions = {}): Promise<m.Erasure> {
    return this.call("POST", `/api/v1/erasures`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** Make a key */
  createKey(body: m.ApiKeyRequest, options: PostOptions = {}): Promise<m.ApiKeyCreated> {
    return this.call("POST", `/api/v1/keys`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** Send a message later, or an array of at most 1,000 */
  createMessage(body: m.MessageRequest, options?: PostOptions): Promise<m.MessageAccepted>;
  createMessage(body: m.MessageRequest[], options?: PostOptions): Promise<m.BatchResult>;
  createMessage(body: m.MessageRequest | m.MessageRequest[], options: PostOptions = {}): Promise<m.MessageAccepted | m.BatchResult> {
    return this.call("POST", `/api/v1/messages`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** Send a notification, or an array of at most 1,000 */
  createNotification(body: m.NotificationRequest, options?: PostOptions): Promise<m.NotificationAccepted>;
  createNotification(body: m.NotificationRequest[], options?: PostOptions): Promise<m.BatchResult>;
  createNotification(body: m.NotificationRequest | m.NotificationRequest[], options: PostOptions = {}): Promise<m.NotificationAccepted | m.BatchResult> {
    return this.call("POST", `/api/v1/notifications`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** Create an event */
  createOperationsEvent(body: m.NewEvent, options: PostOptions = {}): Promise<m.Event> {
    return this.call("POST", `/api/v1/operations/events`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** Make the secret link to the calendar of an organisation or a person */
  createOperationsFeed(body: m.FeedRequest, options: PostOptions = {}): Promise<m.Feed> {
    return this.call("POST", `/api/v1/operations/feeds`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** Add a rule to an event or task */
  createOperationsRule(body: m.RuleRequest, options: PostOptions = {}): Promise<m.Rule> {
    return this.call("POST", `/api/v1/operations/rules`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** Create a task */
  createOperationsTask(body: m.NewTask, options: PostOptions = {}): Promise<m.Task> {
    return this.call("POST", `/api/v1/operations/tasks`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** A link to a person's own page */
  createPreferenceLink(person: string, options: PostOptions = {}): Promise<m.PreferenceLink> {
    return this.call("POST", `/api/v1/preferences/${this.segment(person)}/link`, { idempotencyKey: options.idempotencyKey });
  }

  /** Make a reminder setting */
  createReminderSetting(body: m.ReminderSettingRequest, options: PostOptions = {}): Promise<m.ReminderSetting> {
    return this.call("POST", `/api/v1/reminder-settings`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** Subscribe to a report */
  createReportSubscription(body: m.ReportSubscriptionRequest, options: PostOptions = {}): Promise<m.ReportSubscription> {
    return this.call("POST", `/api/v1/report-subscriptions`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** Run a report now */
  createReportSubscriptionAutomationRun(guid: string, body?: m.RunNowRequest, options: PostOptions = {}): Promise<m.RunNowAnswer> {
    return this.call("POST", `/api/v1/report-subscriptions/${this.segment(guid)}/automation-runs`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** Make a schedule, or an array of at most 1,000 */
  createSchedule(body: m.ScheduleRequest, options?: PostOptions): Promise<m.Schedule>;
  createSchedule(body: m.ScheduleRequest[], options?: PostOptions): Promise<m.BatchResult>;
  createSchedule(body: m.ScheduleRequest | m.ScheduleRequest[], options: PostOptions = {}): Promise<m.Schedule | m.BatchResult> {
    return this.call("POST", `/api/v1/schedules`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** Make a site */
  createSite(body: m.SiteRequest, options: PostOptions = {}): Promise<m.SiteToken> {
    return this.call("POST", `/api/v1/sites`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** Write a survey */
  createSurvey(body: m.SurveyRequest, options: PostOptions = {}): Promise<m.Survey> {
    return this.call("POST", `/api/v1/surveys`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** Send a survey by hand, to at most 10,000 people */
  createSurveyCampaign(id: number, body: m.CampaignRequest, options: PostOptions = {}): Promise<m.Ingested> {
    return this.call("POST", `/api/v1/surveys/${this.segment(id)}/campaigns`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** Add a person and invite them */
  createUser(body: m.UserRequest, options: PostOptions = {}): Promise<m.UserInvited> {
    return this.call("POST", `/api/v1/users`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** Invite a person again */
  createUserInvitation(id: string, options: PostOptions = {}): Promise<m.UserInvited> {
    return this.call("POST", `/api/v1/users/${this.segment(id)}/invitation`, { idempotencyKey: options.idempotencyKey });
  }

  /** Remove a business unit */
  deleteBusinessUnit(id: string): Promise<void> {
    return this.call("DELETE", `/api/v1/business-units/${this.segment(id)}`);
  }

  /** Remove a channel */
  deleteChannel(key: string): Promise<void> {
    return this.call("DELETE", `/api/v1/channels/${this.segment(key)}`);
  }

  /** Remove a consumer */
  deleteConsumer(key: string): Promise<void> {
    return this.call("DELETE", `/api/v1/consumers/${this.segment(key)}`);
  }

  /** Revoke a key */
  deleteKey(id: string): Promise<void> {
    return this.call("DELETE", `/api/v1/keys/${this.segment(id)}`);
  }

  /** Remove a list */
  deleteList(name: string): Promise<void> {
    return this.call("DELETE", `/api/v1/lists/${this.segment(name)}`);
  }

  /** Cancel a message */
  deleteMessage(id: string): Promise<void> {
    return this.call("DELETE", `/api/v1/messages/${this.segment(id)}`);
  }

  /** Delete an event; what was scheduled for it stops */
  deleteOperationsEvent(id: string): Promise<void> {
    return this.call("DELETE", `/api/v1/operations/events/${this.segment(id)}`);
  }

  /** End the link to a calendar */
  deleteOperationsFeed(ownerType: string, ownerId: string): Promise<void> {
    return this.call("DELETE", `/api/v1/operations/feeds/${this.segment(ownerType)}/${this.segment(ownerId)}`);
  }

  /** Remove an organisation */
  deleteOperationsOrganisation(id: string): Promise<void> {
    return this.call("DELETE", `/api/v1/operations/organisations/${this.segment(id)}`);
  }

  /** Remove a person */
  deleteOperationsPerson(id: string): Promise<void> {
    return this.call("DELETE", `/api/v1/operations/people/${this.segment(id)}`);
  }

  /** Delete a rule */
  deleteOperationsRule(id: string): Promise<void> {
    return this.call("DELETE", `/api/v1/operations/rules/${this.segment(id)}`);
  }

  /** Delete a task; what was scheduled for it stops */
  deleteOperationsTask(id: string): Promise<void> {
    return this.call("DELETE", `/api/v1/operations/tasks/${this.segment(id)}`);
  }

  /** Forget what a person wants */
  deletePreference(person: string): Promise<void> {
    return this.call("DELETE", `/api/v1/preferences/${this.segment(person)}`);
  }

  /** Remove a reminder setting */
  deleteReminderSetting(id: string): Promise<void> {
    return this.call("DELETE", `/api/v1/reminder-settings/${this.segment(id)}`);
  }

  /** Remove a subscription */
  deleteReportSubscription(guid: string): Promise<void> {
    return this.call("DELETE", `/api/v1/report-subscriptions/${this.segment(guid)}`);
  }

  /** End a rollout: everything has moved over, and there is no old scheduler any more */
  deleteRolloutsReportSubscription(scope: string, id: string): Promise<void> {
    return this.call("DELETE", `/api/v1/rollouts/report-subscription/${this.segment(scope)}/${this.segment(id)}`);
  }

  /** Cancel a schedule */
  deleteSchedule(id: string): Promise<void> {
    return this.call("DELETE", `/api/v1/schedules/${this.segment(id)}`);
  }

  /** Say that a source is gone */
  deleteSource(type: string, id: string): Promise<void> {
    return this.call("DELETE", `/api/v1/sources/${this.segment(type)}/${this.segment(id)}`);
  }

  /** Remove a subscriber */
  deleteSubscriber(key: string): Promise<void> {
    return this.call("DELETE", `/api/v1/subscribers/${this.segment(key)}`);
  }

  /** Take an address off the list */
  deleteSuppression(channelType: string, address: string): Promise<void> {
    return this.call("DELETE", `/api/v1/suppressions/${this.segment(channelType)}/${this.segment(address)}`);
  }

  /** Take a link back */
  deleteSurveyInstance(id: number, publicId: string): Promise<void> {
    return this.call("DELETE", `/api/v1/surveys/${this.segment(id)}/instances/${this.segment(publicId)}`);
  }

  /** Remove a template */
  deleteTemplate(name: string): Promise<void> {
    return this.call("DELETE", `/api/v1/templates/${this.segment(name)}`);
  }

  /** Remove a person */
  deleteUser(id: string): Promise<void> {
    return this.call("DELETE", `/api/v1/users/${this.segment(id)}`);
  }

  /** Give a parked notification up */
  discardNotification(id: string, body?: m.ActionRequest, options: PostOptions = {}): Promise<m.Notification> {
    return this.call("POST", `/api/v1/notifications/${this.segment(id)}/discard`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** Give up what was due when the database was restored */
  discardRestore(body?: m.ReasonRequest, options: PostOptions = {}): Promise<m.RestoreSettled> {
    return this.call("POST", `/api/v1/restore/discard`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** Why something was sent about a source on a day, or why not */
  explainDecisions(query: { sourceType: string; sourceId: string; date: string }): Promise<m.Why> {
    return this.call("GET", `/api/v1/why`, { query });
  }

  /** Export every definition */
  exportDefinitions(): Promise<m.DefinitionsDocument> {
    return this.call("GET", `/api/v1/definitions`);
  }

  /** What is stored about a person */
  exportPersonalData(body: m.PersonalDataRequest, options: PostOptions = {}): Promise<m.PersonalData> {
    return this.call("POST", `/api/v1/personal-data/export`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** Everything that needs a person, newest first */
  getAttention(): Promise<m.Attention> {
    return this.call("GET", `/api/v1/attention`);
  }

  /** Look at a business unit */
  getBusinessUnit(id: string): Promise<m.BusinessUnit> {
    return this.call("GET", `/api/v1/business-units/${this.segment(id)}`);
  }

  /** Look at a channel */
  getChannel(key: string): Promise<m.Channel> {
    return this.call("GET", `/api/v1/channels/${this.segment(key)}`);
  }

  /** Look at a consumer */
  getConsumer(key: string): Promise<m.Consumer> {
    return this.call("GET", `/api/v1/consumers/${this.segment(key)}`);
  }

  /** Get the delivery policy */
  getDeliveryPolicy(): Promise<m.DeliveryPolicy> {
    return this.call("GET", `/api/v1/delivery-policy`);
  }

  /** An erasure with its certificate, or a plan of one */
  getErasure(id: string): Promise<m.Erasure> {
    return this.call("GET", `/api/v1/erasures/${this.segment(id)}`);
  }

  /** What will be sent, by local day */
  getForecast(query: { from?: string; to?: string; businessUnit?: string } = {}): Promise<m.Forecast> {
    return this.call("GET", `/api/v1/forecast`, { query });
  }

  /** Whether the process lives */
  getHealth(): Promise<m.Health> {
    return this.call("GET", `/healthz`);
  }

  /** Messages to the holder of the key, newest first */
  getInbox(query: { unread?: boolean; cursor?: string; limit?: number } = {}): Promise<m.Inbox> {
    return this.call("GET", `/api/v1/inbox`, { query });
  }

  /** Messages to the holder of the key, newest first; page after page */
  eachGetInbox(query: { unread?: boolean; cursor?: string; limit?: number } = {}): AsyncGenerator<m.InboxMessage> {
    return this.items((cursor) => this.getInbox({ ...query, cursor }));
  }

  /** Look at a list */
  getList(name: string): Promise<m.List> {
    return this.call("GET", `/api/v1/lists/${this.segment(name)}`);
  }

  /** Look at a message */
  getMessage(id: string): Promise<m.Message> {
    return this.call("GET", `/api/v1/messages/${this.segment(id)}`);
  }

  /** Figures for Prometheus */
  getMetrics(): Promise<ArrayBuffer> {
    return this.raw("GET", `/metrics`);
  }

  /** Look at a notification */
  getNotification(id: string): Promise<m.Notification> {
    return this.call("GET", `/api/v1/notifications/${this.segment(id)}`);
  }

  /** The figures of the outbox, of all of it and of each site */
  getNotificationKpis(query: { site?: string } = {}): Promise<m.Kpis> {
    return this.call("GET", `/api/v1/notifications/kpis`, { query });
  }

  /** The timeline of a notification, from its cause to the provider's answer */
  getNotificationTimeline(id: string): Promise<m.Timeline> {
    return this.call("GET", `/api/v1/notifications/${this.segment(id)}/timeline`);
  }

  /** Look at an event */
  getOperationsEvent(id: string): Promise<m.Event> {
    return this.call("GET", `/api/v1/operations/events/${this.segment(id)}`);
  }

  /** Look at an organisation */
  getOperationsOrganisation(id: string): Promise<m.Organisation> {
    return this.call("GET", `/api/v1/operations/organisations/${this.segment(id)}`);
  }

  /** Look at a person */
  getOperationsPerson(id: string): Promise<m.Person> {
    return this.call("GET", `/api/v1/operations/people/${this.segment(id)}`);
  }

  /** Look at a rule; a deleted one stays readable */
  getOperationsRule(id: string): Promise<m.Rule> {
    return this.call("GET", `/api/v1/operations/rules/${this.segment(id)}`);
  }

  /** Look at a task */
  getOperationsTask(id: string): Promise<m.Task> {
    return this.call("GET", `/api/v1/operations/tasks/${this.segment(id)}`);
  }

  /** Whose token this is */
  getOwnSite(): Promise<m.SiteIdentity> {
    return this.call("GET", `/api/v1/site`);
  }

  /** What a person wants */
  getPreference(person: string): Promise<m.Preference> {
    return this.call("GET", `/api/v1/preferences/${this.segment(person)}`);
  }

  /** Read what a link asks */
  getPublicSurvey(publicId: string): Promise<m.PublicSurvey> {
    return this.call("GET", `/api/v1/public/surveys/${this.segment(publicId)}`);
  }

  /** Whether the database answers */
  getReadiness(query: { write?: string | null } = {}): Promise<m.Readiness> {
    return this.call("GET", `/readyz`, { query });
  }

  /** Look at a reminder setting */
  getReminderSetting(id: string): Promise<m.ReminderSetting> {
    return this.call("GET", `/api/v1/reminder-settings/${this.segment(id)}`);
  }

  /** Ask who owns a run */
  getReportRunOwnership(key: string): Promise<m.Ownership> {
    return this.call("GET", `/api/v1/report-runs/${this.segment(key)}/ownership`);
  }

  /** Look at a subscription */
  getReportSubscription(guid: string): Promise<m.ReportSubscription> {
    return this.call("GET", `/api/v1/report-subscriptions/${this.segment(guid)}`);
  }

  /** Look at a run */
  getReportSubscriptionAutomationRun(guid: string, run: string): Promise<m.AutomationRun> {
    return this.call("GET", `/api/v1/report-subscriptions/${this.segment(guid)}/automation-runs/${this.segment(run)}`);
  }

  /** A file of a run */
  getReportSubscriptionAutomationRunArtefact(guid: string, run: string, name: string): Promise<ArrayBuffer> {
    return this.raw("GET", `/api/v1/report-subscriptions/${this.segment(guid)}/automation-runs/${this.segment(run)}/artefacts/${this.segment(name)}`);
  }

  /** Where what was made for a run lies */
  getReportSubscriptionAutomationRunCoordinates(guid: string, run: string): Promise<m.Coordinates> {
    return this.call("GET", `/api/v1/report-subscriptions/${this.segment(guid)}/automation-runs/${this.segment(run)}/coordinates`);
  }

  /** Who owns a run */
  getReportSubscriptionAutomationRunOwnership(guid: string, run: string): Promise<m.Ownership> {
    return this.call("GET", `/api/v1/report-subscriptions/${this.segment(guid)}/automation-runs/${this.segment(run)}/ownership`);
  }

  /** The next runs of a subscription, in its local time */
  getReportSubscriptionUpcoming(guid: string, query: { count?: number } = {}): Promise<m.Upcoming> {
    return this.call("GET", `/api/v1/report-subscriptions/${this.segment(guid)}/upcoming`, { query });
  }

  /** The last restore of the database, and what waits because of it */
  getRestore(): Promise<m.Restores> {
    return this.call("GET", `/api/v1/restore`);
  }

  /** How long each table keeps its rows, and what the last purge removed */
  getRetention(): Promise<m.Retention> {
    return this.call("GET", `/api/v1/retention`);
  }

  /** Look at a rollout */
  getRolloutsReportSubscription(scope: string, id: string): Promise<m.Rollout> {
    return this.call("GET", `/api/v1/rollouts/report-subscription/${this.segment(scope)}/${this.segment(id)}`);
  }

  /** The expected runs against those that the old scheduler has taken */
  getRolloutsReportSubscriptionComparison(scope: string, id: string, query: { from?: string; to?: string } = {}): Promise<m.Comparison> {
    return this.call("GET", `/api/v1/rollouts/report-subscription/${this.segment(scope)}/${this.segment(id)}/comparison`, { query });
  }

  /** Conflicts, failures and latency by stage */
  getRolloutsReportSubscriptionFigures(scope: string, id: string, query: { from?: string; to?: string } = {}): Promise<m.RolloutFigures> {
    return this.call("GET", `/api/v1/rollouts/report-subscription/${this.segment(scope)}/${this.segment(id)}/figures`, { query });
  }

  /** The time of the clock */
  getSandboxClock(): Promise<m.SandboxClock> {
    return this.call("GET", `/api/v1/sandbox/clock`);
  }

  /** Look at a schedule */
  getSchedule(id: string): Promise<m.Schedule> {
    return this.call("GET", `/api/v1/schedules/${this.segment(id)}`);
  }

  /** Search messages, work, sources, people and settings */
  getSearch(query: { q: string }): Promise<m.SearchResults> {
    return this.call("GET", `/api/v1/search`, { query });
  }

  /** Look at a site */
  getSite(site: string): Promise<m.Site> {
    return this.call("GET", `/api/v1/sites/${this.segment(site)}`);
  }

  /** The status of a notification of this site */
  getSiteNotification(site: string, id: string): Promise<m.SiteNotificationStatus> {
    return this.call("GET", `/api/v1/sites/${this.segment(site)}/notifications/${this.segment(id)}`);
  }

  /** Look at a source */
  getSource(type: string, id: string): Promise<m.Source> {
    return this.call("GET", `/api/v1/sources/${this.segment(type)}/${this.segment(id)}`);
  }

  /** Look at a subscriber */
  getSubscriber(key: string): Promise<m.Subscriber> {
    return this.call("GET", `/api/v1/subscribers/${this.segment(key)}`);
  }

  /** Look at an address */
  getSuppression(channelType: string, address: string): Promise<m.Suppression> {
    return this.call("GET", `/api/v1/suppressions/${this.segment(channelType)}/${this.segment(address)}`);
  }

  /** Look at a survey */
  getSurvey(id: number): Promise<m.Survey> {
    return this.call("GET", `/api/v1/surveys/${this.segment(id)}`);
  }

  /** Look at an instance */
  getSurveyInstance(id: number, publicId: string): Promise<m.Instance> {
    return this.call("GET", `/api/v1/surveys/${this.segment(id)}/instances/${this.segment(publicId)}`);
  }

  /** What the answers come to */
  getSurveyResults(id: number, query: { triggerId?: string; from?: string; to?: string } = {}): Promise<m.SurveyResults> {
    return this.call("GET", `/api/v1/surveys/${this.segment(id)}/results`, { query });
  }

  /** Every answer as CSV */
  getSurveyResultsCsv(id: number, query: { triggerId?: string; from?: string; to?: string } = {}): Promise<ArrayBuffer> {
    return this.raw("GET", `/api/v1/surveys/${this.segment(id)}/results.csv`, { query });
  }

  /** Every answer as a spreadsheet */
  getSurveyResultsXlsx(id: number, query: { triggerId?: string; from?: string; to?: string } = {}): Promise<ArrayBuffer> {
    return this.raw("GET", `/api/v1/surveys/${this.segment(id)}/results.xlsx`, { query });
  }

  /** Look at a template */
  getTemplate(name: string): Promise<m.Template> {
    return this.call("GET", `/api/v1/templates/${this.segment(name)}`);
  }

  /** Look at a person */
  getUser(id: string): Promise<m.User> {
    return this.call("GET", `/api/v1/users/${this.segment(id)}`);
  }

  /** Look at a work row */
  getWork(id: number): Promise<m.Work> {
    return this.call("GET", `/api/v1/work/${this.segment(id)}`);
  }

  /** How a work row came to where it is */
  getWorkTrace(id: number): Promise<m.WorkTrace> {
    return this.call("GET", `/api/v1/work/${this.segment(id)}/trace`);
  }

  /** Hand over at most 10,000 notifications */
  handOverNotifications(site: string, body: m.SiteHandOver, options: PostOptions = {}): Promise<m.SiteAckBatch> {
    return this.call("POST", `/api/v1/sites/${this.segment(site)}/notifications`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** Import a calendar file */
  importCalendar(body: string, query: { creator: string; organisation?: string; businessUnit?: string }, options: PostOptions = {}): Promise<m.Imported> {
    return this.call("POST", `/api/v1/operations/import`, { query, body, contentType: "text/calendar", idempotencyKey: options.idempotencyKey });
  }

  /** Import definitions, or see what an import would change */
  importDefinitions(body: m.DefinitionsRequest, options: PostOptions = {}): Promise<m.DefinitionsPlan> {
    return this.call("POST", `/api/v1/definitions`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** The same, at the address that other systems know */
  ingestSurveyTriggersAsKnown(body: m.IngestRequest, options: PostOptions = {}): Promise<m.Ingested> {
    return this.call("POST", `/api/Surveys/Triggers/ingest`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** Tell events that surveys may ask about, at most 10,000 */
  ingestSurveysTriggers(body: m.IngestRequest, options: PostOptions = {}): Promise<m.Ingested> {
    return this.call("POST", `/api/v1/surveys/triggers/ingest`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** What people, keys and the engine did, newest first */
  listAudit(query: { from?: string; to?: string; actor?: string; action?: string; subject?: string; cursor?: string; limit?: number } = {}): Promise<m.AuditEntryPage> {
    return this.call("GET", `/api/v1/audit`, { query });
  }

  /** What people, keys and the engine did, newest first; page after page */
  eachAudit(query: { from?: string; to?: string; actor?: string; action?: string; subject?: string; cursor?: string; limit?: number } = {}): AsyncGenerator<m.AuditEntry> {
    return this.items((cursor) => this.listAudit({ ...query, cursor }));
  }

  /** All business units, by id */
  listBusinessUnits(query: { cursor?: string; limit?: number } = {}): Promise<m.BusinessUnitPage> {
    return this.call("GET", `/api/v1/business-units`, { query });
  }

  /** All business units, by id; page after page */
  eachBusinessUnits(query: { cursor?: string; limit?: number } = {}): AsyncGenerator<m.BusinessUnit> {
    return this.items((cursor) => this.listBusinessUnits({ ...query, cursor }));
  }

  /** How channels did in the last hour */
  listChannelHealth(): Promise<m.ChannelHealthPage> {
    return this.call("GET", `/api/v1/channels/health`);
  }

  /** All channels, by key */
  listChannels(): Promise<m.ChannelPage> {
    return this.call("GET", `/api/v1/channels`);
  }

  /** All consumers, by key, with how each is */
  listConsumers(): Promise<m.ConsumerPage> {
    return this.call("GET", `/api/v1/consumers`);
  }

  /** Runs of a subscription that have failed, are held or wait for a retry */
  listFailedAutomationRuns(guid: string, query: { cursor?: string; limit?: number } = {}): Promise<m.RunSummaryPage> {
    return this.call("GET", `/api/v1/report-subscriptions/${this.segment(guid)}/automation-runs/failed`, { query });
  }

  /** Runs of a subscription that have failed, are held or wait for a retry; page after page */
  eachFailedAutomationRuns(guid: string, query: { cursor?: string; limit?: number } = {}): AsyncGenerator<m.RunSummary> {
    return this.items((cursor) => this.listFailedAutomationRuns(guid, { ...query, cursor }));
  }

  /** The failed queue over all subscriptions */
  listFailedReportRuns(query: { cursor?: string; limit?: number } = {}): Promise<m.RunSummaryPage> {
    return this.call("GET", `/api/v1/report-runs/failed`, { query });
  }

  /** The failed queue over all subscriptions; page after page */
  eachFailedReportRuns(query: { cursor?: string; limit?: number } = {}): AsyncGenerator<m.RunSummary> {
    return this.items((cursor) => this.listFailedReportRuns({ ...query, cursor }));
  }

  /** List keys */
  listKeys(): Promise<m.ApiKeyPage> {
    return this.call("GET", `/api/v1/keys`);
  }

  /** All lists, by name */
  listLists(query: { cursor?: string; limit?: number } = {}): Promise<m.ListPage> {
    return this.call("GET", `/api/v1/lists`, { query });
  }

  /** All lists, by name; page after page */
  eachLists(query: { cursor?: string; limit?: number } = {}): AsyncGenerator<m.List> {
    return this.items((cursor) => this.listLists({ ...query, cursor }));
  }

  /** List messages, newest first */
  listMessages(query: { cursor?: string; limit?: number } = {}): Promise<m.MessagePage> {
    return this.call("GET", `/api/v1/messages`, { query });
  }

  /** List messages, newest first; page after page */
  eachMessages(query: { cursor?: string; limit?: number } = {}): AsyncGenerator<m.Message> {
    return this.items((cursor) => this.listMessages({ ...query, cursor }));
  }

  /** All nodes, by name */
  listNodes(): Promise<m.Nodes> {
    return this.call("GET", `/api/v1/nodes`);
  }

  /** List notifications, newest first */
  listNotifications(query: { status?: string; type?: string; site?: string; list?: string; from?: string; to?: string; stuck?: boolean; q?: string; work?: number; cursor?: string; limit?: number } = {}): Promise<m.NotificationPage> {
    return this.call("GET", `/api/v1/notifications`, { query });
  }

  /** List notifications, newest first; page after page */
  eachNotifications(query: { status?: string; type?: string; site?: string; list?: string; from?: string; to?: string; stuck?: boolean; q?: string; work?: number; cursor?: string; limit?: number } = {}): AsyncGenerator<m.Notification> {
    return this.items((cursor) => this.listNotifications({ ...query, cursor }));
  }

  /** List events, in the order they were made, or those of a stretch of time by their end */
  listOperationsEvents(query: { from?: string; to?: string; cursor?: string; limit?: number } = {}): Promise<m.EventPage> {
    return this.call("GET", `/api/v1/operations/events`, { query });
  }

  /** List events, in the order they were made, or those of a stretch of time by their end; page after page */
  eachOperationsEvents(query: { from?: string; to?: string; cursor?: string; limit?: number } = {}): AsyncGenerator<m.Event> {
    return this.items((cursor) => this.listOperationsEvents({ ...query, cursor }));
  }

  /** All organisations, by id */
  listOperationsOrganisations(query: { cursor?: string; limit?: number } = {}): Promise<m.OrganisationPage> {
    return this.call("GET", `/api/v1/operations/organisations`, { query });
  }

  /** All organisations, by id; page after page */
  eachOperationsOrganisations(query: { cursor?: string; limit?: number } = {}): AsyncGenerator<m.Organisation> {
    return this.items((cursor) => this.listOperationsOrganisations({ ...query, cursor }));
  }

  /** All people, by id */
  listOperationsPeople(query: { cursor?: string; limit?: number } = {}): Promise<m.PersonPage> {
    return this.call("GET", `/api/v1/operations/people`, { query });
  }

  /** All people, by id; page after page */
  eachOperationsPeople(query: { cursor?: string; limit?: number } = {}): AsyncGenerator<m.Person> {
    return this.items((cursor) => this.listOperationsPeople({ ...query, cursor }));
  }

  /** List rules */
  listOperationsRules(query: { subjectId?: string; cursor?: string; limit?: number } = {}): Promise<m.RulePage> {
    return this.call("GET", `/api/v1/operations/rules`, { query });
  }

  /** List rules; page after page */
  eachOperationsRules(query: { subjectId?: string; cursor?: string; limit?: number } = {}): AsyncGenerator<m.Rule> {
    return this.items((cursor) => this.listOperationsRules({ ...query, cursor }));
  }

  /** List tasks, in the order they were made, or those of a stretch of time by their end */
  listOperationsTasks(query: { from?: string; to?: string; cursor?: string; limit?: number } = {}): Promise<m.TaskPage> {
    return this.call("GET", `/api/v1/operations/tasks`, { query });
  }

  /** List tasks, in the order they were made, or those of a stretch of time by their end; page after page */
  eachOperationsTasks(query: { from?: string; to?: string; cursor?: string; limit?: number } = {}): AsyncGenerator<m.Task> {
    return this.items((cursor) => this.listOperationsTasks({ ...query, cursor }));
  }

  /** Subscriptions whose owner or recipients are gone */
  listOrphanedReportSubscriptions(query: { cursor?: string; limit?: number } = {}): Promise<m.OrphanedSubscriptionPage> {
    return this.call("GET", `/api/v1/report-subscriptions/orphans`, { query });
  }

  /** Subscriptions whose owner or recipients are gone; page after page */
  eachOrphanedReportSubscriptions(query: { cursor?: string; limit?: number } = {}): AsyncGenerator<m.OrphanedSubscription> {
    return this.items((cursor) => this.listOrphanedReportSubscriptions({ ...query, cursor }));
  }

  /** What happened, newest first, with its deliveries */
  listOutboxEvents(query: { cursor?: string; limit?: number } = {}): Promise<m.OutboxEventPage> {
    return this.call("GET", `/api/v1/outbox-events`, { query });
  }

  /** What happened, newest first, with its deliveries; page after page */
  eachOutboxEvents(query: { cursor?: string; limit?: number } = {}): AsyncGenerator<m.OutboxEvent> {
    return this.items((cursor) => this.listOutboxEvents({ ...query, cursor }));
  }

  /** What people want, by name */
  listPreferences(query: { cursor?: string; limit?: number } = {}): Promise<m.PreferencePage> {
    return this.call("GET", `/api/v1/preferences`, { query });
  }

  /** What people want, by name; page after page */
  eachPreferences(query: { cursor?: string; limit?: number } = {}): AsyncGenerator<m.Preference> {
    return this.items((cursor) => this.listPreferences({ ...query, cursor }));
  }

  /** The latest runs of a subscription */
  listRecentAutomationRuns(guid: string, query: { cursor?: string; limit?: number } = {}): Promise<m.RunSummaryPage> {
    return this.call("GET", `/api/v1/report-subscriptions/${this.segment(guid)}/automation-runs/recent`, { query });
  }

  /** The latest runs of a subscription; page after page */
  eachRecentAutomationRuns(guid: string, query: { cursor?: string; limit?: number } = {}): AsyncGenerator<m.RunSummary> {
    return this.items((cursor) => this.listRecentAutomationRuns(guid, { ...query, cursor }));
  }

  /** The latest runs over all subscriptions */
  listRecentReportRuns(query: { cursor?: string; limit?: number } = {}): Promise<m.RunSummaryPage> {
    return this.call("GET", `/api/v1/report-runs/recent`, { query });
  }

  /** The latest runs over all subscriptions; page after page */
  eachRecentReportRuns(query: { cursor?: string; limit?: number } = {}): AsyncGenerator<m.RunSummary> {
    return this.items((cursor) => this.listRecentReportRuns({ ...query, cursor }));
  }

  /** Every trigger provider, and how far it has looked */
  listReconciliations(): Promise<m.ReconciliationPage> {
    return this.call("GET", `/api/v1/reconciliations`);
  }

  /** All reminder settings */
  listReminderSettings(query: { cursor?: string; limit?: number } = {}): Promise<m.ReminderSettingPage> {
    return this.call("GET", `/api/v1/reminder-settings`, { query });
  }

  /** All reminder settings; page after page */
  eachReminderSettings(query: { cursor?: string; limit?: number } = {}): AsyncGenerator<m.ReminderSetting> {
    return this.items((cursor) => this.listReminderSettings({ ...query, cursor }));
  }

  /** The runs of a subscription, newest first */
  listReportSubscriptionAutomationRuns(guid: string, query: { status?: string; cursor?: string; limit?: number } = {}): Promise<m.RunSummaryPage> {
    return this.call("GET", `/api/v1/report-subscriptions/${this.segment(guid)}/automation-runs`, { query });
  }

  /** The runs of a subscription, newest first; page after page */
  eachReportSubscriptionAutomationRuns(guid: string, query: { status?: string; cursor?: string; limit?: number } = {}): AsyncGenerator<m.RunSummary> {
    return this.items((cursor) => this.listReportSubscriptionAutomationRuns(guid, { ...query, cursor }));
  }

  /** All subscriptions */
  listReportSubscriptions(query: { cursor?: string; limit?: number } = {}): Promise<m.ReportSubscriptionPage> {
    return this.call("GET", `/api/v1/report-subscriptions`, { query });
  }

  /** All subscriptions; page after page */
  eachReportSubscriptions(query: { cursor?: string; limit?: number } = {}): AsyncGenerator<m.ReportSubscription> {
    return this.items((cursor) => this.listReportSubscriptions({ ...query, cursor }));
  }

  /** All rollouts of report subscriptions */
  listRolloutsReportSubscription(): Promise<m.RolloutPage> {
    return this.call("GET", `/api/v1/rollouts/report-subscription`);
  }

  /** What the channels were given, oldest first */
  listSandboxSent(): Promise<m.SentMessages> {
    return this.call("GET", `/api/v1/sandbox/sent`);
  }

  /** List schedules, newest first */
  listSchedules(query: { cursor?: string; limit?: number } = {}): Promise<m.SchedulePage> {
    return this.call("GET", `/api/v1/schedules`, { query });
  }

  /** List schedules, newest first; page after page */
  eachSchedules(query: { cursor?: string; limit?: number } = {}): AsyncGenerator<m.Schedule> {
    return this.items((cursor) => this.listSchedules({ ...query, cursor }));
  }

  /** A site's event log, newest first */
  listSiteEvents(site: string, query: { cursor?: string; limit?: number } = {}): Promise<m.SiteEventPage> {
    return this.call("GET", `/api/v1/sites/${this.segment(site)}/events`, { query });
  }

  /** A site's event log, newest first; page after page */
  eachSiteEvents(site: string, query: { cursor?: string; limit?: number } = {}): AsyncGenerator<m.SiteEvent> {
    return this.items((cursor) => this.listSiteEvents(site, { ...query, cursor }));
  }

  /** All sites, by id */
  listSites(query: { cursor?: string; limit?: number } = {}): Promise<m.SitePage> {
    return this.call("GET", `/api/v1/sites`, { query });
  }

  /** All sites, by id; page after page */
  eachSites(query: { cursor?: string; limit?: number } = {}): AsyncGenerator<m.Site> {
    return this.items((cursor) => this.listSites({ ...query, cursor }));
  }

  /** The sources of one type, by id */
  listSources(type: string, query: { cursor?: string; limit?: number } = {}): Promise<m.SourcePage> {
    return this.call("GET", `/api/v1/sources/${this.segment(type)}`, { query });
  }

  /** The sources of one type, by id; page after page */
  eachSources(type: string, query: { cursor?: string; limit?: number } = {}): AsyncGenerator<m.Source> {
    return this.items((cursor) => this.listSources(type, { ...query, cursor }));
  }

  /** All subscribers, by key */
  listSubscribers(): Promise<m.SubscriberPage> {
    return this.call("GET", `/api/v1/subscribers`);
  }

  /** The list, by type and address */
  listSuppressions(query: { channelType?: string; reason?: string; q?: string; cursor?: string; limit?: number } = {}): Promise<m.SuppressionPage> {
    return this.call("GET", `/api/v1/suppressions`, { query });
  }

  /** The list, by type and address; page after page */
  eachSuppressions(query: { channelType?: string; reason?: string; q?: string; cursor?: string; limit?: number } = {}): AsyncGenerator<m.Suppression> {
    return this.items((cursor) => this.listSuppressions({ ...query, cursor }));
  }

  /** List the instances of a survey, newest first */
  listSurveyInstances(id: number, query: { status?: string; triggerId?: string; customerRef?: string; cursor?: string; limit?: number } = {}): Promise<m.InstancePage> {
    return this.call("GET", `/api/v1/surveys/${this.segment(id)}/instances`, { query });
  }

  /** List the instances of a survey, newest first; page after page */
  eachSurveyInstances(id: number, query: { status?: string; triggerId?: string; customerRef?: string; cursor?: string; limit?: number } = {}): AsyncGenerator<m.Instance> {
    return this.items((cursor) => this.listSurveyInstances(id, { ...query, cursor }));
  }

  /** List surveys, newest first */
  listSurveys(query: { cursor?: string; limit?: number } = {}): Promise<m.SurveyPage> {
    return this.call("GET", `/api/v1/surveys`, { query });
  }

  /** List surveys, newest first; page after page */
  eachSurveys(query: { cursor?: string; limit?: number } = {}): AsyncGenerator<m.Survey> {
    return this.items((cursor) => this.listSurveys({ ...query, cursor }));
  }

  /** All templates, by name */
  listTemplates(query: { cursor?: string; limit?: number } = {}): Promise<m.TemplatePage> {
    return this.call("GET", `/api/v1/templates`, { query });
  }

  /** All templates, by name; page after page */
  eachTemplates(query: { cursor?: string; limit?: number } = {}): AsyncGenerator<m.Template> {
    return this.items((cursor) => this.listTemplates({ ...query, cursor }));
  }

  /** List people, by email */
  listUsers(query: { cursor?: string; limit?: number } = {}): Promise<m.UserPage> {
    return this.call("GET", `/api/v1/users`, { query });
  }

  /** List people, by email; page after page */
  eachUsers(query: { cursor?: string; limit?: number } = {}): AsyncGenerator<m.User> {
    return this.items((cursor) => this.listUsers({ ...query, cursor }));
  }

  /** List work, newest first */
  listWork(query: { status?: string; kind?: string; hold?: boolean; sourceType?: string; sourceId?: string; from?: string; to?: string; cursor?: string; limit?: number } = {}): Promise<m.WorkPage> {
    return this.call("GET", `/api/v1/work`, { query });
  }

  /** List work, newest first; page after page */
  eachWork(query: { status?: string; kind?: string; hold?: boolean; sourceType?: string; sourceId?: string; from?: string; to?: string; cursor?: string; limit?: number } = {}): AsyncGenerator<m.Work> {
    return this.items((cursor) => this.listWork({ ...query, cursor }));
  }

  /** Say that the page is shown to a person */
  markSurveyOpened(publicId: string, options: PostOptions = {}): Promise<void> {
    return this.call("POST", `/api/v1/public/surveys/${this.segment(publicId)}/opened`, { idempotencyKey: options.idempotencyKey });
  }

  /** Pause a subscription: what waits is deactivated */
  pauseReportSubscription(guid: string, body?: m.ActionRequest, options: PostOptions = {}): Promise<m.ReportSubscription> {
    return this.call("POST", `/api/v1/report-subscriptions/${this.segment(guid)}/pause`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** See what a new reminder setting would do */
  planNewReminderSetting(body: m.ReminderSettingRequest, options: PostOptions = {}): Promise<m.ReminderPlan> {
    return this.call("POST", `/api/v1/reminder-settings/plan`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** See what a change of a reminder setting would do */
  planReminderSetting(id: string, body: m.ReminderSettingChange, options: PostOptions = {}): Promise<m.ReminderPlan> {
    return this.call("POST", `/api/v1/reminder-settings/${this.segment(id)}/plan`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** Show a template as a recipient would see it */
  previewTemplate(name: string, body: m.PreviewRequest, options: PostOptions = {}): Promise<m.Preview> {
    return this.call("POST", `/api/v1/templates/${this.segment(name)}/preview`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** Publish a survey */
  publishSurvey(id: number, options: PostOptions = {}): Promise<m.SurveyPublished> {
    return this.call("POST", `/api/v1/surveys/${this.segment(id)}/publish`, { idempotencyKey: options.idempotencyKey });
  }

  /** Purge now; with `confirm`, also what the daily run held back */
  purge(body?: m.PurgeRequest, options: PostOptions = {}): Promise<m.PurgeRun> {
    return this.call("POST", `/api/v1/retention/purge`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** Define a business unit */
  putBusinessUnit(id: string, body: m.BusinessUnitRequest): Promise<m.BusinessUnit> {
    return this.call("PUT", `/api/v1/business-units/${this.segment(id)}`, { body });
  }

  /** Define a channel */
  putChannel(key: string, body: m.ChannelRequest): Promise<m.Channel> {
    return this.call("PUT", `/api/v1/channels/${this.segment(key)}`, { body });
  }

  /** Define a consumer */
  putConsumer(key: string, body: m.ConsumerRequest): Promise<m.Consumer> {
    return this.call("PUT", `/api/v1/consumers/${this.segment(key)}`, { body });
  }

  /** Set the delivery policy */
  putDeliveryPolicy(body: m.DeliveryPolicyInput): Promise<m.DeliveryPolicy> {
    return this.call("PUT", `/api/v1/delivery-policy`, { body });
  }

  /** Define a list */
  putList(name: string, body: m.ListRequest): Promise<m.List> {
    return this.call("PUT", `/api/v1/lists/${this.segment(name)}`, { body });
  }

  /** Keep an organisation */
  putOperationsOrganisation(id: string, body: m.OrganisationRequest): Promise<m.Organisation> {
    return this.call("PUT", `/api/v1/operations/organisations/${this.segment(id)}`, { body });
  }

  /** Keep a person */
  putOperationsPerson(id: string, body: m.PersonRequest): Promise<m.Person> {
    return this.call("PUT", `/api/v1/operations/people/${this.segment(id)}`, { body });
  }

  /** Say what a person wants */
  putPreference(person: string, body: m.PreferenceRequest): Promise<m.Preference> {
    return this.call("PUT", `/api/v1/preferences/${this.segment(person)}`, { body });
  }

  /** Define a reminder setting, whole */
  putReminderSetting(id: string, body: m.ReminderSettingRequest): Promise<m.ReminderSetting> {
    return this.call("PUT", `/api/v1/reminder-settings/${this.segment(id)}`, { body });
  }

  /** Define a subscription, whole */
  putReportSubscription(guid: string, body: m.ReportSubscriptionRequest): Promise<m.ReportSubscription> {
    return this.call("PUT", `/api/v1/report-subscriptions/${this.segment(guid)}`, { body });
  }

  /** Set the stage of a rollout */
  putRolloutsReportSubscription(scope: string, id: string, body: m.RolloutRequest): Promise<m.Rollout> {
    return this.call("PUT", `/api/v1/rollouts/report-subscription/${this.segment(scope)}/${this.segment(id)}`, { body });
  }

  /** Make a channel misbehave */
  putSandboxChannel(key: string, body: m.MisbehaviourRequest): Promise<void> {
    return this.call("PUT", `/api/v1/sandbox/channels/${this.segment(key)}`, { body });
  }

  /** Move the clock, and run what is ready */
  putSandboxClock(body: m.ClockRequest): Promise<m.SandboxClock> {
    return this.call("PUT", `/api/v1/sandbox/clock`, { body });
  }

  /** Tell the state of a source */
  putSource(type: string, id: string, body: m.SourceRequest): Promise<m.Source> {
    return this.call("PUT", `/api/v1/sources/${this.segment(type)}/${this.segment(id)}`, { body });
  }

  /** Tell the states of at most 10,000 sources */
  putSources(body: m.NamedSourceRequestBatch, options: PostOptions = {}): Promise<m.SourceOutcomeBatch> {
    return this.call("POST", `/api/v1/sources`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** Define a subscriber */
  putSubscriber(key: string, body: m.SubscriberRequest): Promise<m.Subscriber> {
    return this.call("PUT", `/api/v1/subscribers/${this.segment(key)}`, { body });
  }

  /** Put an address on the list */
  putSuppression(channelType: string, address: string, body?: m.SuppressionRequest): Promise<m.Suppression> {
    return this.call("PUT", `/api/v1/suppressions/${this.segment(channelType)}/${this.segment(address)}`, { body });
  }

  /** Change a survey */
  putSurvey(id: number, body: m.SurveyRequest): Promise<m.Survey> {
    return this.call("PUT", `/api/v1/surveys/${this.segment(id)}`, { body });
  }

  /** Define a template */
  putTemplate(name: string, body: m.TemplateRequest): Promise<m.Template> {
    return this.call("PUT", `/api/v1/templates/${this.segment(name)}`, { body });
  }

  /** Mark a message as read */
  readInboxMessage(id: string, options: PostOptions = {}): Promise<m.InboxMessage> {
    return this.call("POST", `/api/v1/inbox/${this.segment(id)}/read`, { idempotencyKey: options.idempotencyKey });
  }

  /** Mark every message up to one as read */
  readWholeInbox(body: m.InboxRead, options: PostOptions = {}): Promise<void> {
    return this.call("POST", `/api/v1/inbox/read`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** What a provider reports about messages */
  receiveCallback(channel: string, body: string, options: PostOptions = {}): Promise<m.ReceiptsTaken> {
    return this.call("POST", `/api/v1/callbacks/${this.segment(channel)}`, { body, contentType: "text/plain", idempotencyKey: options.idempotencyKey });
  }

  /** The same, for providers that sign nothing: the address itself is the secret */
  receiveSecretCallback(channel: string, secret: string, body: string, options: PostOptions = {}): Promise<m.ReceiptsTaken> {
    return this.call("POST", `/api/v1/callbacks/${this.segment(channel)}/${this.segment(secret)}`, { body, contentType: "text/plain", idempotencyKey: options.idempotencyKey });
  }

  /** Seal every secret anew */
  rekeySecrets(body?: m.RekeyRequest, options: PostOptions = {}): Promise<m.Rekey> {
    return this.call("POST", `/api/v1/secrets/rekey`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** Send what was due when the database was restored */
  releaseRestore(body?: m.ReasonRequest, options: PostOptions = {}): Promise<m.RestoreSettled> {
    return this.call("POST", `/api/v1/restore/release`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** Let a held row go on */
  releaseWork(id: number, body?: m.ActionRequest, options: PostOptions = {}): Promise<m.Work> {
    return this.call("POST", `/api/v1/work/${this.segment(id)}/release`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** Schedule a rule again that is out of step */
  repairOperationsRule(id: string, options: PostOptions = {}): Promise<m.Rule> {
    return this.call("POST", `/api/v1/operations/rules/${this.segment(id)}/repair`, { idempotencyKey: options.idempotencyKey });
  }

  /** Report on a run */
  reportOnReportRun(key: string, body: m.OwnershipReport): Promise<m.Ownership> {
    return this.call("PATCH", `/api/v1/report-runs/${this.segment(key)}/ownership`, { body });
  }

  /** Answer */
  respondToSurvey(publicId: string, body: m.ResponseRequest, options: PostOptions = {}): Promise<m.ResponseTaken> {
    return this.call("POST", `/api/v1/public/surveys/${this.segment(publicId)}/responses`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** The same, at the address that other systems know */
  respondToSurveyInstance(publicId: string, body: m.ResponseRequest, options: PostOptions = {}): Promise<m.ResponseTaken> {
    return this.call("POST", `/SurveyInstances/${this.segment(publicId)}/responses`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** Resume a subscription: its next run is planned */
  resumeReportSubscription(guid: string, body?: m.ActionRequest, options: PostOptions = {}): Promise<m.ReportSubscription> {
    return this.call("POST", `/api/v1/report-subscriptions/${this.segment(guid)}/resume`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** Try a parked notification again */
  retryNotification(id: string, body?: m.ActionRequest, options: PostOptions = {}): Promise<m.Notification> {
    return this.call("POST", `/api/v1/notifications/${this.segment(id)}/retry`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** Tell one subscriber again */
  retryOutboxEventDelivery(id: number, subscriber: string, options: PostOptions = {}): Promise<m.OutboxEvent> {
    return this.call("POST", `/api/v1/outbox-events/${this.segment(id)}/deliveries/${this.segment(subscriber)}/retry`, { idempotencyKey: options.idempotencyKey });
  }

  /** Try a run again */
  retryReportSubscriptionAutomationRun(guid: string, run: string, body?: m.ActionRequest, options: PostOptions = {}): Promise<m.AutomationRun> {
    return this.call("POST", `/api/v1/report-subscriptions/${this.segment(guid)}/automation-runs/${this.segment(run)}/retry`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** Retry all failed deliveries of a subscriber */
  retrySubscriber(key: string, body?: m.ReasonRequest, options: PostOptions = {}): Promise<m.RetriedDeliveries> {
    return this.call("POST", `/api/v1/subscribers/${this.segment(key)}/retry`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** Try a row again */
  retryWork(id: number, body?: m.ActionRequest, options: PostOptions = {}): Promise<m.Work> {
    return this.call("POST", `/api/v1/work/${this.segment(id)}/retry`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** Revoke a site's token */
  revokeSite(site: string, options: PostOptions = {}): Promise<m.Site> {
    return this.call("POST", `/api/v1/sites/${this.segment(site)}/revoke`, { idempotencyKey: options.idempotencyKey });
  }

  /** Go back to the old scheduler */
  rollbackRolloutsReportSubscription(scope: string, id: string, body?: m.RollBackRequest, options: PostOptions = {}): Promise<m.RolledBack> {
    return this.call("POST", `/api/v1/rollouts/report-subscription/${this.segment(scope)}/${this.segment(id)}/rollback`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** Give a webhook a new signing secret */
  rotateChannelSecret(key: string, options: PostOptions = {}): Promise<m.RotatedSecret> {
    return this.call("POST", `/api/v1/channels/${this.segment(key)}/rotate-secret`, { idempotencyKey: options.idempotencyKey });
  }

  /** Give a site a new token */
  rotateSiteToken(site: string, body?: m.SiteRotateRequest, options: PostOptions = {}): Promise<m.SiteToken> {
    return this.call("POST", `/api/v1/sites/${this.segment(site)}/rotate`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** Let a provider look now, or see what it would do */
  runReconciliation(provider: string, body: m.RunRequest, options: PostOptions = {}): Promise<m.ReconciliationRun> {
    return this.call("POST", `/api/v1/reconciliations/${this.segment(provider)}/run`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** Report an event, or an array of at most 1,000 */
  sendEvents(body: m.EventRequest | m.EventRequest[], options: PostOptions = {}): Promise<m.EventOutcomeBatch> {
    return this.call("POST", `/api/v1/events`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** Take a run */
  takeReportRunOwnership(key: string, body: m.OwnershipRequest, options: PostOptions = {}): Promise<m.Ownership> {
    return this.call("POST", `/api/v1/report-runs/${this.segment(key)}/ownership`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** Send one message over a channel, now, to see whether it works */
  testChannel(key: string, body: m.ChannelTestRequest, options: PostOptions = {}): Promise<m.ChannelTest> {
    return this.call("POST", `/api/v1/channels/${this.segment(key)}/test`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** Run one pass over every stage, and say what it did */
  tickScheduler(body?: m.TickRequest, options: PostOptions = {}): Promise<m.Tick> {
    return this.call("POST", `/api/v1/scheduler/tick`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** Hand a subscription over to another owner */
  transferReportSubscription(guid: string, body: m.TransferRequest, options: PostOptions = {}): Promise<m.ReportSubscription> {
    return this.call("POST", `/api/v1/report-subscriptions/${this.segment(guid)}/transfer`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** Change a message that is pending */
  updateMessage(id: string, body: m.MessageChange): Promise<m.Message> {
    return this.call("PATCH", `/api/v1/messages/${this.segment(id)}`, { body });
  }

  /** Change an event; a changed date moves its messages */
  updateOperationsEvent(id: string, body: m.EventChange): Promise<m.Event> {
    return this.call("PATCH", `/api/v1/operations/events/${this.segment(id)}`, { body });
  }

  /** Change, pause or resume a rule */
  updateOperationsRule(id: string, body: m.RuleChange): Promise<m.Rule> {
    return this.call("PATCH", `/api/v1/operations/rules/${this.segment(id)}`, { body });
  }

  /** Change a task; a changed date moves its messages */
  updateOperationsTask(id: string, body: m.TaskChange): Promise<m.Task> {
    return this.call("PATCH", `/api/v1/operations/tasks/${this.segment(id)}`, { body });
  }

  /** Change some fields of a reminder setting */
  updateReminderSetting(id: string, body: m.ReminderSettingChange): Promise<m.ReminderSetting> {
    return this.call("PATCH", `/api/v1/reminder-settings/${this.segment(id)}`, { body });
  }

  /** Change some fields of a subscription */
  updateReportSubscription(guid: string, body: m.ReportSubscriptionChange): Promise<m.ReportSubscription> {
    return this.call("PATCH", `/api/v1/report-subscriptions/${this.segment(guid)}`, { body });
  }

  /** Move a schedule to another moment */
  updateSchedule(id: string, body: m.ScheduleChange): Promise<m.Schedule> {
    return this.call("PATCH", `/api/v1/schedules/${this.segment(id)}`, { body });
  }

  /** Change whose a site is */
  updateSite(site: string, body: m.SiteChange): Promise<m.Site> {
    return this.call("PATCH", `/api/v1/sites/${this.segment(site)}`, { body });
  }

  /** Change a person */
  updateUser(id: string, body: m.UserChangeRequest): Promise<m.User> {
    return this.call("PATCH", `/api/v1/users/${this.segment(id)}`, { body });
  }
}
