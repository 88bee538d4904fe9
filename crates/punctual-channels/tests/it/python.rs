//! The Python that has the peers of these tests: aiosmtpd and standardwebhooks.

use std::{
    io::Write,
    process::{Command, Stdio},
    sync::OnceLock,
};

/// The interpreter, with what is needed; it fails and never skips, so that nothing goes untested in silence.
pub fn python() -> &'static str {
    static PYTHON: OnceLock<String> = OnceLock::new();
    PYTHON.get_or_init(|| {
        let python = std::env::var("PUNCTUAL_TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned());
        let ready = Command::new(&python)
            .args(["-c", "import aiosmtpd, standardwebhooks"])
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success());
        assert!(
            ready,
            "`{python}` has no aiosmtpd and standardwebhooks: run the tests with `cargo xtask test`, or name an \
             interpreter that has them in PUNCTUAL_TEST_PYTHON"
        );
        python
    })
}

/// Runs a script with a text on its input and gives back its output.
pub fn run(script: &str, input: &str) -> String {
    let mut child = Command::new(python())
        .args(["-c", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "the script failed");
    String::from_utf8(output.stdout).unwrap()
}
