//! Traceability: on which rungs the requirements of a project stand, and what each of those below a chosen one lacks. The same
//! check as that of the command line and of CI, so that they cannot disagree.

mod timeline;
pub(crate) mod why;

use crate::answer::{Answer, html};
use crate::form::Params;
use crate::mark::{Markup, icon};
use crate::shell::{Shell, View};
use crate::texts::{Texts, fill};
use crate::visit::Visit;
use askama::Template;
use axum::extract::Path;
use serde::Deserialize;
use spexus_domain::trace::{Rung, TestStanding, TraceFlag};
use spexus_service::evidence::{self, CheckQuery, TraceGap};

/// Requirements of one page.
const SHOWN_ROWS: usize = 100;

#[derive(Template)]
#[template(path = "trace.html")]
struct TracePage {
    shell: Shell,
    key: String,
    /// How many of how many stand on the chosen rung or above it.
    summary: String,
    is_empty: bool,
    rungs: Vec<RungCount>,
    levels: Vec<(Rung, &'static str, bool)>,
    rows: Vec<GapRow>,
    /// The address of the requirements after these.
    next: Option<String>,
    /// How it came to that, where there is more than one commit.
    timeline: Option<timeline::Timeline>,
}

struct RungCount {
    mark: Markup,
    count: usize,
}

struct GapRow {
    reference: String,
    title: String,
    mark: Markup,
    weakest: Markup,
}

/// What is asked for.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct TraceQuery {
    level: Option<String>,
    /// The number of the last requirement of the page before.
    after: Option<i64>,
}

/// The page.
//= specs/spexus-web.md#traceability
//# The page of traceability MUST show the same states and gaps as `spexus trace check`, at most 100 requirements at a time.
pub(crate) async fn page(visit: Visit, Path(key): Path<String>, Params(asked): Params<TraceQuery>) -> Answer {
    let project = visit.project(&key).await?;
    let query = CheckQuery {
        project: Some(project.key.clone()),
        level: asked.level,
        ..CheckQuery::default()
    };
    let (found, points) = evidence::timeline(visit.service(), &visit.caller, &query).await?;
    let t = visit.texts();
    let after = asked.after.unwrap_or(0);
    let mut left = found.gaps.iter().filter(|gap| gap.reference_id.number() > after);
    let shown: Vec<&TraceGap> = left.by_ref().take(SHOWN_ROWS).collect();
    let next = left.next().and_then(|_| shown.last()).map(|last| {
        let (level, after) = (found.level.name(), last.reference_id.number());
        format!("/p/{}/trace?level={level}&after={after}", project.key)
    });
    let count = |rung: Rung| found.states.get(rung.name()).copied().unwrap_or(0);
    html(&TracePage {
        shell: visit.shell_in(&project, View::Trace, t.traceability).await?,
        summary: fill(
            t.proved_of,
            &[
                &(found.checked - found.gaps.len()),
                &found.checked,
                &rung_word(t, found.level),
            ],
        ),
        is_empty: found.checked == count(Rung::None),
        rungs: Rung::ALL
            .into_iter()
            .map(|rung| RungCount {
                mark: rung_mark(t, rung, &[]),
                count: count(rung),
            })
            .collect(),
        levels: Rung::ALL
            .into_iter()
            .filter(|rung| *rung != Rung::None)
            .map(|rung| (rung, rung_word(t, rung), rung == found.level))
            .collect(),
        rows: shown.into_iter().map(|gap| row(t, gap)).collect(),
        next,
        timeline: timeline::Timeline::of(&visit, &points, found.level),
        key: project.key,
    })
}

fn row(t: &Texts, gap: &TraceGap) -> GapRow {
    GapRow {
        reference: gap.reference_id.to_string(),
        title: gap.title.clone(),
        mark: rung_mark(t, gap.state, &gap.flags),
        weakest: why::with_code(&gap.weakest),
    }
}

const fn rung_word(t: &Texts, rung: Rung) -> &'static str {
    match rung {
        Rung::None => t.rung_none,
        Rung::Specified => t.rung_specified,
        Rung::Cited => t.rung_cited,
        Rung::Claimed => t.rung_claimed,
        Rung::Ran => t.rung_ran,
        Rung::Passed => t.rung_passed,
        Rung::Executed => t.rung_executed,
        Rung::Affirmed => t.rung_affirmed,
    }
}

const fn standing_word(t: &Texts, standing: TestStanding) -> &'static str {
    match standing {
        TestStanding::Passed => t.rung_passed,
        TestStanding::Failed | TestStanding::Error => t.flag_failed,
        TestStanding::Skipped => t.flag_skipped,
        TestStanding::Flaky => t.test_flaky,
        TestStanding::NotRun => t.test_not_run,
        TestStanding::Vanished => t.flag_vanished,
        TestStanding::Stale => t.flag_stale,
        TestStanding::Dirty => t.test_dirty,
        TestStanding::Reported => t.test_reported,
        TestStanding::Ambiguous => t.test_ambiguous,
    }
}

/// The flags that are shown beside a rung, the worst first, with the picture and the word of each.
const fn flags(t: &Texts) -> [(TraceFlag, &'static str, &'static str); 6] {
    [
        (TraceFlag::Failed, "failed", t.flag_failed),
        (TraceFlag::Vanished, "vanished", t.flag_vanished),
        (TraceFlag::Stale, "stale", t.flag_stale),
        (TraceFlag::Suspect, "suspect", t.suspect),
        (TraceFlag::Skipped, "skipped", t.flag_skipped),
        (TraceFlag::Waived, "waived", t.flag_waived),
    ]
}

/// The mark of a rung with its word, and the worst of its flags.
fn rung_mark(t: &Texts, rung: Rung, flagged: &[TraceFlag]) -> Markup {
    let mut worst = flags(t).into_iter().filter(|(flag, ..)| flagged.contains(flag));
    let (name, word) = (rung.name(), rung_word(t, rung));
    let Some((flag, picture, flag_word)) = worst.next() else {
        return Markup(format!("<span class=\"ev\" data-s=\"{name}\">{word}</span>"));
    };
    let more = match worst.count() {
        0 => String::new(),
        more => format!(" +{more}"),
    };
    Markup(format!(
        "<span class=\"ev\" data-s=\"{name}\" data-f=\"{}\">{word} <b>{}{flag_word}{more}</b></span>",
        flag.name(),
        icon(picture)
    ))
}
