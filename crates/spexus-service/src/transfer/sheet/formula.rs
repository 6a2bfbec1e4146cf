//! Cells a spreadsheet would take for formulas. Whoever may write a title could otherwise run one on the machine of
//! whoever opens the export. An apostrophe before the cell makes it text, and reading the sheet takes it away again.

use std::borrow::Cow;

/// What makes a spreadsheet calculate.
const BEGINS_FORMULA: [char; 6] = ['=', '+', '-', '@', '\t', '\r'];

//= specs/spexus.md#transfer
//# A cell of a CSV export that a spreadsheet would take for a formula MUST be made text, and an import MUST read it as it was.
/// The cell as text.
pub fn guarded(cell: String) -> String {
    match is_formula(cell.trim_start_matches('\'')) && cell.parse::<f64>().is_err() {
        true => format!("'{cell}"),
        false => cell,
    }
}

/// The cell as it was before it was guarded.
pub(super) fn unguarded(cell: &str) -> Cow<'_, str> {
    match cell.strip_prefix('\'') {
        Some(rest) if is_formula(rest.trim_start_matches('\'')) => Cow::Owned(rest.to_owned()),
        _ => Cow::Borrowed(cell),
    }
}

fn is_formula(cell: &str) -> bool {
    cell.starts_with(BEGINS_FORMULA)
}

#[cfg(test)]
mod tests {
    use super::*;

    //= specs/spexus.md#transfer
    //= type=test
    //# A cell of a CSV export that a spreadsheet would take for a formula MUST be made text, and an import MUST read it as it was.
    #[test]
    fn a_formula_becomes_text_and_comes_back() {
        for formula in ["=1+1", "+cmd", "-x", "@SUM(A1)", "\t=1", "'=quoted", "''-twice"] {
            let cell = guarded(formula.to_owned());
            assert!(
                cell.starts_with('\'') && cell.len() == formula.len() + 1,
                "{cell}"
            );
            assert_eq!(unguarded(&cell), formula);
        }
        for plain in ["", "Title", "-5", "+1.5", "it's", "'quoted'", "a=b"] {
            assert_eq!(guarded(plain.to_owned()), plain);
            assert_eq!(unguarded(plain), plain);
        }
    }
}
