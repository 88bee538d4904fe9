//! The reference pages of commands and configuration are made from the code: `docs/commands.md` whole, `docs/configuration.md`
//! in the part between its two marks. `UPDATE_REFERENCE=1 cargo test -p punctual reference` writes them.

use std::{fmt::Write, path::PathBuf};

use clap::{Arg, Command, CommandFactory};

use crate::{
    Cli,
    config::{self, Config, ServeArgs},
};

const BEGIN: &str = "<!-- made from the code: begin -->\n";
const END: &str = "<!-- made from the code: end -->\n";

fn page(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs")).join(name)
}

/// Compares a page with what it must say, or writes it where that is asked for.
fn compare(name: &str, expected: &str) {
    let file = page(name);
    if std::env::var_os("UPDATE_REFERENCE").is_some() {
        std::fs::write(&file, expected).unwrap();
        return;
    }
    let found = std::fs::read_to_string(&file).unwrap_or_default();
    let differs = found.lines().zip(expected.lines()).find(|(found, expected)| found != expected);
    assert!(
        found == expected,
        "docs/{name} is not what the code says; `UPDATE_REFERENCE=1 cargo test -p punctual reference` writes it. First difference: {differs:?}"
    );
}

/// A text in one cell of a table.
fn cell(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

fn shown(args: &Command) -> impl Iterator<Item = &Arg> {
    let hidden = |arg: &&Arg| !arg.is_hide_set() && !["help", "version"].contains(&arg.get_id().as_str());
    args.get_arguments().filter(hidden)
}

/// As one types it.
fn typed(arg: &Arg) -> String {
    let values = arg.get_value_names().unwrap_or_default().iter().map(|name| name.as_str());
    let takes = arg.get_action().takes_values();
    let value = values.collect::<Vec<_>>().join(" ");
    match (arg.get_long(), takes) {
        (Some(long), true) => format!("--{long} {value}"),
        (Some(long), false) => format!("--{long}"),
        (None, _) => value,
    }
}

fn meaning(arg: &Arg) -> String {
    let help = arg.get_long_help().or(arg.get_help()).map(ToString::to_string).unwrap_or_default();
    let values: Vec<String> = arg
        .get_possible_values()
        .iter()
        .filter(|value| !value.is_hide_set() && arg.get_action().takes_values())
        .map(|value| format!("`{}`", value.get_name()))
        .collect();
    let values = if values.is_empty() { String::new() } else { format!(" One of {}.", values.join(", ")) };
    cell(&format!("{help}{values}"))
}

fn variable(arg: &Arg) -> String {
    arg.get_env().map_or_else(String::new, |name| format!("`{}`", name.to_string_lossy()))
}

fn commands() -> String {
    let mut text = String::from(
        "# Commands\n\nMade from the code: what `--help` says, on one page. `punctual COMMAND --help` has the same. The flags of `serve` and `demo`\n\
         are in [configuration.md](configuration.md).\n",
    );
    let cli = Cli::command();
    for command in cli.get_subcommands() {
        describe(&mut text, "punctual", command);
    }
    text
}

fn describe(text: &mut String, before: &str, command: &Command) {
    let name = format!("{before} {}", command.get_name());
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    writeln!(text, "\n## `{name}`\n\n{about}").unwrap();
    if ["serve", "demo"].contains(&command.get_name()) {
        return;
    }
    let mut args = shown(command).peekable();
    if args.peek().is_some() {
        writeln!(text, "\n| argument | variable | default | meaning |\n|---|---|---|---|").unwrap();
    }
    for arg in args {
        let default =
            arg.get_default_values().iter().map(|value| value.to_string_lossy()).collect::<Vec<_>>();
        let default = if default.is_empty() || !arg.get_action().takes_values() {
            String::new()
        } else {
            format!("`{}`", default.join(" "))
        };
        writeln!(text, "| `{}` | {} | {default} | {} |", typed(arg), variable(arg), meaning(arg)).unwrap();
    }
    for one in command.get_subcommands().filter(|one| one.get_name() != "help") {
        describe(text, &name, one);
    }
}

/// What a node runs with where nothing is said, as one would write it.
fn default_of(config: &Config, key: &str) -> String {
    use punctual_model::durations::format as lasts;
    let text = match key {
        "listen" => config.listen.to_string(),
        "data_dir" => config.data_dir.display().to_string(),
        "database_url" => config.database_url.expose().to_owned(),
        "blobs" => config.blobs.clone(),
        "sandbox" => config.sandbox.to_string(),
        "role" => config.role.as_str().to_owned(),
        "lease" => lasts(config.lease),
        "sweep_every" => lasts(config.sweep_every),
        "keep_for" => lasts(config.keep_for),
        "keep_files_for" => lasts(config.keep_files_for),
        "keep_work_for" => lasts(config.keep_work_for),
        "stuck_after" => lasts(config.stuck_after),
        "reconcile_every" => lasts(config.reconcile_every),
        "accept_weak_durability" => config.accept_weak_durability.to_string(),
        "log_format" => format!("{:?}", config.log_format).to_lowercase(),
        "trace_ratio" => "1".to_owned(),
        _ => return String::new(),
    };
    format!("`{text}`")
}

fn flags() -> String {
    let folder = tempfile::tempdir().unwrap();
    let empty = folder.path().join("punctual.toml");
    std::fs::write(&empty, "").unwrap();
    let args = ServeArgs { config: Some(empty), ..Default::default() };
    let defaults = Config::read(args, "./punctual-data").unwrap();
    let mut text =
        String::from("| flag | variable | key in the file | default | meaning |\n|---|---|---|---|---|\n");
    let cli = Cli::command();
    let serve = cli.find_subcommand("serve").unwrap();
    for arg in shown(serve) {
        let key = arg.get_id().as_str();
        let in_file = config::key_in_file(key).map_or_else(String::new, |key| format!("`{key}`"));
        let (default, meaning) = (default_of(&defaults, key), meaning(arg));
        writeln!(text, "| `{}` | {} | {in_file} | {default} | {meaning} |", typed(arg), variable(arg))
            .unwrap();
    }
    text
}

#[test]
fn the_reference_of_commands_is_as_the_code_says() {
    compare("commands.md", &commands());
}

#[test]
fn the_reference_of_configuration_has_every_flag_variable_and_key() {
    let found = std::fs::read_to_string(page("configuration.md")).unwrap();
    let (before, rest) = found.split_once(BEGIN).expect("where the table begins");
    let (_, after) = rest.split_once(END).expect("where the table ends");
    compare("configuration.md", &format!("{before}{BEGIN}{}{END}{after}", flags()));
    // Sections of the file: each key has a row, and each row a key.
    for (section, mut keys) in config::section_keys() {
        let start = format!("| `{section}.");
        let mut rows: Vec<&str> = after
            .lines()
            .filter_map(|line| line.strip_prefix(&start)?.split_once('`').map(|(key, _)| key))
            .filter(|key| !key.contains('.'))
            .collect();
        rows.sort_unstable();
        keys.sort_unstable();
        assert_eq!(rows, keys, "the keys of [{section}] in docs/configuration.md");
    }
}
