//! A picture as PNG: eight bits a colour, nothing that a mail program might not know.

use std::io::Write;

use flate2::{Compression, Crc, write::ZlibEncoder};

/// `pixels` are red, green and blue, row by row from the top.
pub(super) fn encode(width: usize, height: usize, pixels: &[u8]) -> Vec<u8> {
    let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
    let mut header = Vec::with_capacity(13);
    header.extend_from_slice(&(width as u32).to_be_bytes());
    header.extend_from_slice(&(height as u32).to_be_bytes());
    // Eight bits, red green blue, deflate, filters, not interlaced.
    header.extend_from_slice(&[8, 2, 0, 0, 0]);
    chunk(&mut png, b"IHDR", &header);
    let stride = width * 3;
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::new(7));
    let above_all = vec![0; stride];
    let mut above: &[u8] = &above_all;
    for row in pixels.chunks_exact(stride) {
        // Filter 2: the difference to the row above, which is nothing in most of a chart.
        let mut line = vec![2];
        line.extend(row.iter().zip(above).map(|(now, before)| now.wrapping_sub(*before)));
        // Writing into a vector cannot fail.
        drop(encoder.write_all(&line));
        above = row;
    }
    chunk(&mut png, b"IDAT", &encoder.finish().unwrap_or_default());
    chunk(&mut png, b"IEND", &[]);
    png
}

fn chunk(png: &mut Vec<u8>, kind: &[u8; 4], data: &[u8]) {
    png.extend_from_slice(&(data.len() as u32).to_be_bytes());
    png.extend_from_slice(kind);
    png.extend_from_slice(data);
    let mut crc = Crc::new();
    crc.update(kind);
    crc.update(data);
    png.extend_from_slice(&crc.sum().to_be_bytes());
}
