//! The limits of a server, each with its unit in its name.

use std::time::Duration;

/// Every limit of the runtime, with its unit in its name.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Largest incoming message.
    pub max_message_bytes: usize,
    /// Largest answer.
    pub max_answer_bytes: usize,
    /// Messages in one batch.
    pub max_batch_messages: usize,
    /// Messages of an account's batches that are served at once; the others wait for their turn.
    pub max_batch_running_per_account: usize,
    /// Requests of one session that run at once.
    pub max_in_flight_per_session: usize,
    /// Requests of all sessions that run at once.
    pub max_in_flight_total: usize,
    /// Parameters held by the running requests of one session.
    pub max_in_flight_bytes_per_session: usize,
    /// How long a connection stops reading when a session is at its limit before further requests are refused.
    pub admission_wait_ms: u64,
    /// Bytes waiting to be read by one client before its connection is no longer read.
    pub max_outbox_bytes: usize,
    /// Requests of the server that wait for one client's answer.
    pub max_pending_per_session: usize,
    /// Sessions alive at once.
    pub max_sessions: usize,
    /// Sessions of one owner alive at once; the one unheard of for longest gives way.
    pub max_sessions_per_owner: usize,
    /// Sessions of one account alive at once, whatever owners it has; the one unheard of for longest gives way.
    pub max_sessions_per_account: usize,
    /// How long what became of sessions may gather before it is written to a store that outlives the process.
    pub session_save_ms: u64,
    /// How long an idle session lives.
    pub session_idle_ms: u64,
    /// Resources one session may watch.
    pub max_subscriptions_per_session: usize,
    /// What the addresses of those resources may have together.
    pub max_subscription_bytes_per_session: usize,
    /// Messages of one session in a second; 0 means no limit.
    pub max_messages_per_second: u32,
    /// Messages that may come at once before the rate counts.
    pub message_burst: u32,
    /// How long a request may be served when its tool does not say otherwise.
    pub serve_timeout_ms: u64,
    /// How long the outcome of what is being kept is awaited once the time of its request is over.
    pub outcome_wait_ms: u64,
    /// How long the client may take to answer a request of the server.
    pub ask_timeout_ms: u64,
    /// How long a person may take to answer a question put to them once.
    pub elicit_timeout_ms: u64,
    /// How long a question that travels with the client may be answered.
    pub question_ttl_ms: u64,
    /// How often a person is asked the same before an answer that does not fit ends the request.
    pub max_elicit_attempts: usize,
    /// How long running requests may finish when the server stops.
    pub drain_timeout_ms: u64,
    /// How long a client may take to read what was said before its connection is given up.
    pub flush_timeout_ms: u64,
    /// Entries on one page of a list; tools are never paged.
    pub page_entries: usize,
    /// Resources above this size are streamed.
    pub stream_above_bytes: usize,
    /// Size of one streamed piece.
    pub stream_chunk_bytes: usize,
    /// Bytes of resources kept in the cache.
    pub max_cached_bytes: usize,
    /// Events one HTTP stream keeps for a client that comes back.
    pub max_replay_events: usize,
    /// Bytes one HTTP stream keeps for a client that comes back.
    pub max_replay_bytes: usize,
    /// HTTP streams of one session kept for a client that comes back.
    pub max_streams_per_session: usize,
    /// Streams of events one account may have open at once, in whatever sessions.
    pub max_streams_per_account: usize,
    /// Silence on an HTTP stream after which a comment keeps it open.
    pub keep_alive_ms: u64,
    /// Tasks remembered at once.
    pub max_tasks: usize,
    /// How long a task is remembered when the client does not say.
    pub task_ttl_ms: u64,
    /// How often a client should ask for a task's state.
    pub task_poll_ms: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_message_bytes: 1 << 20,
            max_answer_bytes: 16 << 20,
            max_batch_messages: 1_000,
            max_batch_running_per_account: 4,
            max_in_flight_per_session: 1_024,
            max_in_flight_total: 65_536,
            max_in_flight_bytes_per_session: 32 << 20,
            admission_wait_ms: 100,
            max_outbox_bytes: 1 << 20,
            max_pending_per_session: 256,
            max_sessions: 100_000,
            max_sessions_per_owner: 1_000,
            max_sessions_per_account: 2_000,
            session_save_ms: 1_000,
            session_idle_ms: 30 * 60 * 1_000,
            max_subscriptions_per_session: 1_000,
            max_subscription_bytes_per_session: 64 << 10,
            max_messages_per_second: 0,
            message_burst: 1_000,
            serve_timeout_ms: 30_000,
            outcome_wait_ms: 30_000,
            ask_timeout_ms: 5_000,
            elicit_timeout_ms: 5_000,
            question_ttl_ms: 15 * 60 * 1_000,
            max_elicit_attempts: 3,
            drain_timeout_ms: 10_000,
            flush_timeout_ms: 5_000,
            page_entries: 100,
            stream_above_bytes: 1 << 20,
            stream_chunk_bytes: 256 << 10,
            max_cached_bytes: 16 << 20,
            max_replay_events: 256,
            max_replay_bytes: 1 << 20,
            max_streams_per_session: 32,
            max_streams_per_account: 256,
            keep_alive_ms: 15_000,
            max_tasks: 10_000,
            task_ttl_ms: 10 * 60 * 1_000,
            task_poll_ms: 1_000,
        }
    }
}

impl Limits {
    pub(crate) fn serve_timeout(&self) -> Duration {
        Duration::from_millis(self.serve_timeout_ms)
    }

    pub(crate) fn outcome_wait(&self) -> Duration {
        Duration::from_millis(self.outcome_wait_ms)
    }
}
