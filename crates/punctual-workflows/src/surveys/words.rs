//! The fixed texts of the public pages in all supported languages; English for all others.

mod latin;
mod other;

/// What messages and the public page say themselves.
#[derive(Clone, Copy, Debug)]
pub struct Words {
    pub locale: &'static str,
    pub invitation: &'static str,
    pub reminder: &'static str,
    pub send: &'static str,
    /// To the next screen and to the one before, on a phone.
    pub next: &'static str,
    pub back: &'static str,
    pub required: &'static str,
    pub yes: &'static str,
    pub no: &'static str,
    pub please_answer: &'static str,
    pub not_possible: &'static str,
    pub look_again: &'static str,
    pub more_questions: &'static str,
    pub thanks: &'static str,
    pub thanks_more: &'static str,
    pub already: &'static str,
    pub already_more: &'static str,
    pub gone: &'static str,
    pub gone_more: &'static str,
    pub slow_down: &'static str,
    pub language: &'static str,
    pub privacy: &'static str,
    pub low: &'static str,
    pub high: &'static str,
}

const ENGLISH: Words = Words {
    locale: "en",
    invitation: "We would like to know what you think. It takes a minute:",
    reminder: "We would still like to know what you think. It takes a minute:",
    send: "Send answers",
    next: "Next",
    back: "Back",
    required: "needs an answer",
    yes: "Yes",
    no: "No",
    please_answer: "Please answer this question.",
    not_possible: "This answer is not possible.",
    look_again: "Some answers need another look. They are marked below.",
    more_questions: "Your answers lead to a few more questions.",
    thanks: "Thank you",
    thanks_more: "Your answers have arrived. You can close this page.",
    already: "Already answered",
    already_more: "This survey has been answered. Thank you.",
    gone: "This page is not here",
    gone_more: "The link may be incomplete or too old.",
    slow_down: "Too many requests. Please try again in a minute.",
    language: "Language",
    privacy: "Your answers go to those who asked, together with this link. This page stores nothing on your device and asks nobody else.",
    low: "not at all",
    high: "very",
};

const ARABIC: Words = Words {
    locale: "ar",
    invitation: "يسعدنا أن نعرف رأيك. لن يستغرق الأمر أكثر من دقيقة:",
    reminder: "ما زلنا نود معرفة رأيك. لن يستغرق الأمر أكثر من دقيقة:",
    send: "إرسال الإجابات",
    next: "التالي",
    back: "رجوع",
    required: "تتطلب إجابة",
    yes: "نعم",
    no: "لا",
    please_answer: "يرجى الإجابة عن هذا السؤال.",
    not_possible: "هذه الإجابة غير ممكنة.",
    look_again: "بعض الإجابات تحتاج إلى مراجعة. وهي محددة أدناه.",
    more_questions: "تقود إجاباتك إلى بعض الأسئلة الأخرى.",
    thanks: "شكراً لك",
    thanks_more: "وصلتنا إجاباتك. يمكنك إغلاق هذه الصفحة.",
    already: "تمت الإجابة من قبل",
    already_more: "تمت الإجابة عن هذا الاستبيان. شكراً لك.",
    gone: "هذه الصفحة غير موجودة",
    gone_more: "قد يكون الرابط غير مكتمل أو قديماً جداً.",
    slow_down: "طلبات كثيرة جداً. يرجى المحاولة بعد دقيقة.",
    language: "اللغة",
    privacy: "تصل إجاباتك إلى من سألك مع هذا الرابط. لا تخزن هذه الصفحة شيئاً على جهازك ولا تتصل بأحد غيره.",
    low: "إطلاقاً",
    high: "جداً",
};

const GERMAN: Words = Words {
    locale: "de",
    invitation: "Wir möchten gern wissen, was Sie denken. Es dauert eine Minute:",
    reminder: "Wir möchten noch immer gern wissen, was Sie denken. Es dauert eine Minute:",
    send: "Antworten senden",
    next: "Weiter",
    back: "Zurück",
    required: "braucht eine Antwort",
    yes: "Ja",
    no: "Nein",
    please_answer: "Bitte beantworten Sie diese Frage.",
    not_possible: "Diese Antwort ist nicht möglich.",
    look_again: "Einige Antworten brauchen einen zweiten Blick. Sie sind unten gekennzeichnet.",
    more_questions: "Ihre Antworten führen zu einigen weiteren Fragen.",
    thanks: "Vielen Dank",
    thanks_more: "Ihre Antworten sind angekommen. Sie können diese Seite schließen.",
    already: "Schon beantwortet",
    already_more: "Diese Umfrage ist beantwortet. Vielen Dank.",
    gone: "Diese Seite gibt es nicht",
    gone_more: "Der Link ist vielleicht unvollständig oder zu alt.",
    slow_down: "Zu viele Anfragen. Bitte versuchen Sie es in einer Minute wieder.",
    language: "Sprache",
    privacy: "Ihre Antworten gehen mit diesem Link an die, die gefragt haben. Diese Seite speichert nichts auf Ihrem Gerät und fragt sonst niemanden.",
    low: "gar nicht",
    high: "sehr",
};

/// The first is for everybody whose language is not here.
static ALL: [Words; 15] = [
    ENGLISH,
    ARABIC,
    GERMAN,
    latin::FRENCH,
    latin::SPANISH,
    latin::ITALIAN,
    latin::DUTCH,
    latin::PORTUGUESE,
    latin::POLISH,
    latin::TURKISH,
    other::RUSSIAN,
    other::HEBREW,
    other::PERSIAN,
    other::CHINESE,
    other::JAPANESE,
];

/// The words for a reader of this language.
pub fn of(locale: &str) -> &'static Words {
    of_first([locale])
}

/// The words for a reader of these languages, the most wanted first.
pub fn of_first<'l>(wanted: impl IntoIterator<Item = &'l str>) -> &'static Words {
    first_in(&ALL, |words| words.locale, wanted)
}

/// The languages that there are words in.
pub fn languages() -> impl Iterator<Item = &'static str> {
    ALL.iter().map(|words| words.locale)
}

/// The words of the first wanted language that there are words in; the first of all for everybody else. Other pages that the
/// public reads have their own texts, found in the same way.
///
/// # Panics
/// Where there are no words at all.
pub fn first_in<'w, 'l, W, const N: usize>(
    all: &'w [W; N],
    locale_of: impl Fn(&W) -> &'static str,
    wanted: impl IntoIterator<Item = &'l str>,
) -> &'w W {
    let found = wanted.into_iter().find_map(|locale| {
        let language = locale.split(['-', '_']).next().unwrap_or_default();
        all.iter().find(|words| locale_of(words).eq_ignore_ascii_case(language))
    });
    found.unwrap_or(&all[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_language_has_every_word_once() {
        for words in &ALL {
            let Words {
                invitation, reminder, send, next, back, please_answer, thanks, already, gone, ..
            } = words;
            let mut all = vec![invitation, reminder, send, next, back, please_answer, thanks, already, gone];
            assert!(all.iter().all(|word| !word.trim().is_empty()), "{}", words.locale);
            all.sort_unstable();
            all.dedup();
            assert_eq!(all.len(), 9, "{}: a word stands for two things", words.locale);
            assert!(std::ptr::eq(of(words.locale), words), "{} is there twice", words.locale);
        }
        assert_eq!((of("pt-BR").locale, of("ZH_Hant").locale, of("sw").locale), ("pt", "zh", "en"));
    }
}
