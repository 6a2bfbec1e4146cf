//! The rules: one row each, with its number, what it is for, an example of both kinds, and the function that judges.
//!
//! A number never changes its meaning. Hundreds are tiers: L0 errors, L1 warnings, L2 information, L3 what only a set of
//! texts shows.

use crate::finding::{Advice, Edit, Finding, Tier};
use crate::glossary::Glossary;
use crate::rules::{numbers, structure, wording};
use crate::sentence::Sentence;
use crate::token::Span;

/// A rule of language.
pub struct Rule {
    /// `L101`; never given to another rule.
    pub number: &'static str,
    /// `vague-term`, for people and settings.
    pub name: &'static str,
    /// How much a finding matters.
    pub tier: Tier,
    /// Why it is a rule.
    pub reason: &'static str,
    /// A sentence without the fault.
    pub good: &'static str,
    /// The sentence with it.
    pub bad: &'static str,
    pub(crate) judge: Judge,
}

pub(crate) enum Judge {
    /// One sentence at a time.
    Sentence(fn(&Sentence<'_>, &mut Reporter<'_>)),
    /// A whole set of texts: `set.rs`.
    Set,
}

/// Where a rule puts what it finds.
pub(crate) struct Reporter<'r> {
    pub(crate) rule: &'static Rule,
    pub(crate) glossary: &'r Glossary,
    pub(crate) found: &'r mut Vec<Finding>,
}

impl Reporter<'_> {
    pub(crate) fn ask(&mut self, span: Span, message: impl Into<String>, question: impl Into<String>) {
        self.push(span, message.into(), Advice::Question(question.into()));
    }

    pub(crate) fn fix(
        &mut self,
        span: Span,
        message: impl Into<String>,
        replace: Span,
        by: impl Into<String>,
    ) {
        let edit = Edit {
            span: replace,
            replacement: by.into(),
        };
        self.push(span, message.into(), Advice::Fix(edit));
    }

    fn push(&mut self, span: Span, message: String, advice: Advice) {
        self.found.push(Finding {
            rule: self.rule.number,
            name: self.rule.name,
            tier: self.rule.tier,
            message,
            span,
            advice,
        });
    }
}

/// The rule of a number or a name.
pub fn rule(number_or_name: &str) -> Option<&'static Rule> {
    RULES
        .iter()
        .find(|rule| rule.number.eq_ignore_ascii_case(number_or_name) || rule.name == number_or_name)
}

macro_rules! rules {
    ($($number:ident $name:literal $tier:ident $judge:expr; $reason:literal; good $good:literal; bad $bad:literal;)*) => {
        /// All of them, by number.
        pub static RULES: &[Rule] = &[$(Rule {
            number: stringify!($number),
            name: $name,
            tier: Tier::$tier,
            reason: $reason,
            good: $good,
            bad: $bad,
            judge: $judge,
        },)*];
    };
}

use Judge::{Sentence as One, Set};

rules! {
    L001 "placeholder" Error One(wording::placeholder);
        "What is still to be decided cannot be built or tested.";
        good "The importer shall refuse files above 20 MB.";
        bad "The importer shall refuse files above TBD MB.";
    L002 "empty-response" Error One(structure::empty_response);
        "An obligation without a response demands nothing.";
        good "When the export ends, the service shall send one e-mail.";
        bad "When the export ends, the service shall.";
    L003 "impossible-range" Error One(numbers::impossible_range);
        "No value lies in a range whose lower end is above its upper end.";
        good "The valve shall open at between 4 bar and 6 bar.";
        bad "The valve shall open at between 6 bar and 4 bar.";
    L004 "merge-marker" Error One(structure::merge_marker);
        "A mark of an unfinished merge means that two versions of the text stand side by side.";
        good "The service shall keep logs for 30 days.";
        bad "<<<<<<< HEAD The service shall keep logs for 30 days.";
    L101 "vague-term" Warning One(wording::vague);
        "A word everybody reads differently cannot be tested. Say the measure, or what is seen.";
        good "The page shall show the list within 300 ms.";
        bad "The page shall show the list quickly.";
    L102 "escape-clause" Warning One(wording::escape);
        "A clause that lets the builder off makes the obligation a wish. Say the condition, or leave it out.";
        good "If the network is down, the client shall keep the draft on disk.";
        bad "The client shall, where possible, keep the draft on disk.";
    L103 "open-end" Warning One(wording::open_end);
        "A list without an end is never finished. Name all of it, or name the rule that decides.";
        good "The export shall hold title, body and status.";
        bad "The export shall hold title, body, etc.";
    L104 "vague-quantity" Warning One(wording::quantity);
        "A quantity nobody can count cannot be tested.";
        good "The page shall show the 10 newest entries.";
        bad "The page shall show several new entries.";
    L105 "number-without-unit" Warning One(numbers::number_without_unit);
        "A limit without a unit is read in whatever unit the reader has in mind.";
        good "The server shall answer within 5 s.";
        bad "The server shall answer within 5.";
    L106 "several-obligations" Warning One(structure::several_obligations);
        "Two obligations in one sentence cannot be accepted, traced or dropped one by one.";
        good "The gateway shall log the call.";
        bad "The gateway shall log the call and shall notify the owner.";
    L107 "missing-actor" Warning One(structure::missing_actor);
        "Where nobody is named, nobody builds it. Say which part of the system acts.";
        good "The vault shall encrypt backups.";
        bad "Backups shall be encrypted.";
    L108 "and-or" Warning One(structure::and_or);
        "Two readings, one of which is wrong. Say both, or either.";
        good "The report shall name the author, the reviewer, or both.";
        bad "The report shall name the author and/or the reviewer.";
    L109 "indefinite-time" Warning One(wording::time);
        "Without a time, late and on time are the same.";
        good "The alarm shall sound within 200 ms.";
        bad "The alarm shall sound immediately.";
    L110 "comparison-without-reference" Warning One(wording::comparison);
        "A comparison needs what it compares with.";
        good "The new index shall answer in half the time of version 2.";
        bad "The new index shall be faster.";
    L111 "unreachable-absolute" Warning One(wording::unreachable);
        "What nothing real can keep is not kept. Say the share, the period or the limit.";
        good "The service shall be available 99.9 % of each month.";
        bad "The service shall be available at all times.";
    L112 "mixed-conditions" Warning One(structure::mixed_conditions);
        "With `and` and `or` in one condition readers group them differently.";
        good "When both A and B are set, the pump shall stop.";
        bad "When A is set and B is set or C is set, the pump shall stop.";
    L113 "double-negation" Warning One(structure::double_negation);
        "Two negations are read as one, or as none.";
        good "The parser shall accept empty lines.";
        bad "The parser shall not refuse to skip no empty lines.";
    L114 "repeated-word" Warning One(wording::repeated);
        "A slip of the pen.";
        good "The user shall confirm the change.";
        bad "The the user shall confirm the change.";
    L115 "negated-all" Warning One(structure::negated_all);
        "It can mean none of them, or not each of them.";
        good "No guest shall see drafts.";
        bad "All guests shall not see drafts.";
    L116 "wrong-term" Warning One(wording::wrong_term);
        "The project's glossary has another word for it, and one thing has one word.";
        good "The operator shall confirm the alarm.";
        bad "The admin guy shall confirm the alarm.";
    L201 "joined-actions" Information One(structure::joined_actions);
        "Two actions in one response are often two requirements.";
        good "The editor shall save the draft.";
        bad "The editor shall save the draft and close the window.";
    L202 "pronoun" Information One(wording::pronoun);
        "A pronoun points at what the reader takes it to point at.";
        good "When the user opens a draft, the editor shall lock the draft.";
        bad "When the user opens a draft, the editor shall lock it.";
    L203 "passive-voice" Information One(structure::passive);
        "The active voice names who acts.";
        good "The scheduler shall start the job.";
        bad "The job shall be started by the scheduler.";
    L204 "able-to" Information One(wording::able_to);
        "The ability is shown by the act; the shorter sentence says the same.";
        good "The client shall export drafts.";
        bad "The client shall be able to export drafts.";
    L205 "weak-verb" Information One(wording::weak_verb);
        "The verb does not say what is seen when it is done.";
        good "The parser shall report each malformed row with its line.";
        bad "The parser shall handle malformed rows.";
    L206 "weak-obligation" Information One(structure::weak_obligation);
        "`should`, `may` and `will` leave open whether it must be built.";
        good "The client shall retry three times.";
        bad "The client should retry three times.";
    L207 "negation" Information One(structure::negation);
        "What must not happen is harder to test than what happens instead.";
        good "The form shall accept 1 to 80 characters.";
        bad "The form shall not accept more than 80 characters.";
    L208 "purpose" Information One(wording::purpose);
        "A reason belongs beside the requirement, where it demands nothing.";
        good "The cache shall keep 1,000 entries.";
        bad "The cache shall keep 1,000 entries in order to save requests.";
    L209 "parentheses" Information One(structure::parentheses);
        "It is unclear whether what stands in parentheses binds.";
        good "The log shall use UTC.";
        bad "The log shall use UTC (not local time).";
    L210 "absolute" Information One(wording::absolute);
        "Each exception breaks it; ask whether there is none.";
        good "The service shall log each refused sign-in.";
        bad "The service shall always log refused sign-ins.";
    L211 "slash" Information One(structure::slash);
        "A stroke between words is and, or, or per.";
        good "The operator or the owner shall confirm.";
        bad "The operator/owner shall confirm.";
    L212 "no-obligation" Information One(structure::no_obligation);
        "Without `shall` or its kin it is unclear whether the sentence demands or explains.";
        good "The client shall show the balance.";
        bad "The client shows the balance.";
    L213 "example" Information One(wording::example);
        "Examples leave open whether the rest is demanded too.";
        good "The import shall accept CSV and JSON.";
        bad "The import shall accept formats such as CSV.";
    L301 "near-duplicate" Warning Set;
        "What is said twice is changed once.";
        good "One requirement, and a link to it.";
        bad "Two requirements that differ in a word or two.";
    L302 "two-units" Warning Set;
        "One quantity in two units is one mistake of conversion away from a fault.";
        good "Session timeout of 30 min, in both.";
        bad "Session timeout of 30 min here, of 1,800 s there.";
    L303 "contradicting-numbers" Error Set;
        "For the same actor, condition and response two numbers cannot both hold.";
        good "The server shall answer within 2 s.";
        bad "The server shall answer within 2 s; and elsewhere: The server shall answer within 3 s.";
}
