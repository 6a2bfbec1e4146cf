//! The real binary, in an empty home, as people and scripts meet it.

mod administration;
mod configuration;
mod items;
mod serving;
mod transfer;
mod world;
