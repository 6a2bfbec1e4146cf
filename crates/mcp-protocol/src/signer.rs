//! Signed tokens: cursors and request states, handed to clients and taken back unchanged.
//!
//! They carry a MAC (keyed BLAKE3) and are not encrypted: a client may read them and cannot make its own. The purpose is part of the signature,
//! so a cursor of one list is no cursor of another.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

const MAC_BYTES: usize = 16;

/// Signs and verifies tokens with one secret key.
#[derive(Debug)]
pub struct Signer {
    key: [u8; 32],
}

impl Signer {
    /// A signer with this key.
    pub fn new(key: [u8; 32]) -> Self {
        Self { key }
    }

    /// The content with its MAC, as base64url.
    pub fn sign(&self, purpose: &str, content: &[u8]) -> String {
        let mut bytes = self.mac(purpose, content).to_vec();
        bytes.extend_from_slice(content);
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// The content, when the text was made here for this purpose.
    //= specs/mcp-server.md#cursors-and-request-states
    //# A cursor or request state that this server did not make for the same purpose MUST be refused with `-32602`.
    pub fn verify(&self, purpose: &str, token: &str) -> Option<Vec<u8>> {
        let mut bytes = URL_SAFE_NO_PAD.decode(token).ok()?;
        if bytes.len() < MAC_BYTES {
            return None;
        }
        let content = bytes.split_off(MAC_BYTES);
        let expected = self.mac(purpose, &content);
        // Compared without an early end, so that timing tells nothing.
        let differs = expected.iter().zip(&bytes).fold(0u8, |sum, (a, b)| sum | (a ^ b));
        (differs == 0).then_some(content)
    }

    fn mac(&self, purpose: &str, content: &[u8]) -> [u8; MAC_BYTES] {
        let mut hasher = blake3::Hasher::new_keyed(&self.key);
        hasher.update(&(purpose.len() as u64).to_le_bytes());
        hasher.update(purpose.as_bytes());
        hasher.update(content);
        let mut mac = [0; MAC_BYTES];
        hasher.finalize_xof().fill(&mut mac);
        mac
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    //= specs/mcp-server.md#cursors-and-request-states
    //= type=test
    //# A cursor or request state that this server did not make for the same purpose MUST be refused with `-32602`.
    #[test]
    fn only_its_own_texts_for_the_same_purpose_open() {
        let signer = Signer::new([7; 32]);
        let token = signer.sign("list", b"after x");
        assert_eq!(signer.verify("list", &token).as_deref(), Some(&b"after x"[..]));
        assert_eq!(signer.verify("other", &token), None);
        assert_eq!(Signer::new([8; 32]).verify("list", &token), None);
        for text in ["", "AAAA", "not base64!", &format!("{token}A"), &token[1..]] {
            assert_eq!(signer.verify("list", text), None, "{text}");
        }
    }
}
