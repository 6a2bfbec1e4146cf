//! Projects larger than anybody's, one property at a time: what grows with them is the time of reading them.

use crate::{line, run};
use std::fmt::Write;
use std::path::Path;

/// A quarter of the size beside the whole: linear growth is a factor of four.
const PART: usize = 4;

/// A specification and one source file.
struct Files {
    specification: String,
    source: String,
}

/// What grows, how far, how it is made, and whether the public tool comes to an end with it.
type Case = (&'static str, usize, fn(usize) -> Files, bool);

const CASES: &[Case] = &[
    ("8,000 sections of ten requirements", 8_000, sections, true),
    ("20,000 requirements in one section", 20_000, requirements, false),
    ("20,000 quotes that are missing", 20_000, missing, false),
    ("1,000,000 citations", 1_000_000, citations, true),
];

pub(crate) fn measure(scratch: &Path, tools: [Option<&Path>; 2], runs: usize) {
    for (name, size, make, is_comparable) in CASES {
        let folders = [PART, 1].map(|part| {
            let folder = scratch.join(format!("growth-{part}"));
            write(&folder, &make(size / part));
            folder
        });
        let ours = tools[0].expect("our own tool");
        let public = tools[1].filter(|_| *is_comparable);
        let (mut times, mut peaks, mut growth, mut theirs) = (vec![], vec![], vec![], vec![]);
        for _ in 0..runs {
            let (small, _) = run(ours, &folders[0], &OURS);
            let (time, peak) = run(ours, &folders[1], &OURS);
            times.push(time);
            peaks.push(peak);
            growth.push(time / small);
            theirs.extend(public.map(|public| run(public, &folders[1], &OURS[..2])));
        }
        let (public_times, public_peaks): (Vec<f64>, Vec<f64>) = theirs.into_iter().unzip();
        line(name, "ms", &times, &public_times);
        line(&format!("memory of {name}"), "MB", &peaks, &public_peaks);
        line(
            &format!("growth to {name}, four times as many"),
            "×",
            &growth,
            &[],
        );
        for folder in folders {
            std::fs::remove_dir_all(folder).unwrap();
        }
    }
}

const OURS: [&str; 3] = ["--json", "../grown.json", "--no-cache"];

fn write(folder: &Path, files: &Files) {
    let config = "'$schema' = \"https://awslabs.github.io/duvet/config/v0.4.0.json\"\n[[source]]\npattern = \"src/*.rs\"\n\
                  [[specification]]\nsource = \"spec.md\"\n[report.html]\nenabled = false\n";
    for (name, text) in [
        (".duvet/config.toml", config),
        ("spec.md", &files.specification),
        ("src/a.rs", &files.source),
    ] {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}

fn cite(source: &mut String, section: &str, quote: &str) {
    let _ = write!(source, "//= spec.md#{section}\n//# {quote}\nfn f() {{}}\n");
}

fn sections(count: usize) -> Files {
    let (mut specification, mut source) = (String::from("# S\n"), String::new());
    for section in 0..count {
        let _ = write!(specification, "\n## Part {section}\n\n");
        for number in 0..10 {
            let _ = writeln!(specification, "The part {section} MUST do {number} well.\n");
        }
        cite(
            &mut source,
            &format!("part-{section}"),
            &format!("The part {section} MUST do 7 well."),
        );
    }
    Files {
        specification,
        source,
    }
}

fn requirements(count: usize) -> Files {
    let (mut specification, mut source) = (String::from("# S\n\n## One\n\n"), String::new());
    for number in 0..count {
        let sentence = format!("The server MUST answer request {number} within its time.");
        let _ = writeln!(specification, "{sentence}\n");
        cite(&mut source, "one", &sentence);
    }
    Files {
        specification,
        source,
    }
}

fn missing(count: usize) -> Files {
    let (mut specification, mut source) = (String::from("# S\n\n## One\n\n"), String::new());
    for number in 0..count {
        let _ = writeln!(
            specification,
            "The server MUST answer request {number} within its time.\n"
        );
        cite(
            &mut source,
            "one",
            &format!("Nobody ever wrote that {number} walks on water at noon."),
        );
    }
    Files {
        specification,
        source,
    }
}

fn citations(count: usize) -> Files {
    let (mut specification, mut source) = (String::from("# S\n"), String::new());
    for section in 0..1_000 {
        let _ = write!(
            specification,
            "\n## Part {section}\n\nThe part {section} MUST do well.\n"
        );
    }
    for number in 0..count {
        let section = number % 1_000;
        cite(
            &mut source,
            &format!("part-{section}"),
            &format!("The part {section} MUST do well."),
        );
    }
    Files {
        specification,
        source,
    }
}
