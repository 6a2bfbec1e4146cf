//! Counts per specification and level, for every report that begins with a table.

use crate::analysis::Analysis;
use crate::specification::keyword::Level;
use crate::status::State;
use serde::Serialize;

/// Counts of one specification, or of all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Row {
    /// As citations name it.
    pub specification: String,
    /// Its title, when it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Counts by level: MUST, SHOULD, MAY, and those without a level.
    pub levels: [Counts; 4],
    /// Citations that point at it.
    pub citations: usize,
}

/// Requirements by state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// All.
    pub total: usize,
    /// Cited and tested, or implied.
    pub complete: usize,
    /// Excused.
    pub exception: usize,
    /// Cited, not tested.
    pub missing_test: usize,
    /// Tested, not cited.
    pub missing_citation: usize,
    /// In part.
    pub partial: usize,
    /// Only planned.
    pub not_started: usize,
    /// Nothing at all.
    pub uncited: usize,
}

/// The levels in the order of [`Row::levels`].
pub const LEVELS: [Level; 4] = [Level::Must, Level::Should, Level::May, Level::Auto];

impl Counts {
    fn add(&mut self, state: State) {
        self.total += 1;
        *match state {
            State::Complete => &mut self.complete,
            State::Exception => &mut self.exception,
            State::MissingTest => &mut self.missing_test,
            State::MissingCitation => &mut self.missing_citation,
            State::Partial => &mut self.partial,
            State::NotStarted => &mut self.not_started,
            State::Unknown => &mut self.uncited,
        } += 1;
    }

    fn join(&mut self, other: &Self) {
        self.total += other.total;
        self.complete += other.complete;
        self.exception += other.exception;
        self.missing_test += other.missing_test;
        self.missing_citation += other.missing_citation;
        self.partial += other.partial;
        self.not_started += other.not_started;
        self.uncited += other.uncited;
    }

    /// Complete or excused.
    pub fn done(&self) -> usize {
        self.complete + self.exception
    }
}

impl Row {
    /// The counts of all levels together.
    pub fn all(&self) -> Counts {
        let mut all = Counts::default();
        self.levels.iter().for_each(|counts| all.join(counts));
        all
    }
}

/// One row per specification, in order.
pub fn rows(analysis: &Analysis) -> Vec<Row> {
    let mut rows: Vec<Row> = analysis
        .specifications
        .iter()
        .map(|cited| Row {
            specification: cited.name().to_owned(),
            title: cited.specification().and_then(|s| s.title.clone()),
            ..Row::default()
        })
        .collect();
    for requirement in &analysis.requirements {
        let level = LEVELS
            .iter()
            .position(|level| *level == requirement.level)
            .unwrap_or(3);
        rows[requirement.specification].levels[level].add(requirement.coverage.state());
    }
    for (row, cited) in rows.iter_mut().zip(&analysis.specifications) {
        let citing = cited.sections.iter().map(|s| s.annotations.len()).sum::<usize>();
        let requirements = cited.sections.iter().map(|s| s.requirements.len()).sum::<usize>();
        row.citations = citing.saturating_sub(requirements);
    }
    rows
}

/// The sum of rows.
pub fn total(rows: &[Row]) -> Row {
    let mut total = Row {
        specification: "all".to_owned(),
        ..Row::default()
    };
    for row in rows {
        total.citations += row.citations;
        total
            .levels
            .iter_mut()
            .zip(&row.levels)
            .for_each(|(sum, counts)| sum.join(counts));
    }
    total
}
