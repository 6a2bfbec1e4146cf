//! How well the embedded model guesses, on texts it was not taught.

use crate::model::Model;
use crate::words;
use std::collections::HashMap;

/// What was guessed of held-back texts.
#[derive(Clone, Copy, Debug, Default)]
pub struct Accuracy {
    /// Tokens that were guessed.
    pub tokens: usize,
    /// Share of them that was the first guess.
    pub top_1: f64,
    /// Share of them that was among the first five.
    pub top_5: f64,
    /// How many words it was as if there were to choose from.
    pub perplexity: f64,
    /// First guesses of a model that always guesses the commonest words.
    pub baseline_top_1: f64,
    /// The commonest five.
    pub baseline_top_5: f64,
    /// Perplexity by the frequency of words alone.
    pub baseline_perplexity: f64,
}

/// Teaches nine of ten texts and guesses the tenth, ten times over.
pub fn measure(texts: &[String]) -> Accuracy {
    let mut sum = Sum::default();
    for fold in 0..FOLDS {
        let held_back = |(at, _): &(usize, &String)| at % FOLDS == fold;
        let (asked, taught): (Vec<_>, Vec<_>) = texts.iter().enumerate().partition(held_back);
        let mut model = Model::default();
        let mut common = Common::default();
        for (_, text) in &taught {
            let tokens = words::tokens(text);
            common.learn(&tokens);
            model.learn(&tokens);
        }
        for (_, text) in &asked {
            sum.guess(&model, &common, &words::tokens(text));
        }
    }
    sum.mean()
}

const FOLDS: usize = 10;

/// Words by their frequency, the baseline.
#[derive(Default)]
struct Common {
    counts: HashMap<String, usize>,
    total: usize,
}

impl Common {
    fn learn(&mut self, tokens: &[&str]) {
        for token in tokens {
            *self.counts.entry((*token).to_owned()).or_default() += 1;
            self.total += 1;
        }
    }

    fn top(&self) -> Vec<&str> {
        let mut all: Vec<(&String, &usize)> = self.counts.iter().collect();
        all.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
        all.into_iter().take(5).map(|(token, _)| token.as_str()).collect()
    }

    /// One more for every word, so that none is impossible.
    fn probability(&self, token: &str) -> f64 {
        let count = self.counts.get(token).copied().unwrap_or(0);
        (count + 1) as f64 / (self.total + self.counts.len() + 1) as f64
    }
}

#[derive(Default)]
struct Sum {
    tokens: usize,
    hits: [usize; 4],
    surprise: [f64; 2],
}

impl Sum {
    fn guess(&mut self, model: &Model, common: &Common, tokens: &[&str]) {
        let usual = common.top();
        for (at, token) in tokens.iter().enumerate() {
            let guessed = model.next(&tokens[..at], 5);
            let guessed: Vec<&str> = guessed.iter().filter_map(|one| one.token.as_deref()).collect();
            let lists: [&[&str]; 4] = [
                &guessed[..guessed.len().min(1)],
                &guessed,
                &usual[..usual.len().min(1)],
                &usual,
            ];
            for (hits, list) in self.hits.iter_mut().zip(lists) {
                *hits += usize::from(list.contains(token));
            }
            self.surprise[0] -= model.probability(&tokens[..at], Some(token)).ln();
            self.surprise[1] -= common.probability(token).ln();
            self.tokens += 1;
        }
    }

    fn mean(&self) -> Accuracy {
        let count = self.tokens.max(1) as f64;
        let share = self.hits.map(|hits| hits as f64 / count);
        let perplexity = self.surprise.map(|surprise| (surprise / count).exp());
        Accuracy {
            tokens: self.tokens,
            top_1: share[0],
            top_5: share[1],
            perplexity: perplexity[0],
            baseline_top_1: share[2],
            baseline_top_5: share[3],
            baseline_perplexity: perplexity[1],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_are_alike_are_guessed_better_than_by_frequency() {
        let parts = ["log", "answer", "refuse", "store"];
        let text = |at: usize| {
            format!(
                "The system shall {} request number {at} within one second.",
                parts[at % 4]
            )
        };
        let texts: Vec<String> = (0..200).map(text).collect();
        let found = measure(&texts);
        assert!(found.tokens > 1_000);
        assert!(
            found.top_1 > 0.7 && found.top_1 > 3.0 * found.baseline_top_1,
            "{found:?}"
        );
        assert!(
            found.top_5 >= found.top_1 && found.perplexity < found.baseline_perplexity,
            "{found:?}"
        );
    }
}
