//! How numbers, dates and a few words are written where the reader lives.
//!
//! A language that is not in the table gets the general rule: a narrow space between thousands, a point, and dates as
//! 2026-11-03, which nobody misreads.

use jiff::{Timestamp, civil::Date, tz::TimeZone};
use punctual_model::{Decimal, survey::is_right_to_left};

/// One reader's way of writing.
#[derive(Clone, Debug)]
pub struct Locale {
    tag: String,
    style: &'static Style,
    /// Arabic digits where the country uses them.
    arabic_digits: bool,
    pub(crate) words: &'static Words,
}

#[derive(Debug)]
struct Style {
    /// A language, or a language with its region.
    tag: &'static str,
    thousands: &'static str,
    point: &'static str,
    percent: &'static str,
    date: Order,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    /// 2026-11-03
    Iso,
    /// 2026/11/03
    YearFirst,
    /// 03.11.2026, with this between
    DayFirst(char),
    /// 3 Nov 2026
    Named,
    /// Nov 3, 2026
    MonthNamedFirst,
}

const fn style(
    tag: &'static str,
    thousands: &'static str,
    point: &'static str,
    percent: &'static str,
    date: Order,
) -> Style {
    Style { tag, thousands, point, percent, date }
}

const NARROW: &str = "\u{202f}";
const SPACE: &str = "\u{a0}";
const SPACED: &str = "\u{a0}%";

/// Longer tags are before shorter ones.
#[rustfmt::skip]
const STYLES: [Style; 31] = [
    style("en-US", ",", ".", "%", Order::MonthNamedFirst),
    style("en", ",", ".", "%", Order::Named),
    style("de-CH", "’", ".", "%", Order::DayFirst('.')),
    style("de", ".", ",", SPACED, Order::DayFirst('.')),
    style("ar", "٬", "٫", "٪\u{61c}", Order::Named),
    style("fr-CH", NARROW, ",", "%", Order::DayFirst('.')),
    style("fr", NARROW, ",", "\u{202f}%", Order::DayFirst('/')),
    style("es", ".", ",", SPACED, Order::DayFirst('/')),
    style("it", ".", ",", "%", Order::DayFirst('/')),
    style("pt", ".", ",", "%", Order::DayFirst('/')),
    style("nl", ".", ",", "%", Order::DayFirst('-')),
    style("da", ".", ",", SPACED, Order::DayFirst('.')),
    style("id", ".", ",", "%", Order::DayFirst('/')),
    style("tr", ".", ",", "%", Order::DayFirst('.')),
    style("el", ".", ",", "%", Order::DayFirst('/')),
    style("ro", ".", ",", SPACED, Order::DayFirst('.')),
    style("hr", ".", ",", SPACED, Order::DayFirst('.')),
    style("vi", ".", ",", "%", Order::DayFirst('/')),
    style("ru", SPACE, ",", SPACED, Order::DayFirst('.')),
    style("uk", SPACE, ",", "%", Order::DayFirst('.')),
    style("pl", SPACE, ",", "%", Order::DayFirst('.')),
    style("cs", SPACE, ",", SPACED, Order::DayFirst('.')),
    style("sk", SPACE, ",", SPACED, Order::DayFirst('.')),
    style("nb", SPACE, ",", SPACED, Order::DayFirst('.')),
    style("fi", SPACE, ",", SPACED, Order::DayFirst('.')),
    style("sv", SPACE, ",", SPACED, Order::Iso),
    style("he", ",", ".", "%", Order::DayFirst('.')),
    style("ja", ",", ".", "%", Order::YearFirst),
    style("zh", ",", ".", "%", Order::YearFirst),
    style("ko", ",", ".", "%", Order::Iso),
    style("th", ",", ".", "%", Order::DayFirst('/')),
];
const GENERAL: Style = style("", NARROW, ".", "%", Order::Iso);

/// Arabic is written with the digits of Europe here.
const LATIN_DIGITS_IN: [&str; 6] = ["AE", "DZ", "EH", "LY", "MA", "TN"];

/// What a report says by itself. `{}` is where a figure goes.
#[derive(Debug)]
pub(crate) struct Words {
    language: &'static str,
    months: [&'static str; 12],
    pub total: &'static str,
    pub no_rows: &'static str,
    pub first_rows: &'static str,
    pub in_the_file: &'static str,
    pub left_out: &'static str,
    pub times_in: &'static str,
    pub yes: &'static str,
    pub no: &'static str,
    pub chart_of: &'static str,
    pub sheet: &'static str,
}

const WORDS: [Words; 5] = [
    Words {
        language: "en",
        months: ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"],
        total: "Total",
        no_rows: "There is nothing to report for this period.",
        first_rows: "The first {} rows are shown.",
        in_the_file: "All {} rows are in the attached file.",
        left_out: "The report has more rows than its limit of {}; the rest was left out.",
        times_in: "Times are in {}.",
        yes: "yes",
        no: "no",
        chart_of: "Chart: {}",
        sheet: "Report",
    },
    Words {
        language: "de",
        months: [
            "Jan.", "Feb.", "März", "Apr.", "Mai", "Juni", "Juli", "Aug.", "Sept.", "Okt.", "Nov.", "Dez.",
        ],
        total: "Summe",
        no_rows: "Für diesen Zeitraum gibt es nichts zu berichten.",
        first_rows: "Gezeigt werden die ersten {} Zeilen.",
        in_the_file: "Alle {} Zeilen stehen in der angehängten Datei.",
        left_out: "Der Bericht hat mehr Zeilen als seine Grenze von {}; der Rest fehlt.",
        times_in: "Zeiten in {}.",
        yes: "ja",
        no: "nein",
        chart_of: "Diagramm: {}",
        sheet: "Bericht",
    },
    Words {
        language: "ar",
        months: [
            "يناير",
            "فبراير",
            "مارس",
            "أبريل",
            "مايو",
            "يونيو",
            "يوليو",
            "أغسطس",
            "سبتمبر",
            "أكتوبر",
            "نوفمبر",
            "ديسمبر",
        ],
        total: "المجموع",
        no_rows: "لا توجد بيانات لهذه الفترة.",
        first_rows: "تُعرض أول {} من الصفوف.",
        in_the_file: "جميع الصفوف ({}) في الملف المرفق.",
        left_out: "عدد الصفوف أكبر من الحد ({})، ولم تُدرج البقية.",
        times_in: "الأوقات بتوقيت {}.",
        yes: "نعم",
        no: "لا",
        chart_of: "رسم بياني: {}",
        sheet: "تقرير",
    },
    Words {
        language: "fr",
        months: [
            "janv.", "févr.", "mars", "avr.", "mai", "juin", "juil.", "août", "sept.", "oct.", "nov.", "déc.",
        ],
        total: "Total",
        no_rows: "Il n’y a rien à signaler pour cette période.",
        first_rows: "Les {} premières lignes sont affichées.",
        in_the_file: "Les {} lignes sont dans le fichier joint.",
        left_out: "Le rapport dépasse sa limite de {} lignes ; le reste est omis.",
        times_in: "Heures : {}.",
        yes: "oui",
        no: "non",
        chart_of: "Graphique : {}",
        sheet: "Rapport",
    },
    Words {
        language: "es",
        months: ["ene", "feb", "mar", "abr", "may", "jun", "jul", "ago", "sept", "oct", "nov", "dic"],
        total: "Total",
        no_rows: "No hay nada que informar para este período.",
        first_rows: "Se muestran las primeras {} filas.",
        in_the_file: "Las {} filas están en el archivo adjunto.",
        left_out: "El informe supera su límite de {} filas; el resto se omitió.",
        times_in: "Horas de {}.",
        yes: "sí",
        no: "no",
        chart_of: "Gráfico: {}",
        sheet: "Informe",
    },
];

impl Locale {
    pub fn new(tag: &str) -> Self {
        let tag = tag.trim().replace('_', "-");
        let mut parts = tag.split('-');
        let language = parts.next().unwrap_or_default().to_ascii_lowercase();
        let region = parts.find(|part| part.len() == 2).map(str::to_ascii_uppercase).unwrap_or_default();
        let fits = |style: &&Style| match style.tag.split_once('-') {
            Some((of, within)) => of == language && within == region,
            None => style.tag == language,
        };
        Self {
            style: STYLES.iter().find(fits).unwrap_or(&GENERAL),
            arabic_digits: language == "ar" && !LATIN_DIGITS_IN.contains(&region.as_str()),
            words: WORDS.iter().find(|words| words.language == language).unwrap_or(&WORDS[0]),
            tag,
        }
    }

    pub fn tag(&self) -> &str {
        if self.tag.is_empty() { "en" } else { &self.tag }
    }

    pub fn is_right_to_left(&self) -> bool {
        is_right_to_left(&self.tag)
    }

    pub fn integer(&self, value: i64) -> String {
        self.amount(&Decimal::from(value), 0)
    }

    /// A number with exactly so many decimals.
    pub fn amount(&self, value: &Decimal, decimals: u32) -> String {
        let plain = value.rounded(decimals).to_string();
        let (sign, digits) = plain.strip_prefix('-').map_or(("", plain.as_str()), |digits| ("-", digits));
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        // Where digits run with the text from right to left, a mark keeps the sign before them.
        let mut text =
            if self.arabic_digits && !sign.is_empty() { "\u{61c}-".to_owned() } else { sign.to_owned() };
        let latin_arabic = self.style.tag == "ar" && !self.arabic_digits;
        let (thousands, point) =
            if latin_arabic { (".", ",") } else { (self.style.thousands, self.style.point) };
        for (index, digit) in whole.chars().enumerate() {
            if index > 0 && (whole.len() - index).is_multiple_of(3) {
                text.push_str(thousands);
            }
            text.push(digit);
        }
        if !fraction.is_empty() {
            text.push_str(point);
            text.push_str(fraction);
        }
        self.digits(text)
    }

    /// A share as a percentage: 0.256 is 25.6 %.
    pub fn percent(&self, value: &Decimal, decimals: u32) -> String {
        let sign = if self.style.tag == "ar" && !self.arabic_digits { "%" } else { self.style.percent };
        self.amount(&value.hundredfold(), decimals) + sign
    }

    pub fn date(&self, date: Date) -> String {
        let (year, month, day) = (date.year(), date.month(), date.day());
        let name = self.month(date);
        self.digits(match self.style.date {
            Order::Iso => format!("{year:04}-{month:02}-{day:02}"),
            Order::YearFirst => format!("{year:04}/{month:02}/{day:02}"),
            Order::DayFirst(between) => format!("{day:02}{between}{month:02}{between}{year:04}"),
            Order::Named => format!("{day} {name} {year}"),
            Order::MonthNamedFirst => format!("{name} {day}, {year}"),
        })
    }

    /// A day without its year, for where many are beside each other.
    pub fn day(&self, date: Date) -> String {
        let (month, day) = (date.month(), date.day());
        self.digits(match self.style.date {
            Order::Iso => format!("{month:02}-{day:02}"),
            Order::YearFirst => format!("{month}/{day}"),
            Order::DayFirst('.') => format!("{day}.{month}."),
            Order::DayFirst(between) => format!("{day}{between}{month}"),
            Order::Named if self.style.tag == "ar" => format!("{day}/{month}"),
            Order::Named => format!("{day} {}", self.month(date)),
            Order::MonthNamedFirst => format!("{} {day}", self.month(date)),
        })
    }

    fn month(&self, date: Date) -> &'static str {
        let index = usize::try_from(date.month() - 1).unwrap_or(0);
        self.words.months.get(index).copied().unwrap_or_default()
    }

    /// An instant in a zone, to the minute.
    pub fn instant(&self, at: Timestamp, zone: &TimeZone) -> String {
        let local = at.to_zoned(zone.clone()).datetime();
        let (hour, minute) = (local.hour(), local.minute());
        let time = if self.style.date == Order::MonthNamedFirst {
            let half = if hour < 12 { "AM" } else { "PM" };
            format!("{}:{minute:02}\u{a0}{half}", (hour + 11) % 12 + 1)
        } else {
            self.digits(format!("{hour:02}:{minute:02}"))
        };
        format!("{} {time}", self.date(local.date()))
    }

    /// The days of a period whose end is not part of it.
    pub fn period(&self, start: Timestamp, end: Timestamp, zone: &TimeZone) -> String {
        let midnight = jiff::civil::Time::midnight();
        let (first, after) = (start.to_zoned(zone.clone()), end.to_zoned(zone.clone()));
        if first.time() != midnight || after.time() != midnight {
            return format!("{} – {}", self.instant(start, zone), self.instant(end, zone));
        }
        let last = after.date().yesterday().unwrap_or(after.date());
        if last <= first.date() {
            return self.date(first.date());
        }
        format!("{} – {}", self.date(first.date()), self.date(last))
    }

    pub fn truth(&self, truth: bool) -> &'static str {
        if truth { self.words.yes } else { self.words.no }
    }

    fn digits(&self, text: String) -> String {
        if !self.arabic_digits {
            return text;
        }
        let arabic = |c: char| c.to_digit(10).and_then(|digit| char::from_u32(0x660 + digit)).unwrap_or(c);
        text.chars().map(arabic).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_the_reader_writes_them() {
        for (tag, number, share) in [
            ("en", "-1,234,567.50", "25.6%"),
            ("en-US", "-1,234,567.50", "25.6%"),
            ("de", "-1.234.567,50", "25,6\u{a0}%"),
            ("de_AT", "-1.234.567,50", "25,6\u{a0}%"),
            ("de-CH", "-1’234’567.50", "25.6%"),
            ("ar", "\u{61c}-١٬٢٣٤٬٥٦٧٫٥٠", "٢٥٫٦٪\u{61c}"),
            ("ar-IQ", "\u{61c}-١٬٢٣٤٬٥٦٧٫٥٠", "٢٥٫٦٪\u{61c}"),
            ("ar-MA", "-1.234.567,50", "25,6%"),
            ("fr", "-1\u{202f}234\u{202f}567,50", "25,6\u{202f}%"),
            ("sv", "-1\u{a0}234\u{a0}567,50", "25,6\u{a0}%"),
            ("tlh", "-1\u{202f}234\u{202f}567.50", "25.6%"),
            ("", "-1\u{202f}234\u{202f}567.50", "25.6%"),
        ] {
            let locale = Locale::new(tag);
            assert_eq!(locale.amount(&Decimal::of_cell("-1234567.5").unwrap(), 2), number, "{tag}");
            assert_eq!(locale.percent(&Decimal::of_cell("0.256").unwrap(), 1), share, "{tag}");
        }
        assert_eq!(Locale::new("en").integer(999), "999");
        assert_eq!(Locale::new("de").integer(i64::MIN), "-9.223.372.036.854.775.808");
    }

    #[test]
    fn dates_are_in_the_readers_order_and_instants_in_the_readers_zone() {
        let at: Timestamp = "2026-11-03T23:30:00Z".parse().unwrap();
        for (tag, zone, date, instant) in [
            ("en", "UTC", "3 Nov 2026", "3 Nov 2026 23:30"),
            ("en-US", "America/New_York", "Nov 3, 2026", "Nov 3, 2026 6:30\u{a0}PM"),
            ("de", "Europe/Berlin", "03.11.2026", "04.11.2026 00:30"),
            ("ar-EG", "Asia/Baghdad", "٣ نوفمبر ٢٠٢٦", "٤ نوفمبر ٢٠٢٦ ٠٢:٣٠"),
            ("fr", "UTC", "03/11/2026", "03/11/2026 23:30"),
            ("ja", "Asia/Tokyo", "2026/11/03", "2026/11/04 08:30"),
            ("xx", "UTC", "2026-11-03", "2026-11-03 23:30"),
        ] {
            let (locale, zone) = (Locale::new(tag), TimeZone::get(zone).unwrap());
            assert_eq!(locale.date("2026-11-03".parse().unwrap()), date, "{tag}");
            assert_eq!(locale.instant(at, &zone), instant, "{tag}");
        }
    }

    #[test]
    fn a_period_of_whole_days_ends_on_its_last_day() {
        let berlin = TimeZone::get("Europe/Berlin").unwrap();
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let period = |start: &str, end: &str| Locale::new("de").period(at(start), at(end), &berlin);
        // Over the end of summer time: the days are whole although the hours are not those of another week.
        assert_eq!(period("2026-10-18T22:00:00Z", "2026-10-25T23:00:00Z"), "19.10.2026 – 25.10.2026");
        assert_eq!(period("2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z"), "25.10.2026");
        assert_eq!(
            period("2026-10-24T22:30:00Z", "2026-10-25T23:00:00Z"),
            "25.10.2026 00:30 – 26.10.2026 00:00"
        );
    }

    #[test]
    fn right_to_left_follows_the_language() {
        assert!(Locale::new("ar-IQ").is_right_to_left() && Locale::new("he").is_right_to_left());
        assert!(!Locale::new("de").is_right_to_left() && !Locale::new("").is_right_to_left());
    }
}
