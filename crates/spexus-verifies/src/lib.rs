//! `#[verifies("REQ-012")]`: which requirement a test shows, said beside the test.
//!
//! The attribute leaves the test exactly as it stands: nothing is linked in, nothing runs, nothing is printed. It is read from the
//! source by `spexus trace push --scan`, which joins it to the test's name in the report of nextest or libtest. What the
//! compiler adds is that a slip of the hand in the attribute is found when the test is built, and not when somebody wonders
//! why a requirement has no test.
//!
//! ```
//! use spexus_verifies::verifies;
//!
//! #[verifies("REQ-012", "REQ-013")]
//! fn adds_up() {
//!     assert_eq!(1 + 1, 2);
//! }
//! adds_up();
//! ```
//!
//! Ids are texts, and there is at least one:
//!
//! ```compile_fail
//! #[spexus_verifies::verifies()]
//! fn shows_nothing() {}
//! ```
//!
//! ```compile_fail
//! #[spexus_verifies::verifies(REQ_012)]
//! fn shows_no_text() {}
//! ```
//!
//! The crate refuses to know which requirements exist: only the server does, and it lists those that do not.

use proc_macro::{TokenStream, TokenTree};

/// Says which requirements the test below shows, by their ids.
#[proc_macro_attribute]
pub fn verifies(ids: TokenStream, item: TokenStream) -> TokenStream {
    match fault(ids) {
        None => item,
        Some(problem) => {
            let mut error: TokenStream = format!("::core::compile_error!({problem:?});")
                .parse()
                .unwrap_or_default();
            error.extend(item);
            error
        }
    }
}

/// What is wrong with the ids of an attribute.
fn fault(ids: TokenStream) -> Option<&'static str> {
    let mut is_due = true;
    let mut count = 0;
    for token in ids {
        match (&token, is_due) {
            (TokenTree::Literal(literal), true) => {
                let text = literal.to_string();
                let id = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
                if id.is_none_or(|id| id.trim().is_empty()) {
                    return Some("an id is a text in quotes, such as \"REQ-012\"");
                }
                count += 1;
            }
            (TokenTree::Punct(comma), false) if comma.as_char() == ',' => {}
            _ => {
                return Some(
                    "ids are texts in quotes with commas between them: #[verifies(\"REQ-012\", \"REQ-013\")]",
                );
            }
        }
        is_due = !is_due;
    }
    (count == 0).then_some("say which requirement the test shows: #[verifies(\"REQ-012\")]")
}
