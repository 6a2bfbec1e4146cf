//! The command `duvet`.
use duvet::analysis::{Project, analyse};
use duvet::config::{Config, source_pattern};
use duvet::store::Store;
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let mut config = Config::legacy();
    let mut i = 2;
    let mut json = None;
    let mut snap = None;
    while i < args.len() {
        match args[i].as_str() {
            "--spec-pattern" => {
                config.requirements.push(args[i + 1].clone());
                i += 1;
            }
            "--source-pattern" => {
                config.sources.push(source_pattern(&args[i + 1]).unwrap());
                i += 1;
            }
            "--json" => {
                json = Some(args[i + 1].clone());
                i += 1;
            }
            "--snap" => {
                snap = Some(args[i + 1].clone());
                i += 1;
            }
            _ => {}
        }
        i += 1;
    }
    let project = Project {
        root: ".".into(),
        config,
        strict: false,
    };
    let t = std::time::Instant::now();
    let analysis = analyse(&project, &mut Store::default());
    eprintln!(
        "{} annotations {} diagnostics {:?}",
        analysis.entries.len(),
        analysis.diagnostics.len(),
        t.elapsed()
    );
    let mut c = std::collections::BTreeMap::new();
    for d in &analysis.diagnostics {
        *c.entry(d.code.name()).or_insert(0) += 1;
    }
    eprintln!("{c:?}");
    for d in analysis
        .diagnostics
        .iter()
        .filter(|d| d.severity == duvet::diagnostic::Severity::Error)
        .take(10)
    {
        eprintln!("{d:?}");
    }
    if let Some(p) = json {
        std::fs::write(p, duvet::report::json_v1::render(&analysis, Default::default())).unwrap();
    }
    if let Some(p) = snap {
        std::fs::write(p, duvet::report::snapshot::render(&analysis)).unwrap();
    }
    eprintln!("{:?}", t.elapsed());
}
