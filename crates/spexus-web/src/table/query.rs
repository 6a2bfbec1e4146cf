//! What a table shows, as it stands in its address.

use super::column::{Column, Field};
use crate::form;
use serde::Deserialize;
use spexus_domain::{Kind, Ruled};
use spexus_service::item::ItemQuery;

/// The order when nothing else is asked for.
pub(super) const USUAL_ORDER: &str = "created_at";

/// Rows of a page when nothing else is asked for.
const DEFAULT_ROWS: u32 = 100;

/// Everything a table is asked for. Several values of a filter are separated by commas.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TableQuery {
    /// The name of a kind, or `all`; requirements when left out.
    pub(super) kind: Option<String>,
    pub(super) status: Option<String>,
    pub(super) priority: Option<String>,
    #[serde(rename = "type")]
    pub(super) requirement_type: Option<String>,
    /// A user name, `me` or `none`.
    pub(super) owner: Option<String>,
    /// What contains the items, at any depth.
    pub(super) under: Option<String>,
    /// Words, as search takes them.
    pub(super) query: Option<String>,
    /// Names of columns.
    pub(super) columns: Option<String>,
    /// As lists take it: a field, with a leading `-` the other way round.
    pub(super) sort: Option<String>,
    /// The field whose values make the groups.
    pub(super) group: Option<String>,
    pub(super) limit: Option<u32>,
    pub(super) cursor: Option<String>,
    /// The cell that is open: `REQ-012.status`.
    pub(super) edit: Option<String>,
    /// What was done last, to be undone: `status:REQ-001@4,REQ-002@7`.
    pub(super) undo: Option<String>,
}

impl TableQuery {
    /// The state of a table as a form carries it back; what does not fit is the plain table.
    pub(super) fn carried(text: &str) -> Self {
        form::decoded::<Self>(text.as_bytes()).unwrap_or_default().tidy()
    }

    /// The same without what was left empty in a form.
    pub(super) fn tidy(mut self) -> Self {
        for (_, value) in self.texts_mut() {
            if value.as_deref().is_some_and(|text| text.trim().is_empty()) {
                *value = None;
            }
        }
        // What is usual needs no words in an address.
        let usual = Column::USUAL.map(Column::name).join(",");
        for (value, usual) in [
            (&mut self.kind, Kind::Requirement.name()),
            (&mut self.sort, USUAL_ORDER),
            (&mut self.columns, usual.as_str()),
        ] {
            if value.as_deref() == Some(usual) {
                *value = None;
            }
        }
        self
    }

    /// The kind of the rows; none for all of them.
    pub(super) fn kind(&self) -> Ruled<Option<Kind>> {
        match self.kind.as_deref() {
            None => Ok(Some(Kind::Requirement)),
            Some("all") => Ok(None),
            Some(name) => Kind::parse("kind", name).map(Some),
        }
    }

    pub(super) fn rows(&self) -> u32 {
        self.limit.unwrap_or(DEFAULT_ROWS)
    }

    /// What the list is asked for.
    pub(super) fn items(&self, project: &str) -> ItemQuery {
        ItemQuery {
            project: Some(project.to_owned()),
            status: self.status.clone(),
            priority: self.priority.clone(),
            requirement_type: self.requirement_type.clone(),
            assignee: self.owner.clone(),
            under: self.under.clone(),
            order_by: self.sort.clone(),
            limit: Some(self.rows()),
            cursor: self.cursor.clone(),
            ..ItemQuery::default()
        }
    }

    /// The columns that are shown: those chosen, else the usual ones; never one that the kind does not have.
    pub(super) fn columns(&self, kind: Option<Kind>) -> Ruled<Vec<Column>> {
        let chosen = match self.columns.as_deref() {
            None => Column::USUAL.to_vec(),
            Some(names) => names.split(',').map(Column::parse).collect::<Ruled<_>>()?,
        };
        Ok(chosen.into_iter().filter(|column| column.is_of(kind)).collect())
    }

    /// The field that groups are made of.
    pub(super) fn group(&self, kind: Option<Kind>) -> Ruled<Option<Field>> {
        let Some(name) = self.group.as_deref() else {
            return Ok(None);
        };
        let field = Field::parse("group", name)?;
        let groups = field != Field::Title && field != Field::Priority && kind.is_some() && field.is_of(kind);
        Ok(groups.then_some(field))
    }

    /// What a filter is set to.
    pub(super) fn filter(&self, field: Field) -> Option<&str> {
        match field {
            Field::Title => None,
            Field::Status => self.status.as_deref(),
            Field::Priority => self.priority.as_deref(),
            Field::Type => self.requirement_type.as_deref(),
            Field::Owner => self.owner.as_deref(),
        }
    }

    /// The same table with something changed, from its first page on and with no cell open.
    pub(super) fn with(&self, change: impl FnOnce(&mut Self)) -> Self {
        let mut changed = Self {
            cursor: None,
            ..self.still()
        };
        change(&mut changed);
        changed
    }

    /// The same page with no cell open and nothing to undo.
    pub(super) fn still(&self) -> Self {
        Self {
            edit: None,
            undo: None,
            ..self.clone()
        }
    }

    /// The query of the address.
    pub(super) fn text(&self) -> String {
        let mut text = form_urlencoded::Serializer::new(String::new());
        for (name, value) in self.clone().texts_mut() {
            if let Some(value) = value {
                text.append_pair(name, value);
            }
        }
        if let Some(limit) = self.limit {
            text.append_pair("limit", &limit.to_string());
        }
        text.finish()
    }

    pub(super) fn address(&self, project: &str) -> String {
        let text = self.text();
        let mark = if text.is_empty() { "" } else { "?" };
        format!("/p/{project}/table{mark}{text}")
    }

    fn texts_mut(&mut self) -> [(&'static str, &mut Option<String>); 13] {
        [
            ("kind", &mut self.kind),
            ("status", &mut self.status),
            ("priority", &mut self.priority),
            ("type", &mut self.requirement_type),
            ("owner", &mut self.owner),
            ("under", &mut self.under),
            ("query", &mut self.query),
            ("columns", &mut self.columns),
            ("sort", &mut self.sort),
            ("group", &mut self.group),
            ("cursor", &mut self.cursor),
            ("edit", &mut self.edit),
            ("undo", &mut self.undo),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_of_a_table_is_its_address() {
        let text = "kind=user_story&status=Draft%2CDone&owner=me&query=pass+key&sort=-updated_at&limit=50";
        let query = TableQuery::carried(text);
        assert_eq!(query.text(), text);
        assert_eq!(query.kind().unwrap(), Some(Kind::UserStory));
        let page = TableQuery {
            cursor: Some("x".into()),
            ..query
        };
        assert_eq!(
            page.with(|table| table.owner = None).cursor,
            None,
            "another filter begins anew"
        );
        assert_eq!(page.still().cursor, page.cursor);
        assert_eq!(TableQuery::default().address("web"), "/p/web/table");
        assert_eq!(TableQuery::carried("nonsense=1"), TableQuery::default());
        assert_eq!(TableQuery::carried("status=&owner=%20"), TableQuery::default());
        let usual = "kind=requirement&sort=created_at&columns=title,status,priority,type,owner,changed";
        assert_eq!(TableQuery::carried(usual).text(), "");
    }

    #[test]
    fn columns_and_groups_are_those_the_kind_has() {
        let query = TableQuery {
            group: Some("type".into()),
            ..TableQuery::default()
        };
        assert_eq!(query.group(Some(Kind::Requirement)).unwrap(), Some(Field::Type));
        assert_eq!(query.group(Some(Kind::Epic)).unwrap(), None);
        let of_criteria = query.columns(Some(Kind::AcceptanceCriterion)).unwrap();
        assert!(
            !of_criteria.contains(&Column::Of(Field::Status)),
            "{of_criteria:?}"
        );
        let wrong = TableQuery {
            columns: Some("title,colour".into()),
            ..TableQuery::default()
        };
        assert_eq!(wrong.columns(None).unwrap_err().faults[0].field, "columns");
    }
}
