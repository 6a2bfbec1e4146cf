//! Imports: what they say of a file that cannot be taken.

use crate::world::{Refused, World, both};
use spexus_service::transfer::{Input, sheet};
use std::fmt::Write as _;
use std::io::Cursor;
use std::sync::Arc;

both![a_file_with_more_faults_than_are_told_says_so];

//= specs/spexus-service.md#imports
//= type=test
//# An import that stops at a number of refused lines MUST say that there may be more, and how many it names.
async fn a_file_with_more_faults_than_are_told_says_so(world: &World) {
    for (faults, told) in [
        (999, "999 lines were refused; "),
        (1_000, "1000 lines were refused; "),
        (
            1_001,
            "more than 1000 lines were refused, the first 1000 are named and the rest was not looked at; ",
        ),
        (1_500, "more than 1000 lines were refused, "),
    ] {
        let mut file = "kind,title\n".to_owned();
        for at in 0..faults {
            writeln!(file, "epos,Faulty {at}").unwrap();
        }
        let input: Input = Box::new(Cursor::new(file.into_bytes()));
        let (service, caller) = (&world.service, &world.admin.caller);
        let done = sheet::import(service, caller, None, input, false, Arc::new(|_| ())).await;
        let refusal = done.refused(1021);
        assert!(refusal.message.starts_with(told), "{faults}: {}", refusal.message);
        assert_eq!(refusal.faults.len(), faults.min(1_000), "{faults}");
    }
}
