//! Reason codes: why a row was skipped, held, parked, deferred or failed.
//!
//! Each code is one line here: its variant, its spelling in the database and the API, and a sentence for operators. The
//! spelling is kebab-case, except for the two codes that were published in another spelling. Problem codes
//! (`unknown_field`) are another thing: problems are about requests, reasons about rows.

use crate::codes::codes;

codes! {
    /// Why a row is not processed in the usual way.
    ReasonCode, else UnknownReason:
    // What a workflow decides about its work.
    SourceNoLongerValid "SourceNoLongerValid" "Its source is gone or inactive",
    ReminderSettingInactive "ReminderSettingInactive" "Its setting is inactive or deleted",
    AlreadyDelivered "already-delivered" "It was sent before",
    AlreadySent "already-sent" "This message of the survey was sent before",
    AnchorInPast "anchor-in-past" "Its date had passed before it was scheduled",
    Answered "answered" "The survey was answered",
    Applying "applying" "A change is being applied in batches",
    AwaitingAnswer "awaiting-answer" "The survey may still be answered",
    BusinessUnitChanged "business-unit-changed" "Its source moved to another business unit",
    Cancelled "cancelled" "A person cancelled it",
    CatchUpAll "catch-up-all" "All missed runs are made up for",
    CatchUpLast "catch-up-last" "Only the last missed run is made up for",
    CatchUpSkip "catch-up-skip" "Missed runs are skipped",
    DateMissing "date-missing" "The source has no such date",
    DateOutOfRange "date-out-of-range" "The date of the source is before 1900 or after 2200",
    DateUnreadable "date-unreadable" "The date of the source cannot be read",
    ClaimFailed "claim-failed" "It could not be claimed: its row is at fault",
    DecisionFailed "decision-failed" "The decision failed in the database",
    DefinitionInvalid "definition-invalid" "Its definition is no longer valid",
    Deleted "deleted" "The survey instance was deleted",
    DueInPast "due-in-past" "Its latest time to send had passed",
    Expired "expired" "The survey instance expired",
    FilterFalse "filter-false" "The filter of its setting does not match",
    Erased "erased" "The person it was for was erased",
    InputConflict "input-conflict" "The same key was scheduled with different inputs",
    InputUnreadable "input-unreadable" "Its stored input cannot be read",
    InstanceMissing "instance-missing" "Its survey instance is gone",
    InvalidPayload "invalid-payload" "Its payload cannot be read",
    KeyTooLong "key-too-long" "Its key would be longer than 512 bytes: shorten the ids it is made of",
    Restored "restored" "The database was restored: whether it was sent after the backup is not known",
    LeaseExpired "lease-expired" "Its worker stopped before it was done",
    ListenerFailed "listener-failed" "A subscriber of its topic failed",
    MessageMissing "message-missing" "The message was removed",
    MetricMissing "metric-missing" "The metric cannot be computed from the source",
    Missed "missed" "It was missed, and missed runs are skipped",
    Moved "moved" "It was moved to another time",
    NeverSent "never-sent" "No message of the survey was delivered",
    NoLongerWanted "no-longer-wanted" "Another date or setting replaced it",
    NoRecipients "no-recipients" "It has no recipients",
    NotAnswered "not-answered" "The survey was not answered in time",
    NotPlannedYet "not-planned-yet" "It is not scheduled yet",
    Orphaned "orphaned" "No rule needs it any more",
    OtherBusinessUnit "other-business-unit" "The setting is for another business unit",
    OwnershipConflict "ownership-conflict" "Another scheduler owns this run",
    Panic "panic" "A bug in the program stopped it",
    RolledBack "rolled-back" "The run was transferred back to the old scheduler",
    RolloutNotBegun "rollout-not-begun" "Its migration from the old scheduler has not begun",
    RuleCanceled "rule-canceled" "Its rule was deleted",
    RuleInactive "rule-inactive" "Its rule is paused",
    RuleMissing "rule-missing" "Its rule does not exist",
    ScheduleResumed "schedule-resumed" "The survey has another message to send",
    SettingUnreadable "setting-unreadable" "Its setting cannot be read",
    Shadow "shadow" "Dry run: the old scheduler sends it",
    StageChanged "stage-changed" "The stage of its migration changed meanwhile",
    SubjectMissing "subject-missing" "Its event or task is gone",
    SubscriptionChanged "subscription-changed" "Its subscription changed meanwhile",
    SubscriptionDeleted "subscription-deleted" "Its subscription was deleted",
    SubscriptionMissing "subscription-missing" "Its subscription does not exist",
    SubscriptionPaused "subscription-paused" "Its subscription is paused",
    Superseded "superseded" "A later change replaced it",
    SurveyUnreadable "survey-unreadable" "Its survey cannot be read",
    ThresholdAlreadyFired "threshold-already-fired" "It was sent for this source before",
    ThresholdNotMet "threshold-not-met" "The threshold is not met",
    ToldAnotherWay "told-another-way" "Its recipients are notified over another channel",
    TooLate "too-late" "The latest time to send had passed",
    // What reports and reconciliation read from elsewhere.
    AnswerInvalid "answer-invalid" "The endpoint returned something other than rows",
    AnswerTooLarge "answer-too-large" "The endpoint returned too much",
    BuiltinUnknown "builtin-unknown" "There is no such built-in report",
    ConnectionForbidden "connection-forbidden" "Its connection is not for this business unit",
    ConnectionUnknown "connection-unknown" "Its connection is not configured",
    DatabaseUnreachable "database-unreachable" "The database of its connection cannot be reached",
    EndpointFailed "endpoint-failed" "The endpoint failed",
    EndpointRefused "endpoint-refused" "The endpoint refused the request",
    EndpointUnreachable "endpoint-unreachable" "The endpoint cannot be reached",
    QueryFailed "query-failed" "The database refused the query",
    QueryNotReadOnly "query-not-read-only" "The query is not a single statement that only reads",
    QueryParameter "query-parameter" "The query has an unknown parameter",
    QueryTimeout "query-timeout" "The query took too long",
    ReportEmpty "report-empty" "The report has no rows",
    ReportStorage "report-storage" "The files of the report could not be stored",
    ReportUnpresentable "report-unpresentable" "The report could not be rendered",
    ReportUnreadable "report-unreadable" "The prepared report cannot be read",
    SourceUnavailable "source-unavailable" "The source of the report is unavailable",
    // What the delivery policy says.
    CircuitOpen "circuit-open" "The circuit of its channel is open",
    DailyCap "daily-cap" "Its recipient reached the daily limit and gets it in a digest",
    FailedOver "failed-over" "The next channel was used",
    Preference "preference" "Its recipient does not want it over this channel",
    QuietHours "quiet-hours" "It waits for the end of the quiet hours",
    RateLimited "rate-limited" "The channel reached its rate limit",
    SendWindow "send-window" "It waits for the channel's send window",
    Suppressed "suppressed" "All its addresses are on the suppression list",
    Unsubscribed "unsubscribed" "Its recipient unsubscribed from this topic",
    // Why a delivery cannot start, or is not repeated.
    AttachmentMissing "attachment-missing" "An attachment is gone",
    AttachmentsNotSupported "attachments-not-supported" "The channel cannot send attachments",
    DeliveryFailed "delivery-failed" "Its row could not be prepared for delivery",
    IdReused "id-reused" "Another message has this id",
    ListUnknown "list-unknown" "The list does not exist",
    NoChannel "no-channel" "The channel does not exist",
    NotDelivered "not-delivered" "The provider accepted it, but it did not arrive",
    OutcomeUnknown "outcome-unknown" "The result of the attempt is unknown",
    Permanent "permanent" "An earlier attempt was refused for good",
    RecordFailed "record-failed" "The results of its attempts could not be recorded",
    RetriesExhausted "retries-exhausted" "All attempts failed",
    SecretMissing "secret-missing" "The channel's secret cannot be found",
    SweepFailed "sweep-failed" "Its node stopped, and it could not be taken over",
    TemplateFailed "template-failed" "The template failed",
    TemplateLimit "template-limit" "The template takes too many steps or too much memory",
    TemplateSyntax "template-syntax" "The template has a syntax error",
    TemplateUnknownVariable "template-unknown-variable" "A variable of the template is not given",
    TemplateUnusable "template-unusable" "The template is missing or invalid",
    Uncertain "uncertain" "It may or may not have arrived",
    // What a channel's server or provider says.
    AccountBlocked "account-blocked" "The provider's account is blocked or out of credit",
    AddressInvalid "address-invalid" "The address is not valid",
    AddressUnknown "address-unknown" "The broker has no such address",
    AttachmentInvalid "attachment-invalid" "An attachment cannot be sent",
    CertificateInvalid "certificate-invalid" "The receiver's certificate is not valid",
    ContentRefused "content-refused" "The provider refused the content",
    CredentialsRefused "credentials-refused" "The provider refused the credentials",
    DomainTakesNoMail "domain-takes-no-mail" "The domain accepts no mail",
    ExchangeUnknown "exchange-unknown" "The broker has no such exchange",
    Gone "gone" "The receiver says that the address is gone",
    HeaderInvalid "header-invalid" "A header of the mail is not allowed",
    HostForbidden "host-forbidden" "Connections to this host are not allowed",
    MailboxFull "mailbox-full" "The mailbox is full",
    MailboxUnavailable "mailbox-unavailable" "The mailbox does not exist",
    MessageIdInvalid "message-id-invalid" "The message id is too long for the broker",
    MessageTooLarge "message-too-large" "The message is too large",
    PhoneInvalid "phone-invalid" "The phone number is not valid",
    RecipientOptedOut "recipient-opted-out" "The recipient opted out at the provider",
    RecipientUnreachable "recipient-unreachable" "The recipient cannot be reached over this channel",
    RedirectNotFollowed "redirect-not-followed" "The receiver redirects, and redirects are not followed",
    RejectedByReceiver "rejected-by-receiver" "The receiver rejected it",
    RejectedByRelay "rejected-by-relay" "The mail server rejected it",
    SecretInvalid "secret-invalid" "The channel's secret is not valid",
    SenderInvalid "sender-invalid" "The sender is not set up at the provider",
    SettingsInvalid "settings-invalid" "The channel's settings are not valid",
    SmtpAuthFailed "smtp-auth-failed" "The mail server refused the credentials",
    SmtpAuthRequired "smtp-auth-required" "The mail server requires credentials",
    SubjectInvalid "subject-invalid" "The subject is not valid",
    TemplateRefused "template-refused" "The provider refused the template",
    TlsNotOffered "tls-not-offered" "The mail server offers no encryption",
    UrlForbidden "url-forbidden" "Calls to this URL are not allowed",
    UrlInvalid "url-invalid" "The URL is not valid",
    WindowClosed "window-closed" "The recipient has not written within a day, so only an approved template may be sent",
    // What needs attention beside rows.
    FollowUpFailed "follow-up-failed" "Its messages have settled, and what should follow keeps failing",
    OwnerGone "owner-gone" "Its owner no longer exists",
    RecipientsGone "recipients-gone" "Its list is gone or empty",
    ReconciliationOverdue "reconciliation-overdue" "It should have run by now",
    SiteNeverCalled "site-never-called" "Its agent has never called",
    SiteSilent "site-silent" "Its agent has not called for a while",
    SyncFailed "sync-failed" "It could not be scheduled",
}

/// A text that is no reason code of this version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a reason code")]
pub struct UnknownReason;

impl From<ReasonCode> for String {
    fn from(code: ReasonCode) -> Self {
        code.as_str().to_owned()
    }
}

/// The sentence of a stored code. A code that this version does not know is shown as it is: another version wrote it.
pub fn sentence_of(stored: &str) -> &str {
    stored.parse::<ReasonCode>().map_or(stored, |code| code.sentence())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_read_as_it_is_written() {
        for code in ReasonCode::all() {
            assert_eq!(code.as_str().parse(), Ok(*code));
            assert_eq!(serde_json::to_value(code).unwrap(), code.as_str());
        }
    }

    #[test]
    fn codes_are_kebab_case_except_the_two_published_ones() {
        let is_kebab =
            |code: &&ReasonCode| code.as_str().bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
        let others: Vec<_> = ReasonCode::all().iter().filter(|code| !is_kebab(code)).collect();
        assert_eq!(others, [&ReasonCode::SourceNoLongerValid, &ReasonCode::ReminderSettingInactive]);
    }

    #[test]
    fn sentences_start_with_a_capital_and_end_without_a_full_stop() {
        for code in ReasonCode::all() {
            let sentence = code.sentence();
            assert!(sentence.starts_with(|c: char| c.is_ascii_uppercase()), "{code}: {sentence}");
            assert!(!sentence.ends_with('.') && sentence.len() < 100, "{code}: {sentence}");
        }
    }

    #[test]
    fn the_reference_has_every_code_with_its_sentence() {
        let reference = include_str!("../../../docs/reason-codes.md");
        let rows: Vec<&str> = reference.lines().filter(|line| line.starts_with("| `")).collect();
        let codes: Vec<String> =
            ReasonCode::all().iter().map(|code| format!("| `{code}` | {} |", code.sentence())).collect();
        assert_eq!(rows, codes);
    }

    #[test]
    fn a_code_of_another_version_is_shown_as_it_is() {
        assert_eq!(sentence_of("mailbox-full"), "The mailbox is full");
        assert_eq!(sentence_of("made-up-tomorrow"), "made-up-tomorrow");
    }
}
