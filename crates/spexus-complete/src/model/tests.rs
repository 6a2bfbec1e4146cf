use super::super::words::tokens;
use super::*;

const TEXTS: [&str; 5] = [
    "The system shall answer within one second.",
    "The system shall log every request.",
    "The system shall refuse an empty title.",
    "The user shall see every request.",
    "The system may answer later.",
];

fn taught() -> (Model, Vec<Learned>) {
    let mut model = Model::default();
    let learned = TEXTS.iter().map(|text| model.learn(&tokens(text))).collect();
    (model, learned)
}

fn first(model: &Model, text: &str) -> Option<Arc<str>> {
    model.next(&tokens(text), 1).remove(0).token
}

#[test]
fn what_came_next_most_often_is_the_likeliest() {
    let (model, _) = taught();
    assert_eq!(first(&model, "The system").as_deref(), Some(" shall"));
    assert_eq!(first(&model, "").as_deref(), Some("The"));
    assert_eq!(
        first(&model, "The system shall log every").as_deref(),
        Some(" request")
    );
    assert_eq!(
        first(&model, "The user shall see every request.").as_deref(),
        None,
        "the end"
    );
    // A history nobody wrote is shortened until it is known.
    assert_eq!(
        first(&model, "Unheard of: the pump system").as_deref(),
        Some(" shall")
    );
}

#[test]
fn the_chances_of_all_words_add_up_to_one() {
    let (model, _) = taught();
    for text in ["", "The", "The system shall", "Never written", "every request."] {
        let known: f64 = model.next(&tokens(text), usize::MAX).len() as f64;
        assert!(known > 0.0);
        let before = tokens(text);
        let words = model.words[2..].iter().map(|word| Some(&**word));
        let sum: f64 = words
            .chain([None])
            .map(|next| model.probability(&before, next))
            .sum();
        // One share is left for a word that was never seen.
        let unseen = model.probability(&before, Some("xyzzy"));
        assert!((sum + unseen - 1.0).abs() < 1e-9, "{text}: {sum} + {unseen}");
        assert!(unseen > 0.0);
    }
}

#[test]
fn a_forgotten_text_leaves_no_trace() {
    let (model, _) = taught();
    let (mut changed, mut learned) = taught();
    let extra = changed.learn(&tokens("The system shall answer within two seconds."));
    changed.forget(&extra);
    changed.forget(&learned.remove(1));
    changed.learn(&tokens(TEXTS[1]));
    assert_eq!(changed.tokens(), model.tokens());
    for text in ["The system shall", "answer within", ""] {
        // Words once seen keep their number, so the share of the unseen differs a little; nothing else does.
        let (a, b) = (model.next(&tokens(text), 3), changed.next(&tokens(text), 3));
        let texts = |all: &[Prediction]| all.iter().map(|one| one.token.clone()).collect::<Vec<_>>();
        assert_eq!(texts(&a), texts(&b), "{text}");
        assert!((a[0].probability - b[0].probability).abs() < 0.01);
    }
    let counts = |model: &Model| {
        model
            .levels
            .each_ref()
            .map(|level| (level.nodes.len(), level.counts))
    };
    assert_eq!(counts(&changed), counts(&model));
}

#[test]
fn an_empty_model_knows_nothing_and_does_not_fall_over() {
    let model = Model::default();
    assert!(model.next(&["a"], 5).is_empty());
    assert!(model.probability(&[], Some("a")) > 0.0);
}
