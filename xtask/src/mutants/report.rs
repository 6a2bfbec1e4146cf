//! What a probe found, as figures and as a page.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};

const HEAD: &str = "# Mutation probe

Faults put into the code one at a time by `cargo xtask mutants [AREA…] [--every N]`, and whether a test noticed. Written by that command; an
area keeps its figures until it is probed again. With `--every N` each Nth fault is drawn, in the order of an area's files. A fault that
cannot be built does not count; one that makes the tests run for ever was noticed. A function that returns a `Ruled` is only changed in
its parts: the tool does not know that this is a `Result`, and what it would put in place of the whole cannot be built. Survivors stand
here with the reason from `mutants.tsv`.

";
const TABLE: &str = "| area | drawn | noticed | by their time alone | survived | not built | noticed of what counts |\n|---|---|---:|---:|---:|---:|---:|\n";

/// The reasons of survivors: by file and description, without the line, which moves.
pub(super) type Reasons = BTreeMap<String, String>;

/// What became of the faults of one area.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Figures {
    /// One of so many faults was tried.
    every: usize,
    caught: usize,
    /// Of those that were caught: because the tests did not come to an end.
    timeouts: usize,
    unviable: usize,
    /// As cargo-mutants names them, with the line.
    missed: Vec<String>,
}

impl Figures {
    /// Nothing is known yet, one of so many faults will be.
    pub(super) fn drawn(every: usize) -> Self {
        Self {
            every,
            ..Self::default()
        }
    }

    /// What stands of an area on the page, with its survivors as cargo-mutants names them.
    pub(super) fn kept(page: &str, area: &str, survivors: &str) -> Result<Self> {
        let row = page
            .lines()
            .find_map(|line| line.strip_prefix(&format!("| {area} | ")));
        let row = row.with_context(|| format!("{area} was not probed yet"))?;
        let cells: Vec<&str> = row.split(" | ").collect();
        let number = |at: usize| -> Result<usize> {
            let cell = cells.get(at).context("a cell")?;
            cell.parse()
                .with_context(|| format!("{cell:?} in the row of {area}"))
        };
        let kept = Self {
            every: cells[0].strip_prefix("1 of ").map_or(Ok(1), str::parse)?,
            caught: number(1)?,
            timeouts: number(2)?,
            unviable: number(4)?,
            missed: survivors.lines().map(str::to_owned).collect(),
        };
        ensure!(
            kept.missed.len() == number(3)?,
            "the survivors of {area} are not kept in this target folder"
        );
        Ok(kept)
    }

    pub(super) fn tried(&self) -> usize {
        self.caught + self.unviable + self.missed.len()
    }

    /// What more tests made of the survivors.
    pub(super) fn then(&mut self, next: Self) {
        self.caught += next.caught;
        self.timeouts += next.timeouts;
        self.unviable += next.unviable;
        self.missed = next.missed;
    }

    pub(super) fn survivors(&self) -> impl Iterator<Item = &str> {
        self.missed.iter().map(String::as_str)
    }

    /// Reads the lists that cargo-mutants leaves behind.
    pub(super) fn read(folder: &Path) -> Result<Self> {
        let list = |name: &str| -> Result<Vec<String>> {
            let path = folder.join(name);
            let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
            Ok(text.lines().map(str::to_owned).collect())
        };
        let timeouts = list("timeout.txt")?.len();
        Ok(Self {
            every: 1,
            caught: list("caught.txt")?.len() + timeouts,
            timeouts,
            unviable: list("unviable.txt")?.len(),
            missed: list("missed.txt")?,
        })
    }

    fn percent(&self) -> usize {
        let viable = self.caught + self.missed.len();
        (self.caught * 100).checked_div(viable).unwrap_or(100)
    }

    pub(super) fn line(&self) -> String {
        let (caught, unviable) = (self.caught, self.unviable);
        format!(
            "{caught} noticed, {} survived, {unviable} not built: {} %",
            self.missed.len(),
            self.percent()
        )
    }

    /// How the survivors are called in the table of reasons.
    fn missed(&self) -> impl Iterator<Item = String> {
        self.missed.iter().map(|line| without_line(line))
    }

    fn row(&self, area: &str) -> String {
        let drawn = match self.every {
            1 => "all".to_owned(),
            every => format!("1 of {every}"),
        };
        format!(
            "| {area} | {drawn} | {} | {} | {} | {} | {} % |",
            self.caught,
            self.timeouts,
            self.missed.len(),
            self.unviable,
            self.percent()
        )
    }
}

/// `crates/a/src/b.rs:10:5: replace f with ()` without the numbers, which change with every edit above.
fn without_line(line: &str) -> String {
    let mut parts = line.splitn(4, ':');
    match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some(file), Some(_), Some(_), Some(what)) => format!("{file}:{what}"),
        _ => line.to_owned(),
    }
}

/// `FILE: WHAT<TAB>REASON` on each line.
pub(super) fn reasons(text: &str) -> Result<Reasons> {
    let rows = text
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    rows.map(|line| {
        let (mutant, reason) = line
            .split_once('\t')
            .with_context(|| format!("no tab in {line:?}"))?;
        Ok((mutant.to_owned(), reason.to_owned()))
    })
    .collect()
}

/// What is not good enough.
pub(super) fn problems(all: &BTreeMap<&str, Figures>, reasons: &Reasons, least: usize) -> Vec<String> {
    let mut problems = Vec::new();
    for (area, figures) in all {
        if figures.percent() < least {
            problems.push(format!(
                "{area}: {} % noticed, {least} % at least",
                figures.percent()
            ));
        }
        let unexplained = figures.missed().filter(|missed| !reasons.contains_key(missed));
        problems.extend(unexplained.map(|missed| {
            format!("{area}: survived, write a test or the reason into docs/mutants.tsv: {missed}")
        }));
    }
    problems
}

/// The page: what was probed now, and what stood there of areas that were not.
pub(super) fn page(before: &str, order: &[&str], all: &BTreeMap<&str, Figures>, reasons: &Reasons) -> String {
    let mut page = format!("{HEAD}{TABLE}");
    for area in order {
        let kept = before
            .lines()
            .find(|line| line.starts_with(&format!("| {area} |")));
        match (all.get(area), kept) {
            (Some(figures), _) => page.push_str(&format!("{}\n", figures.row(area))),
            (None, Some(row)) => page.push_str(&format!("{row}\n")),
            (None, None) => page.push_str(&format!("| {area} | none yet | | | | | |\n")),
        }
    }
    page.push_str("\n## Survivors\n");
    for area in order {
        let heading = format!("\n### {area}\n");
        let section = match all.get(area) {
            Some(figures) => {
                let rows = figures.missed().map(|missed| {
                    let reason = reasons.get(&missed).map_or("no reason yet", String::as_str);
                    format!("- `{missed}`: {reason}\n")
                });
                rows.collect()
            }
            None => section(before, &heading).to_owned(),
        };
        if !section.trim().is_empty() {
            page.push_str(&format!("{heading}\n{}\n", section.trim()));
        }
    }
    page
}

/// What stands under a heading, up to the next.
fn section<'a>(page: &'a str, heading: &str) -> &'a str {
    let after = page.split_once(heading).map_or("", |(_, after)| after);
    after.split("\n#").next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(caught: usize, missed: &[&str]) -> Figures {
        Figures {
            every: 3,
            caught,
            timeouts: 0,
            unviable: 1,
            missed: missed.iter().map(|&one| one.to_owned()).collect(),
        }
    }

    const SURVIVOR: &str = "crates/a/src/b.rs:10:5: replace f -> bool with true";

    #[test]
    fn a_survivor_without_a_reason_and_too_many_of_them_are_problems() {
        let known =
            reasons("# why\ncrates/a/src/b.rs: replace f -> bool with true\tit only decides on speed\n")
                .unwrap();
        let all = BTreeMap::from([("uri", figures(19, &[SURVIVOR]))]);
        assert!(problems(&all, &known, 90).is_empty());
        assert_eq!(problems(&all, &Reasons::new(), 90).len(), 1);
        let all = BTreeMap::from([("uri", figures(5, &[SURVIVOR]))]);
        assert_eq!(problems(&all, &known, 90), ["uri: 83 % noticed, 90 % at least"]);
        assert!(reasons("no tab\n").is_err());
    }

    #[test]
    fn what_a_floor_lets_through_is_the_next_ones_to_notice() {
        let mut floors = Figures::drawn(3);
        floors.then(figures(
            5,
            &[SURVIVOR, "crates/a/src/b.rs:20:5: replace g with ()"],
        ));
        floors.then(figures(1, &[SURVIVOR]));
        assert_eq!(floors.survivors().collect::<Vec<_>>(), [SURVIVOR]);
        assert_eq!(floors.row("uri"), "| uri | 1 of 3 | 6 | 0 | 1 | 2 | 85 % |");
    }

    #[test]
    fn what_stands_on_the_page_is_where_another_probe_goes_on() {
        let before = figures(9, &[SURVIVOR]);
        let shown = page(
            "",
            &["uri"],
            &BTreeMap::from([("uri", figures(9, &[SURVIVOR]))]),
            &Reasons::new(),
        );
        assert_eq!(Figures::kept(&shown, "uri", SURVIVOR).unwrap(), before);
        assert!(Figures::kept(&shown, "uri", "").is_err());
        assert!(Figures::kept(&shown, "links", "").is_err());
    }

    #[test]
    fn an_area_keeps_its_figures_until_it_is_probed_again() {
        let order = ["links", "uri"];
        let first = page(
            "",
            &order,
            &BTreeMap::from([("uri", figures(9, &[SURVIVOR]))]),
            &Reasons::new(),
        );
        assert!(
            first.contains("| uri | 1 of 3 | 9 | 0 | 1 | 1 | 90 % |\n"),
            "{first}"
        );
        assert!(
            first.contains("### uri\n\n- `crates/a/src/b.rs: replace f -> bool with true`: no reason yet\n"),
            "{first}"
        );
        let second = page(
            &first,
            &order,
            &BTreeMap::from([("links", figures(3, &[]))]),
            &Reasons::new(),
        );
        assert!(
            second.contains(
                "| links | 1 of 3 | 3 | 0 | 0 | 1 | 100 % |\n| uri | 1 of 3 | 9 | 0 | 1 | 1 | 90 % |\n"
            ),
            "{second}"
        );
        assert!(second.contains("### uri\n\n- `crates/a"), "{second}");
        let third = page(
            &second,
            &order,
            &BTreeMap::from([("uri", figures(10, &[]))]),
            &Reasons::new(),
        );
        assert!(
            !third.contains("### uri") && third.contains("| uri | 1 of 3 | 10 | 0 | 0 |"),
            "{third}"
        );
    }
}
