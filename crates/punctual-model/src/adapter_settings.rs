//! The description of an adapter's settings. The API checks, the OpenAPI document, the console form and the reference page are
//! all generated from it.

/// An adapter in words, with every setting that it has.
#[derive(Debug)]
pub struct AboutAdapter {
    /// What people call it.
    pub title: &'static str,
    /// One line on what it is for.
    pub purpose: &'static str,
    /// The types of channel keys that it is made for; the first is offered.
    pub types: &'static [&'static str],
    /// Settings that are right as they stand, as JSON: what the OpenAPI document shows.
    pub example: &'static str,
    pub settings: &'static [Setting],
}

impl AboutAdapter {
    /// An adapter that says nothing of itself.
    pub const NONE: Self = Self { title: "", purpose: "", types: &[], example: "{}", settings: &[] };

    pub fn setting(&self, name: &str) -> Option<&'static Setting> {
        self.settings.iter().find(|setting| setting.name == name)
    }
}

/// One setting of an adapter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    pub name: &'static str,
    /// A noun for people.
    pub label: &'static str,
    /// What it is, in one line that continues after "it is".
    pub hint: &'static str,
    pub kind: SettingKind,
    pub is_required: bool,
    /// Written and never shown.
    pub is_secret: bool,
    /// What counts where nothing is given; empty where that is nothing.
    pub default: &'static str,
    /// The setting without which this one means nothing.
    pub with: Option<&'static str>,
    pub section: Section,
}

/// What a setting holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingKind {
    Text,
    /// Several lines, such as a certificate.
    Lines,
    Url,
    /// A whole number within these bounds.
    Number {
        least: u64,
        most: u64,
    },
    /// One of some words, each with what people call it; the first is the default.
    Choice(&'static [(&'static str, &'static str)]),
    Flag,
    /// A list of texts.
    Texts,
    /// Texts under names of the user's choice.
    Pairs,
}

/// Which section of a form a setting belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    Main,
    SignIn,
    Content,
    Receipts,
    Advanced,
}

impl Section {
    pub const ALL: [Self; 5] = [Self::Main, Self::SignIn, Self::Content, Self::Receipts, Self::Advanced];

    pub const fn title(self) -> &'static str {
        match self {
            Self::Main => "Connection",
            Self::SignIn => "Credentials",
            Self::Content => "Content",
            Self::Receipts => "Receipts",
            Self::Advanced => "Advanced",
        }
    }
}

impl Setting {
    const fn of(name: &'static str, label: &'static str, hint: &'static str, kind: SettingKind) -> Self {
        Self {
            name,
            label,
            hint,
            kind,
            is_required: false,
            is_secret: false,
            default: "",
            with: None,
            section: Section::Main,
        }
    }

    pub const fn text(name: &'static str, label: &'static str, hint: &'static str) -> Self {
        Self::of(name, label, hint, SettingKind::Text)
    }

    pub const fn lines(name: &'static str, label: &'static str, hint: &'static str) -> Self {
        Self::of(name, label, hint, SettingKind::Lines)
    }

    pub const fn url(name: &'static str, label: &'static str, hint: &'static str) -> Self {
        Self::of(name, label, hint, SettingKind::Url)
    }

    pub const fn flag(name: &'static str, label: &'static str, hint: &'static str) -> Self {
        Self::of(name, label, hint, SettingKind::Flag)
    }

    pub const fn texts(name: &'static str, label: &'static str, hint: &'static str) -> Self {
        Self::of(name, label, hint, SettingKind::Texts)
    }

    pub const fn pairs(name: &'static str, label: &'static str, hint: &'static str) -> Self {
        Self::of(name, label, hint, SettingKind::Pairs)
    }

    pub const fn number(
        name: &'static str,
        label: &'static str,
        hint: &'static str,
        least: u64,
        most: u64,
    ) -> Self {
        Self::of(name, label, hint, SettingKind::Number { least, most })
    }

    /// The first of the choices is the default.
    pub const fn choice(
        name: &'static str,
        label: &'static str,
        hint: &'static str,
        choices: &'static [(&'static str, &'static str)],
    ) -> Self {
        let default = if choices.is_empty() { "" } else { choices[0].0 };
        Self::of(name, label, hint, SettingKind::Choice(choices)).usually(default)
    }

    #[must_use]
    pub const fn required(self) -> Self {
        Self { is_required: true, ..self }
    }

    #[must_use]
    pub const fn secret(self) -> Self {
        Self { is_secret: true, ..self }
    }

    #[must_use]
    pub const fn usually(self, default: &'static str) -> Self {
        Self { default, ..self }
    }

    #[must_use]
    pub const fn with(self, other: &'static str) -> Self {
        Self { with: Some(other), ..self }
    }

    #[must_use]
    pub const fn section(self, section: Section) -> Self {
        Self { section, ..self }
    }
}
