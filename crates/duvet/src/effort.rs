//! How much work was done, counted in the crate's own tests: that growth is linear is proved by counts, because times
//! depend on the machine. Elsewhere counting is nothing at all.

/// Counts steps: comparisons, candidates, bytes gone through.
#[inline]
pub(crate) fn count(steps: usize) {
    #[cfg(test)]
    DONE.with(|done| done.set(done.get() + steps as u64));
    #[cfg(not(test))]
    let _ = steps;
}

#[cfg(test)]
thread_local! {
    static DONE: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// The steps that some work took. It runs on one thread, whatever it does side by side.
#[cfg(test)]
pub(crate) fn of<T: Send>(work: impl FnOnce() -> T + Send) -> (T, u64) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    pool.install(|| {
        let before = DONE.with(std::cell::Cell::get);
        let done = work();
        (done, DONE.with(std::cell::Cell::get) - before)
    })
}

#[cfg(test)]
mod tests;
