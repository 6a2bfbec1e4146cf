//! One file per command. Each gives whether the run passed, or why it could not run at all.

pub(crate) mod extract;
pub(crate) mod fetch;
pub(crate) mod fix;
pub(crate) mod init;
pub(crate) mod mcp;
pub(crate) mod merge;
pub(crate) mod query;
pub(crate) mod report;
pub(crate) mod unmapped;
