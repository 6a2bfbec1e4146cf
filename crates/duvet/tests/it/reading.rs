//! What an answer costs by the number of files it reads, which is the same on every machine.

use crate::scratch::Scratch;
use duvet::engine::Engine;
use std::sync::Arc;
use std::time::SystemTime;

const CONFIG: &str = "'$schema' = \"https://awslabs.github.io/duvet/config/v0.4.0.json\"\n[[source]]\npattern = \"src/**/*.rs\"\n[[specification]]\nsource = \"specs/x.md\"\n";

fn project(files: usize) -> Scratch {
    let scratch = Scratch::new(&[
        (".duvet/config.toml", CONFIG),
        ("specs/x.md", "# X\n\n## A\n\nIt MUST a.\n"),
    ]);
    for number in 0..files {
        let text = format!("//= specs/x.md#a\n//# It MUST a.\nfn f{number}() {{}}\n");
        scratch.write(&format!("src/f{number}.rs"), text);
    }
    scratch
}

// proves 004 §6c
#[test]
fn the_second_answer_reads_nothing_and_one_after_a_change_reads_what_changed() {
    for files in [10, 600] {
        let scratch = project(files);
        let mut engine = Engine::of_folder(scratch.root().to_owned(), Box::new(|_| None), SystemTime::now);
        let first = engine.snapshot();
        // The specification is read as well.
        assert_eq!(
            (first.files_read, first.analysis.citations().count()),
            (files + 1, files)
        );
        for _ in 0..3 {
            assert!(
                Arc::ptr_eq(&first, &engine.snapshot()),
                "answered from what is known"
            );
        }
        scratch.write(
            "src/f7.rs",
            "//= specs/x.md#a\n//# It MUST a.\n//= specs/x.md#a\n//# It MUST a.\n",
        );
        let after = engine.snapshot();
        assert_eq!(
            (after.files_read, after.analysis.citations().count()),
            (1, files + 1),
            "one of {files} changed"
        );
        assert!(Arc::ptr_eq(&after, &engine.snapshot()));
    }
}
