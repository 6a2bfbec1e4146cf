//! Cursors: where a page ended, written so that clients pass it back unchanged. They hold values that are only ever
//! bound to statements, so a forged one finds other rows of the same list at worst.

use crate::error::Result;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Serialize, de::DeserializeOwned};

pub(crate) fn write<T: Serialize>(value: &T) -> String {
    URL_SAFE_NO_PAD.encode(serde_json::to_vec(value).unwrap_or_default())
}

pub(crate) fn read<T: DeserializeOwned>(cursor: &str) -> Result<T> {
    let bytes = URL_SAFE_NO_PAD.decode(cursor).ok();
    let value = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    Ok(value.ok_or_else(spexus_domain::query::bad_cursor)?)
}
