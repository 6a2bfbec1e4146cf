//! The table: any filter, columns, order and groups, all of which stand in the address; at most 200 rows at a time, with the way
//! to the next ones. A cell is edited where it stands; several rows are changed together, after a preview, in one transaction.

mod cell;
mod column;
pub(crate) mod edit;
pub(crate) mod form;
pub(crate) mod page;
mod query;
mod rows;
pub(crate) mod undo;

pub(crate) use column::Field;
pub(crate) use rows::known_values;
