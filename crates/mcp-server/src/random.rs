//! What the core must not decide by itself: keys and ids nobody can guess, and the time of day.

/// Unix time in milliseconds.
pub(crate) fn now_ms() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}

/// 256 bits nobody can guess.
pub(crate) fn random_key() -> [u8; 32] {
    let mut key = [0; 32];
    // Without randomness nothing signed could be trusted; a process in that state must not serve.
    getrandom::fill(&mut key).expect("the operating system has randomness");
    key
}

/// An id nobody can guess: 128 random bits as hex.
pub(crate) fn random_id() -> String {
    hex::encode(&random_key()[..16])
}
