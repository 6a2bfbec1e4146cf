//! Numbers and equality as JSON Schema has them: 1 and 1.0 are the same, and 0.3 is a multiple of 0.1.

use std::cmp::Ordering;

use serde_json::{Number, Value};

/// Digits that can be reckoned with exactly.
const MAX_DIGITS: u32 = 36;

pub(super) fn is_integer(number: &Number) -> bool {
    whole(number).is_some() || number.as_f64().is_some_and(|value| value.fract() == 0.0)
}

pub(super) fn compare(left: &Number, right: &Number) -> Ordering {
    match (whole(left), whole(right)) {
        (Some(left), Some(right)) => left.cmp(&right),
        _ => {
            let [left, right] = [left, right].map(|number| number.as_f64().unwrap_or(f64::NAN));
            left.partial_cmp(&right).unwrap_or(Ordering::Equal)
        }
    }
}

/// Whether a number is a multiple of another, by the digits both are written with.
pub(super) fn is_multiple(number: &Number, of: &Number) -> bool {
    let exactly = || {
        let ((number, exponent), (of, of_exponent)) = (decimal(number)?, decimal(of)?);
        let least = exponent.min(of_exponent);
        let number = scaled(number, exponent - least)?;
        let of = scaled(of, of_exponent - least)?;
        (of != 0).then(|| number % of == 0)
    };
    let nearly = || {
        let quotient = number.as_f64().unwrap_or(f64::NAN) / of.as_f64().unwrap_or(f64::NAN);
        quotient.is_finite() && quotient.fract() == 0.0
    };
    exactly().unwrap_or_else(nearly)
}

pub(super) fn are_equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => compare(left, right).is_eq(),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| are_equal(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            let same = |(name, value): (&String, &Value)| {
                right.get(name).is_some_and(|other| are_equal(value, other))
            };
            left.len() == right.len() && left.iter().all(same)
        }
        _ => left == right,
    }
}

/// A text that two values share exactly when they are equal.
pub(super) fn canonical(value: &Value, text: &mut String) {
    match value {
        Value::Number(number) => match whole(number) {
            Some(whole) => text.push_str(&whole.to_string()),
            None => text.push_str(&number.to_string()),
        },
        Value::Array(items) => {
            text.push('[');
            for item in items {
                canonical(item, text);
                text.push(',');
            }
            text.push(']');
        }
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_unstable_by_key(|(name, _)| *name);
            text.push('{');
            for (name, value) in members {
                text.push_str(&format!("{name:?}:"));
                canonical(value, text);
                text.push(',');
            }
            text.push('}');
        }
        Value::String(string) => text.push_str(&format!("{string:?}")),
        Value::Null | Value::Bool(_) => text.push_str(&value.to_string()),
    }
}

/// The number as a whole one, if it is one that fits.
fn whole(number: &Number) -> Option<i128> {
    let fits = |value: &f64| value.fract() == 0.0 && value.abs() < 1e30;
    number
        .as_i64()
        .map(i128::from)
        .or_else(|| number.as_u64().map(i128::from))
        .or_else(|| number.as_f64().filter(fits).map(|value| value as i128))
}

/// The digits of a number and their exponent of ten: 0.0075 is (75, -4).
fn decimal(number: &Number) -> Option<(i128, i32)> {
    if !number.is_f64() {
        return whole(number).map(|whole| (whole, 0));
    }
    let text = format!("{:e}", number.as_f64()?);
    let (digits, exponent) = text.split_once('e')?;
    let exponent: i32 = exponent.parse().ok()?;
    let fraction = digits.split_once('.').map_or(0, |(_, fraction)| fraction.len());
    let digits: i128 = digits.replace('.', "").parse().ok()?;
    Some((digits, exponent - i32::try_from(fraction).ok()?))
}

fn scaled(digits: i128, by: i32) -> Option<i128> {
    let by = u32::try_from(by).ok().filter(|by| *by <= MAX_DIGITS)?;
    digits.checked_mul(10_i128.pow(by))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn number(value: Value) -> Number {
        match value {
            Value::Number(number) => number,
            other => panic!("{other} is no number"),
        }
    }

    #[test]
    fn multiples_are_told_by_their_digits() {
        for (value, of, is) in [
            (json!(10), json!(2), true),
            (json!(7), json!(2), false),
            (json!(0), json!(3), true),
            (json!(0.0075), json!(0.0001), true),
            (json!(0.00751), json!(0.0001), false),
            (json!(0.3), json!(0.1), true),
            (json!(-4.5), json!(1.5), true),
            (json!(1e300), json!(0.5), true),
            (json!(1e308), json!(0.123456789), false),
            (json!(12391239123u64), json!(1e-8), true),
        ] {
            assert_eq!(
                is_multiple(&number(value.clone()), &number(of.clone())),
                is,
                "{value} of {of}"
            );
        }
    }

    #[test]
    fn values_are_equal_whatever_way_their_numbers_are_written() {
        let same = (
            json!({ "a": [1.0, "x"], "b": null }),
            json!({ "b": null, "a": [1, "x"] }),
        );
        assert!(are_equal(&same.0, &same.1));
        for (left, right) in [
            (json!(1), json!(true)),
            (json!("1"), json!(1)),
            (json!([1]), json!([1, 1])),
            (json!({ "a": 1 }), json!({ "b": 1 })),
            (json!(u64::MAX), json!(u64::MAX - 1)),
        ] {
            assert!(!are_equal(&left, &right), "{left} {right}");
            let texts = [left, right].map(|value| {
                let mut text = String::new();
                canonical(&value, &mut text);
                text
            });
            assert_ne!(texts[0], texts[1]);
        }
        assert!(is_integer(&number(json!(1.0))) && !is_integer(&number(json!(1.5))));
        assert_eq!(compare(&number(json!(-1)), &number(json!(0.5))), Ordering::Less);
    }
}
