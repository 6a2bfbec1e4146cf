//! Precision and recall on the labelled sentences of `docs/language/sentences.tsv`.

use std::collections::BTreeSet;

use spexus_lint::{Options, Tier, check};

struct Labelled {
    number: usize,
    kept: bool,
    labels: BTreeSet<&'static str>,
    text: &'static str,
}

fn sentences() -> Vec<Labelled> {
    let rows = include_str!("../../../../docs/language/sentences.tsv").lines();
    let rows = rows.filter(|line| line.starts_with(|c: char| c.is_ascii_digit()));
    rows.map(|row| {
        let cells: Vec<&str> = row.split('\t').collect();
        Labelled {
            number: cells[0].parse().unwrap(),
            kept: cells[1] == "kept",
            labels: cells[3].split(' ').filter(|label| *label != "-").collect(),
            text: cells[4],
        }
    })
    .collect()
}

#[derive(Default)]
struct Figures {
    right: usize,
    wrong: usize,
    missed: usize,
    complaints: Vec<String>,
}

impl Figures {
    fn precision(&self) -> f64 {
        self.right as f64 / (self.right + self.wrong) as f64
    }

    fn recall(&self) -> f64 {
        self.right as f64 / (self.right + self.missed) as f64
    }
}

fn measure(kept: bool) -> Figures {
    let options = Options {
        least: Tier::Warning,
        ..Options::default()
    };
    let mut figures = Figures::default();
    for sentence in sentences().iter().filter(|sentence| sentence.kept == kept) {
        let found: BTreeSet<&str> = check(sentence.text, &options)
            .iter()
            .map(|finding| finding.name)
            .collect();
        let mut note = |what: &str, name: &str| {
            let line = format!("{} {what} {name}: {}", sentence.number, sentence.text);
            figures.complaints.push(line);
        };
        found
            .difference(&sentence.labels)
            .for_each(|name| note("wrong", name));
        sentence
            .labels
            .difference(&found)
            .for_each(|name| note("missed", name));
        figures.right += found.intersection(&sentence.labels).count();
        figures.wrong += found.difference(&sentence.labels).count();
        figures.missed += sentence.labels.difference(&found).count();
    }
    figures
}

#[test]
fn there_are_three_hundred_and_half_of_them_are_kept_apart() {
    let sentences = sentences();
    assert_eq!(sentences.len(), 300);
    assert_eq!(sentences.iter().filter(|sentence| sentence.kept).count(), 150);
    let names: BTreeSet<&str> = spexus_lint::RULES.iter().map(|rule| rule.name).collect();
    let unknown: Vec<_> = sentences
        .iter()
        .flat_map(|one| one.labels.difference(&names))
        .collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}

#[test]
fn warnings_are_right_where_the_rules_were_written() {
    let figures = measure(false);
    println!(
        "tuned: precision {:.3}, recall {:.3}",
        figures.precision(),
        figures.recall()
    );
    println!("{}", figures.complaints.join("\n"));
    assert!(
        figures.precision() >= 0.9 && figures.recall() >= 0.7,
        "{:#?}",
        figures.complaints
    );
}

/// Its sentences are not printed: whoever reads them would tune to them.
#[test]
fn warnings_are_right_on_sentences_kept_apart() {
    let figures = measure(true);
    let (precision, recall) = (figures.precision(), figures.recall());
    let (right, wrong, missed) = (figures.right, figures.wrong, figures.missed);
    println!(
        "kept apart: precision {precision:.3}, recall {recall:.3} ({right} right, {wrong} wrong, {missed} missed)"
    );
    assert!(
        precision >= 0.9 && recall >= 0.7,
        "precision {precision:.3}, recall {recall:.3}"
    );
}
