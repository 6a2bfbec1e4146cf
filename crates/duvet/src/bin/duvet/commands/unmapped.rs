//! `duvet unmapped`

use crate::arguments::Unmapped;
use crate::{project, terminal};
use duvet::memo::Memo;
use duvet::pipeline::analyse;
use duvet::source::{Reading, discover};

pub(crate) fn run(flags: &Unmapped) -> Result<bool, String> {
    let loaded = project::load(&flags.project, false)?;
    let project = &loaded.project;
    if project.config.sources.is_empty() && loaded.diagnostics.is_empty() {
        return Err("no sources are configured here; name them in `[[source]]`".to_owned());
    }
    let analysis = analyse(project, &mut Memo::default());
    let is_whole = loaded.is_whole(&analysis);
    let found = discover(&project.root, &project.config);
    let names: Vec<(&str, &Reading)> = found
        .inputs
        .iter()
        .map(|input| (&*input.name, &*input.reading))
        .collect();
    let files = duvet::unmapped::unmapped(&project.root, &names, &analysis);
    let (all, lonely) = files.iter().fold((0, 0), |(all, lonely), file| {
        (all + file.functions, lonely + file.unmapped.len())
    });
    if flags.json {
        let answer = serde_json::json!({ "functions": all, "unmapped": lonely, "files": files });
        terminal::write_stdout(&terminal::json(&answer))?;
        return Ok(is_whole);
    }
    for file in &files {
        for function in &file.unmapped {
            let (name, file) = (
                terminal::printable(&function.name),
                terminal::printable(&file.file),
            );
            terminal::write_stdout(&format!("{file}:{}: {name}\n", function.line))?;
        }
    }
    terminal::write_stderr(&format!("{lonely} of {all} functions cite nothing\n"));
    Ok(is_whole)
}
