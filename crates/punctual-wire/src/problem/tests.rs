use super::*;

#[test]
fn every_code_has_one_spelling_a_client_status_and_a_meaning() {
    let mut seen = std::collections::HashSet::new();
    for &code in Code::ALL {
        let json = serde_json::to_value(code).unwrap();
        assert_eq!(json, code.as_str(), "serde and as_str differ");
        assert_eq!(serde_json::from_value::<Code>(json).unwrap(), code);
        assert_eq!(Code::parse(code.as_str()), Some(code));
        assert!((400..=507).contains(&code.status()), "{code}");
        assert!(code.meaning().ends_with('.') && !code.meaning().starts_with(' '), "{code}");
        assert!(!code.title().ends_with('.'), "{code}: a title is no sentence");
        assert!(seen.insert(code.as_str()), "{code} appears twice");
    }
}

#[test]
fn a_problem_is_written_as_documented_and_read_back() {
    let problem = Problem::of_fields(vec![
        FieldError::new("/runAt", Code::MissingField, "`runAt` is missing."),
        FieldError::subject_invalid("/subject"),
    ])
    .with_request_id("r-1");
    let json = serde_json::to_value(&problem).unwrap();
    assert_eq!(
        json,
        serde_json::json!({
            "status": 422,
            "code": "missing_field",
            "title": "A field is missing",
            "detail": "`runAt` is missing. (1 more: see `errors`)",
            "errors": [
                {"pointer": "/runAt", "code": "missing_field", "detail": "`runAt` is missing."},
                {"pointer": "/subject", "code": "subject_invalid",
                 "detail": "A subject is one line: take out line breaks and control characters."}
            ],
            "requestId": "r-1"
        })
    );
    assert_eq!(serde_json::from_value::<Problem>(json).unwrap(), problem);
}

#[test]
fn a_problem_of_a_newer_server_is_still_read() {
    let json = r#"{"status":418,"code":"teapot","title":"T","detail":"D","instance":"/x"}"#;
    let problem: Problem = serde_json::from_str(json).unwrap();
    assert_eq!((problem.status, problem.code), (418, Code::Unknown));
    assert_eq!(problem.more["instance"], "/x");
}

#[test]
fn details_name_what_would_be_right() {
    #[track_caller]
    fn check(problem: impl Into<Problem>, status: u16, code: &str, detail: &str) {
        let problem = problem.into();
        assert_eq!((problem.status, problem.code.as_str()), (status, code));
        assert!(problem.detail.contains(detail), "{:?} lacks {detail:?}", problem.detail);
        assert!(problem.detail.ends_with(['.', '?']), "{:?} is no sentence", problem.detail);
    }
    let p = "/x";
    check(FieldError::key_invalid(p, "longer than 512 bytes"), 422, "key_invalid", "512 bytes");
    check(FieldError::zone_unknown(p, "Berlin", &["Europe/Berlin"]), 422, "zone_unknown", "`Europe/Berlin`");
    check(FieldError::zone_unknown(p, "?", &[]), 422, "zone_unknown", "IANA");
    check(FieldError::duration_invalid(p, "1 month"), 422, "duration_invalid", "`15m`");
    check(FieldError::schedule_never(p, "2036"), 422, "schedule_never", "2036");
    check(FieldError::due_out_of_range(p, "2036"), 422, "due_out_of_range", "2036");
    check(FieldError::due_too_old(p, "2026"), 422, "due_too_old", "2026");
    check(
        FieldError::address_invalid(p, "a\nb", "it has a line break"),
        422,
        "address_invalid",
        "a\u{FFFD}b",
    );
    check(FieldError::phone_invalid(p, "12", "NZ"), 422, "phone_invalid", "NZ");
    check(FieldError::template_syntax(p, 2, 7, "{% if"), 422, "template_syntax", "Line 2, column 7");
    check(FieldError::template_unknown_variable(p, "user"), 422, "template_unknown_variable", "`user`");
    check(FieldError::template_limit(p), 422, "template_limit", "shorter");
    check(FieldError::channel_unknown(p, "sms:x"), 422, "channel_unknown", "`sms:x`");
    check(FieldError::url_scheme(p), 422, "url_scheme", "https");
    check(FieldError::url_port(p, "443"), 422, "url_port", "443");
    check(FieldError::url_userinfo(p), 422, "url_userinfo", "password");
    check(FieldError::url_forbidden(p), 422, "url_forbidden", "not allowed");
    check(Problem::content_type(None, &["application/json"]), 415, "content_type", "none was given");
    check(
        Problem::content_type(Some("text/x"), &["a", "b"]),
        415,
        "content_type",
        "`a` or `b`; this is `text/x`",
    );
    check(Problem::body_too_large(7), 413, "body_too_large", "7 bytes");
    check(Problem::batch_too_large(9, 7), 413, "batch_too_large", "takes 7");
    check(Problem::idempotency_mismatch(), 409, "idempotency_mismatch", "new key");
    check(Problem::id_reused("x"), 409, "id_reused", "`x`");
    check(Problem::owned_by_other("old"), 409, "owned_by_other", "`old`");
    check(Problem::auth_failed(), 401, "auth_failed", "Bearer");
    check(Problem::scope_missing("operate"), 403, "scope_missing", "the scope `operate`.");
    check(Problem::any_scope_missing(&["author", "send"]), 403, "scope_missing", "`author` or `send`");
    check(Problem::not_found("list", "ops"), 404, "not_found", "no list `ops`");
    check(Problem::route_not_found(), 404, "not_found", "/openapi.json");
    check(Problem::only_works(), 404, "not_found", "`api` or `all`");
    check(Problem::method_not_allowed(), 405, "method_not_allowed", "method");
    check(Problem::request_timeout(), 408, "request_timeout", "in time");
    check(Problem::stale_version(), 409, "stale_version", "reload");
    check(Problem::state_not_allowed("discard", "delivered", &[]), 409, "state_not_allowed", "nothing");
    check(Problem::state_not_allowed("retry", "pending", &["a", "b"]), 409, "state_not_allowed", "`a`, `b`");
    check(Problem::csrf(), 403, "csrf", "reload");
    check(Problem::signature_invalid(), 401, "signature_invalid", "old");
    check(Problem::internal(), 500, "internal", "log");
    check(Vec::new(), 500, "internal", "log");
    assert_eq!(Problem::rate_limited(9).retry_after_seconds(), Some(9));
    assert_eq!(Problem::storage_unavailable(5).retry_after_seconds(), Some(5));
}

#[test]
fn an_excerpt_is_short_and_printable() {
    assert_eq!(excerpt("plain"), "plain");
    assert_eq!(excerpt("a\r\nb"), "a\u{FFFD}\u{FFFD}b");
    assert_eq!(excerpt(&"ä".repeat(500)).chars().count(), 81);
}

#[test]
fn the_reference_has_every_code_with_its_meaning() {
    let reference = include_str!("../../../../docs/problem-codes.md");
    let rows: Vec<&str> = reference.lines().filter(|line| line.starts_with("| `")).collect();
    let row = |code: &Code| format!("| `{}` | {} | {} |", code.as_str(), code.status(), code.meaning());
    assert_eq!(rows, Code::ALL.iter().map(row).collect::<Vec<_>>());
}
