//! The engine between two changes.

use crate::corpora::s2n_quic;
use crate::scratch::Scratch;
use duvet::citation::Kind;
use duvet::engine::{Engine, Lookup};
use duvet::file_watcher::FileWatcher;
use duvet::specification::keyword::Level;
use duvet::status::Status;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use test_support::corpora;

const CONFIG: &str = "'$schema' = \"https://awslabs.github.io/duvet/config/v0.4.0.json\"\n[[source]]\npattern = \"src/**/*.rs\"\n[[specification]]\nsource = \"specs/x.md\"\n";

fn engine(scratch: &Scratch) -> Engine {
    Engine::of_folder(scratch.root().to_owned(), Box::new(|_| None), SystemTime::now)
}

fn project() -> Scratch {
    let specification = "# X\n\n## A\n\nIt MUST a. It MUST b.\n\n## B\n\nIt MUST a.\n";
    Scratch::new(&[
        (".duvet/config.toml", CONFIG),
        ("specs/x.md", specification),
        ("src/a.rs", ""),
        ("src/b.rs", ""),
    ])
}

// proves 004 §6c
//= specs/duvet.md#freshness
//= type=test
//# Every answer MUST come from a snapshot whose inputs were checked for that answer, files that did not exist
//# before included.
#[test]
fn every_look_is_fresh_and_reads_only_what_changed() {
    let scratch = project();
    let mut engine = engine(&scratch);
    let first = engine.snapshot();
    assert_eq!(first.analysis.requirements.len(), 3);
    assert!(
        Arc::ptr_eq(&first, &engine.snapshot()),
        "nothing changed, so nothing is built"
    );

    scratch.write("src/a.rs", "//= specs/x.md#a\n//# It MUST a.\n");
    let second = engine.snapshot();
    assert_eq!((second.files_read, second.analysis.citations().count()), (1, 1));
    assert_ne!(first.id, second.id);
    let changed = second.changed_since(&first);
    assert_eq!(changed, [second.requirement_ids[0].clone()]);

    scratch.write("src/new.rs", "//= specs/x.md#b\n//# It MUST a.\n");
    assert_eq!(
        engine.snapshot().analysis.citations().count(),
        2,
        "a file that did not exist before"
    );
    scratch.write("specs/x.md", "# X\n\n## A\n\nIt MUST c.\n");
    let third = engine.snapshot();
    assert_eq!(
        third.analysis.requirements.len(),
        1,
        "a specification that changed"
    );
    assert!(third.analysis.diagnostics.len() >= 2);
    std::fs::remove_file(scratch.path("src/new.rs")).unwrap();
    assert_eq!(
        engine.snapshot().analysis.citations().count(),
        1,
        "a file that is gone"
    );
    scratch.write(".duvet/config.toml", "broken");
    assert!(
        !engine.snapshot().analysis.diagnostics.is_empty(),
        "a configuration that broke"
    );
}

#[test]
fn equal_inputs_give_the_equal_snapshot_id() {
    let (one, two) = (project(), project());
    assert_eq!(engine(&one).snapshot().id, engine(&two).snapshot().id);
}

//= specs/duvet.md#identity
//= type=test
//# The hash of the text alone is an alias which MAY mean several requirements, and a unique prefix of either is
//# accepted.
#[test]
fn requirements_are_found_by_id_text_hash_and_prefix() {
    let scratch = project();
    let snapshot = engine(&scratch).snapshot();
    for (index, id) in snapshot.requirement_ids.iter().enumerate() {
        assert_eq!(snapshot.find(id), Lookup::One(index));
        assert_eq!(snapshot.find(&id[..10]), Lookup::One(index));
    }
    let twice = duvet::identity::text_hash("It MUST a.");
    assert_eq!(snapshot.find(&twice), Lookup::Several(vec![0, 2]));
    assert_eq!(
        snapshot.find(&duvet::identity::text_hash("It MUST b.")),
        Lookup::One(1)
    );
    assert_eq!(
        (snapshot.find("zz"), snapshot.find("")),
        (Lookup::Unknown, Lookup::Unknown)
    );
}

//= specs/duvet.md#priority
//= type=test
//# The order of priority MUST be total and stable: level, status, number of todos, specification, section, position.
#[test]
fn priorities_of_a_real_project_are_those_of_the_catalogue() {
    let Some(corpora) = corpora() else { return };
    let mut engine = Engine::new(s2n_quic(&corpora.join("s2n-quic")), SystemTime::now);
    let snapshot = engine.snapshot();
    let order = snapshot.by_priority();
    assert_eq!(order.len(), 811);
    let requirement = |index: usize| &snapshot.analysis.requirements[index];
    let first = requirement(order[0]);
    assert_eq!(
        (first.level, first.coverage.status()),
        (Level::Must, Status::PartiallyImplemented)
    );
    let started = |index: &&usize| {
        let r = requirement(**index);
        (r.level, r.coverage.status()) == (Level::Must, Status::PartiallyImplemented)
    };
    let most = order
        .iter()
        .filter(started)
        .map(|i| snapshot.todos(requirement(*i)))
        .max()
        .unwrap();
    assert!(most > 0 && snapshot.todos(first) == most);
    let again = Engine::new(s2n_quic(&corpora.join("s2n-quic")), SystemTime::now).snapshot();
    assert_eq!(order, again.by_priority());
    let uncited = snapshot
        .analysis
        .requirements
        .iter()
        .filter(|r| r.coverage.is_uncited())
        .count();
    assert_eq!(uncited, 220);
    assert!(
        snapshot
            .analysis
            .citations()
            .any(|(_, entry)| entry.annotation().kind == Kind::Todo)
    );
}

#[test]
fn a_watch_rings_for_inputs_and_not_for_our_own_outputs() {
    let scratch = project();
    let watch = FileWatcher::new(scratch.root()).unwrap();
    let mut seen = 0;
    scratch.write("src/a.rs", "// changed\n");
    assert!(watch.wait(&mut seen, Duration::from_secs(5)));
    scratch.write(".duvet/cache/x", "y");
    scratch.write(".duvet/reports/x", "y");
    while watch.wait(&mut seen, Duration::from_millis(200)) {}
    scratch.write(".duvet/reports/x", "z");
    assert!(!watch.wait(&mut seen, Duration::from_millis(300)));
}
