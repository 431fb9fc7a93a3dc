//! Bytes read as a script, for tests and fuzz targets: numbers, choices, pieces. The script ends
//! with the bytes.

/// What is left of the bytes.
#[derive(Clone, Debug)]
pub struct Script<'a> {
    bytes: &'a [u8],
}

impl<'a> Script<'a> {
    /// The script in `bytes`.
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// The next octet; `None` at the end.
    pub fn octet(&mut self) -> Option<u8> {
        let (&first, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(first)
    }

    /// The next 16 bits; `None` at the end.
    pub fn word(&mut self) -> Option<u16> {
        Some(u16::from_be_bytes([self.octet()?, self.octet()?]))
    }

    /// A number below `end`, which is at least 1.
    pub fn below(&mut self, end: u8) -> Option<u8> {
        Some(self.octet()? % end)
    }

    /// A piece whose length the script says, as far as there is one.
    pub fn piece(&mut self, bytes_max: usize) -> Option<&'a [u8]> {
        let length = usize::from(self.word()?) % (bytes_max + 1);
        let (piece, rest) = self.bytes.split_at(length.min(self.bytes.len()));
        self.bytes = rest;
        Some(piece)
    }
}
