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
pub(super) struct Plan {
    dice: u64,
    postgres: bool,
}

impl Plan {
    pub(super) fn new(seed: u64, postgres: bool) -> Self {
        Self {
            dice: seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1,
            postgres,
        }
    }

    /// How many writes are acknowledged before the next fault.
    pub(super) fn writes_between(&mut self) -> usize {
        1 + usize::try_from(self.draw() % 120).unwrap_or(0)
    }

    pub(super) fn next(&mut self) -> Fault {
        let (face, minutes) = (self.draw() % 20, self.draw() % 60);
        let seconds = i64::try_from(minutes).unwrap_or(0) * 60 - 1800;
        match (face, self.postgres) {
            (0..14, _) => Fault::Kill,
            (14 | 15, _) => Fault::Clock(seconds),
            (16.., false) => Fault::FullDisk,
            (16..19, true) => Fault::Crash,
            (19.., true) => Fault::BlackHole,
        }
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
            (0..200).map(|_| plan.next()).collect::<Vec<_>>()
        };
        assert_eq!(drawn(7, true), drawn(7, true));
        let names = |faults: Vec<Fault>| faults.into_iter().map(Fault::name).collect::<BTreeSet<_>>();
        let sqlite = ["clock moved", "disk full", "server killed"];
        assert_eq!(names(drawn(7, false)), BTreeSet::from(sqlite));
        let postgres = [
            "PostgreSQL crashed",
            "clock moved",
            "network swallowed",
            "server killed",
        ];
        assert_eq!(names(drawn(7, true)), BTreeSet::from(postgres));
    }
}
