//! Server-sent events, cut out of the bytes of a stream as they come.

/// One event: its id, when it has one, and its data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// What `Last-Event-ID` would name.
    pub id: Option<String>,
    /// All lines of data; empty for an event that only has an id.
    pub data: String,
}

/// What has come of a stream of events and was not read yet.
#[derive(Debug, Default)]
pub struct EventText(Vec<u8>);

impl EventText {
    /// Adds what has come.
    pub fn push(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }
}

impl Iterator for EventText {
    type Item = Event;

    /// The next whole event with an id or data; comments are left out.
    fn next(&mut self) -> Option<Event> {
        loop {
            let end = self.0.windows(2).position(|pair| pair == b"\n\n")?;
            let text: Vec<u8> = self.0.drain(..end + 2).collect();
            let text = std::str::from_utf8(&text).expect("events are text");
            let field = |name: &str| {
                let lines = text.lines().filter_map(|line| line.strip_prefix(name));
                lines
                    .map(|value| value.strip_prefix(' ').unwrap_or(value).to_owned())
                    .collect::<Vec<_>>()
            };
            let (id, data) = (field("id:").pop(), field("data:"));
            if id.is_some() || !data.is_empty() {
                return Some(Event {
                    id,
                    data: data.join("\n"),
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_out_whole_however_they_came_in() {
        let mut text = EventText::default();
        let all = ": hello\n\nid: 7\ndata: {\"a\":\n\ndata:\"é\"\ndata: }\n\n".as_bytes();
        let mut events = Vec::new();
        for byte in all {
            text.push(&[*byte]);
            events.extend(text.by_ref());
        }
        let event = |id: Option<&str>, data: &str| Event {
            id: id.map(str::to_owned),
            data: data.to_owned(),
        };
        assert_eq!(events, [event(Some("7"), "{\"a\":"), event(None, "\"é\"\n}")]);
    }
}
