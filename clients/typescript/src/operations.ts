// One method for each operation. Generated from docs/openapi.json by clients/generate; do not edit.

import type * as m from "./models.js";
import { Transport, type PostOptions, type RawBody } from "./transport.js";

/** Every operation of the API, by the name that the OpenAPI document gives it. */
export class Operations extends Transport {
  /** Say that a person has seen what did not arrive */
  async acknowledgeNotification(id: string, body?: m.ActionRequest, options: PostOptions = {}): Promise<m.Notification> {
    return this.call("POST", `/api/v1/notifications/${this.segment('id', id)}/acknowledge`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** Stop a row for good */
  async cancelWork(id: number, body?: m.ActionRequest, options: PostOptions = {}): Promise<m.Work> {
    return this.call("POST", `/api/v1/work/${this.segment('id', id)}/cancel`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** Whether the address is ours */
  async confirmCallback(channel: string): Promise<ArrayBuffer> {
    return this.raw("GET", `/api/v1/callbacks/${this.segment('channel', channel)}`);
  }

  /** Upload a file that messages can attach */
  async createBlob(body: RawBody, query: { businessUnit?: string; contentType?: string } = {}, options: PostOptions = {}): Promise<m.Blob> {
    return this.call("POST", `/api/v1/blobs`, { query, body, contentType: "application/octet-stream", idempotencyKey: options.idempotencyKey });
  }

  /** Plan the erasure of a person, or carry it out */
  async createErasure(body: m.ErasureRequest, options: PostOptions = {}): Promise<m.Erasure> {
    return this.call("POST", `/api/v1/erasures`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** Make a key */
  async createKey(body: m.ApiKeyRequest, options: PostOptions = {}): Promise<m.ApiKeyCreated> {
    return this.call("POST", `/api/v1/keys`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** Send a message later, or an array of at most 1,000 */
  createMessage(body: m.MessageRequest, options?: PostOptions): Promise<m.MessageAccepted>;
  createMessage(body: m.MessageRequest[], options?: PostOptions): Promise<m.BatchResult>;
  async createMessage(body: m.MessageRequest | m.MessageRequest[], options: PostOptions = {}): Promise<m.MessageAccepted | m.BatchResult> {
    return this.call("POST", `/api/v1/messages`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** Send a notification, or an array of at most 1,000 */
  createNotification(body: m.NotificationRequest, options?: PostOptions): Promise<m.NotificationAccepted>;
  createNotification(body: m.NotificationRequest[], options?: PostOptions): Promise<m.BatchResult>;
  async createNotification(body: m.NotificationRequest | m.NotificationRequest[], options: PostOptions = {}): Promise<m.NotificationAccepted | m.BatchResult> {
    return this.call("POST", `/api/v1/notifications`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** Create an event */
  async createOperationsEvent(body: m.NewEvent, options: PostOptions = {}): Promise<m.Event> {
    return this.call("POST", `/api/v1/operations/events`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** Make the secret link to the calendar of an organisation or a person */
  async createOperationsFeed(body: m.FeedRequest, options: PostOptions = {}): Promise<m.Feed> {
    return this.call("POST", `/api/v1/operations/feeds`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** Add a rule to an event or task */
  async createOperationsRule(body: m.RuleRequest, options: PostOptions = {}): Promise<m.Rule> {
    return this.call("POST", `/api/v1/operations/rules`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** Create a task */
  async createOperationsTask(body: m.NewTask, options: PostOptions = {}): Promise<m.Task> {
    return this.call("POST", `/api/v1/operations/tasks`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** A link to a person's own page */
  async createPreferenceLink(person: string, options: PostOptions = {}): Promise<m.PreferenceLink> {
    return this.call("POST", `/api/v1/preferences/${this.segment('person', person)}/link`, { idempotencyKey: options.idempotencyKey });
  }

  /** Make a reminder setting */
  async createReminderSetting(body: m.ReminderSettingRequest, options: PostOptions = {}): Promise<m.ReminderSetting> {
    return this.call("POST", `/api/v1/reminder-settings`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** Subscribe to a report */
  async createReportSubscription(body: m.ReportSubscriptionRequest, options: PostOptions = {}): Promise<m.ReportSubscription> {
    return this.call("POST", `/api/v1/report-subscriptions`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** Run a report now */
  async createReportSubscriptionAutomationRun(guid: string, body?: m.RunNowRequest, options: PostOptions = {}): Promise<m.RunNowAnswer> {
    return this.call("POST", `/api/v1/report-subscriptions/${this.segment('guid', guid)}/automation-runs`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** Make a schedule, or an array of at most 1,000 */
  createSchedule(body: m.ScheduleRequest, options?: PostOptions): Promise<m.Schedule>;
  createSchedule(body: m.ScheduleRequest[], options?: PostOptions): Promise<m.BatchResult>;
  async createSchedule(body: m.ScheduleRequest | m.ScheduleRequest[], options: PostOptions = {}): Promise<m.Schedule | m.BatchResult> {
    return this.call("POST", `/api/v1/schedules`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** Make a site */
  async createSite(body: m.SiteRequest, options: PostOptions = {}): Promise<m.SiteToken> {
    return this.call("POST", `/api/v1/sites`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** Write a survey */
  async createSurvey(body: m.SurveyRequest, options: PostOptions = {}): Promise<m.Survey> {
    return this.call("POST", `/api/v1/surveys`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** Send a survey by hand, to at most 10,000 people */
  async createSurveyCampaign(id: number, body: m.CampaignRequest, options: PostOptions = {}): Promise<m.Ingested> {
    return this.call("POST", `/api/v1/surveys/${this.segment('id', id)}/campaigns`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** Add a person and invite them */
  async createUser(body: m.UserRequest, options: PostOptions = {}): Promise<m.UserInvited> {
    return this.call("POST", `/api/v1/users`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** Invite a person again */
  async createUserInvitation(id: string, options: PostOptions = {}): Promise<m.UserInvited> {
    return this.call("POST", `/api/v1/users/${this.segment('id', id)}/invitation`, { idempotencyKey: options.idempotencyKey });
  }

  /** Remove a business unit */
  async deleteBusinessUnit(id: string): Promise<void> {
    return this.call("DELETE", `/api/v1/business-units/${this.segment('id', id)}`);
  }

  /** Remove a channel */
  async deleteChannel(key: string): Promise<void> {
    return this.call("DELETE", `/api/v1/channels/${this.segment('key', key)}`);
  }

  /** Remove a consumer */
  async deleteConsumer(key: string): Promise<void> {
    return this.call("DELETE", `/api/v1/consumers/${this.segment('key', key)}`);
  }

  /** Revoke a key */
  async deleteKey(id: string): Promise<void> {
    return this.call("DELETE", `/api/v1/keys/${this.segment('id', id)}`);
  }

  /** Remove a list */
  async deleteList(name: string): Promise<void> {
    return this.call("DELETE", `/api/v1/lists/${this.segment('name', name)}`);
  }

  /** Cancel a message */
  async deleteMessage(id: string): Promise<void> {
    return this.call("DELETE", `/api/v1/messages/${this.segment('id', id)}`);
  }

  /** Delete an event; what was scheduled for it stops */
  async deleteOperationsEvent(id: string): Promise<void> {
    return this.call("DELETE", `/api/v1/operations/events/${this.segment('id', id)}`);
  }

  /** End the link to a calendar */
  async deleteOperationsFeed(ownerType: string, ownerId: string): Promise<void> {
    return this.call("DELETE", `/api/v1/operations/feeds/${this.segment('ownerType', ownerType)}/${this.segment('ownerId', ownerId)}`);
  }

  /** Remove an organisation */
  async deleteOperationsOrganisation(id: string): Promise<void> {
    return this.call("DELETE", `/api/v1/operations/organisations/${this.segment('id', id)}`);
  }

  /** Remove a person */
  async deleteOperationsPerson(id: string): Promise<void> {
    return this.call("DELETE", `/api/v1/operations/people/${this.segment('id', id)}`);
  }

  /** Delete a rule */
  async deleteOperationsRule(id: string): Promise<void> {
    return this.call("DELETE", `/api/v1/operations/rules/${this.segment('id', id)}`);
  }

  /** Delete a task; what was scheduled for it stops */
  async deleteOperationsTask(id: string): Promise<void> {
    return this.call("DELETE", `/api/v1/operations/tasks/${this.segment('id', id)}`);
  }

  /** Forget what a person wants */
  async deletePreference(person: string): Promise<void> {
    return this.call("DELETE", `/api/v1/preferences/${this.segment('person', person)}`);
  }

  /** Remove a reminder setting */
  async deleteReminderSetting(id: string): Promise<void> {
    return this.call("DELETE", `/api/v1/reminder-settings/${this.segment('id', id)}`);
  }

  /** Remove a subscription */
  async deleteReportSubscription(guid: string): Promise<void> {
    return this.call("DELETE", `/api/v1/report-subscriptions/${this.segment('guid', guid)}`);
  }

  /** End a rollout: the migration is complete and the old scheduler is no longer used */
  async deleteRolloutsReportSubscription(scope: string, id: string): Promise<void> {
    return this.call("DELETE", `/api/v1/rollouts/report-subscription/${this.segment('scope', scope)}/${this.segment('id', id)}`);
  }

  /** Cancel a schedule */
  async deleteSchedule(id: string): Promise<void> {
    return this.call("DELETE", `/api/v1/schedules/${this.segment('id', id)}`);
  }

  /** Say that a source is gone */
  async deleteSource(type: string, id: string): Promise<void> {
    return this.call("DELETE", `/api/v1/sources/${this.segment('type', type)}/${this.segment('id', id)}`);
  }

  /** Remove a subscriber */
  async deleteSubscriber(key: string): Promise<void> {
    return this.call("DELETE", `/api/v1/subscribers/${this.segment('key', key)}`);
  }

  /** Take an address off the list */
  async deleteSuppression(channelType: string, address: string): Promise<void> {
    return this.call("DELETE", `/api/v1/suppressions/${this.segment('channelType', channelType)}/${this.segment('address', address)}`);
  }

  /** Take a link back */
  async deleteSurveyInstance(id: number, publicId: string): Promise<void> {
    return this.call("DELETE", `/api/v1/surveys/${this.segment('id', id)}/instances/${this.segment('publicId', publicId)}`);
  }

  /** Remove a template */
  async deleteTemplate(name: string): Promise<void> {
    return this.call("DELETE", `/api/v1/templates/${this.segment('name', name)}`);
  }

  /** Remove a person */
  async deleteUser(id: string): Promise<void> {
    return this.call("DELETE", `/api/v1/users/${this.segment('id', id)}`);
  }

  /** Give a parked notification up */
  async discardNotification(id: string, body?: m.ActionRequest, options: PostOptions = {}): Promise<m.Notification> {
    return this.call("POST", `/api/v1/notifications/${this.segment('id', id)}/discard`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** Give up what was due when the database was restored */
  async discardRestore(body?: m.ReasonRequest, options: PostOptions = {}): Promise<m.RestoreSettled> {
    return this.call("POST", `/api/v1/restore/discard`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** Why something was sent about a source on a day, or why not */
  async explainDecisions(query: { sourceType: string; sourceId: string; date: string }): Promise<m.Why> {
    return this.call("GET", `/api/v1/why`, { query });
  }

  /** Export every definition */
  async exportDefinitions(): Promise<m.DefinitionsDocument> {
    return this.call("GET", `/api/v1/definitions`);
  }

  /** What is stored about a person */
  async exportPersonalData(body: m.PersonalDataRequest, options: PostOptions = {}): Promise<m.PersonalData> {
    return this.call("POST", `/api/v1/personal-data/export`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** Everything that needs attention, newest first */
  async getAttention(): Promise<m.Attention> {
    return this.call("GET", `/api/v1/attention`);
  }

  /** Look at a business unit */
  async getBusinessUnit(id: string): Promise<m.BusinessUnit> {
    return this.call("GET", `/api/v1/business-units/${this.segment('id', id)}`);
  }

  /** Look at a channel */
  async getChannel(key: string): Promise<m.Channel> {
    return this.call("GET", `/api/v1/channels/${this.segment('key', key)}`);
  }

  /** Look at a consumer */
  async getConsumer(key: string): Promise<m.Consumer> {
    return this.call("GET", `/api/v1/consumers/${this.segment('key', key)}`);
  }

  /** Get the delivery policy */
  async getDeliveryPolicy(): Promise<m.DeliveryPolicy> {
    return this.call("GET", `/api/v1/delivery-policy`);
  }

  /** An erasure with its certificate, or a planned one */
  async getErasure(id: string): Promise<m.Erasure> {
    return this.call("GET", `/api/v1/erasures/${this.segment('id', id)}`);
  }

  /** What will be sent, by local day */
  async getForecast(query: { from?: string; to?: string; businessUnit?: string } = {}): Promise<m.Forecast> {
    return this.call("GET", `/api/v1/forecast`, { query });
  }

  /** Whether the process lives */
  async getHealth(): Promise<m.Health> {
    return this.call("GET", `/healthz`);
  }

  /** Messages to the holder of the key, newest first */
  async getInbox(query: { unread?: boolean; cursor?: string; limit?: number } = {}): Promise<m.Inbox> {
    return this.call("GET", `/api/v1/inbox`, { query });
  }

  /** Messages to the holder of the key, newest first; page after page */
  eachGetInbox(query: { unread?: boolean; cursor?: string; limit?: number } = {}): AsyncGenerator<m.InboxMessage> {
    return this.items((cursor) => this.getInbox({ ...query, cursor }));
  }

  /** Look at a list */
  async getList(name: string): Promise<m.List> {
    return this.call("GET", `/api/v1/lists/${this.segment('name', name)}`);
  }

  /** Look at a message */
  async getMessage(id: string): Promise<m.Message> {
    return this.call("GET", `/api/v1/messages/${this.segment('id', id)}`);
  }

  /** Figures for Prometheus */
  async getMetrics(): Promise<ArrayBuffer> {
    return this.raw("GET", `/metrics`);
  }

  /** Look at a notification */
  async getNotification(id: string): Promise<m.Notification> {
    return this.call("GET", `/api/v1/notifications/${this.segment('id', id)}`);
  }

  /** The figures of the outbox, of all of it and of each site */
  async getNotificationKpis(query: { site?: string } = {}): Promise<m.Kpis> {
    return this.call("GET", `/api/v1/notifications/kpis`, { query });
  }

  /** The timeline of a notification, from its cause to the provider's answer */
  async getNotificationTimeline(id: string): Promise<m.Timeline> {
    return this.call("GET", `/api/v1/notifications/${this.segment('id', id)}/timeline`);
  }

  /** Look at an event */
  async getOperationsEvent(id: string): Promise<m.Event> {
    return this.call("GET", `/api/v1/operations/events/${this.segment('id', id)}`);
  }

  /** Look at an organisation */
  async getOperationsOrganisation(id: string): Promise<m.Organisation> {
    return this.call("GET", `/api/v1/operations/organisations/${this.segment('id', id)}`);
  }

  /** Look at a person */
  async getOperationsPerson(id: string): Promise<m.Person> {
    return this.call("GET", `/api/v1/operations/people/${this.segment('id', id)}`);
  }

  /** Read a rule; a deleted rule stays readable */
  async getOperationsRule(id: string): Promise<m.Rule> {
    return this.call("GET", `/api/v1/operations/rules/${this.segment('id', id)}`);
  }

  /** Look at a task */
  async getOperationsTask(id: string): Promise<m.Task> {
    return this.call("GET", `/api/v1/operations/tasks/${this.segment('id', id)}`);
  }

  /** Whose token this is */
  async getOwnSite(): Promise<m.SiteIdentity> {
    return this.call("GET", `/api/v1/site`);
  }

  /** What a person wants */
  async getPreference(person: string): Promise<m.Preference> {
    return this.call("GET", `/api/v1/preferences/${this.segment('person', person)}`);
  }

  /** Read what a link asks */
  async getPublicSurvey(publicId: string): Promise<m.PublicSurvey> {
    return this.call("GET", `/api/v1/public/surveys/${this.segment('publicId', publicId)}`);
  }

  /** Whether the database answers */
  async getReadiness(query: { write?: string | null } = {}): Promise<m.Readiness> {
    return this.call("GET", `/readyz`, { query });
  }

  /** Look at a reminder setting */
  async getReminderSetting(id: string): Promise<m.ReminderSetting> {
    return this.call("GET", `/api/v1/reminder-settings/${this.segment('id', id)}`);
  }

  /** Ask who owns a run */
  async getReportRunOwnership(key: string): Promise<m.Ownership> {
    return this.call("GET", `/api/v1/report-runs/${this.segment('key', key)}/ownership`);
  }

  /** Look at a subscription */
  async getReportSubscription(guid: string): Promise<m.ReportSubscription> {
    return this.call("GET", `/api/v1/report-subscriptions/${this.segment('guid', guid)}`);
  }

  /** Look at a run */
  async getReportSubscriptionAutomationRun(guid: string, run: string): Promise<m.AutomationRun> {
    return this.call("GET", `/api/v1/report-subscriptions/${this.segment('guid', guid)}/automation-runs/${this.segment('run', run)}`);
  }

  /** A file of a run */
  async getReportSubscriptionAutomationRunArtefact(guid: string, run: string, name: string): Promise<ArrayBuffer> {
    return this.raw("GET", `/api/v1/report-subscriptions/${this.segment('guid', guid)}/automation-runs/${this.segment('run', run)}/artefacts/${this.segment('name', name)}`);
  }

  /** The coordinates of a run */
  async getReportSubscriptionAutomationRunCoordinates(guid: string, run: string): Promise<m.Coordinates> {
    return this.call("GET", `/api/v1/report-subscriptions/${this.segment('guid', guid)}/automation-runs/${this.segment('run', run)}/coordinates`);
  }

  /** Who owns a run */
  async getReportSubscriptionAutomationRunOwnership(guid: string, run: string): Promise<m.Ownership> {
    return this.call("GET", `/api/v1/report-subscriptions/${this.segment('guid', guid)}/automation-runs/${this.segment('run', run)}/ownership`);
  }

  /** The next runs of a subscription, in its local time */
  async getReportSubscriptionUpcoming(guid: string, query: { count?: number } = {}): Promise<m.Upcoming> {
    return this.call("GET", `/api/v1/report-subscriptions/${this.segment('guid', guid)}/upcoming`, { query });
  }

  /** The last restore of the database, and what waits because of it */
  async getRestore(): Promise<m.Restores> {
    return this.call("GET", `/api/v1/restore`);
  }

  /** How long each table keeps its rows, and what the last purge removed */
  async getRetention(): Promise<m.Retention> {
    return this.call("GET", `/api/v1/retention`);
  }

  /** Look at a rollout */
  async getRolloutsReportSubscription(scope: string, id: string): Promise<m.Rollout> {
    return this.call("GET", `/api/v1/rollouts/report-subscription/${this.segment('scope', scope)}/${this.segment('id', id)}`);
  }

  /** The expected runs against those that the old scheduler has taken */
  async getRolloutsReportSubscriptionComparison(scope: string, id: string, query: { from?: string; to?: string } = {}): Promise<m.Comparison> {
    return this.call("GET", `/api/v1/rollouts/report-subscription/${this.segment('scope', scope)}/${this.segment('id', id)}/comparison`, { query });
  }

  /** Conflicts, failures and latency by stage */
  async getRolloutsReportSubscriptionFigures(scope: string, id: string, query: { from?: string; to?: string } = {}): Promise<m.RolloutFigures> {
    return this.call("GET", `/api/v1/rollouts/report-subscription/${this.segment('scope', scope)}/${this.segment('id', id)}/figures`, { query });
  }

  /** The time of the clock */
  async getSandboxClock(): Promise<m.SandboxClock> {
    return this.call("GET", `/api/v1/sandbox/clock`);
  }

  /** Look at a schedule */
  async getSchedule(id: string): Promise<m.Schedule> {
    return this.call("GET", `/api/v1/schedules/${this.segment('id', id)}`);
  }

  /** Search messages, work, sources, people and settings */
  async getSearch(query: { q: string }): Promise<m.SearchResults> {
    return this.call("GET", `/api/v1/search`, { query });
  }

  /** Look at a site */
  async getSite(site: string): Promise<m.Site> {
    return this.call("GET", `/api/v1/sites/${this.segment('site', site)}`);
  }

  /** The status of a notification of this site */
  async getSiteNotification(site: string, id: string): Promise<m.SiteNotificationStatus> {
    return this.call("GET", `/api/v1/sites/${this.segment('site', site)}/notifications/${this.segment('id', id)}`);
  }

  /** Look at a source */
  async getSource(type: string, id: string): Promise<m.Source> {
    return this.call("GET", `/api/v1/sources/${this.segment('type', type)}/${this.segment('id', id)}`);
  }

  /** Look at a subscriber */
  async getSubscriber(key: string): Promise<m.Subscriber> {
    return this.call("GET", `/api/v1/subscribers/${this.segment('key', key)}`);
  }

  /** Look at an address */
  async getSuppression(channelType: string, address: string): Promise<m.Suppression> {
    return this.call("GET", `/api/v1/suppressions/${this.segment('channelType', channelType)}/${this.segment('address', address)}`);
  }

  /** Look at a survey */
  async getSurvey(id: number): Promise<m.Survey> {
    return this.call("GET", `/api/v1/surveys/${this.segment('id', id)}`);
  }

  /** Look at an instance */
  async getSurveyInstance(id: number, publicId: string): Promise<m.Instance> {
    return this.call("GET", `/api/v1/surveys/${this.segment('id', id)}/instances/${this.segment('publicId', publicId)}`);
  }

  /** What the answers come to */
  async getSurveyResults(id: number, query: { triggerId?: string; from?: string; to?: string } = {}): Promise<m.SurveyResults> {
    return this.call("GET", `/api/v1/surveys/${this.segment('id', id)}/results`, { query });
  }

  /** Every answer as CSV */
  async getSurveyResultsCsv(id: number, query: { triggerId?: string; from?: string; to?: string } = {}): Promise<ArrayBuffer> {
    return this.raw("GET", `/api/v1/surveys/${this.segment('id', id)}/results.csv`, { query });
  }

  /** Every answer as a spreadsheet */
  async getSurveyResultsXlsx(id: number, query: { triggerId?: string; from?: string; to?: string } = {}): Promise<ArrayBuffer> {
    return this.raw("GET", `/api/v1/surveys/${this.segment('id', id)}/results.xlsx`, { query });
  }

  /** Look at a template */
  async getTemplate(name: string): Promise<m.Template> {
    return this.call("GET", `/api/v1/templates/${this.segment('name', name)}`);
  }

  /** Look at a person */
  async getUser(id: string): Promise<m.User> {
    return this.call("GET", `/api/v1/users/${this.segment('id', id)}`);
  }

  /** Look at a work row */
  async getWork(id: number): Promise<m.Work> {
    return this.call("GET", `/api/v1/work/${this.segment('id', id)}`);
  }

  /** How a work row came to where it is */
  async getWorkTrace(id: number): Promise<m.WorkTrace> {
    return this.call("GET", `/api/v1/work/${this.segment('id', id)}/trace`);
  }

  /** Hand over at most 10,000 notifications */
  async handOverNotifications(site: string, body: m.SiteHandOver, options: PostOptions = {}): Promise<m.SiteAckBatch> {
    return this.call("POST", `/api/v1/sites/${this.segment('site', site)}/notifications`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** Import a calendar file */
  async importCalendar(body: RawBody, query: { creator: string; organisation?: string; businessUnit?: string }, options: PostOptions = {}): Promise<m.Imported> {
    return this.call("POST", `/api/v1/operations/import`, { query, body, contentType: "text/calendar", idempotencyKey: options.idempotencyKey });
  }

  /** Import definitions, or see what an import would change */
  async importDefinitions(body: m.DefinitionsRequest, options: PostOptions = {}): Promise<m.DefinitionsPlan> {
    return this.call("POST", `/api/v1/definitions`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** The same, at the address that other systems know */
  async ingestSurveyTriggersAsKnown(body: m.IngestRequest, options: PostOptions = {}): Promise<m.Ingested> {
    return this.call("POST", `/api/Surveys/Triggers/ingest`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** Tell events that surveys may ask about, at most 10,000 */
  async ingestSurveysTriggers(body: m.IngestRequest, options: PostOptions = {}): Promise<m.Ingested> {
    return this.call("POST", `/api/v1/surveys/triggers/ingest`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** What people, keys and the engine did, newest first */
  async listAudit(query: { from?: string; to?: string; actor?: string; action?: string; subject?: string; cursor?: string; limit?: number } = {}): Promise<m.AuditEntryPage> {
    return this.call("GET", `/api/v1/audit`, { query });
  }

  /** What people, keys and the engine did, newest first; page after page */
  eachAudit(query: { from?: string; to?: string; actor?: string; action?: string; subject?: string; cursor?: string; limit?: number } = {}): AsyncGenerator<m.AuditEntry> {
    return this.items((cursor) => this.listAudit({ ...query, cursor }));
  }

  /** All business units, by id */
  async listBusinessUnits(query: { cursor?: string; limit?: number } = {}): Promise<m.BusinessUnitPage> {
    return this.call("GET", `/api/v1/business-units`, { query });
  }

  /** All business units, by id; page after page */
  eachBusinessUnits(query: { cursor?: string; limit?: number } = {}): AsyncGenerator<m.BusinessUnit> {
    return this.items((cursor) => this.listBusinessUnits({ ...query, cursor }));
  }

  /** How channels did in the last hour */
  async listChannelHealth(): Promise<m.ChannelHealthPage> {
    return this.call("GET", `/api/v1/channels/health`);
  }

  /** All channels, by key */
  async listChannels(): Promise<m.ChannelPage> {
    return this.call("GET", `/api/v1/channels`);
  }

  /** All consumers, by key, with how each is */
  async listConsumers(): Promise<m.ConsumerPage> {
    return this.call("GET", `/api/v1/consumers`);
  }

  /** Runs of a subscription that have failed, are held or wait for a retry */
  async listFailedAutomationRuns(guid: string, query: { cursor?: string; limit?: number } = {}): Promise<m.RunSummaryPage> {
    return this.call("GET", `/api/v1/report-subscriptions/${this.segment('guid', guid)}/automation-runs/failed`, { query });
  }

  /** Runs of a subscription that have failed, are held or wait for a retry; page after page */
  eachFailedAutomationRuns(guid: string, query: { cursor?: string; limit?: number } = {}): AsyncGenerator<m.RunSummary> {
    return this.items((cursor) => this.listFailedAutomationRuns(guid, { ...query, cursor }));
  }

  /** The failed queue over all subscriptions */
  async listFailedReportRuns(query: { cursor?: string; limit?: number } = {}): Promise<m.RunSummaryPage> {
    return this.call("GET", `/api/v1/report-runs/failed`, { query });
  }

  /** The failed queue over all subscriptions; page after page */
  eachFailedReportRuns(query: { cursor?: string; limit?: number } = {}): AsyncGenerator<m.RunSummary> {
    return this.items((cursor) => this.listFailedReportRuns({ ...query, cursor }));
  }

  /** List keys */
  async listKeys(): Promise<m.ApiKeyPage> {
    return this.call("GET", `/api/v1/keys`);
  }

  /** All lists, by name */
  async listLists(query: { cursor?: string; limit?: number } = {}): Promise<m.ListPage> {
    return this.call("GET", `/api/v1/lists`, { query });
  }

  /** All lists, by name; page after page */
  eachLists(query: { cursor?: string; limit?: number } = {}): AsyncGenerator<m.List> {
    return this.items((cursor) => this.listLists({ ...query, cursor }));
  }

  /** List messages, newest first */
  async listMessages(query: { cursor?: string; limit?: number } = {}): Promise<m.MessagePage> {
    return this.call("GET", `/api/v1/messages`, { query });
  }

  /** List messages, newest first; page after page */
  eachMessages(query: { cursor?: string; limit?: number } = {}): AsyncGenerator<m.Message> {
    return this.items((cursor) => this.listMessages({ ...query, cursor }));
  }

  /** All nodes, by name */
  async listNodes(): Promise<m.Nodes> {
    return this.call("GET", `/api/v1/nodes`);
  }

  /** List notifications, newest first */
  async listNotifications(query: { status?: string; type?: string; site?: string; list?: string; from?: string; to?: string; stuck?: boolean; q?: string; work?: number; cursor?: string; limit?: number } = {}): Promise<m.NotificationPage> {
    return this.call("GET", `/api/v1/notifications`, { query });
  }

  /** List notifications, newest first; page after page */
  eachNotifications(query: { status?: string; type?: string; site?: string; list?: string; from?: string; to?: string; stuck?: boolean; q?: string; work?: number; cursor?: string; limit?: number } = {}): AsyncGenerator<m.Notification> {
    return this.items((cursor) => this.listNotifications({ ...query, cursor }));
  }

  /** List events, in the order they were made, or those of a stretch of time by their end */
  async listOperationsEvents(query: { from?: string; to?: string; cursor?: string; limit?: number } = {}): Promise<m.EventPage> {
    return this.call("GET", `/api/v1/operations/events`, { query });
  }

  /** List events, in the order they were made, or those of a stretch of time by their end; page after page */
  eachOperationsEvents(query: { from?: string; to?: string; cursor?: string; limit?: number } = {}): AsyncGenerator<m.Event> {
    return this.items((cursor) => this.listOperationsEvents({ ...query, cursor }));
  }

  /** All organisations, by id */
  async listOperationsOrganisations(query: { cursor?: string; limit?: number } = {}): Promise<m.OrganisationPage> {
    return this.call("GET", `/api/v1/operations/organisations`, { query });
  }

  /** All organisations, by id; page after page */
  eachOperationsOrganisations(query: { cursor?: string; limit?: number } = {}): AsyncGenerator<m.Organisation> {
    return this.items((cursor) => this.listOperationsOrganisations({ ...query, cursor }));
  }

  /** All people, by id */
  async listOperationsPeople(query: { cursor?: string; limit?: number } = {}): Promise<m.PersonPage> {
    return this.call("GET", `/api/v1/operations/people`, { query });
  }

  /** All people, by id; page after page */
  eachOperationsPeople(query: { cursor?: string; limit?: number } = {}): AsyncGenerator<m.Person> {
    return this.items((cursor) => this.listOperationsPeople({ ...query, cursor }));
  }

  /** List rules */
  async listOperationsRules(query: { subjectId?: string; cursor?: string; limit?: number } = {}): Promise<m.RulePage> {
    return this.call("GET", `/api/v1/operations/rules`, { query });
  }

  /** List rules; page after page */
  eachOperationsRules(query: { subjectId?: string; cursor?: string; limit?: number } = {}): AsyncGenerator<m.Rule> {
    return this.items((cursor) => this.listOperationsRules({ ...query, cursor }));
  }

  /** List tasks, in the order they were made, or those of a stretch of time by their end */
  async listOperationsTasks(query: { from?: string; to?: string; cursor?: string; limit?: number } = {}): Promise<m.TaskPage> {
    return this.call("GET", `/api/v1/operations/tasks`, { query });
  }

  /** List tasks, in the order they were made, or those of a stretch of time by their end; page after page */
  eachOperationsTasks(query: { from?: string; to?: string; cursor?: string; limit?: number } = {}): AsyncGenerator<m.Task> {
    return this.items((cursor) => this.listOperationsTasks({ ...query, cursor }));
  }

  /** Subscriptions whose owner or recipients are gone */
  async listOrphanedReportSubscriptions(query: { cursor?: string; limit?: number } = {}): Promise<m.OrphanedSubscriptionPage> {
    return this.call("GET", `/api/v1/report-subscriptions/orphans`, { query });
  }

  /** Subscriptions whose owner or recipients are gone; page after page */
  eachOrphanedReportSubscriptions(query: { cursor?: string; limit?: number } = {}): AsyncGenerator<m.OrphanedSubscription> {
    return this.items((cursor) => this.listOrphanedReportSubscriptions({ ...query, cursor }));
  }

  /** What happened, newest first, with its deliveries */
  async listOutboxEvents(query: { cursor?: string; limit?: number } = {}): Promise<m.OutboxEventPage> {
    return this.call("GET", `/api/v1/outbox-events`, { query });
  }

  /** What happened, newest first, with its deliveries; page after page */
  eachOutboxEvents(query: { cursor?: string; limit?: number } = {}): AsyncGenerator<m.OutboxEvent> {
    return this.items((cursor) => this.listOutboxEvents({ ...query, cursor }));
  }

  /** What people want, by name */
  async listPreferences(query: { cursor?: string; limit?: number } = {}): Promise<m.PreferencePage> {
    return this.call("GET", `/api/v1/preferences`, { query });
  }

  /** What people want, by name; page after page */
  eachPreferences(query: { cursor?: string; limit?: number } = {}): AsyncGenerator<m.Preference> {
    return this.items((cursor) => this.listPreferences({ ...query, cursor }));
  }

  /** The latest runs of a subscription */
  async listRecentAutomationRuns(guid: string, query: { cursor?: string; limit?: number } = {}): Promise<m.RunSummaryPage> {
    return this.call("GET", `/api/v1/report-subscriptions/${this.segment('guid', guid)}/automation-runs/recent`, { query });
  }

  /** The latest runs of a subscription; page after page */
  eachRecentAutomationRuns(guid: string, query: { cursor?: string; limit?: number } = {}): AsyncGenerator<m.RunSummary> {
    return this.items((cursor) => this.listRecentAutomationRuns(guid, { ...query, cursor }));
  }

  /** The latest runs over all subscriptions */
  async listRecentReportRuns(query: { cursor?: string; limit?: number } = {}): Promise<m.RunSummaryPage> {
    return this.call("GET", `/api/v1/report-runs/recent`, { query });
  }

  /** The latest runs over all subscriptions; page after page */
  eachRecentReportRuns(query: { cursor?: string; limit?: number } = {}): AsyncGenerator<m.RunSummary> {
    return this.items((cursor) => this.listRecentReportRuns({ ...query, cursor }));
  }

  /** Every trigger provider, and how far it has looked */
  async listReconciliations(): Promise<m.ReconciliationPage> {
    return this.call("GET", `/api/v1/reconciliations`);
  }

  /** All reminder settings */
  async listReminderSettings(query: { cursor?: string; limit?: number } = {}): Promise<m.ReminderSettingPage> {
    return this.call("GET", `/api/v1/reminder-settings`, { query });
  }

  /** All reminder settings; page after page */
  eachReminderSettings(query: { cursor?: string; limit?: number } = {}): AsyncGenerator<m.ReminderSetting> {
    return this.items((cursor) => this.listReminderSettings({ ...query, cursor }));
  }

  /** The runs of a subscription, newest first */
  async listReportSubscriptionAutomationRuns(guid: string, query: { status?: string; cursor?: string; limit?: number } = {}): Promise<m.RunSummaryPage> {
    return this.call("GET", `/api/v1/report-subscriptions/${this.segment('guid', guid)}/automation-runs`, { query });
  }

  /** The runs of a subscription, newest first; page after page */
  eachReportSubscriptionAutomationRuns(guid: string, query: { status?: string; cursor?: string; limit?: number } = {}): AsyncGenerator<m.RunSummary> {
    return this.items((cursor) => this.listReportSubscriptionAutomationRuns(guid, { ...query, cursor }));
  }

  /** All subscriptions */
  async listReportSubscriptions(query: { cursor?: string; limit?: number } = {}): Promise<m.ReportSubscriptionPage> {
    return this.call("GET", `/api/v1/report-subscriptions`, { query });
  }

  /** All subscriptions; page after page */
  eachReportSubscriptions(query: { cursor?: string; limit?: number } = {}): AsyncGenerator<m.ReportSubscription> {
    return this.items((cursor) => this.listReportSubscriptions({ ...query, cursor }));
  }

  /** All rollouts of report subscriptions */
  async listRolloutsReportSubscription(): Promise<m.RolloutPage> {
    return this.call("GET", `/api/v1/rollouts/report-subscription`);
  }

  /** What the channels were given, oldest first */
  async listSandboxSent(): Promise<m.SentMessages> {
    return this.call("GET", `/api/v1/sandbox/sent`);
  }

  /** List schedules, newest first */
  async listSchedules(query: { cursor?: string; limit?: number } = {}): Promise<m.SchedulePage> {
    return this.call("GET", `/api/v1/schedules`, { query });
  }

  /** List schedules, newest first; page after page */
  eachSchedules(query: { cursor?: string; limit?: number } = {}): AsyncGenerator<m.Schedule> {
    return this.items((cursor) => this.listSchedules({ ...query, cursor }));
  }

  /** A site's event log, newest first */
  async listSiteEvents(site: string, query: { cursor?: string; limit?: number } = {}): Promise<m.SiteEventPage> {
    return this.call("GET", `/api/v1/sites/${this.segment('site', site)}/events`, { query });
  }

  /** A site's event log, newest first; page after page */
  eachSiteEvents(site: string, query: { cursor?: string; limit?: number } = {}): AsyncGenerator<m.SiteEvent> {
    return this.items((cursor) => this.listSiteEvents(site, { ...query, cursor }));
  }

  /** All sites, by id */
  async listSites(query: { cursor?: string; limit?: number } = {}): Promise<m.SitePage> {
    return this.call("GET", `/api/v1/sites`, { query });
  }

  /** All sites, by id; page after page */
  eachSites(query: { cursor?: string; limit?: number } = {}): AsyncGenerator<m.Site> {
    return this.items((cursor) => this.listSites({ ...query, cursor }));
  }

  /** The sources of one type, by id */
  async listSources(type: string, query: { cursor?: string; limit?: number } = {}): Promise<m.SourcePage> {
    return this.call("GET", `/api/v1/sources/${this.segment('type', type)}`, { query });
  }

  /** The sources of one type, by id; page after page */
  eachSources(type: string, query: { cursor?: string; limit?: number } = {}): AsyncGenerator<m.Source> {
    return this.items((cursor) => this.listSources(type, { ...query, cursor }));
  }

  /** All subscribers, by key */
  async listSubscribers(): Promise<m.SubscriberPage> {
    return this.call("GET", `/api/v1/subscribers`);
  }

  /** The list, by type and address */
  async listSuppressions(query: { channelType?: string; reason?: string; q?: string; cursor?: string; limit?: number } = {}): Promise<m.SuppressionPage> {
    return this.call("GET", `/api/v1/suppressions`, { query });
  }

  /** The list, by type and address; page after page */
  eachSuppressions(query: { channelType?: string; reason?: string; q?: string; cursor?: string; limit?: number } = {}): AsyncGenerator<m.Suppression> {
    return this.items((cursor) => this.listSuppressions({ ...query, cursor }));
  }

  /** List the instances of a survey, newest first */
  async listSurveyInstances(id: number, query: { status?: string; triggerId?: string; customerRef?: string; cursor?: string; limit?: number } = {}): Promise<m.InstancePage> {
    return this.call("GET", `/api/v1/surveys/${this.segment('id', id)}/instances`, { query });
  }

  /** List the instances of a survey, newest first; page after page */
  eachSurveyInstances(id: number, query: { status?: string; triggerId?: string; customerRef?: string; cursor?: string; limit?: number } = {}): AsyncGenerator<m.Instance> {
    return this.items((cursor) => this.listSurveyInstances(id, { ...query, cursor }));
  }

  /** List surveys, newest first */
  async listSurveys(query: { cursor?: string; limit?: number } = {}): Promise<m.SurveyPage> {
    return this.call("GET", `/api/v1/surveys`, { query });
  }

  /** List surveys, newest first; page after page */
  eachSurveys(query: { cursor?: string; limit?: number } = {}): AsyncGenerator<m.Survey> {
    return this.items((cursor) => this.listSurveys({ ...query, cursor }));
  }

  /** All templates, by name */
  async listTemplates(query: { cursor?: string; limit?: number } = {}): Promise<m.TemplatePage> {
    return this.call("GET", `/api/v1/templates`, { query });
  }

  /** All templates, by name; page after page */
  eachTemplates(query: { cursor?: string; limit?: number } = {}): AsyncGenerator<m.Template> {
    return this.items((cursor) => this.listTemplates({ ...query, cursor }));
  }

  /** List people, by email */
  async listUsers(query: { cursor?: string; limit?: number } = {}): Promise<m.UserPage> {
    return this.call("GET", `/api/v1/users`, { query });
  }

  /** List people, by email; page after page */
  eachUsers(query: { cursor?: string; limit?: number } = {}): AsyncGenerator<m.User> {
    return this.items((cursor) => this.listUsers({ ...query, cursor }));
  }

  /** List work, newest first */
  async listWork(query: { status?: string; kind?: string; hold?: boolean; sourceType?: string; sourceId?: string; from?: string; to?: string; cursor?: string; limit?: number } = {}): Promise<m.WorkPage> {
    return this.call("GET", `/api/v1/work`, { query });
  }

  /** List work, newest first; page after page */
  eachWork(query: { status?: string; kind?: string; hold?: boolean; sourceType?: string; sourceId?: string; from?: string; to?: string; cursor?: string; limit?: number } = {}): AsyncGenerator<m.Work> {
    return this.items((cursor) => this.listWork({ ...query, cursor }));
  }

  /** Say that the page is shown to a person */
  async markSurveyOpened(publicId: string, options: PostOptions = {}): Promise<void> {
    return this.call("POST", `/api/v1/public/surveys/${this.segment('publicId', publicId)}/opened`, { idempotencyKey: options.idempotencyKey });
  }

  /** Pause a subscription: what waits is deactivated */
  async pauseReportSubscription(guid: string, body?: m.ActionRequest, options: PostOptions = {}): Promise<m.ReportSubscription> {
    return this.call("POST", `/api/v1/report-subscriptions/${this.segment('guid', guid)}/pause`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** See what a new reminder setting would do */
  async planNewReminderSetting(body: m.ReminderSettingRequest, options: PostOptions = {}): Promise<m.ReminderPlan> {
    return this.call("POST", `/api/v1/reminder-settings/plan`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** See what a change of a reminder setting would do */
  async planReminderSetting(id: string, body: m.ReminderSettingChange, options: PostOptions = {}): Promise<m.ReminderPlan> {
    return this.call("POST", `/api/v1/reminder-settings/${this.segment('id', id)}/plan`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** See what other times would remove */
  async planRetention(body: m.RetentionSettings, options: PostOptions = {}): Promise<m.RetentionPlan> {
    return this.call("POST", `/api/v1/retention/plan`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** Show a template as a recipient would see it */
  async previewTemplate(name: string, body: m.PreviewRequest, options: PostOptions = {}): Promise<m.Preview> {
    return this.call("POST", `/api/v1/templates/${this.segment('name', name)}/preview`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** Publish a survey */
  async publishSurvey(id: number, options: PostOptions = {}): Promise<m.SurveyPublished> {
    return this.call("POST", `/api/v1/surveys/${this.segment('id', id)}/publish`, { idempotencyKey: options.idempotencyKey });
  }

  /** Purge now; with `confirm`, also what the daily run held back */
  async purge(body?: m.PurgeRequest, options: PostOptions = {}): Promise<m.PurgeRun> {
    return this.call("POST", `/api/v1/retention/purge`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** Define a business unit */
  async putBusinessUnit(id: string, body: m.BusinessUnitRequest): Promise<m.BusinessUnit> {
    return this.call("PUT", `/api/v1/business-units/${this.segment('id', id)}`, { body });
  }

  /** Define a channel */
  async putChannel(key: string, body: m.ChannelRequest): Promise<m.Channel> {
    return this.call("PUT", `/api/v1/channels/${this.segment('key', key)}`, { body });
  }

  /** Define a consumer */
  async putConsumer(key: string, body: m.ConsumerRequest): Promise<m.Consumer> {
    return this.call("PUT", `/api/v1/consumers/${this.segment('key', key)}`, { body });
  }

  /** Set the delivery policy */
  async putDeliveryPolicy(body: m.DeliveryPolicyInput): Promise<m.DeliveryPolicy> {
    return this.call("PUT", `/api/v1/delivery-policy`, { body });
  }

  /** Define a list */
  async putList(name: string, body: m.ListRequest): Promise<m.List> {
    return this.call("PUT", `/api/v1/lists/${this.segment('name', name)}`, { body });
  }

  /** Keep an organisation */
  async putOperationsOrganisation(id: string, body: m.OrganisationRequest): Promise<m.Organisation> {
    return this.call("PUT", `/api/v1/operations/organisations/${this.segment('id', id)}`, { body });
  }

  /** Keep a person */
  async putOperationsPerson(id: string, body: m.PersonRequest): Promise<m.Person> {
    return this.call("PUT", `/api/v1/operations/people/${this.segment('id', id)}`, { body });
  }

  /** Say what a person wants */
  async putPreference(person: string, body: m.PreferenceRequest): Promise<m.Preference> {
    return this.call("PUT", `/api/v1/preferences/${this.segment('person', person)}`, { body });
  }

  /** Define a reminder setting, whole */
  async putReminderSetting(id: string, body: m.ReminderSettingRequest): Promise<m.ReminderSetting> {
    return this.call("PUT", `/api/v1/reminder-settings/${this.segment('id', id)}`, { body });
  }

  /** Define a subscription, whole */
  async putReportSubscription(guid: string, body: m.ReportSubscriptionRequest): Promise<m.ReportSubscription> {
    return this.call("PUT", `/api/v1/report-subscriptions/${this.segment('guid', guid)}`, { body });
  }

  /** Set how long is kept */
  async putRetention(body: m.RetentionSettings): Promise<m.Retention> {
    return this.call("PUT", `/api/v1/retention`, { body });
  }

  /** Set the stage of a rollout */
  async putRolloutsReportSubscription(scope: string, id: string, body: m.RolloutRequest): Promise<m.Rollout> {
    return this.call("PUT", `/api/v1/rollouts/report-subscription/${this.segment('scope', scope)}/${this.segment('id', id)}`, { body });
  }

  /** Make a channel misbehave */
  async putSandboxChannel(key: string, body: m.MisbehaviourRequest): Promise<void> {
    return this.call("PUT", `/api/v1/sandbox/channels/${this.segment('key', key)}`, { body });
  }

  /** Move the clock, and run what is ready */
  async putSandboxClock(body: m.ClockRequest): Promise<m.SandboxClock> {
    return this.call("PUT", `/api/v1/sandbox/clock`, { body });
  }

  /** Tell the state of a source */
  async putSource(type: string, id: string, body: m.SourceRequest): Promise<m.Source> {
    return this.call("PUT", `/api/v1/sources/${this.segment('type', type)}/${this.segment('id', id)}`, { body });
  }

  /** Tell the states of at most 10,000 sources */
  async putSources(body: m.NamedSourceRequestBatch, options: PostOptions = {}): Promise<m.SourceOutcomeBatch> {
    return this.call("POST", `/api/v1/sources`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** Define a subscriber */
  async putSubscriber(key: string, body: m.SubscriberRequest): Promise<m.Subscriber> {
    return this.call("PUT", `/api/v1/subscribers/${this.segment('key', key)}`, { body });
  }

  /** Put an address on the list */
  async putSuppression(channelType: string, address: string, body?: m.SuppressionRequest): Promise<m.Suppression> {
    return this.call("PUT", `/api/v1/suppressions/${this.segment('channelType', channelType)}/${this.segment('address', address)}`, { body });
  }

  /** Change a survey */
  async putSurvey(id: number, body: m.SurveyRequest): Promise<m.Survey> {
    return this.call("PUT", `/api/v1/surveys/${this.segment('id', id)}`, { body });
  }

  /** Define a template */
  async putTemplate(name: string, body: m.TemplateRequest): Promise<m.Template> {
    return this.call("PUT", `/api/v1/templates/${this.segment('name', name)}`, { body });
  }

  /** Mark a message as read */
  async readInboxMessage(id: string, options: PostOptions = {}): Promise<m.InboxMessage> {
    return this.call("POST", `/api/v1/inbox/${this.segment('id', id)}/read`, { idempotencyKey: options.idempotencyKey });
  }

  /** Mark every message up to one as read */
  async readWholeInbox(body: m.InboxRead, options: PostOptions = {}): Promise<void> {
    return this.call("POST", `/api/v1/inbox/read`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** What a provider reports about messages */
  async receiveCallback(channel: string, body: RawBody, options: PostOptions = {}): Promise<m.ReceiptsTaken> {
    return this.call("POST", `/api/v1/callbacks/${this.segment('channel', channel)}`, { body, contentType: "text/plain", idempotencyKey: options.idempotencyKey });
  }

  /** The same, for providers that sign nothing: the address itself is the secret */
  async receiveSecretCallback(channel: string, secret: string, body: RawBody, options: PostOptions = {}): Promise<m.ReceiptsTaken> {
    return this.call("POST", `/api/v1/callbacks/${this.segment('channel', channel)}/${this.segment('secret', secret)}`, { body, contentType: "text/plain", idempotencyKey: options.idempotencyKey });
  }

  /** Seal every secret again */
  async rekeySecrets(body?: m.RekeyRequest, options: PostOptions = {}): Promise<m.Rekey> {
    return this.call("POST", `/api/v1/secrets/rekey`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** Send what was due when the database was restored */
  async releaseRestore(body?: m.ReasonRequest, options: PostOptions = {}): Promise<m.RestoreSettled> {
    return this.call("POST", `/api/v1/restore/release`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** Let a held row go on */
  async releaseWork(id: number, body?: m.ActionRequest, options: PostOptions = {}): Promise<m.Work> {
    return this.call("POST", `/api/v1/work/${this.segment('id', id)}/release`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** Schedule a rule again that is out of step */
  async repairOperationsRule(id: string, options: PostOptions = {}): Promise<m.Rule> {
    return this.call("POST", `/api/v1/operations/rules/${this.segment('id', id)}/repair`, { idempotencyKey: options.idempotencyKey });
  }

  /** Report on a run */
  async reportOnReportRun(key: string, body: m.OwnershipReport): Promise<m.Ownership> {
    return this.call("PATCH", `/api/v1/report-runs/${this.segment('key', key)}/ownership`, { body });
  }

  /** Answer */
  async respondToSurvey(publicId: string, body: m.ResponseRequest, options: PostOptions = {}): Promise<m.ResponseTaken> {
    return this.call("POST", `/api/v1/public/surveys/${this.segment('publicId', publicId)}/responses`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** The same, at the address that other systems know */
  async respondToSurveyInstance(publicId: string, body: m.ResponseRequest, options: PostOptions = {}): Promise<m.ResponseTaken> {
    return this.call("POST", `/SurveyInstances/${this.segment('publicId', publicId)}/responses`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** Resume a subscription: its next run is planned */
  async resumeReportSubscription(guid: string, body?: m.ActionRequest, options: PostOptions = {}): Promise<m.ReportSubscription> {
    return this.call("POST", `/api/v1/report-subscriptions/${this.segment('guid', guid)}/resume`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** Try a parked notification again */
  async retryNotification(id: string, body?: m.ActionRequest, options: PostOptions = {}): Promise<m.Notification> {
    return this.call("POST", `/api/v1/notifications/${this.segment('id', id)}/retry`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** Retry the delivery to one subscriber */
  async retryOutboxEventDelivery(id: number, subscriber: string, options: PostOptions = {}): Promise<m.OutboxEvent> {
    return this.call("POST", `/api/v1/outbox-events/${this.segment('id', id)}/deliveries/${this.segment('subscriber', subscriber)}/retry`, { idempotencyKey: options.idempotencyKey });
  }

  /** Try a run again */
  async retryReportSubscriptionAutomationRun(guid: string, run: string, body?: m.ActionRequest, options: PostOptions = {}): Promise<m.AutomationRun> {
    return this.call("POST", `/api/v1/report-subscriptions/${this.segment('guid', guid)}/automation-runs/${this.segment('run', run)}/retry`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** Retry all failed deliveries of a subscriber */
  async retrySubscriber(key: string, body?: m.ReasonRequest, options: PostOptions = {}): Promise<m.RetriedDeliveries> {
    return this.call("POST", `/api/v1/subscribers/${this.segment('key', key)}/retry`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** Try a row again */
  async retryWork(id: number, body?: m.ActionRequest, options: PostOptions = {}): Promise<m.Work> {
    return this.call("POST", `/api/v1/work/${this.segment('id', id)}/retry`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** Revoke a site's token */
  async revokeSite(site: string, options: PostOptions = {}): Promise<m.Site> {
    return this.call("POST", `/api/v1/sites/${this.segment('site', site)}/revoke`, { idempotencyKey: options.idempotencyKey });
  }

  /** Go back to the old scheduler */
  async rollbackRolloutsReportSubscription(scope: string, id: string, body?: m.RollBackRequest, options: PostOptions = {}): Promise<m.RolledBack> {
    return this.call("POST", `/api/v1/rollouts/report-subscription/${this.segment('scope', scope)}/${this.segment('id', id)}/rollback`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** Give a webhook a new signing secret */
  async rotateChannelSecret(key: string, options: PostOptions = {}): Promise<m.RotatedSecret> {
    return this.call("POST", `/api/v1/channels/${this.segment('key', key)}/rotate-secret`, { idempotencyKey: options.idempotencyKey });
  }

  /** Give a site a new token */
  async rotateSiteToken(site: string, body?: m.SiteRotateRequest, options: PostOptions = {}): Promise<m.SiteToken> {
    return this.call("POST", `/api/v1/sites/${this.segment('site', site)}/rotate`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** Let a provider look now, or see what it would do */
  async runReconciliation(provider: string, body: m.RunRequest, options: PostOptions = {}): Promise<m.ReconciliationRun> {
    return this.call("POST", `/api/v1/reconciliations/${this.segment('provider', provider)}/run`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** Report an event, or an array of at most 1,000 */
  async sendEvents(body: m.EventRequest | m.EventRequest[], options: PostOptions = {}): Promise<m.EventOutcomeBatch> {
    return this.call("POST", `/api/v1/events`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** Take a run */
  async takeReportRunOwnership(key: string, body: m.OwnershipRequest, options: PostOptions = {}): Promise<m.Ownership> {
    return this.call("POST", `/api/v1/report-runs/${this.segment('key', key)}/ownership`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** Send a test message over a channel */
  async testChannel(key: string, body: m.ChannelTestRequest, options: PostOptions = {}): Promise<m.ChannelTest> {
    return this.call("POST", `/api/v1/channels/${this.segment('key', key)}/test`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** Run one pass over every stage and return the counts */
  async tickScheduler(body?: m.TickRequest, options: PostOptions = {}): Promise<m.Tick> {
    return this.call("POST", `/api/v1/scheduler/tick`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** Hand a subscription over to another owner */
  async transferReportSubscription(guid: string, body: m.TransferRequest, options: PostOptions = {}): Promise<m.ReportSubscription> {
    return this.call("POST", `/api/v1/report-subscriptions/${this.segment('guid', guid)}/transfer`, { body, idempotencyKey: options.idempotencyKey });
  }

  /** Change a message that is pending */
  async updateMessage(id: string, body: m.MessageChange): Promise<m.Message> {
    return this.call("PATCH", `/api/v1/messages/${this.segment('id', id)}`, { body });
  }

  /** Change an event; a changed date moves its messages */
  async updateOperationsEvent(id: string, body: m.EventChange): Promise<m.Event> {
    return this.call("PATCH", `/api/v1/operations/events/${this.segment('id', id)}`, { body });
  }

  /** Change, pause or resume a rule */
  async updateOperationsRule(id: string, body: m.RuleChange): Promise<m.Rule> {
    return this.call("PATCH", `/api/v1/operations/rules/${this.segment('id', id)}`, { body });
  }

  /** Change a task; a changed date moves its messages */
  async updateOperationsTask(id: string, body: m.TaskChange): Promise<m.Task> {
    return this.call("PATCH", `/api/v1/operations/tasks/${this.segment('id', id)}`, { body });
  }

  /** Change some fields of a reminder setting */
  async updateReminderSetting(id: string, body: m.ReminderSettingChange): Promise<m.ReminderSetting> {
    return this.call("PATCH", `/api/v1/reminder-settings/${this.segment('id', id)}`, { body });
  }

  /** Change some fields of a subscription */
  async updateReportSubscription(guid: string, body: m.ReportSubscriptionChange): Promise<m.ReportSubscription> {
    return this.call("PATCH", `/api/v1/report-subscriptions/${this.segment('guid', guid)}`, { body });
  }

  /** Move a schedule to another moment */
  async updateSchedule(id: string, body: m.ScheduleChange): Promise<m.Schedule> {
    return this.call("PATCH", `/api/v1/schedules/${this.segment('id', id)}`, { body });
  }

  /** Change whose a site is */
  async updateSite(site: string, body: m.SiteChange): Promise<m.Site> {
    return this.call("PATCH", `/api/v1/sites/${this.segment('site', site)}`, { body });
  }

  /** Change a person */
  async updateUser(id: string, body: m.UserChangeRequest): Promise<m.User> {
    return this.call("PATCH", `/api/v1/users/${this.segment('id', id)}`, { body });
  }
}
