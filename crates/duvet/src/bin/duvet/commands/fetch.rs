//! `duvet fetch`
use crate::arguments::Fetch;
pub(crate) fn run(_flags: &Fetch) -> Result<bool, String> {
    Err("later".into())
}
