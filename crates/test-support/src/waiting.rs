//! Waiting for something to become so, without guessing how long it takes.

use std::time::Duration;

/// Long enough that only what never comes reaches it.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// What comes of something that takes a minute at most.
pub async fn in_time<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, work)
        .await
        .expect("within a minute")
}

/// Waits until something is so; a minute at most. For tests without a runtime.
pub fn eventually_blocking(what: &str, is_so: impl Fn() -> bool) {
    let began = std::time::Instant::now();
    while !is_so() {
        assert!(began.elapsed() < PATIENCE, "within a minute: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Waits until something is so; a minute at most.
pub async fn eventually(what: &str, is_so: impl Fn() -> bool) {
    let waited = tokio::time::timeout(PATIENCE, async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    assert!(waited.await.is_ok(), "within a minute: {what}");
}

/// The same where the line says what is waited for.
pub async fn until(is_so: impl Fn() -> bool) {
    eventually("it becomes so", is_so).await;
}

/// Waits until a number stays what it is for a while, and gives it.
pub async fn settled(number: impl Fn() -> usize) -> usize {
    let (mut last, mut same) = (number(), 0);
    while same < 20 {
        tokio::time::sleep(Duration::from_millis(20)).await;
        let now = number();
        same = if now == last { same + 1 } else { 0 };
        last = now;
    }
    last
}
