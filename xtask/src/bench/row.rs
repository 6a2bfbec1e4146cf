//! A row of a suite: a figure, what it is set against, and whether the promise holds.

use std::fmt;

use serde_json::{Value, json};

use super::sample::{Pair, Sample};

/// What we promise: of the ratio where there is one, else of the figure itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Target {
    AtLeast(f64),
    AtMost(f64),
}

/// One promise, measured.
pub(super) struct Row {
    name: String,
    value: Sample,
    unit: &'static str,
    /// The bare figure and the ratio of ours to it.
    against: Option<(Sample, Sample)>,
    target: Target,
}

impl Row {
    /// Ours set against bare.
    pub(super) fn ratio(name: impl Into<String>, unit: &'static str, pair: &Pair, target: Target) -> Self {
        Self {
            name: name.into(),
            value: pair.ours,
            unit,
            against: Some((pair.bare, pair.ratio)),
            target,
        }
    }

    /// A figure that stands alone: a size, a start-up time.
    pub(super) fn alone(name: impl Into<String>, unit: &'static str, value: Sample, target: Target) -> Self {
        Self {
            name: name.into(),
            value,
            unit,
            against: None,
            target,
        }
    }

    pub(super) fn is_met(&self) -> bool {
        let figure = self.against.map_or(self.value.median, |(_, ratio)| ratio.median);
        match self.target {
            Target::AtLeast(least) => figure >= least,
            Target::AtMost(most) => figure <= most,
        }
    }

    fn cells(&self) -> [String; 6] {
        let (against, ratio) = match &self.against {
            Some((bare, ratio)) => (figure(bare.median), spread(ratio)),
            None => ("-".into(), "-".into()),
        };
        let value = format!("{} {}", spread(&self.value), self.unit);
        let met = if self.is_met() { "met" } else { "MISSED" };
        [
            self.name.clone(),
            value,
            against,
            ratio,
            self.target.to_string(),
            met.into(),
        ]
    }

    fn json(&self) -> Value {
        json!({
            "name": self.name,
            "value": self.value.median,
            "spread": [self.value.low, self.value.high],
            "unit": self.unit,
            "against": self.against.map(|(bare, _)| bare.median),
            "ratio": self.against.map(|(_, ratio)| ratio.median),
            "ratio_spread": self.against.map(|(_, ratio)| [ratio.low, ratio.high]),
            "target": self.target.to_string(),
            "met": self.is_met(),
        })
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtLeast(least) => write!(f, "≥ {least}"),
            Self::AtMost(most) => write!(f, "≤ {most}"),
        }
    }
}

pub(super) fn json(suite: &str, rows: &[Row]) -> Value {
    json!({ "suite": suite, "rows": rows.iter().map(Row::json).collect::<Vec<_>>() })
}

/// The rows with a heading, columns aligned.
pub(super) fn table(suite: &str, rows: &[Row]) -> String {
    let head = [suite, "value", "against", "ratio", "target", "met"].map(str::to_owned);
    let lines: Vec<[String; 6]> = [head].into_iter().chain(rows.iter().map(Row::cells)).collect();
    let width = |column: usize| {
        lines
            .iter()
            .map(|line| line[column].chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: [usize; 6] = std::array::from_fn(width);
    let mut text = String::new();
    for line in &lines {
        for (cell, width) in line.iter().zip(widths) {
            text.push_str(&format!("{cell:<width$}  "));
        }
        text.truncate(text.trim_end().len());
        text.push('\n');
    }
    text
}

fn spread(sample: &Sample) -> String {
    format!(
        "{} ({}–{})",
        figure(sample.median),
        figure(sample.low),
        figure(sample.high)
    )
}

/// Three digits that matter.
fn figure(number: f64) -> String {
    let digits = match number.abs() {
        size if size >= 100.0 => 0,
        size if size >= 10.0 => 1,
        size if size >= 1.0 => 2,
        _ => 3,
    };
    format!("{number:.digits$}")
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;

    fn size(target: Target) -> Row {
        Row::alone("binary", "MB", sample::of([28.0]), target)
    }

    #[test]
    fn a_target_holds_at_its_edge() {
        assert!(size(Target::AtMost(28.0)).is_met());
        assert!(size(Target::AtLeast(28.0)).is_met());
        assert!(!size(Target::AtMost(27.9)).is_met());
    }

    #[test]
    fn a_pair_is_judged_by_its_ratio() {
        let pair = sample::alternate(1, || Ok(50.0), || Ok(100.0)).unwrap();
        let row = Row::ratio("read", "/s", &pair, Target::AtLeast(0.6));
        let json = json("rest", &[row]);
        let row = &json["rows"][0];
        assert_eq!(
            (&row["value"], &row["against"], &row["ratio"]),
            (&50.0.into(), &100.0.into(), &0.5.into())
        );
        assert_eq!((&row["target"], &row["met"]), (&"≥ 0.6".into(), &false.into()));
    }

    #[test]
    fn a_table_is_aligned() {
        let text = table("sizes", &[size(Target::AtMost(30.0))]);
        let expect = "\
sizes   value                against  ratio  target  met
binary  28.0 (28.0–28.0) MB  -        -      ≤ 30    met
";
        assert_eq!(text, expect);
    }
}
