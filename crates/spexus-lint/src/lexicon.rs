//! The words of the rules. A row is one phrase; a word that ends in `*` stands for all that begin so, which is how
//! Russian, with its endings, is written down.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::sentence::Language::{self, English, Russian};
use crate::token::Token;

/// Which rule a phrase belongs to, and when it counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Topic {
    Placeholder,
    Vague,
    /// Vague only as what something is: directly after `be`.
    VaguePredicate,
    /// Vague only before one of the nouns of [`PLAIN_NOUNS`].
    VagueBeforeNoun,
    Escape,
    OpenEnd,
    Quantity,
    Time,
    Unreachable,
    Absolute,
    Comparison,
    Purpose,
    WeakVerb,
    Example,
}

pub(crate) struct Phrase {
    pub(crate) topic: Topic,
    pub(crate) language: Language,
    pub(crate) words: &'static [&'static str],
}

macro_rules! phrases {
    ($($topic:ident $language:ident: $($($word:literal)+),+;)*) => {
        const PHRASES: &[Phrase] = &[$($(Phrase { topic: Topic::$topic, language: $language, words: &[$($word),+] },)+)*];
    };
}

phrases! {
    Placeholder English: "tbd", "tbc", "tbs", "todo", "fixme", "xxx", "?" "?" "?", "to" "be" "defined", "to" "be" "determined",
        "to" "be" "decided", "to" "be" "confirmed", "to" "be" "specified", "needs" "clarification", "lorem" "ipsum",
        "not" "yet" "defined", "not" "yet" "specified";
    Placeholder Russian: "tbd", "todo", "будет" "определен*", "будет" "определён*", "будут" "определен*", "будут" "определён*",
        "будет" "уточнен*", "будет" "уточнён*", "уточнить", "подлежит" "уточнению", "требует" "уточнения", "требуется" "уточнить";
    Vague English: "user-friendly", "user" "friendly", "intuitive", "intuitively", "appropriate", "appropriately", "adequate",
        "adequately", "sufficient", "sufficiently", "reasonable", "reasonably", "suitable", "suitably", "gracefully",
        "seamless", "seamlessly", "effortless", "effortlessly", "easily", "quickly", "efficiently", "effectively", "optimal",
        "optimally", "state-of-the-art", "as" "quickly" "as" "possible", "as" "fast" "as" "possible", "as" "much" "as" "possible",
        "as" "little" "as" "possible", "as" "few" "as" "possible", "as" "soon" "as" "possible", "acceptable", "satisfactory", "pleasant", "good" "performance",
        "high" "performance", "high" "quality", "easy" "to" "use", "easy" "to" "understand", "easy" "to" "read", "easy" "to" "maintain",
        "smoothly", "properly", "nicely", "user" "experience", "minimize", "minimise", "maximize", "maximise", "visually" "appealing",
        "minimal" "effort", "minimal" "delay", "minimal" "downtime", "good" "usability", "good" "readability", "modern" "look", "securely",
        "in" "a" "secure" "manner", "meaningful", "best" "practices", "industry" "standards", "large" "numbers", "large" "number",
        "high" "load", "heavy" "load", "small" "delay", "low" "latency", "slow" "connections", "slow" "connection";
    Vague Russian: "удобн*", "понятн*", "интуитивн*", "быстро", "эффективно", "надежно", "надёжно", "качественн*", "оптимальн*",
        "соответствующ*" "образом", "надлежащ*", "достаточн*", "приемлем*", "разумн*", "современн*", "своевременно", "корректно",
        "адекватн*", "гибк*", "дружественн*", "легко", "просто" "и", "плавно", "безопасно", "по" "возможности" "быстро", "максимально",
        "минимальн*" "задержк*", "высок*" "производительност*", "высок*" "нагрузк*", "больш*" "количеств*", "больш*" "объем*", "больш*" "объём*",
        "хорош*", "быстр*" "отклик*", "правильно";
    VaguePredicate English: "fast", "quick", "easy", "simple", "clear", "flexible", "scalable", "secure", "reliable", "responsive",
        "maintainable", "usable", "powerful", "extensible", "performant", "efficient", "robust", "lightweight", "convenient",
        "attractive", "friendly", "understandable", "readable", "stable", "portable", "testable", "modular", "safe", "smooth";
    VaguePredicate Russian: "быстр*", "прост*", "надежн*", "надёжн*", "безопасн*", "масштабируем*", "эффективн*", "гибк*", "стабильн*", "наглядн*";
    VagueBeforeNoun English: "fast", "quick", "easy", "simple", "clear", "flexible", "secure", "reliable", "responsive", "powerful",
        "efficient", "robust", "convenient", "attractive", "helpful", "useful", "nice", "friendly", "rich", "good", "timely",
        "actionable", "smooth";
    VagueBeforeNoun Russian: "быстр*", "прост*", "надежн*", "надёжн*", "удобн*", "эффективн*", "ясн*", "полезн*";
    Escape English: "if" "possible", "where" "possible", "when" "possible", "whenever" "possible", "as" "appropriate", "where" "appropriate",
        "when" "appropriate", "if" "appropriate", "as" "needed", "if" "needed", "when" "needed", "where" "needed", "as" "necessary",
        "if" "necessary", "when" "necessary", "where" "necessary", "as" "required", "if" "required", "if" "practical", "if" "practicable",
        "where" "practical", "where" "practicable", "as" "far" "as" "possible", "to" "the" "extent" "possible", "to" "the" "extent" "practical",
        "to" "the" "extent" "practicable", "where" "feasible", "if" "feasible", "when" "feasible", "as" "applicable", "where" "applicable", "if" "applicable", "when" "applicable",
        "normally", "generally", "typically", "ideally", "preferably", "under" "normal" "conditions", "under" "normal" "circumstances", "best" "effort" "basis",
        "on" "a" "best" "effort" "basis", "usually", "at" "its" "discretion", "in" "most" "cases";
    Escape Russian: "по" "возможности", "если" "возможно", "если" "это" "возможно", "при" "возможности", "при" "необходимости", "если" "необходимо",
        "если" "потребуется", "по" "мере" "необходимости", "как" "правило", "обычно", "желательно", "в" "большинстве" "случаев",
        "где" "это" "возможно", "где" "применимо", "если" "применимо", "в" "идеале", "насколько" "возможно", "насколько" "это" "возможно";
    OpenEnd English: "etc", "etcetera", "and" "so" "on", "and" "so" "forth", "and" "the" "like", "and" "more", "and" "others", "and" "similar",
        "but" "not" "limited" "to", "without" "limitation", "among" "others", "or" "similar", "or" "the" "like", "and" "other" "things", "and" "others" "like";
    OpenEnd Russian: "и" "так" "далее", "и" "т" "." "д", "и" "т.д", "и" "т" "." "п", "и" "т.п", "и" "тому" "подобн*", "и" "др", "и" "другие",
        "и" "прочее", "и" "пр", "но" "не" "ограничиваясь", "и" "другое", "в" "том" "числе" "но" "не" "только";
    Quantity English: "approximately", "roughly", "about", "around", "several", "a" "few", "many", "numerous", "a" "number" "of", "a" "lot" "of", "lots" "of",
        "most" "of", "a" "couple" "of", "various", "some" "of", "a" "small" "number" "of", "a" "large" "number" "of", "plenty" "of", "nearly", "almost";
    Quantity Russian: "примерно", "приблизительно", "около", "порядка", "несколько", "нескольк*", "много", "множество", "различн*", "некотор*",
        "большинство", "ряд", "почти";
    Time English: "immediately", "promptly", "eventually", "in" "real" "time", "in" "real-time", "near" "real-time", "from" "time" "to" "time", "periodically", "regularly",
        "occasionally", "frequently", "sometimes", "soon", "shortly", "rapidly", "instantly", "instantaneously", "in" "a" "timely" "manner",
        "in" "time", "without" "delay", "without" "undue" "delay", "at" "regular" "intervals", "for" "a" "while", "recently", "often",
        "within" "a" "short" "time", "in" "a" "short" "time", "long-running", "at" "some" "point";
    Time Russian: "немедленно", "незамедлительно", "сразу", "мгновенно", "в" "реальном" "времени", "периодически", "регулярно", "иногда", "часто",
        "вскоре", "в" "кратчайшие" "сроки", "без" "задержек", "без" "задержки", "время" "от" "времени", "своевременн*", "редко", "оперативно",
        "в" "ближайшее" "время";
    Unreachable English: "at" "all" "times", "under" "all" "circumstances", "under" "all" "conditions", "under" "any" "circumstances", "error-free", "bug-free", "zero" "downtime",
        "without" "any" "errors", "without" "errors", "100" "%" "available", "100" "%" "uptime", "100" "%" "availability", "100" "%" "of" "the" "time", "100" "%" "reliable",
        "100" "%" "secure", "100" "%" "accuracy", "in" "all" "situations", "any" "number" "of", "unlimited", "infinite", "no" "bugs", "never" "fail", "never" "crash", "no" "downtime";
    Unreachable Russian: "при" "любых" "условиях", "при" "любых" "обстоятельствах", "в" "любой" "ситуации", "без" "ошибок", "без" "сбоев", "безотказно", "неограниченн*",
        "в" "любой" "момент", "в" "любое" "время", "100" "%" "доступ*", "круглосуточно" "без" "перерывов", "любое" "количество", "никогда" "не" "долж*";
    Absolute English: "always", "never", "all", "every", "any", "completely", "totally", "absolutely", "only";
    Absolute Russian: "всегда", "никогда", "все", "всё", "полностью", "абсолютно", "только", "любой", "любые";
    Comparison English: "faster", "better", "quicker", "easier", "slower", "simpler", "improved", "enhanced", "optimized", "optimised", "best",
        "worse", "smarter", "cheaper", "smoother", "safer", "more" "secure", "more" "reliable", "more" "efficient", "more" "efficiently", "more" "quickly",
        "less" "memory", "less" "time", "fewer" "resources", "more" "intuitive", "more" "flexible";
    Comparison Russian: "быстрее", "лучше", "проще", "удобнее", "надежнее", "надёжнее", "эффективнее", "улучшенн*", "оптимизированн*", "медленнее",
        "более" "эффективн*", "более" "быстр*", "менее" "ресурсоемк*", "более" "удобн*", "более" "надежн*", "безопаснее";
    Purpose English: "in" "order" "to", "so" "that", "so" "as" "to", "to" "ensure" "that", "for" "the" "purpose" "of", "thereby", "thus";
    Purpose Russian: "для" "того" "чтобы", "чтобы", "с" "целью", "в" "целях", "тем" "самым";
    WeakVerb English: "support", "handle", "manage", "process", "deal" "with", "accommodate", "facilitate", "enable", "cope" "with", "take" "care" "of";
    WeakVerb Russian: "поддерживать", "обрабатывать", "управлять", "обеспечивать", "обеспечить", "осуществлять", "способствовать";
    Example English: "such" "as", "for" "example", "for" "instance", "e.g", "including", "like";
    Example Russian: "такие" "как", "таких" "как", "например", "в" "том" "числе", "включая";
}

/// What only a reader can judge: a name of these makes the adjective before it a promise without a measure.
pub(crate) const PLAIN_NOUNS: &[&str] = &[
    "access",
    "answer",
    "answers",
    "design",
    "error",
    "experience",
    "feedback",
    "guidance",
    "instructions",
    "interface",
    "layout",
    "message",
    "messages",
    "navigation",
    "performance",
    "response",
    "responses",
    "search",
    "solution",
    "ui",
    "warning",
    "way",
    "manner",
    "interaction",
    "notification",
    "notifications",
    "operation",
    "recovery",
    "documentation",
    "description",
    "descriptions",
    "explanation",
    "информация",
    "доступ",
    "интерфейс",
    "интерфейса",
    "отклик",
    "поиск",
    "поиска",
    "сообщение",
    "сообщения",
    "способ",
    "навигация",
    "навигацию",
    "работу",
    "ответ",
    "доступа",
    "интерфейсом",
];

struct Index {
    exact: HashMap<&'static str, Vec<usize>>,
    /// By their first two characters, so that few are tried for each word.
    prefixes: HashMap<[char; 2], Vec<usize>>,
}

static INDEX: LazyLock<Index> = LazyLock::new(|| {
    let mut index = Index {
        exact: HashMap::new(),
        prefixes: HashMap::new(),
    };
    for (number, phrase) in PHRASES.iter().enumerate() {
        let first = phrase.words[0];
        match first.strip_suffix('*') {
            Some(stem) => index.prefixes.entry(two_chars(stem)).or_default().push(number),
            None => index.exact.entry(first).or_default().push(number),
        }
    }
    index
});

fn two_chars(word: &str) -> [char; 2] {
    let mut chars = word.chars();
    [chars.next().unwrap_or_default(), chars.next().unwrap_or_default()]
}

/// The phrases that begin at a token, longest first of each topic.
pub(crate) fn phrases_at(
    tokens: &[Token<'_>],
    at: usize,
    language: Language,
    mut found: impl FnMut(&'static Phrase),
) {
    let index = &*INDEX;
    let word = &*tokens[at].lower;
    let exact = index.exact.get(word).map_or(&[][..], Vec::as_slice);
    let prefixes = match language {
        Russian => index
            .prefixes
            .get(&two_chars(word))
            .map_or(&[][..], Vec::as_slice),
        English => &[],
    };
    for number in exact.iter().chain(prefixes) {
        let phrase = &PHRASES[*number];
        if phrase.language == language && phrase.matches(&tokens[at..]) {
            found(phrase);
        }
    }
}

impl Phrase {
    fn matches(&self, tokens: &[Token<'_>]) -> bool {
        tokens.len() >= self.words.len()
            && self
                .words
                .iter()
                .zip(tokens)
                .all(|(word, token)| match word.strip_suffix('*') {
                    Some(stem) => token.is_word() && token.lower.starts_with(stem),
                    None => token.is(word),
                })
    }
}
