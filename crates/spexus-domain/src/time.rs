//! Points in time: microseconds since 1970, printed as RFC 3339 in UTC.

use crate::{Code, Refusal, Ruled, decode};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// A point in time with the precision both databases keep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(
    /// Microseconds since 1970-01-01T00:00:00Z.
    pub i64,
);

impl Timestamp {
    /// Reads RFC 3339, or a bare date as its first instant.
    pub fn parse(field: &str, text: &str) -> Ruled<Self> {
        let instant = text
            .parse::<jiff::Timestamp>()
            .or_else(|_| format!("{text}T00:00:00Z").parse::<jiff::Timestamp>())
            .map_err(|_| {
                let allowed = "a date such as 2026-11-15 or a time such as 2026-11-15T19:30:00Z";
                Refusal::field(
                    Code::InvalidParams,
                    field,
                    format!("{text:?} is not a time"),
                    allowed,
                )
            })?;
        Ok(Self(instant.as_microsecond()))
    }

    /// This many seconds later; saturates at the end of time.
    #[must_use]
    pub fn plus_seconds(self, seconds: i64) -> Self {
        Self(self.0.saturating_add(seconds.saturating_mul(1_000_000)))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_microsecond(self.0) {
            Ok(instant) => write!(f, "{instant:.6}"),
            Err(_) => write!(f, "{} µs", self.0),
        }
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse("time", &text).map_err(|refusal| {
            let fault = &refusal.faults[0];
            decode::misfit(&fault.problem, &fault.allowed)
        })
    }
}

impl utoipa::PartialSchema for Timestamp {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        utoipa::openapi::ObjectBuilder::new()
            .schema_type(utoipa::openapi::schema::Type::String)
            .format(Some(utoipa::openapi::SchemaFormat::KnownFormat(
                utoipa::openapi::KnownFormat::DateTime,
            )))
            .into()
    }
}

impl utoipa::ToSchema for Timestamp {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_and_reads_rfc_3339() {
        let at = Timestamp(1_763_235_000_123_456);
        assert_eq!(at.to_string(), "2025-11-15T19:30:00.123456Z");
        assert_eq!(Timestamp::parse("at", &at.to_string()).unwrap(), at);
        assert_eq!(
            Timestamp::parse("at", "1970-01-02").unwrap(),
            Timestamp(86_400_000_000)
        );
    }

    #[test]
    fn refuses_what_is_not_a_time_and_names_the_field() {
        let refusal = Timestamp::parse("created_from", "yesterday").unwrap_err();
        assert_eq!(refusal.faults[0].field, "created_from");
    }
}
