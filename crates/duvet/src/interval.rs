//! Sets of bytes kept as sorted, disjoint spans.
//!
//! Coverage is a question about unions and overlaps of quotes. A quote is one span per line, so a requirement with ten
//! citations is some thirty spans, where a set of byte offsets would be thousands of entries.

use crate::text::Span;

/// A set of bytes of one text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IntervalSet {
    spans: Vec<Span>,
}

impl IntervalSet {
    /// The union of the given spans.
    pub fn of(spans: impl IntoIterator<Item = Span>) -> Self {
        let mut spans: Vec<Span> = spans.into_iter().filter(|s| !s.is_empty()).collect();
        spans.sort_unstable();
        let mut merged: Vec<Span> = Vec::with_capacity(spans.len());
        for span in spans {
            match merged.last_mut() {
                Some(last) if span.start <= last.end => last.end = last.end.max(span.end),
                _ => merged.push(span),
            }
        }
        Self { spans: merged }
    }

    /// Number of bytes in the set.
    pub fn len(&self) -> usize {
        self.spans.iter().map(|s| s.len()).sum()
    }

    /// Whether the set holds nothing.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// The spans, sorted and disjoint.
    pub fn spans(&self) -> &[Span] {
        &self.spans
    }

    /// Number of bytes in both sets.
    pub fn overlap(&self, other: &Self) -> usize {
        let mut bytes = 0;
        self.meet(other, |span| {
            bytes += span.len();
            true
        });
        bytes
    }

    /// The bytes in both sets.
    pub fn intersection(&self, other: &Self) -> Vec<Span> {
        let mut both = Vec::new();
        self.meet(other, |span| {
            both.push(span);
            true
        });
        both
    }

    /// Whether the two sets share a byte.
    pub fn touches(&self, other: &Self) -> bool {
        let mut touches = false;
        self.meet(other, |_| {
            touches = true;
            false
        });
        touches
    }

    /// The spans that lie within the bounds of another set, or reach into them.
    pub fn within_bounds_of<'a>(&'a self, other: &Self) -> impl Iterator<Item = Span> + 'a {
        let start = other.spans.first().map_or(0, |span| span.start);
        let end = other.spans.last().map_or(0, |span| span.end);
        self.behind(start)
            .copied()
            .take_while(move |span| span.start < end)
    }

    /// The spans that end behind a place.
    fn behind(&self, start: u32) -> std::slice::Iter<'_, Span> {
        let first = self.spans.partition_point(|span| span.end <= start);
        self.spans[first..].iter()
    }

    /// Hands out the common spans in order, until told to stop. Sets that lie apart cost one comparison.
    fn meet(&self, other: &Self, mut each: impl FnMut(Span) -> bool) {
        let bounds = |set: &Self| Some((set.spans.first()?.start, set.spans.last()?.end));
        let (Some(own), Some(theirs)) = (bounds(self), bounds(other)) else {
            return;
        };
        if own.1 <= theirs.0 || theirs.1 <= own.0 {
            return;
        }
        // A requirement of one line and a quote of a whole section meet where the requirement is.
        let (mut a, mut b) = (self.behind(theirs.0).peekable(), other.behind(own.0).peekable());
        while let (Some(x), Some(y)) = (a.peek(), b.peek()) {
            crate::effort::count(1);
            if x.start >= theirs.1 || y.start >= own.1 {
                return;
            }
            let span = Span {
                start: x.start.max(y.start),
                end: x.end.min(y.end),
            };
            if span.start < span.end && !each(span) {
                return;
            }
            if x.end < y.end {
                a.next();
            } else {
                b.next();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(spans: &[(usize, usize)]) -> IntervalSet {
        IntervalSet::of(spans.iter().map(|&(a, b)| Span::new(a, b)))
    }

    #[test]
    fn unions_merge_what_touches() {
        assert_eq!(
            set(&[(5, 7), (0, 3), (3, 4), (6, 9), (2, 2)]),
            set(&[(0, 4), (5, 9)])
        );
        assert_eq!(set(&[(0, 4), (5, 9)]).len(), 8);
    }

    #[test]
    fn overlap_counts_shared_bytes_once() {
        let a = set(&[(0, 10), (20, 30)]);
        let b = set(&[(5, 25), (28, 40)]);
        assert_eq!(a.overlap(&b), 5 + 5 + 2);
        assert_eq!(b.overlap(&a), 12);
        assert!(!a.touches(&set(&[(10, 20)])));
    }
}
