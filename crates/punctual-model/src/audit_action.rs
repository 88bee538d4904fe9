//! The actions of the audit: what a person, a key or the engine did.
//!
//! Each is one line here: its variant, its spelling in the database and the API, and a sentence for people. Entries take only
//! these values, so an action without a sentence does not compile.

use crate::codes::codes;

codes! {
    /// What an entry of the audit says was done.
    AuditAction, else UnknownAction:
    // What people and keys do to definitions.
    Put "put" "Written: made, or changed where it was there",
    Create "create" "Made",
    Change "change" "Changed",
    Delete "delete" "Deleted",
    Publish "publish" "Published",
    Pause "pause" "Paused",
    Resume "resume" "Resumed",
    Transfer "transfer" "Given to another owner or business unit",
    AddRule "add-rule" "A rule was added",
    ChangeRule "change-rule" "A rule was changed",
    DeleteRule "delete-rule" "A rule was deleted",
    Stage "stage" "The stage of a migration was set",
    RollBack "roll-back" "A migration went back to an earlier stage",
    // What people and keys do to rows.
    Release "release" "Released from its hold",
    Retry "retry" "Retried",
    RunNow "run-now" "Run by hand",
    Cancel "cancel" "Cancelled",
    Revive "revive" "Brought back after it was cancelled",
    Discard "discard" "Given up",
    Acknowledge "acknowledge" "Seen: it did not arrive",
    Note "note" "The reason that was given for the entry before",
    Test "test" "A test message was sent over the channel",
    // Who may sign in, and with what.
    SignIn "sign-in" "Signed in to the console",
    SignOut "sign-out" "Signed out of the console",
    EndSession "end-session" "A session was ended",
    EndSessions "end-sessions" "All other sessions were ended",
    Invite "invite" "Invited: a link to set a password was made",
    SetPassword "set-password" "Set their password",
    SignInLink "sign-in-link" "A link that signs in once was made",
    Rotate "rotate" "Given a new secret; the old one ends",
    RotateSecret "rotate-secret" "The secret of its callbacks was replaced",
    Revoke "revoke" "Revoked",
    Rekey "rekey" "Secrets were sealed with another master key",
    ForgetSecrets "forget-secrets" "Sealed secrets were removed because their key is lost",
    // What becomes of data, and of the audit itself.
    Purge "purge" "What was past its time was removed",
    PurgeConfirmed "purge-confirmed" "What was past its time was removed, although it was much",
    Erase "erase" "Personal data was erased from entries of the audit",
    Export "export" "What is stored about a person was exported",
    ErasePerson "erase-person" "What was stored about a person was erased",
    // Preferences and the suppression list.
    Link "link" "A link to somebody's preferences was made",
    Suppress "suppress" "The address gets no messages",
    Unsuppress "unsuppress" "The address gets messages again",
    // The sandbox.
    MoveClock "move-clock" "The clock of the sandbox was moved",
    Misbehave "misbehave" "A channel of the sandbox was set to fail",
    // What the engine does to rows.
    Hold "hold" "Put on hold",
    Fail "fail" "Failed for good",
    Deactivate "deactivate" "Ended: no longer wanted",
    Conflict "conflict" "Two producers disagree about it",
    Park "park" "Parked: no attempt follows by itself",
    Withdraw "withdraw" "Withdrawn before it was sent",
    WithdrawTooLate "withdraw-too-late" "Not withdrawn: it was already being sent",
    FailOver "fail-over" "Goes on over the next channel",
    Defer "defer" "Waits for a later time",
    LeaveOut "leave-out" "A recipient was left out",
    LateResult "late-result" "A result came after another node had taken over",
    Uncertain "uncertain" "It may or may not have been sent",
    SettledFailed "settled-failed" "What follows its delivery could not be decided",
    SettledLate "settled-late" "What follows its delivery was done later",
}

/// A text that is no action of this version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not an action of the audit")]
pub struct UnknownAction;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_action_is_read_as_it_is_written() {
        for action in AuditAction::all() {
            assert_eq!(action.as_str().parse(), Ok(*action));
            let is_kebab = action.as_str().bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
            assert!(is_kebab, "{action}");
            assert!(!action.sentence().ends_with('.'), "{action}");
        }
        assert_eq!("nothing".parse::<AuditAction>(), Err(UnknownAction));
    }

    #[test]
    fn the_reference_has_every_action_with_its_sentence() {
        let reference = include_str!("../../../docs/audit.md");
        let rows: Vec<&str> = reference.lines().filter(|line| line.starts_with("| `")).collect();
        let wanted: Vec<String> = AuditAction::all()
            .iter()
            .map(|action| format!("| `{action}` | {} |", action.sentence()))
            .collect();
        assert_eq!(rows, wanted);
    }
}
