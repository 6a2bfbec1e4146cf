//! A push as it comes in one message: with the texts of its reports in it.

use super::pack::{EvidenceSource, SourceForm};
use super::push::NewPush;
use serde::Deserialize;
use spexus_domain::trace::record::SourceMark;
use spexus_domain::{Code, Refusal, Ruled, Timestamp};
use std::io::{BufRead, Cursor};
use utoipa::{IntoParams, ToSchema};

/// Evidence about a commit, in one message.
#[derive(Clone, Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PushBody {
    /// The key of the project; the token's or the default one when left out.
    pub project: Option<String>,
    /// The commit, in hexadecimal digits.
    pub commit: String,
    /// When it was made, as RFC 3339; decides which of two pushes is about the later one.
    pub committed_at: Option<String>,
    /// Whether the working tree had changes that are in no commit.
    #[serde(default)]
    pub dirty: bool,
    /// What was run.
    #[serde(default)]
    pub command: String,
    /// The reports.
    #[serde(default)]
    pub reports: Vec<ReportBody>,
    /// The marks of the tree, where it was scanned.
    pub marks: Option<Vec<SourceMark>>,
}

/// A report in a message.
#[derive(Clone, Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReportBody {
    /// Its form: junit, ctrf, tap, robot, lcov, cobertura, jacoco or llvm-cov.
    pub format: String,
    /// What people call it; its form when left out.
    #[serde(default)]
    pub name: String,
    /// The test that coverage is of; some test when left out.
    pub test: Option<String>,
    /// What it says.
    pub text: String,
}

/// What a report is of that comes as it is, without a message around it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ReportQuery {
    /// The key of the project; the token's or the default one when left out.
    pub project: Option<String>,
    /// The commit, in hexadecimal digits.
    pub commit: Option<String>,
    /// When it was made, as RFC 3339.
    pub committed_at: Option<String>,
    /// Whether the working tree had changes that are in no commit.
    pub dirty: Option<bool>,
    /// The form of the report: junit, ctrf, tap, robot, lcov, cobertura, jacoco or llvm-cov.
    pub format: Option<String>,
    /// What people call the report; its form when left out.
    pub name: Option<String>,
    /// The test that coverage is of; some test when left out.
    pub test: Option<String>,
}

impl ReportQuery {
    /// The push it is with what the report says.
    pub fn into_push(self, input: Box<dyn BufRead + Send>) -> Ruled<NewPush> {
        let format = self
            .format
            .ok_or_else(|| missing("format", "the form of the report"))?;
        let commit = self
            .commit
            .ok_or_else(|| missing("commit", "7 to 64 hexadecimal digits"))?;
        let body = PushBody {
            project: self.project,
            commit,
            committed_at: self.committed_at,
            dirty: self.dirty.unwrap_or_default(),
            ..PushBody::default()
        };
        let form = SourceForm::parse("format", &format, self.test.as_deref())?;
        Ok(NewPush {
            sources: vec![EvidenceSource {
                name: self.name.unwrap_or(format),
                form,
                input,
            }],
            ..body.into_push()?
        })
    }

    /// Beside a message that says everything there is nothing to say.
    pub fn refuse_beside_json(&self) -> Ruled<()> {
        if *self == Self::default() {
            return Ok(());
        }
        let problem = "a query says what a report is of that comes as it is";
        Err(Refusal::field(
            Code::InvalidParams,
            "query",
            problem,
            "fields of the JSON body",
        ))
    }
}

fn missing(field: &str, allowed: &str) -> Refusal {
    Refusal::field(Code::InvalidParams, field, "it is missing", allowed)
}

impl PushBody {
    /// The push it is.
    pub fn into_push(self) -> Ruled<NewPush> {
        let committed_at = self.committed_at.as_deref();
        let committed_at = committed_at
            .map(|text| Timestamp::parse("committed_at", text))
            .transpose()?;
        let sources = self.reports.into_iter().map(ReportBody::into_source);
        Ok(NewPush {
            sources: sources.collect::<Ruled<_>>()?,
            project: self.project,
            commit: self.commit,
            committed_at,
            is_dirty: self.dirty,
            command: self.command,
            marks: self.marks,
        })
    }
}

impl ReportBody {
    fn into_source(self) -> Ruled<EvidenceSource> {
        let form = SourceForm::parse("format", &self.format, self.test.as_deref())?;
        let name = if self.name.is_empty() {
            self.format
        } else {
            self.name
        };
        Ok(EvidenceSource {
            name,
            form,
            input: Box::new(Cursor::new(self.text.into_bytes())),
        })
    }
}
