//! `duvet fix`

use crate::arguments::Fix;
use crate::{project, terminal};
use duvet::fence::Fence;
use duvet::memo::Memo;
use duvet::output;
use duvet::pipeline::analyse;
use duvet::text::counted;
use std::path::Path;

pub(crate) fn run(flags: &Fix) -> Result<bool, String> {
    let loaded = project::load(&flags.project, false)?;
    let project = &loaded.project;
    let analysis = analyse(project, &mut Memo::default());
    let is_whole = loaded.is_whole(&analysis);
    if flags.side_by_side {
        terminal::write_stdout(&duvet::fix::side_by_side(&analysis))?;
        return Ok(is_whole);
    }
    let fence = Fence::new(&project.root, &[]);
    let fixed = duvet::fix::fix(&project.root, &analysis);
    let count: usize = fixed.iter().map(|file| file.citations).sum();
    let is_shown = flags.dry_run || !flags.write;
    for file in &fixed {
        //= specs/duvet.md#fix
        //# Unless told to write, the command MUST show the difference and not write any file.
        if is_shown {
            terminal::write_stdout(&terminal::printable(&file.diff))?;
        } else {
            let path = project.root.join(Path::new(&file.file));
            let written = output::write_inside(&fence, &path, file.text.as_bytes());
            written.map_err(|e| format!("cannot write `{}`: {e}", file.file))?;
        }
    }
    let what = format!(
        "{} in {}",
        counted(count, "citation"),
        counted(fixed.len(), "file")
    );
    terminal::write_stderr(&match is_shown {
        true if count > 0 => format!("{what} would be rewritten: `duvet fix --write` writes them\n"),
        true => "nothing to rewrite\n".to_owned(),
        false => format!("{what} rewritten\n"),
    });
    Ok(is_whole)
}
