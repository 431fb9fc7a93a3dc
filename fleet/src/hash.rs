//! The name of a rule set: the hash of its text.

use sha2::{Digest, Sha256};
use std::fmt::Write;

/// SHA-256 of `text`, in 64 hexadecimal digits.
pub fn content_hash(text: &str) -> String {
    let mut hash = String::with_capacity(64);
    for byte in Sha256::digest(text.as_bytes()) {
        write!(hash, "{byte:02x}").expect("a String takes all that is written to it");
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::content_hash;

    /// The second example of FIPS 180-2, appendix B.1.
    #[test]
    fn it_is_sha_256() {
        let hash = content_hash("abc");
        assert_eq!(hash, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }
}
