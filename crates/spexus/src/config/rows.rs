//! The shapes most rows of the table have.

/// A row whose value is a number in a range.
macro_rules! number {
    ($name:literal, $doc:literal, $min:literal..=$max:literal, $($field:ident).+) => {
        Setting {
            name: $name,
            doc: $doc,
            allowed: concat!("a number from ", stringify!($min), " to ", stringify!($max)),
            secret: false,
            put: |settings, text| take(&mut settings.$($field).+, text, $min..=$max),
            get: |settings| settings.$($field).+.to_string(),
        }
    };
}

/// A row whose value is yes or no.
macro_rules! yes_or_no {
    ($name:literal, $doc:literal, $($field:ident).+) => {
        Setting {
            name: $name,
            doc: $doc,
            allowed: "true or false",
            secret: false,
            put: |settings, text| put_parsed(&mut settings.$($field).+, text),
            get: |settings| settings.$($field).+.to_string(),
        }
    };
}

pub(super) use {number, yes_or_no};
