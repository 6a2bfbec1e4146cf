//! Lines of a section cut where the set of citations changes.

use crate::analysis::{Analysis, Cited};
use crate::citation::Kind;
use crate::matching::is_counted;
use crate::specification::Specification;
use crate::specification::keyword::Level;
use crate::text::Span;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// A stretch of one line that the same annotations quote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) span: Span,
    pub(crate) annotations: Vec<u32>,
}

/// What the annotations of a segment claim together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Claims {
    pub(crate) spec: bool,
    pub(crate) implementation: bool,
    pub(crate) implication: bool,
    pub(crate) test: bool,
    pub(crate) exception: bool,
    pub(crate) todo: bool,
    pub(crate) level: Level,
}

/// The lines of a section, each cut into segments; a line that nothing quotes has none.
pub(crate) fn lines(
    analysis: &Analysis,
    cited: &Cited,
    specification: &Specification,
    section: usize,
) -> Vec<Vec<Segment>> {
    let mut pieces: Vec<(Span, u32)> = Vec::new();
    for &id in &cited.sections[section].annotations {
        pieces.extend(analysis.matched(id).pieces.iter().map(|span| (*span, id)));
    }
    pieces.sort_unstable();
    let mut next = 0;
    let mut lines = Vec::with_capacity(specification.sections[section].lines.len());
    for line in &specification.sections[section].lines {
        let start = next;
        while next < pieces.len() && pieces[next].0.start < line.span.end {
            next += 1;
        }
        lines.push(cut(line.span, &pieces[start..next]));
    }
    lines
}

/// One pass from left to right: what begins is added to those that cover the next stretch, what ends is taken away. So a
/// line costs what it says, also when it is a whole chapter.
fn cut(line: Span, pieces: &[(Span, u32)]) -> Vec<Segment> {
    if pieces.is_empty() {
        return Vec::new();
    }
    let counted = || pieces.iter().filter(|(span, _)| is_counted(*span));
    // A piece that does not count still cuts the line where it begins.
    let mut ends: Vec<u32> = pieces.iter().map(|(span, _)| span.start).collect();
    ends.extend(counted().map(|(span, _)| span.end));
    ends.extend([line.start, line.end]);
    ends.sort_unstable();
    ends.dedup();
    let mut begins = counted().peekable();
    let mut over: Vec<(u32, u32)> = counted().map(|(span, id)| (span.end, *id)).collect();
    over.sort_unstable();
    let mut over = over.into_iter().peekable();
    // An annotation may have several pieces of one line.
    let mut covering: BTreeMap<u32, usize> = BTreeMap::new();
    let segment = |window: &[u32]| {
        let (start, end) = (window[0], window[1]);
        while let Some((_, id)) = over.next_if(|(end, _)| *end <= start) {
            crate::effort::count(1);
            if let Entry::Occupied(mut open) = covering.entry(id) {
                *open.get_mut() -= 1;
                if *open.get() == 0 {
                    open.remove();
                }
            }
        }
        while let Some((_, id)) = begins.next_if(|(span, _)| span.start <= start) {
            crate::effort::count(1);
            *covering.entry(*id).or_default() += 1;
        }
        Segment {
            span: Span { start, end },
            annotations: covering.keys().copied().collect(),
        }
    };
    ends.windows(2).map(segment).collect()
}

impl Claims {
    pub(crate) fn of(analysis: &Analysis, annotations: &[u32]) -> Self {
        let mut claims = Self::default();
        for &id in annotations {
            let annotation = analysis.annotation(id);
            claims.level = claims.level.max(annotation.level);
            match annotation.kind {
                Kind::Spec => claims.spec = true,
                Kind::Implementation => claims.implementation = true,
                Kind::Implication => claims.implication = true,
                Kind::Test => claims.test = true,
                Kind::Exception => claims.exception = true,
                Kind::Todo => claims.todo = true,
            }
        }
        claims
    }
}
