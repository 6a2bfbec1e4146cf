//! Marks: how far a client was told what happened, in a number that also says in which history.
//!
//! The upper bits are the number of the last change of all that was told, the lower ones the beginning of its hash. After a backup was
//! read back, other changes take the numbers of those that are gone; whoever comes back with such a mark is told that everything may
//! have changed.

use spexus_domain::Ruled;
use spexus_domain::change::Change;
use spexus_service::{Service, changes};

/// Bits of the hash.
const HASH_BITS: u32 = 20;

/// How far the history was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) seq: i64,
    hash: u64,
}

impl Mark {
    /// Behind a change.
    pub(crate) fn behind(change: &Change) -> Self {
        let digits = change.hash.get(..5).unwrap_or_default();
        Self {
            seq: change.seq,
            hash: u64::from_str_radix(digits, 16).unwrap_or_default(),
        }
    }

    /// Behind a number whose change nobody has read yet.
    pub(crate) fn at(seq: i64) -> Self {
        Self { seq, hash: 0 }
    }

    /// Behind the change with a number, as the history has it.
    pub(crate) async fn read(service: &Service, seq: i64) -> Ruled<Option<Self>> {
        if seq <= 0 {
            return Ok(Some(Self::at(0)));
        }
        let found = changes::news(service, seq - 1, 1, false).await?;
        let of = found.first().filter(|news| news.change.seq == seq);
        Ok(of.map(|news| Self::behind(&news.change)))
    }

    /// Whether it is of the history that has this one at the same number.
    pub(crate) fn agrees(self, there: Self) -> bool {
        self.seq == there.seq && (self.hash == 0 || self.hash == there.hash)
    }

    pub(crate) fn of_number(number: u64) -> Self {
        Self {
            seq: i64::try_from(number >> HASH_BITS).unwrap_or(i64::MAX),
            hash: number & ((1 << HASH_BITS) - 1),
        }
    }

    pub(crate) fn number(self) -> u64 {
        (self.seq.unsigned_abs() << HASH_BITS) | self.hash
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_read_as_it_was_written_and_later_ones_are_larger() {
        let mark = Mark {
            seq: 12_345,
            hash: 0xf_ffff,
        };
        assert_eq!(Mark::of_number(mark.number()), mark);
        assert!(Mark::at(12_346).number() > mark.number());
        assert!(!mark.agrees(Mark { hash: 1, ..mark }));
        assert!(Mark::at(12_345).agrees(mark));
    }
}
