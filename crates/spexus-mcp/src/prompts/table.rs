//! The prompts as rows: what each is for, what it asks, and the form of the answer it wants.

use spexus_domain::Kind;

/// One prompt.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) description: &'static str,
    pub(crate) arguments: &'static [Argument],
    /// The argument that names the item it is about.
    pub(crate) subject: &'static str,
    /// What that item is; any, where it does not matter. Then the prompt brings the item's working context along.
    pub(crate) kind: Option<Kind>,
    /// The task; `{subject}` and required arguments are filled in.
    pub(crate) task: &'static str,
    /// The form of the answer.
    pub(crate) form: &'static str,
    /// When one would pick it, for the reference.
    pub(crate) scenario: &'static str,
}

/// An argument of a prompt.
pub(crate) struct Argument {
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    pub(crate) required: bool,
    /// What the task says of it when it is given; `{}` is its value. Required ones stand in the task by their names.
    pub(crate) sentence: &'static str,
}

const fn required(name: &'static str, description: &'static str) -> Argument {
    Argument {
        name,
        description,
        required: true,
        sentence: "",
    }
}

const fn optional(name: &'static str, description: &'static str, sentence: &'static str) -> Argument {
    Argument {
        name,
        description,
        required: false,
        sentence,
    }
}

impl Row {
    /// The task with its subject and its arguments; of what was left out nothing is said.
    //= specs/spexus-mcp.md#prompts
    //# A prompt MUST say nothing of an optional argument that was left out.
    pub(crate) fn task<'a>(&self, subject: &str, value: impl Fn(&str) -> &'a str) -> String {
        let mut task = self.task.replace("{subject}", subject);
        for argument in self.arguments {
            let given = value(argument.name).trim();
            if argument.required {
                task = task.replace(&format!("{{{}}}", argument.name), given);
            } else if !given.is_empty() {
                task.push(' ');
                task.push_str(&argument.sentence.replace("{}", given));
            }
        }
        task
    }
}

// Fulfils 003 R8.5, 003 R8.6
/// Every prompt of the product.
pub(crate) const ROWS: [Row; 7] = [
    Row {
        name: "work_on_item",
        title: "Work on an item",
        description: "Gives everything that is needed to implement, review or test one item, in one message.",
        arguments: &[
            required("id", "The item: REQ-001 or UUID"),
            optional("purpose", "implement, review or test", "The purpose is to {}."),
        ],
        subject: "id",
        kind: None,
        task: "Work on {subject}. Read its criteria first: they say when it is done. Look at what it depends on, and at open comments before you decide what they ask about.",
        form: "What you will do, in the order in which you will do it, each step with the criterion it serves (AC-…).\nThen do it.\nThen say which criterion is proven by which test, and which is not.",
        scenario: "Hand a requirement to a coding agent without explaining the project to it.",
    },
    Row {
        name: "analyze_requirement_quality",
        title: "Analyze a requirement",
        description: "Judges a requirement in its context: is it clear, single, testable, consistent with its neighbours and guided by the steering documents?",
        arguments: &[required("requirement_id", "The requirement: REQ-001 or UUID")],
        subject: "requirement_id",
        kind: Some(Kind::Requirement),
        task: "Review the quality of {subject}. Judge it against these questions: Is it one obligation, not several? Is every word clear, without vague quantities? Can a test decide whether it holds? Does it fit its story and its acceptance criterion? Does it contradict or repeat a sibling or a linked item? Does it follow the steering documents?",
        form: "A table with one row per question: question, verdict (good / weak / wrong), reason in one sentence.\nThen a proposed new wording, or \"keep as it is\".\nThen the update_requirement call that would apply it, with expect_rev.",
        scenario: "Before a requirement goes from Draft to Active, ask whether it can be tested at all.",
    },
    Row {
        name: "suggest_acceptance_criteria",
        title: "Suggest acceptance criteria",
        description: "Proposes acceptance criteria a user story lacks, beside those it has.",
        arguments: &[
            required("user_story_id", "The story: US-001 or UUID"),
            optional(
                "focus",
                "What to look at most, such as security or errors",
                "Pay most attention to: {}.",
            ),
        ],
        subject: "user_story_id",
        kind: Some(Kind::UserStory),
        task: "Propose acceptance criteria for {subject} that its present ones do not cover. Look at the normal course, at limits, at errors and at rights.",
        form: "A numbered list; each criterion as \"WHEN … THEN the system SHALL …\", followed by the gap it closes.\nThen one apply_changes call that creates them all.",
        scenario: "A story was written in a hurry and has a single criterion; find what nobody thought of.",
    },
    Row {
        name: "identify_dependencies",
        title: "Identify dependencies",
        description: "Finds what a requirement depends on, blocks or conflicts with, beyond the links it has.",
        arguments: &[required("requirement_id", "The requirement: REQ-001 or UUID")],
        subject: "requirement_id",
        kind: Some(Kind::Requirement),
        task: "Find dependencies of {subject}: what must exist before it, what it makes possible, what it contradicts. Compare it with its siblings, its linked items and the rest of the epic shown below. Links it has already are listed; do not propose them again.",
        form: "A table: other item, relationship (depends_on, blocks, conflicts_with, refines, relates_to), reason, certainty (high / medium / low).\nThen the create_relationship calls for those of high certainty.",
        scenario: "Before planning, learn in which order the requirements of an epic can be built.",
    },
    Row {
        name: "generate_user_story",
        title: "Generate a user story",
        description: "Writes a user story for an epic from a need in plain words, without repeating stories the epic has.",
        arguments: &[
            required("epic_id", "The epic: EP-001 or UUID"),
            required("need", "What somebody needs, in plain words"),
            optional("role", "Who needs it", "It is needed by: {}."),
        ],
        subject: "epic_id",
        kind: Some(Kind::Epic),
        task: "Write a user story for {subject} that meets this need: {need}. Say so instead when a story of the epic covers it already.",
        form: "Title in at most ten words.\nDescription: \"As a …, I want …, so that …\".\nTwo to five acceptance criteria.\nThen one apply_changes call that creates story and criteria.",
        scenario: "A customer said in one sentence what is missing; turn it into a story with criteria.",
    },
    Row {
        name: "decompose_epic",
        title: "Decompose an epic",
        description: "Proposes the user stories an epic still lacks, small enough to be built one by one.",
        arguments: &[
            required("epic_id", "The epic: EP-001 or UUID"),
            optional(
                "max_stories",
                "How many stories at most",
                "Propose at most this many: {}.",
            ),
        ],
        subject: "epic_id",
        kind: Some(Kind::Epic),
        task: "Break {subject} down into user stories that can each be built and shown on their own. Keep the stories it has; propose what is missing. Put them in an order in which they can be built.",
        form: "A numbered list: title, \"As a …, I want …, so that …\", what it needs from earlier ones.\nThen one apply_changes call that creates them, with dry_run first.",
        scenario: "An epic is a title and two paragraphs; make a first plan of it.",
    },
    Row {
        name: "suggest_test_scenarios",
        title: "Suggest test scenarios",
        description: "Derives test scenarios from a user story, its criteria and its requirements.",
        arguments: &[required("user_story_id", "The story: US-001 or UUID")],
        subject: "user_story_id",
        kind: Some(Kind::UserStory),
        task: "Derive test scenarios for {subject} that together prove every acceptance criterion and every requirement listed. Include limits, wrong input, missing rights and things that happen at the same time.",
        form: "For each scenario: name, \"Given … When … Then …\", the ids it proves (AC-…, REQ-…), and whether it should be automated.\nThen a list of criteria and requirements no scenario proves, with the reason.",
        scenario: "A story is being built; agree on what will be tested before the code is there.",
    },
];
