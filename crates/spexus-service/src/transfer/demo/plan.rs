//! What the project will be, decided by dice alone: no ids, no times.

use super::dice::Dice;
use super::phrases::{self, USERS};

/// Decides epic after epic until there are enough items.
#[derive(Clone, Debug)]
pub(super) struct Planner {
    dice: Dice,
    wanted: u64,
    made: u64,
    steering: usize,
}

/// One item before it is written.
#[derive(Clone, Debug, Default)]
pub(super) struct Planned {
    pub(super) title: String,
    pub(super) description: String,
    /// Where it stands on its workflow, from 0 to 99.
    pub(super) progress: usize,
    pub(super) priority: i64,
    /// Which requirement type, counted round the list.
    pub(super) type_at: usize,
    pub(super) assignee: Option<usize>,
    pub(super) creator: usize,
    pub(super) comments: Vec<Said>,
    /// How much of the project was there when it was made, in millionths.
    pub(super) age: u64,
}

/// A comment; the next one may answer it.
#[derive(Clone, Debug)]
pub(super) struct Said {
    pub(super) content: String,
    pub(super) author: usize,
    pub(super) answers: bool,
    pub(super) resolved: bool,
}

/// An epic with everything in it.
#[derive(Clone, Debug, Default)]
pub(super) struct PlannedEpic {
    /// Steering documents that come with the first epics and guide them.
    pub(super) steering: Vec<Planned>,
    pub(super) epic: Planned,
    pub(super) stories: Vec<PlannedStory>,
    /// Links between requirements of this epic, by their place; the first depends on the second, which is earlier.
    pub(super) dependencies: Vec<(usize, usize, bool)>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct PlannedStory {
    pub(super) story: Planned,
    pub(super) criteria: Vec<Planned>,
    /// With the place of the criterion a requirement serves, if any.
    pub(super) requirements: Vec<(Planned, Option<usize>)>,
}

impl Planner {
    pub(super) fn new(dice: Dice, wanted: u64) -> Self {
        // A steering document for every two hundred items, as far as there are some.
        let steering = usize::try_from(wanted / 200)
            .unwrap_or(usize::MAX)
            .min(phrases::STEERING.len());
        Self {
            dice,
            wanted,
            made: 0,
            steering,
        }
    }

    pub(super) fn is_done(&self) -> bool {
        self.made >= self.wanted
    }

    pub(super) fn made(&self) -> u64 {
        self.made
    }

    pub(super) fn next_epic(&mut self) -> PlannedEpic {
        let mut planned = PlannedEpic::default();
        if self.steering > 0 {
            self.steering -= 1;
            let (title, text) = phrases::STEERING[self.steering];
            planned
                .steering
                .extend(self.item(|_, _| (title.to_owned(), text.to_owned())));
        }
        let Some(epic) = self.item(|language, dice| language.epic(dice)) else {
            return planned;
        };
        planned.epic = epic;
        for _ in 0..4 + self.dice.below(9) {
            planned.stories.extend(self.story());
        }
        let requirements: usize = planned.stories.iter().map(|story| story.requirements.len()).sum();
        for later in 1..requirements {
            if self.dice.percent(25) {
                planned
                    .dependencies
                    .push((later, self.dice.below(later), self.dice.percent(70)));
            }
        }
        planned
    }

    fn story(&mut self) -> Option<PlannedStory> {
        let mut planned = PlannedStory {
            story: self.item(|language, dice| language.story(dice))?,
            ..PlannedStory::default()
        };
        for _ in 0..1 + self.dice.below(4) {
            planned
                .criteria
                .extend(self.item(|language, dice| (String::new(), language.criterion(dice))));
        }
        for _ in 0..2 + self.dice.below(5) {
            let serves = (!planned.criteria.is_empty() && self.dice.percent(60))
                .then(|| self.dice.below(planned.criteria.len()));
            planned.requirements.extend(
                self.item(|language, dice| language.requirement(dice))
                    .map(|item| (item, serves)),
            );
        }
        Some(planned)
    }

    /// One more item, unless there are enough.
    fn item(
        &mut self,
        words: impl FnOnce(&phrases::Language, &mut Dice) -> (String, String),
    ) -> Option<Planned> {
        if self.is_done() {
            return None;
        }
        let language = phrases::language(&mut self.dice);
        let (title, description) = words(language, &mut self.dice);
        let age = self.made * 1_000_000 / self.wanted;
        self.made += 1;
        let dice = &mut self.dice;
        let mut comments = Vec::new();
        if dice.percent(12) {
            for at in 0..1 + dice.below(3) {
                let answers = at > 0 && dice.percent(70);
                let content = if answers {
                    language.answer(dice)
                } else {
                    language.remark(dice)
                };
                comments.push(Said {
                    content,
                    author: dice.below(USERS.len()),
                    answers,
                    resolved: !answers && dice.percent(40),
                });
            }
        }
        Some(Planned {
            title,
            description,
            progress: dice.below(100),
            priority: [1, 2, 2, 3, 3, 3, 3, 4][dice.below(8)],
            type_at: dice.below(7),
            assignee: dice.percent(65).then(|| dice.below(USERS.len())),
            creator: dice.below(USERS.len()),
            comments,
            age,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_items_as_were_asked_for() {
        for wanted in [1, 2, 3, 10, 1_000] {
            let mut planner = Planner::new(Dice::new(7), wanted);
            let mut count = 0;
            while !planner.is_done() {
                let planned = planner.next_epic();
                count += planned.steering.len() + usize::from(!planned.epic.title.is_empty());
                for story in &planned.stories {
                    count += 1 + story.criteria.len() + story.requirements.len();
                }
            }
            assert_eq!(count as u64, wanted);
        }
    }
}
