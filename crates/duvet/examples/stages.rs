//! Where the time of one look goes.
#![allow(clippy::print_stdout, reason = "an example that prints")]
use duvet::analysis::{Project, analyse};
use duvet::config::{Config, source_pattern};
use duvet::store::Store;
use std::time::Instant;
fn main() {
    let mut config = Config::legacy();
    config.requirements = vec!["specs/**/*.toml".to_owned()];
    config.sources = vec![source_pattern("quic/**/*.rs").unwrap()];
    let project = Project {
        root: ".".into(),
        config,
        strict: false,
    };
    for _ in 0..3 {
        let t = Instant::now();
        let (inputs, _) = duvet::source::discover(&project.root, &project.config);
        let d = t.elapsed();
        let t = Instant::now();
        let mut store = Store::default();
        let a = analyse(&project, &mut store);
        let cold = t.elapsed();
        let t = Instant::now();
        let _b = analyse(&project, &mut store);
        let warm = t.elapsed();
        let t = Instant::now();
        let j = duvet::report::json_v1::render(&a, Default::default());
        println!(
            "discover {d:?} ({}) analyse cold {cold:?} warm {warm:?} json {:?} {}",
            inputs.len(),
            t.elapsed(),
            j.len()
        );
    }
}
