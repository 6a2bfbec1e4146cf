//! What happens at the door: logins, failures, token use. It stands beside the history, which tells what happened inside.

use crate::Timestamp;
use crate::change::Parts;
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

/// One thing that happened at the door.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = Event)]
pub struct AuditEvent {
    /// Its id.
    pub id: Uuid,
    /// When.
    pub at: Timestamp,
    /// What, such as `login`, `login_failed`, `token_refused`, `rate_limited`, `password_reset`, or an `operation` of an agent.
    pub event: String,
    /// The name given, which need not exist.
    pub username: String,
    /// The token, when one was recognised.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_id: Option<Uuid>,
    /// Where it came from.
    pub address: String,
    /// With which program.
    pub client: String,
    /// What else there is to say.
    pub detail: String,
    /// The account or token it was done to, when it was done to one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_id: Option<Uuid>,
    /// The name of that.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub target: String,
    /// How often it happened; what happens often is folded into one event a second.
    pub times: i64,
}

/// Which events are wanted; what is left out does not matter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventFilter {
    /// What happened.
    pub event: Option<String>,
    /// Who did it, or whom it was done to.
    pub user: Option<String>,
    /// Not before this time.
    pub since: Option<Timestamp>,
    /// Before this time.
    pub until: Option<Timestamp>,
}

/// Microseconds of a day.
const DAY_MICROS: i64 = 86_400_000_000;

/// The day (UTC) of a moment, counted from 1970-01-01.
pub fn day_of(at: Timestamp) -> i64 {
    at.0.div_euclid(DAY_MICROS)
}

/// A day as it is written: `2026-11-18`.
pub fn day_name(day: i64) -> String {
    let begin = Timestamp(day.saturating_mul(DAY_MICROS)).to_string();
    begin.split('T').next().unwrap_or_default().to_owned()
}

/// The hash before the first event of a day, whose chain is its own.
pub fn genesis_of_day(day: i64) -> [u8; 32] {
    let mut parts = Parts::of(b"spexus audit day 1");
    parts.add(&day.to_le_bytes());
    parts.hash()
}

/// What a person is called by, came from or brought. It can be taken out of the trail, which verifies all the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventPayload<'a> {
    /// The name given.
    pub username: &'a str,
    /// Where it came from.
    pub address: &'a str,
    /// With which program.
    pub client: &'a str,
    /// What else there is to say.
    pub detail: &'a str,
    /// The name of what it was done to.
    pub target: &'a str,
}

impl EventPayload<'_> {
    /// What stands where a payload was taken out.
    pub const ERASED: EventPayload<'static> = EventPayload {
        username: "",
        address: "",
        client: "",
        detail: "",
        target: "",
    };

    /// The hash that stands for the payload in the chain. Without the salt nobody can tell whether a guess is right.
    pub fn hash(&self, salt: &[u8]) -> [u8; 32] {
        let mut parts = Parts::of(b"spexus audit payload 1");
        parts.add(salt);
        for text in [self.username, self.address, self.client, self.detail, self.target] {
            parts.add(text.as_bytes());
        }
        parts.hash()
    }
}

/// An event as it stands in the chain of its day: exactly what the hash covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealedEvent<'a> {
    /// The day in whose chain it is: the one on which it was written.
    pub day: i64,
    /// Its place in it.
    pub number: i64,
    /// Its id.
    pub id: Uuid,
    /// When.
    pub at: Timestamp,
    /// What.
    pub event: &'a str,
    /// With which token.
    pub token_id: Option<Uuid>,
    /// What it was done to.
    pub target_id: Option<Uuid>,
    /// How often.
    pub times: i64,
    /// The hash of its payload.
    pub payload: [u8; 32],
}

impl SealedEvent<'_> {
    /// The hash of this event on top of the one before.
    pub fn hash(&self, previous: &[u8; 32]) -> [u8; 32] {
        let mut parts = Parts::of(previous);
        parts.add(&self.day.to_le_bytes());
        parts.add(&self.number.to_le_bytes());
        parts.add(self.id.as_bytes());
        parts.add(&self.at.0.to_le_bytes());
        parts.add(self.event.as_bytes());
        parts.add_id(self.token_id);
        parts.add_id(self.target_id);
        parts.add(&self.times.to_le_bytes());
        parts.add(&self.payload);
        parts.hash()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_begins_at_midnight_utc() {
        let midnight = Timestamp::parse("at", "2026-11-18").unwrap();
        assert_eq!(day_name(day_of(midnight)), "2026-11-18");
        assert_eq!(day_name(day_of(Timestamp(midnight.0 - 1))), "2026-11-17");
        assert_eq!(day_of(Timestamp(-1)), -1);
        assert_ne!(genesis_of_day(1), genesis_of_day(2));
    }

    #[test]
    fn every_part_of_an_event_is_sealed() {
        let payload = EventPayload {
            username: "kim",
            address: "10.0.0.1",
            client: "cli",
            detail: "why",
            target: "sam",
        };
        let row = SealedEvent {
            day: 1,
            number: 2,
            id: Uuid::from_u128(3),
            at: Timestamp(4),
            event: "login",
            token_id: None,
            target_id: None,
            times: 1,
            payload: payload.hash(b"salt"),
        };
        let hash = row.hash(&genesis_of_day(1));
        let alterations: [fn(&mut SealedEvent<'_>); 9] = [
            |row| row.day = 2,
            |row| row.number = 3,
            |row| row.id = Uuid::nil(),
            |row| row.at = Timestamp(5),
            |row| row.event = "logout",
            |row| row.token_id = Some(Uuid::nil()),
            |row| row.target_id = Some(Uuid::nil()),
            |row| row.times = 2,
            |row| row.payload = [0; 32],
        ];
        for (at, alter) in alterations.iter().enumerate() {
            let mut other = row.clone();
            alter(&mut other);
            assert_ne!(other.hash(&genesis_of_day(1)), hash, "alteration {at}");
        }
        let payloads: [fn(&mut EventPayload<'_>); 5] = [
            |payload| payload.username = "kin",
            |payload| payload.address = "",
            |payload| payload.client = "",
            |payload| payload.detail = "",
            |payload| payload.target = "",
        ];
        for (at, alter) in payloads.iter().enumerate() {
            let mut other = payload.clone();
            alter(&mut other);
            assert_ne!(other.hash(b"salt"), row.payload, "payload {at}");
        }
        assert_ne!(payload.hash(b"tlas"), row.payload, "the salt matters");
        assert_ne!(row.hash(&hash), hash, "the event before matters");
    }
}
