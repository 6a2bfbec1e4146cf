//! Whether the audit trail is whole: every day's chain, and what the ledger of the installation knows of the days.

use crate::audit_days::{DayEnd, LABEL};
use crate::checkpoints;
use crate::engine::{Conn, Row, params};
use crate::error::{Error, Result};
use crate::ledger_head::hash;
use serde::Serialize;
use spexus_domain::audit::{EventPayload, SealedEvent, day_name};
use spexus_domain::change::{Action, INSTALLATION};
use spexus_domain::{Timestamp, Uuid};
use std::collections::BTreeMap;

/// Events read in one step.
const STEP_ROWS: u32 = 1_000;

/// What verifying the audit trail found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TrailVerdict {
    /// How many days there are, those that were dropped included.
    pub days: i64,
    /// How many of them were dropped by retention.
    pub dropped: i64,
    /// How many events were looked at.
    pub events: i64,
    /// Events that somebody's words were taken out of.
    pub erased: i64,
    /// Every day that cannot be trusted, with the first place that does not fit.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<DayFault>,
}

/// A place in the audit trail that was tampered with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DayFault {
    /// The day, such as `2026-11-18`.
    pub day: String,
    /// The number of the event in it; 0 for the day as a whole.
    pub number: i64,
    /// What is wrong.
    pub problem: String,
}

/// What the ledger of the installation knows of a day.
#[derive(Default)]
struct Known {
    /// Ends it had, by their numbers, as the ledger has them.
    ends: BTreeMap<i64, String>,
    sealed_at: Option<Timestamp>,
    dropped_at: Option<Timestamp>,
}

/// A day as its row has it.
struct Day {
    end: DayEnd,
    sealed_at: Option<Timestamp>,
    dropped_at: Option<Timestamp>,
}

type Faulty = std::result::Result<(), (i64, String)>;

/// Reads the whole trail. The connection must see one moment.
//= specs/spexus-store.md#audit-trail
//# Verification MUST find an event that was altered, removed or added and a day that is missing, and MUST tell a day that
//# retention dropped from one that is missing.
pub async fn verify(conn: &mut Conn) -> Result<TrailVerdict> {
    let mut known = known_days(conn).await?;
    let mut verdict = TrailVerdict::default();
    let sql = "SELECT day, events, head, sealed_at, dropped_at FROM audit_day ORDER BY day";
    for row in &conn.all(sql, params![]).await? {
        let number = row.int("day")?;
        let known = known.remove(&day_name(number)).unwrap_or_default();
        verdict.days += 1;
        let found = match day(row) {
            Ok(day) => look_at(conn, &day, &known, &mut verdict).await?,
            Err(Error::Broken(_)) => Err((0, "it cannot be read".into())),
            Err(error) => return Err(error),
        };
        if let Err((event, problem)) = found {
            verdict.note(day_name(number), event, problem);
        }
    }
    for day in known.into_keys() {
        verdict.note(day, 0, "the history knows of it, and it is missing".into());
    }
    let sql = "SELECT DISTINCT a.day FROM audit a WHERE NOT EXISTS (SELECT 1 FROM audit_day d WHERE d.day = a.day) ORDER BY a.day";
    for row in &conn.all(sql, params![]).await? {
        verdict.note(
            day_name(row.int("day")?),
            0,
            "there are events of a day that is missing".into(),
        );
    }
    Ok(verdict)
}

impl TrailVerdict {
    fn note(&mut self, day: String, number: i64, problem: String) {
        self.faults.push(DayFault { day, number, problem });
    }
}

fn day(row: &Row) -> Result<Day> {
    Ok(Day {
        end: DayEnd {
            day: row.int("day")?,
            number: row.int("events")?,
            hash: hash(row, "head")?,
        },
        sealed_at: row.opt_time("sealed_at")?,
        dropped_at: row.opt_time("dropped_at")?,
    })
}

/// What the ledger of the installation was told of each day, by the name of the day.
async fn known_days(conn: &mut Conn) -> Result<BTreeMap<String, Known>> {
    let sql = "SELECT at, label, action, before, after FROM change WHERE ledger = $1 AND entity = 'setting' AND label IN ($2, $3) \
               ORDER BY number";
    let mut days: BTreeMap<String, Known> = BTreeMap::new();
    for row in &conn
        .all(sql, params![INSTALLATION, LABEL, checkpoints::LABEL])
        .await?
    {
        let at = row.time("at")?;
        let of_trail = row.text("label")? == LABEL;
        let is_dropped = of_trail && row.text("action")? == Action::Deleted.name();
        // A change that cannot be read is told by its ledger.
        let Ok(fields) = row.object(if is_dropped { "before" } else { "after" }) else {
            continue;
        };
        let fields = match of_trail {
            true => fields,
            false => match fields.get(checkpoints::OPEN_DAY) {
                Some(serde_json::Value::Object(open)) => open.clone(),
                _ => continue,
            },
        };
        for (name, end) in &fields {
            let day = days.entry(name.clone()).or_default();
            if let Some((number, hash)) = end.as_str().and_then(|end| end.split_once(' '))
                && let Ok(number) = number.parse()
            {
                day.ends.insert(number, hash.to_owned());
            }
            if is_dropped {
                day.dropped_at = Some(at);
            } else if of_trail {
                day.sealed_at = Some(at);
            }
        }
    }
    Ok(days)
}

async fn look_at(conn: &mut Conn, day: &Day, known: &Known, verdict: &mut TrailVerdict) -> Result<Faulty> {
    verdict.dropped += i64::from(known.dropped_at.is_some());
    if day.sealed_at != known.sealed_at {
        return Ok(Err((0, "it is not sealed as the history has it".into())));
    }
    if day.dropped_at != known.dropped_at {
        return Ok(Err((
            0,
            "its events were not dropped as the history has it".into(),
        )));
    }
    walk(conn, day, known, verdict).await
}

/// Goes through the events of a day. Of one that was dropped some may be left for a while: its last ones.
async fn walk(conn: &mut Conn, day: &Day, known: &Known, verdict: &mut TrailVerdict) -> Result<Faulty> {
    let mut end = DayEnd::before(day.end.day);
    let mut is_beheaded = day.dropped_at.is_some();
    let mut after = 0;
    loop {
        let sql = "SELECT * FROM audit WHERE day = $1 AND number > $2 ORDER BY number LIMIT $3";
        let rows = conn.all(sql, params![day.end.day, after, STEP_ROWS]).await?;
        let Some(last) = rows.last() else { break };
        after = last.int("number")?;
        for row in &rows {
            verdict.events += 1;
            if std::mem::take(&mut is_beheaded) {
                end.number = row.int("number")?;
                end.hash = hash(row, "hash")?;
                continue;
            }
            let event = match Stored::of(row) {
                Err(Error::Broken(_)) => return Ok(Err((row.int("number")?, "it cannot be read".into()))),
                event => event?,
            };
            if let Err(problem) = event.fits(&end) {
                return Ok(Err((event.number, problem)));
            }
            verdict.erased += i64::from(event.is_erased());
            (end.number, end.hash) = (event.number, event.hash);
            if known
                .ends
                .get(&end.number)
                .is_some_and(|hash| *hash != hex::encode(end.hash))
            {
                return Ok(Err((
                    end.number,
                    "the history has another hash here: the day was written anew".into(),
                )));
            }
        }
    }
    if is_beheaded {
        end = day.end;
    }
    if end != day.end {
        return Ok(Err((
            end.number,
            format!("it ends here, and had {} events", day.end.number),
        )));
    }
    Ok(match known.ends.last_key_value() {
        Some((number, _)) if *number > end.number => Err((
            end.number,
            format!("the history knows {number} events: the rest was cut off"),
        )),
        Some((number, _)) if day.sealed_at.is_some() && *number < end.number => {
            Err((*number, "there are events behind its end".into()))
        }
        Some((number, hash)) if *number == end.number && *hash != hex::encode(end.hash) => Err((
            end.number,
            "the history has another hash here: the day was written anew".into(),
        )),
        _ => Ok(()),
    })
}

/// An event as it is stored.
struct Stored {
    day: i64,
    number: i64,
    id: Uuid,
    at: Timestamp,
    texts: [String; 6],
    token_id: Option<Uuid>,
    target_id: Option<Uuid>,
    times: i64,
    salt: Vec<u8>,
    payload: [u8; 32],
    hash: [u8; 32],
}

impl Stored {
    fn of(row: &Row) -> Result<Self> {
        Ok(Self {
            day: row.int("day")?,
            number: row.int("number")?,
            id: row.id("id")?,
            at: row.time("at")?,
            texts: [
                row.text("event")?,
                row.text("username")?,
                row.text("address")?,
                row.text("client")?,
                row.text("detail")?,
                row.text("target")?,
            ],
            token_id: row.opt_id("token_id")?,
            target_id: row.opt_id("target_id")?,
            times: row.int("times")?,
            salt: row.bytes("salt")?,
            payload: hash(row, "payload_hash")?,
            hash: hash(row, "hash")?,
        })
    }

    fn payload(&self) -> EventPayload<'_> {
        let [_, username, address, client, detail, target] = &self.texts;
        EventPayload {
            username,
            address,
            client,
            detail,
            target,
        }
    }

    fn is_erased(&self) -> bool {
        self.salt.is_empty() && self.payload() == EventPayload::ERASED
    }

    fn fits(&self, end: &DayEnd) -> std::result::Result<(), String> {
        let sealed = SealedEvent {
            day: self.day,
            number: self.number,
            id: self.id,
            at: self.at,
            event: &self.texts[0],
            token_id: self.token_id,
            target_id: self.target_id,
            times: self.times,
            payload: self.payload,
        };
        if self.number != end.number + 1 {
            Err("events before it are missing".into())
        } else if !self.is_erased() && self.payload().hash(&self.salt) != self.payload {
            Err("the hash of its words does not fit what they are".into())
        } else if sealed.hash(&end.hash) != self.hash {
            Err("its hash does not fit its content and the event before it".into())
        } else {
            Ok(())
        }
    }
}
