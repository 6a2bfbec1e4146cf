//! The sheet of keys.

use crate::answer::{Answer, html};
use crate::shell::Shell;
use crate::texts::Texts;
use crate::visit::Visit;
use askama::Template;

#[derive(Template)]
#[template(path = "keys.html")]
struct KeysPage {
    shell: Shell,
    groups: Vec<(&'static str, Vec<Row>)>,
}

/// Keys, and what they do.
struct Row {
    keys: Vec<&'static str>,
    words: String,
}

/// All keys.
pub(crate) async fn page(visit: Visit) -> Answer {
    html(&KeysPage {
        shell: visit.shell(visit.texts().all_keys),
        groups: groups(visit.texts()),
    })
}

fn groups(t: &Texts) -> Vec<(&'static str, Vec<Row>)> {
    let row = |keys: &[&'static str], words: &str| Row {
        keys: keys.to_vec(),
        words: words.to_owned(),
    };
    vec![
        (
            t.keys_anywhere,
            vec![
                row(&["Ctrl K"], t.search_or_command),
                row(&["/"], t.search),
                row(&["?"], t.all_keys),
                row(&["g h"], t.home),
                row(&["g d"], t.document),
                row(&["g t"], t.tree),
                row(&["g b"], t.board),
                row(&["g l"], t.table),
                row(&["g m"], t.matrix),
                row(&["g n"], t.graph),
                row(&["g r"], t.reviews),
            ],
        ),
        (
            t.keys_rows,
            vec![
                row(&["j", "k"], t.key_next),
                row(&["Enter"], t.open_item),
                row(&["x", "J", "K"], t.key_select),
                row(&["e"], t.key_edit),
                row(&["s", "p", "t", "a"], t.key_fields),
                row(&["c"], t.key_create),
                row(&["l"], t.key_link),
                row(&["f"], t.filter),
                row(&["z"], t.undo),
                row(&["n"], t.next_page),
            ],
        ),
        (
            t.keys_cell,
            vec![
                row(&["F2"], t.key_edit),
                row(&["Enter"], t.save),
                row(&["Tab"], t.key_next_cell),
                row(&["Esc"], t.leave_it),
                row(&["Ctrl D"], t.key_fill),
                row(&["Ctrl V"], t.paste_column),
            ],
        ),
        (
            t.tree,
            vec![
                row(&["→", "←"], t.open_or_close),
                row(&["Alt ↑", "Alt ↓"], t.move_node),
                row(&["v"], t.key_move),
            ],
        ),
    ]
}
