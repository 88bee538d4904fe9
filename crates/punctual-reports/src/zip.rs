//! A ZIP archive, written in memory: what a spreadsheet file is inside.
//!
//! Parts are compressed while they are written, so that a large sheet is never in memory as it is. Every time stamp is
//! the first that the format knows: the same report gives the same bytes.

use std::io::Write;

use flate2::{Compression, Crc, write::DeflateEncoder};

/// 1 January 1980, midnight.
const DATE: u16 = 0x0021;
const VERSION: u16 = 20;
const DEFLATED: u16 = 8;
/// Names are UTF-8.
const FLAGS: u16 = 1 << 11;

#[derive(Default)]
pub(crate) struct Archive {
    bytes: Vec<u8>,
    directory: Vec<u8>,
    parts: u16,
}

/// One part on its way into the archive.
pub(crate) struct Part {
    name: &'static str,
    encoder: DeflateEncoder<Vec<u8>>,
    crc: Crc,
}

impl Part {
    pub fn new(name: &'static str) -> Self {
        Self { name, encoder: DeflateEncoder::new(Vec::new(), Compression::new(5)), crc: Crc::new() }
    }

    pub fn write(&mut self, text: &str) {
        self.crc.update(text.as_bytes());
        // Writing into a vector cannot fail.
        drop(self.encoder.write_all(text.as_bytes()));
    }
}

impl Archive {
    pub fn add_text(&mut self, name: &'static str, text: &str) {
        let mut part = Part::new(name);
        part.write(text);
        self.add(part);
    }

    /// Sizes fit in 32 bits: a table is bounded far below.
    pub fn add(&mut self, part: Part) {
        let at = self.bytes.len() as u32;
        let (sum, size) = (part.crc.sum(), part.crc.amount());
        let packed = part.encoder.finish().unwrap_or_default();
        let mut common = Vec::with_capacity(26);
        for half in [VERSION, FLAGS, DEFLATED, 0, DATE] {
            common.extend_from_slice(&half.to_le_bytes());
        }
        for word in [sum, packed.len() as u32, size] {
            common.extend_from_slice(&word.to_le_bytes());
        }
        common.extend_from_slice(&(part.name.len() as u16).to_le_bytes());
        // No extra field.
        common.extend_from_slice(&0u16.to_le_bytes());

        self.bytes.extend_from_slice(b"PK\x03\x04");
        self.bytes.extend_from_slice(&common);
        self.bytes.extend_from_slice(part.name.as_bytes());
        self.bytes.extend_from_slice(&packed);

        self.directory.extend_from_slice(b"PK\x01\x02");
        self.directory.extend_from_slice(&VERSION.to_le_bytes());
        self.directory.extend_from_slice(&common);
        // No comment, the first disk, no attributes.
        self.directory.extend_from_slice(&[0; 10]);
        self.directory.extend_from_slice(&at.to_le_bytes());
        self.directory.extend_from_slice(part.name.as_bytes());
        self.parts += 1;
    }

    pub fn finish(mut self) -> Vec<u8> {
        let (at, size) = (self.bytes.len() as u32, self.directory.len() as u32);
        self.bytes.append(&mut self.directory);
        self.bytes.extend_from_slice(b"PK\x05\x06\0\0\0\0");
        for half in [self.parts, self.parts] {
            self.bytes.extend_from_slice(&half.to_le_bytes());
        }
        for word in [size, at] {
            self.bytes.extend_from_slice(&word.to_le_bytes());
        }
        self.bytes.extend_from_slice(&0u16.to_le_bytes());
        self.bytes
    }
}
