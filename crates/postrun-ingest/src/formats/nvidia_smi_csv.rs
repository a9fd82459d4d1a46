//! Rows of `nvidia-smi --query-gpu=… --format=csv -l …`: memory, load, power and temperature of each GPU over time.
//!
//! # Which files
//! The CSV with its heading line, with or without units (`nounits`), for instance of
//! ```text
//! nvidia-smi --query-gpu=timestamp,index,memory.used,utilization.gpu,power.draw,temperature.gpu --format=csv -l 1
//! ```
//! Recognised by a heading with `timestamp` and one of those figures. Without a heading (`noheader`) nobody can say
//! what a column holds, and the file is not read. A heading may stand again further down, after a restart.
//!
//! # Versions seen
//! The layout is that of all drivers since query options exist; the file in the fixtures was written by hand after it.
//!
//! # How the figures are read
//! - `memory.used` and `memory.total` (MiB), `utilization.gpu` (%), `power.draw` (W) and `temperature.gpu` become the
//!   series of those names, in bytes, shares, watts and degrees. Other columns keep their heading as name, unit
//!   included.
//! - `[N/A]` and its like are no values.
//! - The time, `2026/01/02 03:04:05.678`, names no zone: it is the local time of the machine. A Unix time is taken too.
//! - A device is told by `index` and `uuid`; without either, several devices cannot be told apart.
//! - `utilization.gpu` is the share of time in which any kernel ran, not how much of the device was used.
//!
//! # What is not recorded
//! The time zone; which process used the device; anything between two rows.

use crate::error::IngestError;
use crate::ingestor::{Head, Ingestor, Reads, Sniff};
use crate::input::source::Source;
use crate::json::shorten;
use crate::metric::device::{Cell, Column, cell, write_figure};
use crate::metric::series::SeriesTable;
use crate::server::recording::ServerSink;
use crate::text::lines::{Line, Lines};
use crate::text::marker::MarkerReader;
use crate::text::stamp::StampClock;
use postrun_schema::{Doc, IssueCode};

pub(super) static NVIDIA_SMI_CSV: Ingestor = Ingestor {
    id: "nvidia_smi_csv",
    title: "rows of nvidia-smi",
    doc: Doc::from_source(include_str!("nvidia_smi_csv.rs")),
    sniff,
    reads: Reads::Server(ingest),
};

/// The columns, if this line is a heading.
fn heading(line: &str) -> Option<Vec<Column>> {
    let theirs = ["memory.used", "memory.total", "utilization.gpu", "power.draw", "temperature.gpu"];
    let name = |cell: &'_ str| cell.split('[').next().unwrap_or_default().trim().to_string();
    let is_heading = line.contains('.') && line.split(',').any(|cell| theirs.contains(&name(cell).as_str()));
    is_heading.then(|| line.split(',').map(|cell| Column::from_heading(cell.trim())).collect())
}

fn sniff(head: &Head) -> Sniff {
    if !head.keys.is_empty() {
        return Sniff::No;
    }
    let text = String::from_utf8_lossy(head.bytes);
    match text.lines().take(20).find_map(heading) {
        Some(columns) if columns.contains(&Column::Stamp) => Sniff::Strong,
        Some(_) => Sniff::Weak,
        None => Sniff::No,
    }
}

fn ingest(source: &mut Source, sink: &mut ServerSink) -> Result<(), IngestError> {
    let io = IngestError::io(&source.name);
    let mut lines = Lines::new(source.take_reader());
    let mut table = Rows::default();
    while let Some(line) = lines.next().map_err(&io)? {
        table.line(&line, sink)?;
    }
    let (clock, resolution_ns) = table.times.clock().unwrap_or((StampClock::Local, 1_000_000));
    sink.clock(clock, resolution_ns);
    sink.issue_many(IssueCode::ClockStep, table.times.hour_steps(), String::new, || {
        "in the column timestamp".to_string()
    });
    Ok(())
}

#[derive(Default)]
struct Rows {
    columns: Vec<Column>,
    series: SeriesTable,
    times: MarkerReader,
}

impl Rows {
    fn line(&mut self, line: &Line<'_>, sink: &mut ServerSink) -> Result<(), IngestError> {
        let text = line.text.trim();
        let example = || shorten(text.to_string(), 80);
        if text.is_empty() {
            return Ok(());
        }
        if line.unfinished {
            sink.skip(IssueCode::TruncatedRecord, || line.place(), example);
            return Ok(());
        }
        if let Some(columns) = heading(text) {
            self.columns = columns;
            return Ok(());
        }
        let cells: Vec<&str> = text.split(',').map(str::trim).collect();
        if self.columns.is_empty() || cells.len() < 2 {
            sink.issue(IssueCode::ForeignLines, || line.place(), example);
            return Ok(());
        }
        if cells.len() != self.columns.len() {
            sink.skip(IssueCode::BadRecord, || line.place(), example);
            return Ok(());
        }
        match self.moment(&cells) {
            Some(at_ns) => self.row(&cells, at_ns, line, sink),
            None => {
                sink.skip(IssueCode::NoSampleTime, || line.place(), example);
                Ok(())
            }
        }
    }

    fn moment(&mut self, cells: &[&str]) -> Option<i64> {
        let position = self.columns.iter().position(|c| *c == Column::Stamp)?;
        let marker = self.times.read(cells.get(position)?)?;
        self.times.moment(&marker)
    }

    fn row(&mut self, cells: &[&str], at_ns: i64, line: &Line<'_>, sink: &mut ServerSink) -> Result<(), IngestError> {
        let place = || line.place();
        let mut device = Vec::new();
        for (column, text) in self.columns.iter().zip(cells) {
            match column {
                Column::Label(key) => device.push((key.to_string(), text.to_string())),
                Column::Model => sink.fact("gpu_model", *text),
                _ => {}
            }
        }
        for (column, text) in self.columns.iter().zip(cells) {
            let Column::Figure(name, factor) = column else { continue };
            match cell(text, *factor) {
                Cell::Value(value) => write_figure(&mut self.series, sink, name, &device, at_ns, value, &place)?,
                Cell::Absent => {}
                Cell::Wrong => sink.issue(IssueCode::WrongType, place, || format!("{name}: {text:?}")),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::reading_test::{Sample, read, samples, sniff};

    const ROWS: &str = "timestamp, index, name, memory.used [MiB], utilization.gpu [%], power.draw [W], clocks.sm [MHz]\r\n\
        2026/01/02 03:04:05.250, 0, NVIDIA X, 1024 MiB, 50 %, 60.50 W, 1410 MHz\r\n\
        2026/01/02 03:04:05.251, 1, NVIDIA X, 2 MiB, 0 %, [N/A], 210 MHz\r\n\
        2026/01/02 03:04:06.250, 0, NVIDIA X, 2048 MiB, 100 %, 61.00 W, 1410 MHz\r\n";
    /// 2026-01-02 03:04:05 as if it were UTC.
    const AT: i64 = 1_767_323_045_000_000_000;

    fn all(text: &str) -> (crate::server::recording::Recording, Vec<Sample>) {
        let (mut recording, _dir) = read(&NVIDIA_SMI_CSV, "gpu.csv", text.as_bytes()).unwrap();
        let samples = samples(&mut recording);
        (recording, samples)
    }

    #[test]
    fn rows_in_our_units() {
        let (recording, samples) = all(ROWS);
        let got: Vec<(i64, &str, &str, f64)> =
            samples.iter().map(|s| (s.0 - AT, s.1.as_str(), s.2.as_deref().unwrap_or(""), s.3)).collect();
        let expected = [
            (250_000_000, "gpu_memory_used_bytes", "gpu=0", 1_073_741_824.0),
            (250_000_000, "gpu_utilization", "gpu=0", 0.5),
            (250_000_000, "gpu_power_watts", "gpu=0", 60.5),
            (250_000_000, "clocks.sm [MHz]", "gpu=0", 1410.0),
            (251_000_000, "gpu_memory_used_bytes", "gpu=1", 2_097_152.0),
            (251_000_000, "gpu_utilization", "gpu=1", 0.0),
            (251_000_000, "clocks.sm [MHz]", "gpu=1", 210.0),
            (1_250_000_000, "gpu_memory_used_bytes", "gpu=0", 2_147_483_648.0),
            (1_250_000_000, "gpu_utilization", "gpu=0", 1.0),
            (1_250_000_000, "gpu_power_watts", "gpu=0", 61.0),
            (1_250_000_000, "clocks.sm [MHz]", "gpu=0", 1410.0),
        ];
        assert_eq!(got, expected);
        assert_eq!((recording.clock, recording.resolution_ns), (StampClock::Local, 1_000_000));
        assert_eq!(recording.facts.get("gpu_model").map(String::as_str), Some("NVIDIA X"));
        let bare = ROWS.replace(" MiB,", ",").replace(" %,", ",").replace(" W,", ",").replace(" MHz\r", "\r");
        assert_eq!(all(&bare).1, samples);
    }

    #[test]
    fn headings_again_and_lines_of_others() {
        let text = format!("{ROWS}# note\n{}2026/01/02, 1\nx, 0, X, 1, 1, 1, 1\n", ROWS.replace("03:04:0", "03:05:0"));
        let (recording, samples) = all(&text);
        assert_eq!(samples.len(), 22);
        for code in [IssueCode::ForeignLines, IssueCode::BadRecord, IssueCode::NoSampleTime] {
            assert_eq!(recording.issues.count(code), 1, "{code:?}");
        }
        assert_eq!(all(&ROWS.replace("60.50 W", "soon")).0.issues.count(IssueCode::WrongType), 1);
    }

    #[test]
    fn cuts_and_flips_invent_nothing() {
        let (_, whole) = all(ROWS);
        for end in 0..ROWS.len() {
            if let Ok((mut recording, _dir)) = read(&NVIDIA_SMI_CSV, "m", &ROWS.as_bytes()[..end]) {
                assert!(samples(&mut recording).iter().all(|s| whole.contains(s)), "{end}");
            }
            let mut text = ROWS.as_bytes().to_vec();
            text[end] = [0u8, b',', b'\n', 0xff][end % 4];
            let _ = read(&NVIDIA_SMI_CSV, "m", &text);
        }
    }

    #[test]
    fn recognised_by_its_heading() {
        assert_eq!(sniff(&NVIDIA_SMI_CSV, "x", ROWS.as_bytes()), Sniff::Strong);
        assert_eq!(sniff(&NVIDIA_SMI_CSV, "x", b"index, memory.used [MiB]\n0, 1 MiB\n"), Sniff::Weak);
        assert_eq!(sniff(&NVIDIA_SMI_CSV, "x", b"2026/01/02 03:04:05.678, 0, 1024 MiB\n"), Sniff::No);
        assert_eq!(sniff(&NVIDIA_SMI_CSV, "x", b"backend,dataset_name\nlmdeploy,random\n"), Sniff::No);
    }
}
