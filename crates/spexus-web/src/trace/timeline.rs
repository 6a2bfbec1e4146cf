//! How many requirements stood high enough, commit after commit: a line, and the numbers it is drawn from.

use crate::mark::{Markup, escaped};
use crate::texts::{Texts, fill};
use crate::visit::Visit;
use crate::when::when;
use spexus_domain::trace::Rung;
use spexus_service::evidence::TimelinePoint;
use std::fmt::Write as _;

/// Commits that the line is drawn over, and that are listed beside it.
const DRAWN: usize = 60;
const LISTED: usize = 10;

/// Width, height and margin of the drawing, in units of its own.
const WIDTH: usize = 640;
const HEIGHT: usize = 120;
const MARGIN: usize = 6;

/// The line, and its last points in numbers.
pub(super) struct Timeline {
    pub(super) drawing: Markup,
    /// The newest first.
    pub(super) rows: Vec<TimelineRow>,
}

/// A commit in numbers.
pub(super) struct TimelineRow {
    pub(super) commit: String,
    pub(super) at: Markup,
    pub(super) reached: String,
}

impl Timeline {
    /// Nothing where there is only one point: that is what the head of the page says.
    pub(super) fn of(visit: &Visit, points: &[TimelinePoint], level: Rung) -> Option<Self> {
        let t = visit.texts();
        let points = &points[points.len().saturating_sub(DRAWN)..];
        if points.len() < 2 {
            return None;
        }
        let counts: Vec<(usize, usize)> = points
            .iter()
            .map(|point| (point.reached(level), point.states.values().sum()))
            .collect();
        let rows = points.iter().zip(&counts).rev().take(LISTED);
        let rows = rows.map(|(point, (reached, all))| TimelineRow {
            commit: point.commit.chars().take(12).collect(),
            at: when(t, point.made_at, visit.now()),
            reached: fill(t.some_of_all, &[reached, all]),
        });
        Some(Self {
            drawing: drawing(t, &counts),
            rows: rows.collect(),
        })
    }
}

//= specs/spexus-web.md#traceability
//# The timeline MUST be drawn by the server, with its numbers beside it and its last number that of the check.
fn drawing(t: &Texts, counts: &[(usize, usize)]) -> Markup {
    let step = (WIDTH - 2 * MARGIN) as f64 / (counts.len() - 1) as f64;
    let height = (HEIGHT - 2 * MARGIN) as f64;
    let points = counts.iter().enumerate().map(|(index, (reached, all))| {
        let share = *reached as f64 / (*all).max(1) as f64;
        (
            MARGIN as f64 + step * index as f64,
            MARGIN as f64 + height * (1.0 - share),
        )
    });
    let mut line = String::new();
    let mut last = (0.0, 0.0);
    for (x, y) in points {
        let _ = write!(line, "{x:.1},{y:.1} ");
        last = (x, y);
    }
    let (first, end) = (counts[0], counts[counts.len() - 1]);
    let words = fill(
        t.timeline_says,
        &[&first.0, &first.1, &end.0, &end.1, &counts.len()],
    );
    let (bottom, right) = (HEIGHT - MARGIN, WIDTH - MARGIN);
    Markup(format!(
        "<svg class=\"timeline\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\">\
         <path class=\"axis\" d=\"M{MARGIN} {MARGIN}H{right}M{MARGIN} {bottom}H{right}\"/>\
         <polyline points=\"{}\"/><circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"4\"/></svg>",
        escaped(&words),
        line.trim_end(),
        last.0,
        last.1
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::texts::ENGLISH;

    #[test]
    fn the_line_begins_and_ends_at_its_numbers() {
        let drawn = drawing(&ENGLISH, &[(0, 4), (2, 4), (4, 4)]).0;
        assert!(
            drawn.contains("points=\"6.0,114.0 320.0,60.0 634.0,6.0\""),
            "{drawn}"
        );
        assert!(drawn.contains("cx=\"634.0\" cy=\"6.0\""), "{drawn}");
        assert!(!drawing(&ENGLISH, &[(0, 0), (0, 0)]).0.contains("NaN"));
    }
}
