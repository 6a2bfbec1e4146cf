//! Sums that do not lie.

//= spexus:REQ-001
//# Sums MUST add up.
//= spexus:REQ-002
//# A sum that does not fit MUST be refused.
pub fn add(a: i32, b: i32) -> Option<i32> {
    a.checked_add(b)
}

#[cfg(test)]
mod tests {
    use super::add;
    use spexus_verifies::verifies;

    #[verifies("REQ-001")]
    #[test]
    fn sums_add_up() {
        assert_eq!(add(2, 3), Some(5));
    }

    // verifies REQ-002
    #[test]
    fn what_does_not_fit_is_refused() {
        assert_eq!(add(i32::MAX, 1), None);
    }
}
