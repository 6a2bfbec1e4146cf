//! Lines of a section cut where the set of citations changes.

use crate::analysis::{Analysis, Cited};
use crate::citation::Kind;
use crate::matching::is_counted;
use crate::specification::Specification;
use crate::specification::keyword::Level;
use crate::text::Span;

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
    let mut cuts = Cuts::new(analysis, cited, section);
    let lines = specification.sections[section].lines.iter();
    lines
        .map(|line| {
            let mut segments = Vec::new();
            cuts.line(line.span, |span, ids| {
                segments.push(Segment {
                    span,
                    annotations: ids.to_vec(),
                });
            });
            segments
        })
        .collect()
}

/// The quotes of a section, ready to cut its lines one after the other.
pub(crate) struct Cuts {
    /// Every piece of a quote and whose it is, by place.
    pieces: Vec<(Span, u32)>,
    /// The first piece of the next line.
    next: usize,
    // Memory for one line, used again for the next.
    ends: Vec<u32>,
    over: Vec<(u32, u32)>,
    covering: Vec<(u32, u32)>,
    ids: Vec<u32>,
}

impl Cuts {
    pub(crate) fn new(analysis: &Analysis, cited: &Cited, section: usize) -> Self {
        let mut pieces: Vec<(Span, u32)> = Vec::new();
        for &id in &cited.sections[section].annotations {
            pieces.extend(analysis.matched(id).pieces.iter().map(|span| (*span, id)));
        }
        pieces.sort_unstable();
        Self {
            pieces,
            next: 0,
            ends: Vec::new(),
            over: Vec::new(),
            covering: Vec::new(),
            ids: Vec::new(),
        }
    }

    /// Hands out the segments of the next line, with the annotations that cover each; whether there are any.
    ///
    /// One pass from left to right: what begins is added to those that cover the next stretch, what ends is taken away.
    /// So a line costs what it says, also when it is a whole chapter.
    pub(crate) fn line(&mut self, line: Span, mut each: impl FnMut(Span, &[u32])) -> bool {
        let rest = &self.pieces[self.next..];
        let count = rest.iter().take_while(|(span, _)| span.start < line.end).count();
        let pieces = &rest[..count];
        self.next += count;
        if pieces.is_empty() {
            return false;
        }
        let counted = || pieces.iter().filter(|(span, _)| is_counted(*span));
        // A piece that does not count still cuts the line where it begins.
        let ends = &mut self.ends;
        ends.clear();
        ends.extend(pieces.iter().map(|(span, _)| span.start));
        ends.extend(counted().map(|(span, _)| span.end));
        ends.extend([line.start, line.end]);
        ends.sort_unstable();
        ends.dedup();
        self.over.clear();
        self.over.extend(counted().map(|(span, id)| (span.end, *id)));
        self.over.sort_unstable();
        let mut begins = counted().peekable();
        let mut over = self.over.iter().peekable();
        // By id, and how many pieces of it are open: an annotation may have several on one line.
        let covering = &mut self.covering;
        covering.clear();
        for window in ends.windows(2) {
            let (start, end) = (window[0], window[1]);
            while let Some((_, id)) = over.next_if(|(end, _)| *end <= start) {
                crate::effort::count(1);
                if let Ok(at) = covering.binary_search_by_key(id, |(id, _)| *id) {
                    covering[at].1 -= 1;
                    if covering[at].1 == 0 {
                        covering.remove(at);
                    }
                }
            }
            while let Some((_, id)) = begins.next_if(|(span, _)| span.start <= start) {
                crate::effort::count(1);
                match covering.binary_search_by_key(id, |(id, _)| *id) {
                    Ok(at) => covering[at].1 += 1,
                    Err(at) => covering.insert(at, (*id, 1)),
                }
            }
            self.ids.clear();
            self.ids.extend(covering.iter().map(|(id, _)| *id));
            each(Span { start, end }, &self.ids);
        }
        true
    }
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
