//! Finding a name people meant. A miss answers with the valid options and the nearest one, so that a person or a model
//! can correct itself in one step.

use crate::{Code, Refusal};

/// The option that equals `wanted` without regard to letter case and to spaces, dashes and underscores.
pub fn find<'a, T>(options: &'a [T], name: impl Fn(&T) -> &str, wanted: &str) -> Option<&'a T> {
    // Nearly everything is written as it is known, and what comes from the database always.
    let exact = options.iter().find(|option| name(option) == wanted);
    exact.or_else(|| {
        let wanted = fold(wanted);
        options.iter().find(|option| fold(name(option)) == wanted)
    })
}

/// The refusal for a name that is not among the options.
pub fn miss<'a>(field: &str, wanted: &str, options: impl IntoIterator<Item = &'a str>) -> Refusal {
    let options: Vec<&str> = options.into_iter().collect();
    let shown = crate::text::excerpt(wanted, 60);
    let allowed = match options[..] {
        [] => "there are none yet".to_owned(),
        _ => format!("one of: {}", options.join(", ")),
    };
    let refusal = Refusal::field(
        Code::InvalidParams,
        field,
        format!("{shown:?} is not known"),
        allowed,
    );
    match closest(wanted, &options) {
        Some(near) => refusal.hint(format!("Did you mean {near:?}?")),
        None => refusal,
    }
}

/// The numbers one slip of the finger away from a number: a digit left out, added, changed, or two of them swapped. The
/// most alike come first: those that begin as the number does.
pub fn numbers(number: i64) -> Vec<i64> {
    let typed = number.to_string();
    let digits = typed.as_bytes();
    let mut near: Vec<String> = Vec::new();
    let with = |at: usize, taken: usize, put: &str| format!("{}{put}{}", &typed[..at], &typed[at + taken..]);
    for at in (0..=digits.len()).rev() {
        for digit in 0..=9 {
            near.push(with(at, 0, &digit.to_string()));
        }
    }
    for at in (0..digits.len()).rev() {
        near.push(with(at, 1, ""));
        for digit in 0..=9 {
            near.push(with(at, 1, &digit.to_string()));
        }
        if let [left, right] = digits[at..].iter().take(2).collect::<Vec<_>>()[..] {
            near.push(with(
                at,
                2,
                &format!("{}{}", char::from(*right), char::from(*left)),
            ));
        }
    }
    let mut seen = std::collections::BTreeSet::from([number]);
    let numbers = near.iter().filter_map(|text| text.parse().ok());
    numbers
        .filter(|near: &i64| *near > 0 && seen.insert(*near))
        .collect()
}

/// The option that is most like a name, if any is near.
pub fn closest<'a>(wanted: &str, options: &[&'a str]) -> Option<&'a str> {
    let wanted: String = fold(wanted).chars().take(100).collect();
    let distance = |option: &str| strsim::damerau_levenshtein(&wanted, &fold(option));
    let near = options.iter().min_by_key(|option| distance(option))?;
    (distance(near) * 2 <= wanted.chars().count().max(2)).then_some(near)
}

fn fold(name: &str) -> String {
    name.chars()
        .filter(|c| !" _-".contains(*c))
        .flat_map(char::to_lowercase)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letter_case_and_separators_do_not_matter() {
        let options = ["In Progress", "Done"];
        assert_eq!(find(&options, |o| o, "in_progress"), Some(&"In Progress"));
        assert_eq!(find(&options, |o| o, "started"), None);
    }

    #[test]
    fn numbers_one_slip_away_are_known_and_those_that_begin_alike_come_first() {
        let near = numbers(12);
        assert_eq!(near[..3], [120, 121, 122]);
        for slip in [1, 2, 21, 112, 102, 13, 92] {
            assert!(near.contains(&slip), "{slip} in {near:?}");
        }
        assert!(
            !near.contains(&12) && !near.contains(&0) && near.len() < 60,
            "{near:?}"
        );
        assert!(numbers(7).contains(&70) && numbers(i64::MAX).iter().all(|near| *near > 0));
    }

    #[test]
    fn a_miss_names_the_options_and_the_nearest() {
        let refusal = miss("type", "Functonal", ["Functional", "Data"]);
        assert_eq!(refusal.hint, "Did you mean \"Functional\"?");
        assert_eq!(refusal.faults[0].allowed, "one of: Functional, Data");
        assert_eq!(miss("ref", "@e", []).faults[0].allowed, "there are none yet");
        assert_ne!(
            miss("type", "zzz", ["Functional"]).hint,
            "Did you mean \"Functional\"?"
        );
    }
}
