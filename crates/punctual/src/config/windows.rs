//! Which times of the retention are set here: people do not change those while the server runs.

use punctual_store::retention::Window;

use super::{File, ServeArgs};

/// Those that the file or an option says.
pub(super) fn set(args: &ServeArgs, file: &File) -> Vec<Window> {
    let is_set = |window: &Window| match window {
        Window::Messages => args.keep_for.is_some() || file.keep_for.is_some(),
        Window::Files => args.keep_files_for.is_some() || file.keep_files_for.is_some(),
        Window::Work => args.keep_work_for.is_some() || file.keep_work_for.is_some(),
        Window::Surveys => args.keep_surveys_for.is_some() || file.keep_surveys_for.is_some(),
        Window::Audit => args.keep_audit_for.is_some() || file.keep_audit_for.is_some(),
        Window::Ids => args.keep_ids_for.is_some() || file.keep_ids_for.is_some(),
    };
    Window::ALL.into_iter().filter(is_set).collect()
}
