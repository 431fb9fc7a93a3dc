//! XDR (RFC 4506), as far as sFlow needs it: big-endian words of four octets, and what is variable
//! in length with its length in front, padded to words.

/// Appends values to octets.
#[derive(Debug)]
pub(super) struct Xdr<'a>(pub(super) &'a mut Vec<u8>);

impl Xdr<'_> {
    /// `unsigned int`
    pub(super) fn word(&mut self, value: u32) {
        self.0.extend_from_slice(&value.to_be_bytes());
    }

    /// Each as an `unsigned int`.
    pub(super) fn words(&mut self, values: &[u32]) {
        values.iter().for_each(|&value| self.word(value));
    }

    /// `unsigned hyper`
    pub(super) fn hyper(&mut self, value: u64) {
        self.0.extend_from_slice(&value.to_be_bytes());
    }

    /// `opaque<>` and `string<>`
    pub(super) fn opaque(&mut self, octets: &[u8]) {
        self.word(length(octets.len()));
        self.0.extend_from_slice(octets);
        let padding = octets.len().next_multiple_of(4) - octets.len();
        self.0.extend_from_slice(&[0; 3][..padding]);
    }

    /// What `write` writes, as an `opaque<>`. It is whole words.
    pub(super) fn sized(&mut self, write: impl FnOnce(&mut Xdr<'_>)) {
        let at = self.0.len();
        self.word(0);
        write(&mut Xdr(self.0));
        let written = length(self.0.len() - at - 4);
        debug_assert_eq!(written % 4, 0, "XDR is words");
        self.0[at..at + 4].copy_from_slice(&written.to_be_bytes());
    }
}

/// Datagrams are far shorter than 4 GB.
fn length(octets: usize) -> u32 {
    u32::try_from(octets).unwrap_or(u32::MAX)
}
