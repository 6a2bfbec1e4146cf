//! Points in time as people read them: the hour on the same day and the day before, then the date. The exact time stands in the
//! element for scripts, which put the reader's own time zone in place.

use crate::mark::{Markup, escaped};
use crate::texts::{Texts, fill};
use spexus_domain::Timestamp;

const DAY_MICROSECONDS: i64 = 86_400_000_000;

/// `<time>` with the point in time.
pub(crate) fn when(t: &Texts, at: Timestamp, now: Timestamp) -> Markup {
    let exact = at.to_string();
    Markup(format!(
        "<time datetime=\"{}\">{}</time>",
        escaped(&exact),
        escaped(&words(t, &exact, at, now))
    ))
}

fn words(t: &Texts, exact: &str, at: Timestamp, now: Timestamp) -> String {
    let hour = exact.get(11..16).unwrap_or_default();
    match now.0.div_euclid(DAY_MICROSECONDS) - at.0.div_euclid(DAY_MICROSECONDS) {
        0 => fill(t.today, &[&hour]),
        1 => fill(t.yesterday, &[&hour]),
        days => date(t, exact, days.abs() > 180),
    }
}

fn date(t: &Texts, exact: &str, with_year: bool) -> String {
    let part = |range: std::ops::Range<usize>| exact.get(range).unwrap_or_default();
    let month: usize = part(5..7).parse().unwrap_or(1);
    let month = t
        .months
        .split(' ')
        .nth(month.saturating_sub(1))
        .unwrap_or_default();
    let day = part(8..10).trim_start_matches('0');
    match with_year {
        true => format!("{day} {month} {}", part(0..4)),
        false => format!("{day} {month}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::texts::{ENGLISH, RUSSIAN};

    #[test]
    fn near_times_have_the_hour_and_far_ones_the_date() {
        let now = Timestamp::parse("now", "2026-11-16T10:00:00Z").unwrap();
        let read = |text: &str| Timestamp::parse("at", text).unwrap();
        for (at, english, russian) in [
            ("2026-11-16T09:14:00Z", "today 09:14", "сегодня 09:14"),
            ("2026-11-15T23:59:00Z", "yesterday 23:59", "вчера 23:59"),
            ("2026-11-02T01:00:00Z", "2 Nov", "2 ноя"),
            ("2025-01-31T01:00:00Z", "31 Jan 2025", "31 янв 2025"),
        ] {
            let at = read(at);
            let exact = at.to_string();
            assert_eq!(words(&ENGLISH, &exact, at, now), english);
            assert_eq!(words(&RUSSIAN, &exact, at, now), russian);
        }
    }
}
