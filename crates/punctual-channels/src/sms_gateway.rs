//! SMS through any gateway that takes a POST: names of its fields, its credentials and its yes are settings.

mod about;
mod receipts;

use base64::{Engine, engine::general_purpose::STANDARD};
use punctual_model::{
    AboutAdapter, Callback, CallbackFault, CallbackTaken, Outgoing, ReasonCode, Secret, SendOutcome,
};
use reqwest::header::HeaderName;
use serde_json::{Map, Value};

use crate::{
    guard::{CheckedUrl, Guard},
    http::{Answer, Call, Meaning, by_status, failed},
    provider::{Provider, ProviderAdapter},
    settings::Reader,
    short_text::{Text, check_number, number},
};

/// The adapter `sms-gateway`.
pub type SmsGatewayAdapter = ProviderAdapter<SmsGateway>;

const DEFAULT_CHARACTERS: u64 = 1_600;

/// The settings of a channel over a gateway.
pub struct SmsGateway {
    url: CheckedUrl,
    format: Format,
    fields: Fields,
    extra: Vec<(String, String)>,
    from: Option<String>,
    access: Access,
    with_plus: bool,
    text: Text,
    most_characters: usize,
    id_field: Option<String>,
    success: Option<(String, Vec<String>)>,
    receipts: Option<receipts::Receipts>,
}

#[derive(Clone, Copy)]
enum Format {
    Json,
    Form,
}

/// What the gateway calls the parts of a message.
struct Fields {
    to: String,
    text: String,
    from: String,
    /// The stable id of the message, where the gateway takes one to drop repeats.
    id: Option<String>,
}

enum Access {
    Open,
    Basic(String, Secret),
    Header(HeaderName, &'static str, Secret),
    Field(String, Secret),
}

impl Provider for SmsGateway {
    const NAME: &'static str = "sms-gateway";
    const ABOUT: &'static AboutAdapter = &about::ABOUT;

    fn read(reader: &mut Reader<'_>, guard: &Guard) -> Option<Self> {
        let url = reader.text("url").and_then(|text| {
            let checked = guard.check_url(text);
            match checked {
                Ok(url) if url.url.query().is_some() => {
                    // Everyone with read access sees the URL, and would see a key in its query.
                    let detail = "`url` has no query: put parameters into `extra`, and a key into `token`";
                    reader.fault("url", "url_invalid", detail);
                    None
                }
                Ok(url) => Some(url),
                Err(fault) => {
                    reader.fault("url", fault.code, fault.detail);
                    None
                }
            }
        });
        let format = reader.choice("format", &[("json", Format::Json), ("form", Format::Form)]);
        let fields = read_fields(reader);
        let extra = reader.texts("extra");
        let with_plus = reader.choice("numberFormat", &[("plus", true), ("digits", false)]);
        let most = reader.integer("maxCharacters").unwrap_or(DEFAULT_CHARACTERS);
        let id_field = pointer(reader, "idField");
        let success_field = pointer(reader, "successField");
        let success_values: Vec<String> =
            reader.items("successValues").into_iter().map(str::to_owned).collect();
        if success_field.is_some() == success_values.is_empty() {
            let detail = "`successField` and `successValues` belong together: where the result is, and what it is on success";
            reader.fault("successValues", "missing_field", detail);
        }
        let access = read_access(reader);
        let text = Text::read(reader);
        let receipts = receipts::Receipts::read(reader);
        Some(Self {
            url: url?,
            format: format?,
            fields: fields?,
            extra: extra.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
            from: reader.text("from").map(str::to_owned),
            access: access?,
            with_plus: with_plus?,
            text,
            most_characters: usize::try_from(most).unwrap_or(usize::MAX),
            id_field,
            success: success_field.map(|field| (field, success_values)),
            receipts,
        })
    }

    fn call(&self, message: &Outgoing) -> Result<Call, SendOutcome> {
        let to = number(&message.address)?;
        let text = self.text.of(message, self.most_characters)?;
        let to = if self.with_plus { to.as_str() } else { to.digits() };
        let mut parts: Vec<(&str, &str)> =
            self.extra.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        parts.push((&self.fields.to, to));
        parts.push((&self.fields.text, &text));
        parts.extend(self.from.as_deref().map(|from| (self.fields.from.as_str(), from)));
        parts.extend(self.fields.id.as_deref().map(|name| (name, message.message_id.as_str())));
        if let Access::Field(name, token) = &self.access {
            parts.push((name, token.expose()));
        }
        let url = self.url.clone();
        let call = match self.format {
            Format::Form => Call::form(url, parts),
            Format::Json => {
                let fields = parts.into_iter().map(|(name, value)| (name.to_owned(), Value::from(value)));
                Call::json(url, &Value::Object(fields.collect::<Map<_, _>>()))
            }
        };
        match &self.access {
            Access::Open | Access::Field(..) => Ok(call),
            Access::Basic(user, password) => {
                let credentials = STANDARD.encode(format!("{user}:{}", password.expose()));
                call.with_secret("authorization", &format!("Basic {credentials}"))
            }
            Access::Header(name, before, token) => {
                call.with_secret(name.as_str(), &format!("{before}{}", token.expose()))
            }
        }
    }

    fn outcome(&self, answer: &Answer, message: &Outgoing) -> SendOutcome {
        let success = self.success.as_ref().map(|(field, values)| (field.as_str(), values.as_slice()));
        classify(answer, self.id_field.as_deref(), success, &message.message_id)
    }

    fn check_address(address: &str) -> Result<(), String> {
        check_number(address)
    }

    fn takes_receipts(&self) -> bool {
        self.receipts.is_some()
    }

    fn callback(&self, call: &Callback<'_>) -> Result<CallbackTaken, CallbackFault> {
        self.receipts.as_ref().ok_or(CallbackFault::NotTaken)?.take(call)
    }
}

fn read_fields(reader: &mut Reader<'_>) -> Option<Fields> {
    let mut fields =
        Fields { to: "to".to_owned(), text: "text".to_owned(), from: "from".to_owned(), id: None };
    for (part, name) in reader.texts("fields") {
        let name = name.to_owned();
        if name.is_empty() || name.len() > 100 || name.chars().any(char::is_control) {
            reader.fault("fields", "out_of_range", "a field's name has 1 to 100 characters");
        }
        match part {
            "to" => fields.to = name,
            "text" => fields.text = name,
            "from" => fields.from = name,
            "id" => fields.id = Some(name),
            _ => {
                let detail = "`fields` says what the gateway calls `to`, `text`, `from` and `id`";
                reader.fault("fields", "unknown_field", detail);
                return None;
            }
        }
    }
    Some(fields)
}

/// `bearer`, `header:NAME` or `field:NAME` say where the token goes.
fn read_access(reader: &mut Reader<'_>) -> Option<Access> {
    let basic = (reader.text("username"), reader.text("password"));
    let token = reader.secret("token");
    let place = reader.text("tokenIn");
    match (basic, token) {
        ((None, None), None) => {
            if place.is_some() {
                reader.fault(
                    "token",
                    "missing_field",
                    "`tokenIn` says where a `token` goes, which is missing",
                );
            }
            Some(Access::Open)
        }
        ((Some(user), Some(password)), None) => Some(Access::Basic(user.to_owned(), Secret::new(password))),
        ((None, None), Some(token)) => {
            match place.map_or(("bearer", ""), |place| place.split_once(':').unwrap_or((place, ""))) {
                ("bearer", "") => {
                    Some(Access::Header(HeaderName::from_static("authorization"), "Bearer ", token))
                }
                ("field", name) if !name.is_empty() => Some(Access::Field(name.to_owned(), token)),
                ("header", name) if HeaderName::from_bytes(name.as_bytes()).is_ok() => {
                    HeaderName::from_bytes(name.as_bytes()).ok().map(|name| Access::Header(name, "", token))
                }
                _ => {
                    let detail = "`tokenIn` must be `bearer`, `header:NAME` or `field:NAME`";
                    reader.fault("tokenIn", "out_of_range", detail);
                    None
                }
            }
        }
        (_, Some(_)) => {
            let detail = "give either `token` or `username` and `password`";
            reader.fault("token", "field_conflict", detail);
            None
        }
        (_, None) => {
            reader.fault("password", "missing_field", "`username` and `password` belong together");
            None
        }
    }
}

/// Where something is in a response: a JSON pointer such as `/messages/0/id`.
fn pointer(reader: &mut Reader<'_>, name: &str) -> Option<String> {
    let text = reader.text(name)?;
    if text.starts_with('/') && text.len() <= 200 {
        return Some(text.to_owned());
    }
    reader.fault(name, "out_of_range", format!("`{name}` is a JSON pointer such as `/messages/0/id`"));
    None
}

/// What an answer of a gateway means: the status, and where the settings say so also a word in its body.
pub fn classify(
    answer: &Answer,
    id_field: Option<&str>,
    success: Option<(&str, &[String])>,
    message_id: &str,
) -> SendOutcome {
    if !answer.is_success() {
        return failed(answer, &answer.text, by_status(answer.status));
    }
    let body = answer.json();
    let word = |pointer: &str| match body.pointer(pointer) {
        Some(Value::String(text)) => Some(text.clone()),
        Some(value @ (Value::Number(_) | Value::Bool(_))) => Some(value.to_string()),
        _ => None,
    };
    if let Some((field, values)) = success {
        match word(field) {
            Some(found) if values.contains(&found) => {}
            Some(_) => return failed(answer, &answer.text, Meaning::Never(ReasonCode::RejectedByReceiver)),
            None => return crate::http::not_understood(answer, "the gateway"),
        }
    }
    let given = id_field.and_then(word).filter(|id| !id.is_empty());
    let provider_id = given.unwrap_or_else(|| message_id.to_owned());
    SendOutcome::Delivered { provider_id }
}
