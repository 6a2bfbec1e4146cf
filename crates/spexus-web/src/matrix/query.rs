//! What a matrix shows, as it stands in its address.

use serde::Deserialize;
use spexus_domain::link::LinkType;
use spexus_domain::{Kind, Ruled};
use spexus_service::item::ItemQuery;

/// Rows of a page when nothing else is asked for.
const USUAL_ROWS: u32 = 50;

/// The name of the relation that is not a link: the criterion a requirement serves.
pub(super) const SERVES: &str = "serves";

/// Everything a matrix is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MatrixQuery {
    /// Names of kinds.
    pub(super) rows: Option<String>,
    pub(super) columns: Option<String>,
    /// The name or inverse name of a link type, or `serves`; any link when left out.
    pub(super) link: Option<String>,
    /// What contains the rows, at any depth.
    pub(super) under: Option<String>,
    /// Only rows without a link and with suspect ones.
    pub(super) gaps: Option<String>,
    pub(super) limit: Option<u32>,
    pub(super) cursor: Option<String>,
}

impl MatrixQuery {
    /// The same without what was left empty in a form.
    pub(super) fn tidy(mut self) -> Self {
        for value in [
            &mut self.rows,
            &mut self.columns,
            &mut self.link,
            &mut self.under,
            &mut self.gaps,
        ] {
            if value.as_deref().is_some_and(|text| text.trim().is_empty()) {
                *value = None;
            }
        }
        self
    }

    /// The kinds of the rows and the columns.
    pub(super) fn kinds(&self) -> Ruled<(Kind, Kind)> {
        let rows = self
            .rows
            .as_deref()
            .map_or(Ok(Kind::Requirement), |name| Kind::parse("rows", name))?;
        let usual = match rows {
            Kind::Requirement => Kind::AcceptanceCriterion,
            _ => Kind::Requirement,
        };
        let columns = self
            .columns
            .as_deref()
            .map_or(Ok(usual), |name| Kind::parse("columns", name))?;
        Ok((rows, columns))
    }

    /// The relation that is shown: the one asked for, else the one the kinds usually have.
    pub(super) fn link(&self) -> Ruled<Option<String>> {
        Ok(match (self.link.as_deref(), self.kinds()?) {
            (None, (Kind::Requirement, Kind::AcceptanceCriterion)) => Some(SERVES.to_owned()),
            (None | Some("any"), _) => None,
            (Some(name), _) => Some(name.to_owned()),
        })
    }

    pub(super) fn only_gaps(&self) -> bool {
        self.gaps.is_some()
    }

    pub(super) fn items(&self, project: &str) -> ItemQuery {
        ItemQuery {
            project: Some(project.to_owned()),
            under: self.under.clone(),
            limit: Some(self.limit.unwrap_or(USUAL_ROWS)),
            cursor: self.cursor.clone(),
            ..ItemQuery::default()
        }
    }

    pub(super) fn text(&self) -> String {
        let mut text = form_urlencoded::Serializer::new(String::new());
        let pairs = [
            ("rows", &self.rows),
            ("columns", &self.columns),
            ("link", &self.link),
            ("under", &self.under),
            ("gaps", &self.gaps),
            ("cursor", &self.cursor),
        ];
        for (name, value) in pairs {
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
        format!("/p/{project}/matrix{mark}{text}")
    }
}

/// The relations that two kinds can have, as they read from the rows.
pub(super) fn relations(types: &[LinkType], rows: Kind, columns: Kind) -> Vec<String> {
    let fits = |allowed: &[Kind], kind: Kind| allowed.is_empty() || allowed.contains(&kind);
    let mut names = Vec::new();
    if (rows, columns) == (Kind::Requirement, Kind::AcceptanceCriterion) {
        names.push(SERVES.to_owned());
    }
    for known in types {
        if fits(&known.sources, rows) && fits(&known.targets, columns) {
            names.push(known.name.clone());
        }
        if !known.is_symmetric() && fits(&known.sources, columns) && fits(&known.targets, rows) {
            names.push(known.inverse.clone());
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_have_the_relations_that_may_join_them() {
        let types = LinkType::shipped();
        let of = |rows, columns| relations(&types, rows, columns);
        let criteria = of(Kind::Requirement, Kind::AcceptanceCriterion);
        assert!(
            criteria.contains(&SERVES.to_owned()) && criteria.contains(&"is_verified_by".to_owned()),
            "{criteria:?}"
        );
        assert!(
            !criteria.contains(&"verifies".to_owned()),
            "a requirement verifies nothing: {criteria:?}"
        );
        let epics = of(Kind::Epic, Kind::SteeringDocument);
        assert!(epics.contains(&"is_guided_by".to_owned()), "{epics:?}");
    }

    #[test]
    fn a_matrix_is_its_address() {
        let query = MatrixQuery {
            rows: Some("user_story".into()),
            link: Some("depends_on".into()),
            ..MatrixQuery::default()
        };
        assert_eq!(
            query.address("web"),
            "/p/web/matrix?rows=user_story&link=depends_on"
        );
        assert_eq!(query.kinds().unwrap(), (Kind::UserStory, Kind::Requirement));
        assert_eq!(MatrixQuery::default().link().unwrap().as_deref(), Some(SERVES));
    }
}
