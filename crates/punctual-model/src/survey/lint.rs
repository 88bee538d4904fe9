//! Warnings about valid schemas with probable mistakes: recipes that are too narrow, too wide or equal, and missing
//! translations.

use super::{Schema, SurveyTrigger};

/// Something that an author should look at; it keeps nobody from publishing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// A JSON pointer inside the schema.
    pub pointer: String,
    pub code: &'static str,
    pub detail: String,
}

/// Names of fields that differ for the same event when it is reported again.
const VOLATILE: [&str; 12] = [
    "timestamp",
    "datetime",
    "time",
    "now",
    "nonce",
    "random",
    "requestid",
    "messageid",
    "correlationid",
    "traceid",
    "attempt",
    "sequence",
];

/// Numbers that are counted by somebody, and so are unique for that somebody alone.
const COUNTED: [&str; 8] = ["wip", "no", "nr", "number", "invoice", "order", "ticket", "visit"];

/// Everything that is worth a second look.
pub fn lint(schema: &Schema) -> Vec<Warning> {
    let mut warnings = Vec::new();
    for (index, trigger) in schema.triggers.iter().enumerate() {
        recipe(&mut warnings, index, trigger);
        let twin = schema.triggers[..index].iter().find(|earlier| earlier.recipe == trigger.recipe);
        if let Some(twin) = twin {
            let detail = format!(
                "The recipe is that of the trigger `{}`: an event that both match makes one instance, and this trigger's is skipped.",
                twin.id
            );
            warn(&mut warnings, index, "recipe_equal", detail);
        }
    }
    for (index, question) in schema.questions.iter().enumerate() {
        for locale in schema.title.locales() {
            if !question.text.0.contains_key(locale) {
                warnings.push(Warning {
                    pointer: format!("/questions/{index}/text"),
                    code: "locale_missing",
                    detail: format!("The title has the language `{locale}`, and this text has not."),
                });
            }
        }
    }
    warnings
}

fn warn(warnings: &mut Vec<Warning>, trigger: usize, code: &'static str, detail: impl Into<String>) {
    let pointer = format!("/triggers/{trigger}/dedupRecipe");
    warnings.push(Warning { pointer, code, detail: detail.into() });
}

fn recipe(warnings: &mut Vec<Warning>, index: usize, trigger: &SurveyTrigger) {
    let paths = trigger.recipe.paths();
    let has = |path: &str| paths.iter().any(|known| known == path);
    if !has("templateId") {
        let detail = "Without `templateId` an event that made an instance of another survey of the same business unit with this recipe is skipped here.";
        warn(warnings, index, "recipe_no_template", detail);
    }
    if !has("recipient.address") {
        let detail = "Without `recipient.address`, a second person of the same event is treated as a duplicate of the first.";
        warn(warnings, index, "recipe_no_recipient", detail);
    }
    let keys: Vec<&str> = paths.iter().filter_map(|path| path.strip_prefix("candidate.")).collect();
    let (volatile, lasting): (Vec<&str>, Vec<&str>) = keys.into_iter().partition(|key| is_volatile(key));
    if lasting.is_empty() {
        let detail = "The recipe lacks what identifies the event, such as `candidate.wip`: every later event for the same person is skipped.";
        warn(warnings, index, "recipe_no_natural_id", detail);
    }
    for key in &volatile {
        let detail = format!(
            "`candidate.{key}` seems to differ each time the same event is reported: then no duplicate is ever recognised."
        );
        warn(warnings, index, "recipe_volatile", detail);
    }
    if let ([only], []) = (lasting.as_slice(), volatile.as_slice())
        && is_counted(only)
    {
        let detail = format!(
            "`candidate.{only}` looks like a number that each branch counts for itself: two of them may use the same one. Add whose it is, such as `candidate.dealerId`."
        );
        warn(warnings, index, "recipe_narrow", detail);
    }
}

fn is_volatile(key: &str) -> bool {
    let lower = key.to_ascii_lowercase();
    // `closedAt` and `created_at`, and not `flat`.
    let ends_in_at = key.strip_suffix("At").is_some_and(|rest| !rest.is_empty()) || lower.ends_with("_at");
    ends_in_at
        || VOLATILE.iter().any(|word| lower == *word)
        || lower.ends_with("timestamp")
        || (lower.ends_with("time") && lower.len() > 4)
}

fn is_counted(key: &str) -> bool {
    let lower = key.to_ascii_lowercase();
    COUNTED.iter().any(|word| {
        lower == *word || (word.len() > 2 && lower.starts_with(word)) || lower.ends_with("number")
    })
}
