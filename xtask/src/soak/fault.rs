//! Which fault comes next, and when: drawn from a seed, so that a run that found something can be run again.

/// One thing that goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fault {
    /// A server dies by SIGKILL and is started again.
    Kill,
    /// A server may write no further into its files, as on a full disk, and is killed in that state.
    FullDisk,
    /// The wall clock of a server jumps by so many seconds from the true time.
    Clock(i64),
    /// PostgreSQL dies without a word and recovers.
    Crash,
    /// The network swallows everything on the connections there are, without closing them.
    BlackHole,
}

impl Fault {
    pub(super) fn name(self) -> &'static str {
        match self {
            Fault::Kill => "server killed",
            Fault::FullDisk => "disk full",
            Fault::Clock(_) => "clock moved",
            Fault::Crash => "PostgreSQL crashed",
            Fault::BlackHole => "network swallowed",
        }
    }
}

/// Draws faults and the pauses between them.
///
/// Faults come from a deck that is shuffled when it is used up, so that every kind comes in each [`DECK`] of them.
pub(super) struct Plan {
    dice: u64,
    postgres: bool,
    deck: Vec<Fault>,
}

/// Cards in a deck.
pub(super) const DECK: usize = 20;

impl Plan {
    pub(super) fn new(seed: u64, postgres: bool) -> Self {
        Self {
            dice: seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1,
            postgres,
            deck: Vec::new(),
        }
    }

    /// How many writes are acknowledged before the next fault.
    pub(super) fn writes_between(&mut self) -> usize {
        1 + self.below(120)
    }

    pub(super) fn next(&mut self) -> Fault {
        if self.deck.is_empty() {
            self.deck = self.shuffled();
        }
        self.deck.pop().unwrap_or(Fault::Kill)
    }

    fn shuffled(&mut self) -> Vec<Fault> {
        let rare: &[Fault] = if self.postgres {
            &[
                Fault::Crash,
                Fault::Crash,
                Fault::BlackHole,
                Fault::BlackHole,
                Fault::FullDisk,
            ]
        } else {
            &[Fault::FullDisk, Fault::FullDisk]
        };
        let mut deck = rare.to_vec();
        for _ in 0..3 {
            let minutes = i64::try_from(self.below(60)).unwrap_or(0);
            deck.push(Fault::Clock(minutes * 60 - 1800));
        }
        deck.resize(DECK, Fault::Kill);
        for last in (1..deck.len()).rev() {
            let other = self.below(last + 1);
            deck.swap(last, other);
        }
        deck
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.draw() % limit as u64).unwrap_or(0)
    }

    /// xorshift: a few bits of chance, the same for the same seed.
    fn draw(&mut self) -> u64 {
        self.dice ^= self.dice << 13;
        self.dice ^= self.dice >> 7;
        self.dice ^= self.dice << 17;
        self.dice >> 11
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_same_seed_brings_the_same_faults_and_every_kind_comes() {
        let drawn = |seed, postgres| {
            let mut plan = Plan::new(seed, postgres);
            (0..DECK).map(|_| plan.next()).collect::<Vec<_>>()
        };
        assert_eq!(drawn(7, true), drawn(7, true));
        let names = |faults: Vec<Fault>| faults.into_iter().map(Fault::name).collect::<BTreeSet<_>>();
        let sqlite = ["clock moved", "disk full", "server killed"];
        assert_eq!(names(drawn(7, false)), BTreeSet::from(sqlite));
        let postgres = [
            "PostgreSQL crashed",
            "clock moved",
            "disk full",
            "network swallowed",
            "server killed",
        ];
        assert_eq!(names(drawn(7, true)), BTreeSet::from(postgres));
    }
}
