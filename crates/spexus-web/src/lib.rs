//! The product as pages for people: what a browser shows.
//!
//! A page is a document first: links and forms that work without a script, made by one template from what one function of
//! the service answers. Handlers hold no rule: they read their input, call the service and render; a refusal is rendered in one
//! place, or beside the field it is about. Scripts are small modules of our own, served from the binary under addresses that
//! hold their hashes; they improve what is there and enable nothing.
//!
//! The decision that shaped this crate: a change on the screen is always the page itself, asked for again and morphed into
//! place, so that there is one way to render a thing and a live page can never say something else than a loaded one.
//!
//! Sign-in, limits and the middleware are those of `spexus-http`; the crate knows no SQL, no environment and no clock.

//= specs/spexus-web.md#documents
//# Every page MUST be readable, and simple edits possible, without a script.
mod admin;
mod answer;
mod asset;
mod baselines;
mod board;
mod connect;
mod document;
mod form;
mod graph;
mod home;
mod item;
mod mark;
mod markdown;
mod matrix;
mod preferences;
mod project;
mod review;
mod router;
mod saved_menu;
mod saved_view;
mod search;
mod settings;
mod shell;
mod sign_in;
mod table;
mod texts;
mod trace;
mod tree;
mod visit;
mod when;

pub use router::pages;
