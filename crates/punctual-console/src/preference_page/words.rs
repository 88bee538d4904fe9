//! What a person's own page says, in the languages that surveys speak too; English for all others.

mod latin;
mod other;

use punctual_workflows::surveys::words::first_in;

/// The words of the page.
#[derive(Clone, Copy, Debug)]
pub struct Words {
    pub locale: &'static str,
    pub title: &'static str,
    /// The address is where the braces are.
    pub for_whom: &'static str,
    pub came_from: &'static str,
    pub no_more: &'static str,
    pub stop_all: &'static str,
    pub stop_all_help: &'static str,
    pub topics: &'static str,
    pub quiet_hours: &'static str,
    pub quiet_help: &'static str,
    pub from: &'static str,
    pub to: &'static str,
    pub time_zone: &'static str,
    pub save: &'static str,
    pub privacy: &'static str,
    pub stopped: &'static str,
    pub saved: &'static str,
    pub bad_hours: &'static str,
    pub bad_zone: &'static str,
    pub gone: &'static str,
    pub gone_more: &'static str,
}

const ENGLISH: Words = Words {
    locale: "en",
    title: "Your message preferences",
    for_whom: "These choices are for {}.",
    came_from: "You came here from a message of this topic.",
    no_more: "Send me no more of it",
    stop_all: "Unsubscribe from all topics",
    stop_all_help: "Messages that belong to no topic still come. You can choose again here at any time.",
    topics: "Topics",
    quiet_hours: "Quiet hours",
    quiet_help: "Messages wait for their end. Leave both empty to have none; alarms come all the same.",
    from: "From",
    to: "To",
    time_zone: "Time zone",
    save: "Save",
    privacy: "Nobody else sees this page but whoever has its link.",
    stopped: "You will get no more of these messages.",
    saved: "Your choices are saved.",
    bad_hours: "Quiet hours are two different times, such as 22:00 and 07:00.",
    bad_zone: "This time zone is not known; write one such as Europe/Berlin.",
    gone: "This link does not work",
    gone_more: "Please use the link in the newest message that you have.",
};

const ARABIC: Words = Words {
    locale: "ar",
    title: "ما تود أن تصلك رسائل عنه",
    for_whom: "هذه الاختيارات خاصة بـ {}.",
    came_from: "وصلت إلى هنا من رسالة عن هذا الموضوع.",
    no_more: "لا ترسلوا إليّ المزيد منها",
    stop_all: "إلغاء الاشتراك في جميع المواضيع",
    stop_all_help: "تستمر الرسائل التي لا تخص أي موضوع. يمكنك تغيير اختيارك هنا في أي وقت.",
    topics: "المواضيع",
    quiet_hours: "ساعات الهدوء",
    quiet_help: "تنتظر الرسائل حتى انتهائها. اترك الحقلين فارغين لإلغائها؛ أما التنبيهات العاجلة فتصل في كل الأحوال.",
    from: "من",
    to: "إلى",
    time_zone: "المنطقة الزمنية",
    save: "حفظ",
    privacy: "لا يرى هذه الصفحة إلا من لديه رابطها.",
    stopped: "لن تصلك هذه الرسائل بعد الآن.",
    saved: "حُفظت اختياراتك.",
    bad_hours: "ساعات الهدوء وقتان مختلفان، مثل 22:00 و07:00.",
    bad_zone: "هذه المنطقة الزمنية غير معروفة؛ اكتب مثلاً Europe/Berlin.",
    gone: "هذا الرابط لا يعمل",
    gone_more: "يرجى استخدام الرابط الموجود في أحدث رسالة لديك.",
};

const GERMAN: Words = Words {
    locale: "de",
    title: "Wovon Sie hören möchten",
    for_whom: "Diese Auswahl gilt für {}.",
    came_from: "Sie kommen von einer Nachricht zu diesem Thema.",
    no_more: "Nichts mehr davon senden",
    stop_all: "Alle Themen abbestellen",
    stop_all_help: "Nachrichten ohne Thema kommen weiterhin. Sie können hier jederzeit neu wählen.",
    topics: "Themen",
    quiet_hours: "Ruhezeiten",
    quiet_help: "Nachrichten warten bis zu ihrem Ende. Lassen Sie beides leer, wenn Sie keine möchten; Alarme kommen trotzdem.",
    from: "Von",
    to: "Bis",
    time_zone: "Zeitzone",
    save: "Speichern",
    privacy: "Diese Seite sieht nur, wer ihren Link hat.",
    stopped: "Sie erhalten diese Nachrichten nicht mehr.",
    saved: "Ihre Auswahl ist gespeichert.",
    bad_hours: "Ruhezeiten sind zwei verschiedene Uhrzeiten, etwa 22:00 und 07:00.",
    bad_zone: "Diese Zeitzone ist nicht bekannt; schreiben Sie etwa Europe/Berlin.",
    gone: "Dieser Link funktioniert nicht",
    gone_more: "Bitte nehmen Sie den Link aus der neuesten Nachricht, die Sie haben.",
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

/// The words for a reader of these languages, the most wanted first.
pub fn of<'l>(wanted: impl IntoIterator<Item = &'l str>) -> &'static Words {
    first_in(&ALL, |words| words.locale, wanted)
}

impl Words {
    /// What is before and after the address.
    pub fn around_address(&self) -> (&'static str, &'static str) {
        self.for_whom.split_once("{}").unwrap_or((self.for_whom, ""))
    }
}

#[cfg(test)]
mod tests {
    use punctual_workflows::surveys::words as surveys;

    use super::*;

    #[test]
    fn the_page_speaks_every_language_that_surveys_speak() {
        for words in &ALL {
            assert_eq!(surveys::of(words.locale).locale, words.locale, "surveys do not speak it");
            assert!(std::ptr::eq(of([words.locale]), words), "{} is there twice", words.locale);
            let (before, after) = words.around_address();
            assert!(
                words.for_whom.contains("{}") && !(before.is_empty() && after.is_empty()),
                "{}",
                words.locale
            );
        }
        assert_eq!(surveys::languages().count(), ALL.len());
    }

    #[test]
    fn every_language_has_every_word_once() {
        for words in &ALL {
            let Words {
                title,
                came_from,
                no_more,
                stop_all,
                stop_all_help,
                topics,
                quiet_hours,
                quiet_help,
                from,
                to,
                ..
            } = words;
            let Words {
                time_zone, save, privacy, stopped, saved, bad_hours, bad_zone, gone, gone_more, ..
            } = words;
            let mut all = vec![
                title,
                came_from,
                no_more,
                stop_all,
                stop_all_help,
                topics,
                quiet_hours,
                quiet_help,
                from,
                to,
                time_zone,
            ];
            all.extend([save, privacy, stopped, saved, bad_hours, bad_zone, gone, gone_more]);
            assert!(all.iter().all(|word| !word.trim().is_empty()), "{}", words.locale);
            all.sort_unstable();
            all.dedup();
            assert_eq!(all.len(), 19, "{}: a word stands for two things", words.locale);
        }
    }

    #[test]
    fn the_first_language_that_is_known_counts() {
        assert_eq!(of(["sw", "de-AT", "fr"]).locale, "de");
        assert_eq!(of(["", "sw"]).locale, "en");
    }
}
