//! Figures measured several times.

use anyhow::{Result, ensure};

/// The middle of several measurements, and how far they lie apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sample {
    pub(super) median: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

/// Two things measured in turn.
pub(super) struct Pair {
    pub(super) ours: Sample,
    pub(super) bare: Sample,
    /// Ours divided by bare, round by round: a slow moment of the machine falls on both sides of it.
    pub(super) ratio: Sample,
}

/// Runs `ours` and `bare` alternately, after one round that does not count. Each returns its figure.
pub(super) fn alternate(
    rounds: usize,
    mut ours: impl FnMut() -> Result<f64>,
    mut bare: impl FnMut() -> Result<f64>,
) -> Result<Pair> {
    ensure!(rounds > 0, "a median needs a round");
    ours()?;
    bare()?;
    let mut figures = Vec::with_capacity(rounds);
    for round in 0..rounds {
        // Who goes first changes, so that neither always finds the caches the other left.
        figures.push(if round % 2 == 0 {
            let ours = ours()?;
            (ours, bare()?)
        } else {
            let bare = bare()?;
            (ours()?, bare)
        });
    }
    Ok(Pair {
        ours: of(figures.iter().map(|(ours, _)| *ours)),
        bare: of(figures.iter().map(|(_, bare)| *bare)),
        ratio: of(figures.iter().map(|(ours, bare)| ours / bare)),
    })
}

/// The sample of some measurements; of none, nothing.
pub(super) fn of(figures: impl IntoIterator<Item = f64>) -> Sample {
    let mut figures: Vec<f64> = figures.into_iter().collect();
    figures.sort_by(f64::total_cmp);
    let at = |index: usize| figures.get(index).copied().unwrap_or(f64::NAN);
    Sample {
        median: at(figures.len() / 2),
        low: at(0),
        high: at(figures.len().saturating_sub(1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_has_a_middle_and_two_ends() {
        assert_eq!(
            of([3.0, 1.0, 2.0]),
            Sample {
                median: 2.0,
                low: 1.0,
                high: 3.0
            }
        );
        assert!(of([]).median.is_nan());
    }

    #[test]
    fn ratios_are_taken_round_by_round() {
        let mut slow = [1.0, 1.0, 10.0, 1.0].into_iter().cycle();
        let figures: Vec<f64> = slow.by_ref().take(4).collect();
        let (mut a, mut b) = (figures.clone().into_iter(), figures.into_iter());
        let pair = alternate(3, || Ok(a.next().unwrap() * 2.0), || Ok(b.next().unwrap())).unwrap();
        assert_eq!(
            pair.ratio,
            Sample {
                median: 2.0,
                low: 2.0,
                high: 2.0
            }
        );
        assert_eq!((pair.ours.high, pair.bare.high), (20.0, 10.0));
    }

    #[test]
    fn a_failed_measurement_fails_the_pair() {
        assert!(alternate(1, || Ok(1.0), || anyhow::bail!("no")).is_err());
    }
}
