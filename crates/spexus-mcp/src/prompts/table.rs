//! The prompts as rows: what each is for, what it asks, and the form of the answer it wants.

use spexus_domain::Kind;

/// One prompt.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) description: &'static str,
    /// Name, meaning, required.
    pub(crate) arguments: &'static [(&'static str, &'static str, bool)],
    /// The argument that names the item it is about.
    pub(crate) subject: &'static str,
    /// What that item is.
    pub(crate) kind: Kind,
    /// The task; `{subject}` and `{argument}` are filled in.
    pub(crate) task: &'static str,
    /// The form of the answer.
    pub(crate) form: &'static str,
    /// When one would pick it, for the reference.
    pub(crate) scenario: &'static str,
}

// Fulfils 003 R8.5, 003 R8.6
/// Every prompt of the product.
pub(crate) const ROWS: [Row; 6] = [
    Row {
        name: "analyze_requirement_quality",
        title: "Analyze a requirement",
        description: "Judges a requirement in its context: is it clear, single, testable, consistent with its neighbours and guided by the steering documents?",
        arguments: &[("requirement_id", "The requirement: REQ-001 or UUID", true)],
        subject: "requirement_id",
        kind: Kind::Requirement,
        task: "Review the quality of {subject}. Judge it against these questions: Is it one obligation, not several? Is every word clear, without vague quantities? Can a test decide whether it holds? Does it fit its story and its acceptance criterion? Does it contradict or repeat a sibling or a linked item? Does it follow the steering documents?",
        form: "A table with one row per question: question, verdict (good / weak / wrong), reason in one sentence.\nThen a proposed new wording, or \"keep as it is\".\nThen the update_requirement call that would apply it, with expect_rev.",
        scenario: "Before a requirement goes from Draft to Active, ask whether it can be tested at all.",
    },
    Row {
        name: "suggest_acceptance_criteria",
        title: "Suggest acceptance criteria",
        description: "Proposes acceptance criteria a user story lacks, beside those it has.",
        arguments: &[
            ("user_story_id", "The story: US-001 or UUID", true),
            ("focus", "What to look at most, such as security or errors", false),
        ],
        subject: "user_story_id",
        kind: Kind::UserStory,
        task: "Propose acceptance criteria for {subject} that its present ones do not cover. Look at the normal course, at limits, at errors and at rights. Pay most attention to: {focus}.",
        form: "A numbered list; each criterion as \"WHEN … THEN the system SHALL …\", followed by the gap it closes.\nThen one apply_changes call that creates them all.",
        scenario: "A story was written in a hurry and has a single criterion; find what nobody thought of.",
    },
    Row {
        name: "identify_dependencies",
        title: "Identify dependencies",
        description: "Finds what a requirement depends on, blocks or conflicts with, beyond the links it has.",
        arguments: &[("requirement_id", "The requirement: REQ-001 or UUID", true)],
        subject: "requirement_id",
        kind: Kind::Requirement,
        task: "Find dependencies of {subject}: what must exist before it, what it makes possible, what it contradicts. Compare it with its siblings, its linked items and the rest of the epic shown below. Links it has already are listed; do not propose them again.",
        form: "A table: other item, relationship (depends_on, blocks, conflicts_with, refines, relates_to), reason, certainty (high / medium / low).\nThen the create_relationship calls for those of high certainty.",
        scenario: "Before planning, learn in which order the requirements of an epic can be built.",
    },
    Row {
        name: "generate_user_story",
        title: "Generate a user story",
        description: "Writes a user story for an epic from a need in plain words, without repeating stories the epic has.",
        arguments: &[
            ("epic_id", "The epic: EP-001 or UUID", true),
            ("need", "What somebody needs, in plain words", true),
            ("role", "Who needs it", false),
        ],
        subject: "epic_id",
        kind: Kind::Epic,
        task: "Write a user story for {subject} that meets this need: {need}. It is needed by: {role}. Say so instead when a story of the epic covers it already.",
        form: "Title in at most ten words.\nDescription: \"As a …, I want …, so that …\".\nTwo to five acceptance criteria.\nThen one apply_changes call that creates story and criteria.",
        scenario: "A customer said in one sentence what is missing; turn it into a story with criteria.",
    },
    Row {
        name: "decompose_epic",
        title: "Decompose an epic",
        description: "Proposes the user stories an epic still lacks, small enough to be built one by one.",
        arguments: &[
            ("epic_id", "The epic: EP-001 or UUID", true),
            ("max_stories", "How many stories at most", false),
        ],
        subject: "epic_id",
        kind: Kind::Epic,
        task: "Break {subject} down into user stories that can each be built and shown on their own. Keep the stories it has; propose what is missing, at most this many: {max_stories}. Put them in an order in which they can be built.",
        form: "A numbered list: title, \"As a …, I want …, so that …\", what it needs from earlier ones.\nThen one apply_changes call that creates them, with dry_run first.",
        scenario: "An epic is a title and two paragraphs; make a first plan of it.",
    },
    Row {
        name: "suggest_test_scenarios",
        title: "Suggest test scenarios",
        description: "Derives test scenarios from a user story, its criteria and its requirements.",
        arguments: &[("user_story_id", "The story: US-001 or UUID", true)],
        subject: "user_story_id",
        kind: Kind::UserStory,
        task: "Derive test scenarios for {subject} that together prove every acceptance criterion and every requirement listed. Include limits, wrong input, missing rights and things that happen at the same time.",
        form: "For each scenario: name, \"Given … When … Then …\", the ids it proves (AC-…, REQ-…), and whether it should be automated.\nThen a list of criteria and requirements no scenario proves, with the reason.",
        scenario: "A story is being built; agree on what will be tested before the code is there.",
    },
];
