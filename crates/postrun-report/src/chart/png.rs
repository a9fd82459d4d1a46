//! A figure as PNG: drawn at four times its size and halved, which smooths what the bitmap backend leaves rough.
//!
//! A PNG of plain RGB is three chunks around a zlib stream. Written here: a crate for it would ask for other features of
//! the compression that Polars stands on, and with that for a second build of it.

use super::error::ChartError;
use super::figure::Figure;
use super::font;
use super::ink::Theme;
use super::layout::{Layout, WIDTH};
use super::render::{Sheet, measure};
use flate2::{Compression, Crc, write::ZlibEncoder};
use plotters::prelude::*;
use std::io::Write;

const DRAWN_AT: f64 = 4.0;
const BYTES: usize = 3;
/// The bitmap backend takes the middle of the line for that of the letters.
const SINK: f64 = 0.15;

pub(crate) fn to_png(figure: &Figure, theme: Theme) -> Result<Vec<u8>, ChartError> {
    font::register()?;
    let layout = Layout::of(figure, measure);
    let (w, h) = ((WIDTH * DRAWN_AT) as usize, (layout.height * DRAWN_AT) as usize);
    let mut pixels = vec![0u8; w * h * BYTES];
    {
        let area = BitMapBackend::with_buffer(&mut pixels, (w as u32, h as u32)).into_drawing_area();
        Sheet::new(&area, (DRAWN_AT, SINK), theme).figure(figure, &layout)?;
    }
    encode(&halved(&pixels, w, h), w / 2, h / 2).map_err(|e| ChartError(e.to_string()))
}

/// Each pixel the mean of four.
fn halved(pixels: &[u8], w: usize, h: usize) -> Vec<u8> {
    let at = |x: usize, y: usize, c: usize| u16::from(pixels[(y * w + x) * BYTES + c]);
    let mut out = Vec::with_capacity(pixels.len() / 4);
    for y in 0..h / 2 {
        for x in 0..w / 2 {
            for c in 0..BYTES {
                let sum = at(2 * x, 2 * y, c)
                    + at(2 * x + 1, 2 * y, c)
                    + at(2 * x, 2 * y + 1, c)
                    + at(2 * x + 1, 2 * y + 1, c);
                out.push(((sum + 2) / 4) as u8);
            }
        }
    }
    out
}

fn encode(pixels: &[u8], w: usize, h: usize) -> std::io::Result<Vec<u8>> {
    let mut out = vec![0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n'];
    let mut header = Vec::new();
    header.extend((w as u32).to_be_bytes());
    header.extend((h as u32).to_be_bytes());
    // Eight bits, RGB, no interlacing.
    header.extend([8, 2, 0, 0, 0]);
    chunk(b"IHDR", &header, &mut out);
    let mut stream = ZlibEncoder::new(Vec::new(), Compression::default());
    let row = w * BYTES;
    let mut above = vec![0u8; row];
    for line in pixels.chunks(row) {
        // The filter "up": most lines repeat the one above.
        let differences: Vec<u8> = line.iter().zip(&above).map(|(a, b)| a.wrapping_sub(*b)).collect();
        stream.write_all(&[2])?;
        stream.write_all(&differences)?;
        above.copy_from_slice(line);
    }
    chunk(b"IDAT", &stream.finish()?, &mut out);
    chunk(b"IEND", &[], &mut out);
    Ok(out)
}

fn chunk(kind: &[u8; 4], data: &[u8], out: &mut Vec<u8>) {
    out.extend((data.len() as u32).to_be_bytes());
    out.extend(kind);
    out.extend(data);
    let mut crc = Crc::new();
    crc.update(kind);
    crc.update(data);
    out.extend(crc.sum().to_be_bytes());
}
