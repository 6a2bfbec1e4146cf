//! The present state held against a replay of the ledgers: whatever was altered, removed or added behind the history shows.
//!
//! Items, comments and links are compared, each with what the history made of it. Positions are not: siblings are numbered anew
//! without a change of their own. Nor is what the history does not tell: who a comment answers, when and by whom a row was made.

use crate::engine::{Conn, Row, params};
use crate::error::Result;
use crate::items::{self, select_items};
use crate::ledger_origin::{self, LedgerOrigin};
use crate::listing::Conditions;
use crate::state_verdict::StateVerdict;
use serde_json::{Map, Value};
use spexus_domain::Uuid;
use spexus_domain::change::{Action, INSTALLATION};
use spexus_domain::item::Item;
use std::collections::{BTreeMap, HashMap, HashSet};

/// Changes read in one step.
const STEP_ROWS: u32 = 2_000;

/// Items compared at once.
const BATCH_ITEMS: usize = 200;

/// Compares everything with the history. The connection must see one moment.
//= specs/spexus-store.md#history
//# Verification MUST find an item, a comment or a link that is not what the history made of it.
pub async fn compare(conn: &mut Conn, progress: &(dyn Fn(u64) + Sync)) -> Result<StateVerdict> {
    compare_in(conn, None, progress).await
}

/// Compares everything of one project with its history.
pub(crate) async fn compare_project(conn: &mut Conn, project_id: Uuid) -> Result<StateVerdict> {
    compare_in(conn, Some(project_id), &|_| {}).await
}

async fn compare_in(
    conn: &mut Conn,
    project: Option<Uuid>,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<StateVerdict> {
    let mut replay = Replay {
        names: names(conn).await?,
        origins: ledger_origin::all(conn).await?,
        verdict: StateVerdict::default(),
    };
    let mut folds: BTreeMap<ItemKey, ItemFolds> = BTreeMap::new();
    let mut after = ((Uuid::nil(), Uuid::nil()), i64::MIN);
    loop {
        let rows = changes_behind(conn, project, after).await?;
        for row in &rows {
            let place = (row.id("ledger")?, row.id("item_id")?);
            after = (place, row.int("seq")?);
            folds.entry(place).or_default().push(row)?;
        }
        progress(rows.len() as u64);
        let is_last = rows.len() < STEP_ROWS as usize;
        // The last item may go on in the next step.
        let open = match is_last {
            true => BTreeMap::new(),
            false => folds.split_off(&after.0),
        };
        if folds.len() >= BATCH_ITEMS || is_last {
            replay.compare_items(conn, std::mem::take(&mut folds)).await?;
        }
        folds.extend(open);
        if is_last {
            break;
        }
    }
    match project {
        None => replay.look_for_strangers(conn).await?,
        Some(project) => replay.look_for_strangers_in(conn, project).await?,
    }
    Ok(replay.verdict)
}

/// The project of an item, and the item.
type ItemKey = (Uuid, Uuid);

async fn changes_behind(
    conn: &mut Conn,
    project: Option<Uuid>,
    ((ledger, item), seq): (ItemKey, i64),
) -> Result<Vec<Row>> {
    const ALL: &str = "SELECT item_id, other_item_id, seq, ledger, number, entity, entity_id, label, action, rev, before, after, \
                       salt FROM change WHERE item_id IS NOT NULL AND (ledger, item_id, seq) > ($1, $2, $3) \
                       ORDER BY ledger, item_id, seq LIMIT $4";
    const OF_PROJECT: &str = "SELECT item_id, other_item_id, seq, ledger, number, entity, entity_id, label, action, rev, before, \
                              after, salt FROM change WHERE ledger = $1 AND item_id IS NOT NULL AND (item_id, seq) > ($2, $3) \
                              ORDER BY item_id, seq LIMIT $4";
    match project {
        None => conn.all(ALL, params![ledger, item, seq, STEP_ROWS]).await,
        Some(project) => conn.all(OF_PROJECT, params![project, item, seq, STEP_ROWS]).await,
    }
}

/// Every name each account ever had: the history tells people by the name of that day.
pub(crate) async fn names(conn: &mut Conn) -> Result<HashMap<Uuid, HashSet<String>>> {
    let mut names: HashMap<Uuid, HashSet<String>> = HashMap::new();
    let sql = "SELECT DISTINCT entity_id AS id, label AS name FROM change WHERE entity = 'user' \
               UNION SELECT id, username AS name FROM account";
    for row in &conn.all(sql, params![]).await? {
        names.entry(row.id("id")?).or_default().insert(row.text("name")?);
    }
    // Names that people had where a project came from.
    let sql = "SELECT after FROM change WHERE ledger = $1 AND entity = 'project'";
    for row in &conn.all(sql, params![INSTALLATION]).await? {
        let people = row.object("after")?.remove("people");
        let people: HashMap<Uuid, HashSet<String>> = people
            .and_then(|people| serde_json::from_value(people).ok())
            .unwrap_or_default();
        for (id, brought) in people {
            names.entry(id).or_default().extend(brought);
        }
    }
    Ok(names)
}

/// What the history made of an item, its comments and the links that begin at it.
#[derive(Default)]
struct ItemFolds(HashMap<Uuid, Fold>);

/// What the history made of one thing.
struct Fold {
    entity: String,
    label: String,
    /// The item itself, the one that is commented on, or the one a link begins at.
    item: Uuid,
    /// The place of the last change in its ledger.
    number: i64,
    target: Option<Uuid>,
    rev: i64,
    fields: Map<String, Value>,
    is_deleted: bool,
    /// Whether words were taken out of its history, so that nothing can be said of its fields.
    is_erased: bool,
}

impl ItemFolds {
    fn push(&mut self, row: &Row) -> Result<()> {
        let entity = row.text("entity")?;
        let fold = self.0.entry(row.id("entity_id")?).or_insert_with(|| Fold {
            entity,
            label: String::new(),
            item: Uuid::nil(),
            number: 0,
            target: None,
            rev: 0,
            fields: Map::new(),
            is_deleted: false,
            is_erased: false,
        });
        fold.item = row.id("item_id")?;
        fold.number = row.int("number")?;
        fold.target = row.opt_id("other_item_id")?;
        fold.rev = row.int("rev")?;
        fold.is_erased |= row.bytes("salt")?.is_empty();
        fold.label = row.text("label")?;
        let action = crate::changes::action(row)?;
        fold.is_deleted = action == Action::Deleted;
        if action == Action::Deleted {
            // The row keeps what it was.
            return Ok(());
        }
        for gone in row.object("before")?.keys() {
            fold.fields.remove(gone);
        }
        fold.fields.extend(row.object("after")?);
        Ok(())
    }
}

struct Replay {
    names: HashMap<Uuid, HashSet<String>>,
    /// Where ledgers began that did not begin here.
    origins: BTreeMap<Uuid, LedgerOrigin>,
    verdict: StateVerdict,
}

/// Something as it is at present.
struct Present {
    id: Uuid,
    item: Uuid,
    /// What an item is called, and whether the hash of its content is right.
    label: Option<String>,
    is_hashed: bool,
    /// The other end of a link.
    target: Option<Uuid>,
    /// Whether all rows of it say the same: a link of two projects has one in each.
    is_agreed: bool,
    rev: Option<i64>,
    fields: Map<String, Value>,
    is_deleted: bool,
    assignee: Option<Uuid>,
}

impl Replay {
    async fn compare_items(
        &mut self,
        conn: &mut Conn,
        mut folds: BTreeMap<ItemKey, ItemFolds>,
    ) -> Result<()> {
        let places: Vec<ItemKey> = folds.keys().copied().collect();
        for of_project in places.chunk_by(|a, b| a.0 == b.0) {
            self.compare_in_project(conn, of_project, &mut folds).await?;
        }
        Ok(())
    }

    /// Compares items of one project.
    async fn compare_in_project(
        &mut self,
        conn: &mut Conn,
        places: &[ItemKey],
        folds: &mut BTreeMap<ItemKey, ItemFolds>,
    ) -> Result<()> {
        let of_items = places.iter().filter_map(|place| folds.remove(place));
        let mut folds: HashMap<Uuid, Fold> = of_items.flat_map(|folds| folds.0).collect();
        for some in places.chunks(BATCH_ITEMS) {
            let mut present = present_items(conn, some).await?;
            present.extend(present_comments(conn, some).await?);
            present.extend(present_links(conn, some).await?);
            for one in present {
                if let Some(fold) = folds.remove(&one.id) {
                    self.verdict.compared += 1;
                    if let Some(problem) = self.difference(&fold, &one) {
                        self.verdict.note(&fold.entity, one.id, &fold.label, problem);
                    }
                }
            }
        }
        for (id, fold) in folds {
            if self.stayed_behind(conn, places[0].0, &fold).await? {
                continue;
            }
            self.verdict.compared += 1;
            let problem = "the history has it, and it is gone";
            self.verdict.note(&fold.entity, id, &fold.label, problem);
        }
        Ok(())
    }

    /// Whether it is a link into another project that was not brought here with the project it is told of in.
    async fn stayed_behind(&self, conn: &mut Conn, ledger: Uuid, fold: &Fold) -> Result<bool> {
        let came = self.origins.get(&ledger).map_or(0, |origin| origin.number);
        let (Some(target), true) = (fold.target, fold.entity == "link" && fold.number <= came) else {
            return Ok(false);
        };
        let sql = "SELECT count(*) AS n FROM item WHERE project_id = $1 AND id IN ($2, $3)";
        let row = conn.one(sql, params![ledger, fold.item, target]).await?;
        let ends = if fold.item == target { 1 } else { 2 };
        Ok(row.int("n")? < ends)
    }

    /// What is not as the history made it.
    fn difference(&self, fold: &Fold, present: &Present) -> Option<String> {
        if fold.is_deleted != present.is_deleted {
            return Some("its deletion is not as the history has it".into());
        }
        if present.item != fold.item || present.target != fold.target {
            return Some("it belongs to another item than its history".into());
        }
        if present.label.as_ref().is_some_and(|label| *label != fold.label) {
            return Some(format!("it is not called {} as the history has it", fold.label));
        }
        if present.rev.is_some_and(|rev| rev != fold.rev) {
            return Some(format!("its revision is not {} as the history has it", fold.rev));
        }
        //= specs/spexus-store.md#history
        //# Both rows of a link of two projects MUST be compared.
        if !present.is_agreed {
            return Some("its rows in the two projects are not the same".into());
        }
        if !present.is_hashed {
            return Some("the hash of its content does not fit its content".into());
        }
        if fold.is_erased {
            return None;
        }
        let all: HashSet<&String> = fold.fields.keys().chain(present.fields.keys()).collect();
        let differs = |name: &&String| match name.as_str() {
            // The ends of a link are compared by their ids, not by their names.
            "position" | "suspect" | "source" | "target" => false,
            "assignee" => !self.is_called(present.assignee, fold.fields.get("assignee")),
            name => fold.fields.get(name) != present.fields.get(name),
        };
        let mut names: Vec<&str> = all.into_iter().filter(differs).map(String::as_str).collect();
        names.sort_unstable();
        let names = names.join(", ");
        (!names.is_empty()).then(|| format!("not as the history has it: {names}"))
    }

    fn is_called(&self, person: Option<Uuid>, name: Option<&Value>) -> bool {
        match (person, name.and_then(Value::as_str)) {
            (None, None) => true,
            (Some(id), Some(name)) => self.names.get(&id).is_some_and(|names| names.contains(name)),
            _ => false,
        }
    }

    /// What is in a project without a history in its ledger.
    async fn look_for_strangers_in(&mut self, conn: &mut Conn, project: Uuid) -> Result<()> {
        const ITEMS: &str = "SELECT i.id FROM item i WHERE i.project_id = $1 AND NOT EXISTS \
            (SELECT 1 FROM change c WHERE c.ledger = $1 AND c.item_id = i.id AND c.entity_id = i.id) ORDER BY i.id";
        const COMMENTS: &str = "SELECT m.id FROM comment m WHERE m.project_id = $1 AND NOT EXISTS \
            (SELECT 1 FROM change c WHERE c.ledger = $1 AND c.item_id = m.item_id AND c.entity_id = m.id) ORDER BY m.id";
        const LINKS: &str = "SELECT l.id FROM link l WHERE l.project_id = $1 AND NOT EXISTS \
            (SELECT 1 FROM change c WHERE c.ledger = $1 AND c.item_id = l.source_id AND c.entity_id = l.id) ORDER BY l.id";
        for (entity, sql) in [("item", ITEMS), ("comment", COMMENTS), ("link", LINKS)] {
            for row in &conn.all(sql, params![project]).await? {
                self.verdict.compared += 1;
                self.verdict
                    .note(entity, row.id("id")?, "", "it is not in the history");
            }
        }
        Ok(())
    }

    /// What is there without a history, and what cannot be found by its id.
    async fn look_for_strangers(&mut self, conn: &mut Conn) -> Result<()> {
        const ITEMS: &str = "SELECT i.id FROM item i WHERE NOT EXISTS \
            (SELECT 1 FROM change c WHERE c.ledger = i.project_id AND c.item_id = i.id AND c.entity_id = i.id) ORDER BY i.id";
        const COMMENTS: &str = "SELECT m.id FROM comment m WHERE NOT EXISTS \
            (SELECT 1 FROM change c WHERE c.ledger = m.project_id AND c.item_id = m.item_id AND c.entity_id = m.id) ORDER BY m.id";
        const LINKS: &str = "SELECT l.id FROM link l WHERE NOT EXISTS \
            (SELECT 1 FROM change c WHERE c.ledger = l.source_project_id AND c.item_id = l.source_id AND c.entity_id = l.id) \
            ORDER BY l.id";
        const HALVES: &str = "SELECT l.id FROM link l WHERE l.project_id <> l.source_project_id AND (l.project_id <> l.target_project_id \
            OR NOT EXISTS (SELECT 1 FROM link o WHERE o.project_id = l.source_project_id AND o.id = l.id)) ORDER BY l.id";
        const LISTED: [(&str, &str); 3] = [
            (
                "item",
                "SELECT t.id FROM item t WHERE NOT EXISTS \
              (SELECT 1 FROM directory w WHERE w.id = t.id AND w.project_id = t.project_id) ORDER BY t.id",
            ),
            (
                "comment",
                "SELECT t.id FROM comment t WHERE NOT EXISTS \
              (SELECT 1 FROM directory w WHERE w.id = t.id AND w.project_id = t.project_id) ORDER BY t.id",
            ),
            (
                "link",
                "SELECT t.id FROM link t WHERE t.project_id = t.source_project_id AND NOT EXISTS \
              (SELECT 1 FROM directory w WHERE w.id = t.id AND w.project_id = t.project_id) ORDER BY t.id",
            ),
        ];
        const STRANGE: &str = "it is not in the history";
        const HALF: &str = "it has a row in one project only";
        const UNLISTED: &str = "it is not listed in its project";
        let mut questions = vec![
            ("item", ITEMS, STRANGE),
            ("comment", COMMENTS, STRANGE),
            ("link", LINKS, STRANGE),
            ("link", HALVES, HALF),
        ];
        questions.extend(LISTED.map(|(entity, sql)| (entity, sql, UNLISTED)));
        for (entity, sql, problem) in questions {
            for row in &conn.all(sql, params![]).await? {
                self.verdict.compared += i64::from(problem == STRANGE);
                self.verdict.note(entity, row.id("id")?, "", problem);
            }
        }
        Ok(())
    }
}

/// The conditions of what stands in one project, at some of its items.
fn among(project: &str, column: &str, places: &[ItemKey]) -> Conditions {
    let mut query = Conditions::default();
    query.among(project, places.first().map(|(project, _)| *project));
    query.among(column, places.iter().map(|(_, item)| *item));
    query
}

async fn present_items(conn: &mut Conn, places: &[ItemKey]) -> Result<Vec<Present>> {
    let query = among("i.project_id", "i.id", places);
    let sql = format!("{} WHERE {}", select_items!("", ""), query.text());
    let rows = conn.all(sql, query.params).await?;
    let present = |row: &Row| {
        let item = items::item(row)?;
        let hash = Item::hash(
            &item.title,
            &item.description,
            item.requirement_type.as_deref(),
            &item.attributes,
        );
        Ok(Present {
            id: item.id,
            item: item.id,
            label: Some(item.reference_id.to_string()),
            is_hashed: hash == item.content_hash,
            target: None,
            is_agreed: true,
            rev: Some(item.rev),
            fields: item.fields(),
            is_deleted: item.deleted_at.is_some(),
            assignee: item.assignee.map(|person| person.id),
        })
    };
    rows.iter().map(present).collect()
}

async fn present_comments(conn: &mut Conn, places: &[ItemKey]) -> Result<Vec<Present>> {
    let query = among("project_id", "item_id", places);
    let sql = format!(
        "SELECT id, item_id, content, resolved, rev, deleted_at FROM comment WHERE {}",
        query.text()
    );
    let rows = conn.all(sql, query.params).await?;
    let present = |row: &Row| {
        let fields = [
            ("content".to_owned(), row.text("content")?.into()),
            ("resolved".to_owned(), row.flag("resolved")?.into()),
        ];
        Ok(Present {
            id: row.id("id")?,
            item: row.id("item_id")?,
            label: None,
            is_hashed: true,
            target: None,
            is_agreed: true,
            rev: Some(row.int("rev")?),
            fields: fields.into_iter().collect(),
            is_deleted: row.opt_int("deleted_at")?.is_some(),
            assignee: None,
        })
    };
    rows.iter().map(present).collect()
}

/// The columns of a link that both its rows have in common.
const SHARED: [&str; 12] = [
    "type",
    "source_project_id",
    "source_id",
    "target_project_id",
    "target_id",
    "source_hash",
    "target_hash",
    "rev",
    "created_by",
    "created_at",
    "deleted_at",
    "deletion_id",
];

async fn present_links(conn: &mut Conn, places: &[ItemKey]) -> Result<Vec<Present>> {
    let query = among("l.project_id", "l.source_id", places);
    let same = SHARED.map(|name| format!("o.{name} IS NOT DISTINCT FROM l.{name}"));
    let sql = format!(
        "SELECT l.id, l.type, l.source_id, l.target_id, l.deleted_at, CAST(CASE WHEN l.target_project_id = l.project_id \
         OR (o.id IS NOT NULL AND {}) THEN 1 ELSE 0 END AS BIGINT) AS agreed FROM link l LEFT JOIN link o ON o.project_id = l.target_project_id \
         AND o.id = l.id WHERE {} AND l.source_project_id = l.project_id",
        same.join(" AND "),
        query.text()
    );
    let rows = conn.all(sql, query.params).await?;
    let present = |row: &Row| {
        let fields = [("type".to_owned(), row.text("type")?.into())];
        Ok(Present {
            id: row.id("id")?,
            item: row.id("source_id")?,
            label: None,
            is_hashed: true,
            target: Some(row.id("target_id")?),
            is_agreed: row.int("agreed")? == 1,
            rev: None,
            fields: fields.into_iter().collect(),
            is_deleted: row.opt_int("deleted_at")?.is_some(),
            assignee: None,
        })
    };
    rows.iter().map(present).collect()
}
