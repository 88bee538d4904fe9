//! The settings of a gateway that can be any.

use punctual_model::{AboutAdapter, Setting, adapter_settings::Section};

use crate::{provider::TIMEOUT, short_text::TEXT};

pub(super) const ABOUT: AboutAdapter = AboutAdapter {
    title: "SMS gateway",
    purpose: "sends SMS through any gateway that takes a POST",
    types: &["sms"],
    example: r#"{"url":"https://sms.example.com/send","from":"Punctual","token":"env:SMS"}"#,
    settings: &[
        Setting::url("url", "URL", "where the gateway takes messages").required(),
        Setting::text("from", "From", "the sender that people see"),
        Setting::text("username", "User name", "a name for Basic authentication").section(Section::SignIn),
        Setting::text("password", "Password", "the password of the user name")
            .secret()
            .section(Section::SignIn),
        Setting::text("token", "Token", "a key of the gateway, in place of a user name")
            .secret()
            .section(Section::SignIn),
        Setting::text("tokenIn", "Token goes into", "`bearer`, `header:NAME` or `field:NAME`")
            .usually("bearer")
            .section(Section::SignIn),
        TEXT,
        Setting::choice(
            "format",
            "Format",
            "how the request is written",
            &[("json", "JSON"), ("form", "form")],
        )
        .section(Section::Content),
        Setting::pairs("fields", "Field names", "what the gateway calls `to`, `text`, `from` and `id`")
            .section(Section::Content),
        Setting::pairs("extra", "Constant fields", "fields that every request has").section(Section::Content),
        Setting::choice(
            "numberFormat",
            "Number format",
            "how a number is written",
            &[("plus", "with a plus"), ("digits", "digits alone")],
        )
        .section(Section::Content),
        Setting::number("maxCharacters", "Longest text", "how many characters a text may have", 1, 10_000)
            .usually("1600")
            .section(Section::Content),
        Setting::text(
            "idField",
            "Id in the answer",
            "a JSON pointer to the gateway's id, such as /messages/0/id",
        )
        .section(Section::Advanced),
        Setting::text(
            "successField",
            "Result in the answer",
            "a JSON pointer to the result, where 200 is not enough",
        )
        .section(Section::Advanced),
        Setting::texts(
            "successValues",
            "Results that mean success",
            "the words that the result has on success",
        )
        .section(Section::Advanced),
        Setting::text("receiptSecret", "Receipt secret", "what the gateway signs its receipts with")
            .secret()
            .section(Section::Receipts),
        Setting::text("receiptSignatureHeader", "Signature header", "the header with the signature")
            .usually("x-signature")
            .section(Section::Receipts),
        Setting::text("receiptTimestampHeader", "Time header", "the header with the time that is signed too")
            .section(Section::Receipts),
        Setting::text("receiptItems", "Receipts in the body", "a JSON pointer to the list of receipts")
            .section(Section::Receipts),
        Setting::text("receiptIdField", "Id in a receipt", "a JSON pointer to the id of the message")
            .usually("/id")
            .section(Section::Receipts),
        Setting::text(
            "receiptStatusField",
            "State in a receipt",
            "a JSON pointer to the state of the message",
        )
        .usually("/status")
        .section(Section::Receipts),
        Setting::pairs(
            "receiptStates",
            "Words of the states",
            "what each word means: accepted, sent, delivered, read, failed, bounced or optedOut",
        )
        .section(Section::Receipts),
        TIMEOUT,
    ],
};
