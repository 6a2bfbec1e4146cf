//! The attribute leaves what it stands above as it is.

use spexus_verifies::verifies;

#[verifies("REQ-012")]
#[test]
fn a_test_with_the_attribute_runs() {
    assert_eq!(1 + 1, 2);
}

#[test]
#[verifies("REQ-012", "web/REQ-013")]
fn it_may_stand_on_either_side_and_name_several() {
    assert_eq!(2 + 2, 4);
}

#[verifies("REQ-014")]
fn doubled<T>(value: &T) -> (T, T)
where
    T: Clone,
{
    (value.clone(), value.clone())
}

#[test]
fn a_function_keeps_its_generics_and_its_result() {
    assert_eq!(doubled(&3), (3, 3));
}
