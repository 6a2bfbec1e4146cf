//! `duvet fix`

use crate::arguments::Fix;
use crate::{project, terminal};
use duvet::analysis::analyse;
use duvet::source::{Reading, discover};
use duvet::store::Store;
use std::path::Path;

pub(crate) fn run(flags: &Fix) -> Result<bool, String> {
    let loaded = project::load(&flags.project, false)?;
    let project = &loaded.project;
    let analysis = analyse(project, &mut Store::default());
    let (inputs, _) = discover(&project.root, &project.config);
    let reading = |file: &str| {
        inputs
            .iter()
            .find(|input| &*input.name == file)
            .map(|input| Reading::clone(&input.reading))
    };
    let fixed = duvet::fix::fix(&project.root, &analysis, &reading);
    let count: usize = fixed.iter().map(|file| file.citations).sum();
    for file in &fixed {
        //= specs/duvet.md#fix
        //# A dry run MUST NOT write any file.
        if flags.dry_run {
            print!("{}", file.diff);
        } else {
            terminal::write(
                &project.root.join(Path::new(&file.file)),
                file.text.as_bytes(),
                true,
            )?;
        }
    }
    let verb = if flags.dry_run {
        "would be rewritten"
    } else {
        "rewritten"
    };
    eprintln!("{count} citations in {} files {verb}", fixed.len());
    Ok(true)
}
