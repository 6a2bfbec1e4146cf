//! The key of an index. That a look-up costs the same among ten and among a hundred thousand is shown by counting the
//! entries it touches, because a number can fail where a time can only be doubted; so keys count, in tests only.

use std::borrow::Borrow;
use std::ops::Deref;

/// A name or an id by which something is found.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct IndexKey<S>(pub(crate) S);

impl From<&str> for IndexKey<Box<str>> {
    fn from(name: &str) -> Self {
        Self(name.into())
    }
}

/// A map compares a key with what is looked for by borrowing it.
impl<S: Deref<Target = str>> Borrow<str> for IndexKey<S> {
    fn borrow(&self) -> &str {
        touched(1);
        &self.0
    }
}

/// Notes that entries of an index were looked at.
#[cfg(not(test))]
pub(crate) fn touched(_entries: usize) {}

#[cfg(test)]
pub(crate) use counting::touched;

#[cfg(test)]
pub(crate) mod counting {
    use std::cell::Cell;

    thread_local! {
        static TOUCHED: Cell<usize> = const { Cell::new(0) };
    }

    pub(crate) fn touched(entries: usize) {
        TOUCHED.with(|count| count.set(count.get() + entries));
    }

    /// Entries this thread has touched since the last time it was asked.
    pub(crate) fn take() -> usize {
        TOUCHED.with(Cell::take)
    }
}
