//! Tables of `nvidia-smi dmon` and `dcgmi dmon`: figures of each GPU, a line for each interval.
//!
//! # Which files
//! What these commands print, headings included: `#Date Time gpu pwr gtemp …` of `nvidia-smi dmon -o DT`, also as CSV
//! (`--format csv`), and `#Entity GPUTL FBUSD …` of `dcgmi dmon -e 203,252`. Recognised by these headings.
//!
//! `dcgmi dmon` prints no time and `nvidia-smi dmon` only with `-o DT`. A date and time (or a Unix time) may stand
//! before the columns of a line, as `ts '%Y-%m-%d %H:%M:%S'` puts it there, or on a line of its own before those it is
//! about.
//!
//! # Versions seen
//! Layouts as the tools' manuals show them; the file in the fixtures was written by hand after them.
//!
//! # How the figures are read
//! - `fb` and `FBUSD` (MiB) become `gpu_memory_used_bytes`, `sm` and `GPUTL` (%) `gpu_utilization`, `pwr` and `POWER`
//!   (W) `gpu_power_watts`, `gtemp` and `TMPTR` (°C) `gpu_temperature_celsius`. Other columns keep their name.
//! - `-` and `N/A` are no values.
//! - A time without a zone is the local time of the machine. A time of day without a date is no moment.
//! - Lines without a moment are left out and counted.
//!
//! # What is not recorded
//! Mostly the time; which process used the device; anything between two lines.

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

pub(super) static GPU_DMON: Ingestor = Ingestor {
    id: "gpu_dmon",
    title: "table of nvidia-smi dmon or dcgmi dmon",
    doc: Doc::from_source(include_str!("gpu_dmon.rs")),
    sniff,
    reads: Reads::Server(ingest),
};

fn words(line: &str) -> Vec<&str> {
    line.split([' ', '\t', ',']).filter(|w| !w.is_empty()).collect()
}

/// The figures of a heading line, by position behind the device; and whether date and time come first.
fn heading(line: &str) -> Option<Heading> {
    let names = words(line.get(line.find('#')?..)?.trim_start_matches('#'));
    let (dated, rest) = match names.as_slice() {
        ["Date", "Time", rest @ ..] => (true, rest),
        ["Time", rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    let timed = names.contains(&"Time");
    match rest {
        ["gpu", figures @ ..] | ["Entity", figures @ ..] if !figures.is_empty() => {
            let is_dcgm = rest.first() == Some(&"Entity");
            let columns: Vec<Column> = figures.iter().map(|name| Column::from_heading(name)).collect();
            let known = is_dcgm || columns.iter().any(Column::is_known_figure);
            known.then_some(Heading { columns, dated, timed, is_dcgm })
        }
        _ => None,
    }
}

#[derive(Debug, Clone, Default)]
struct Heading {
    columns: Vec<Column>,
    dated: bool,
    timed: bool,
    is_dcgm: bool,
}

fn sniff(head: &Head) -> Sniff {
    let text = String::from_utf8_lossy(head.bytes);
    let ours = head.keys.is_empty() && text.lines().take(20).any(|line| heading(line).is_some());
    if ours { Sniff::Strong } else { Sniff::No }
}

fn ingest(source: &mut Source, sink: &mut ServerSink) -> Result<(), IngestError> {
    let io = IngestError::io(&source.name);
    let mut lines = Lines::new(source.take_reader());
    let mut table = Table::default();
    while let Some(line) = lines.next().map_err(&io)? {
        table.line(&line, sink)?;
    }
    let (clock, resolution_ns) = table.times.clock().unwrap_or((StampClock::Local, 1_000_000_000));
    sink.clock(clock, resolution_ns);
    sink.issue_many(IssueCode::ClockStep, table.times.hour_steps(), String::new, || {
        "in the times of lines".to_string()
    });
    Ok(())
}

#[derive(Default)]
struct Table {
    heading: Option<Heading>,
    series: SeriesTable,
    times: MarkerReader,
    at_ns: Option<i64>,
}

impl Table {
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
        if let Some(heading) = heading(text) {
            self.heading = Some(heading);
            return Ok(());
        }
        if let Some(marker) = self.times.read(text) {
            self.at_ns = self.times.moment(&marker);
            return Ok(());
        }
        // The line of units below the heading.
        let is_unit_line = text.starts_with('#') || text == "ID" || text == "Id";
        let Some(heading) = self.heading.take_if(|_| !is_unit_line) else { return Ok(()) };
        let stored = self.row(&heading, text, line, sink);
        self.heading = Some(heading);
        stored
    }

    fn row(
        &mut self,
        heading: &Heading,
        text: &str,
        line: &Line<'_>,
        sink: &mut ServerSink,
    ) -> Result<(), IngestError> {
        let example = || shorten(text.to_string(), 80);
        let words = words(text);
        let Some(row) = split_row(heading, &words) else {
            sink.issue(IssueCode::ForeignLines, || line.place(), example);
            return Ok(());
        };
        let own = if row.stamp.is_empty() { None } else { self.times.read(&row.stamp) };
        let at_ns = match own {
            Some(marker) => self.times.moment(&marker),
            None if heading.timed => None,
            None => self.at_ns,
        };
        let Some(at_ns) = at_ns else {
            sink.skip(IssueCode::NoSampleTime, || line.place(), example);
            return Ok(());
        };
        let device = [("gpu".to_string(), row.device.to_string())];
        for (column, text) in heading.columns.iter().zip(row.cells) {
            let Column::Figure(name, factor) = column else { continue };
            match cell(text, *factor) {
                Cell::Value(value) => {
                    write_figure(&mut self.series, sink, name, &device, at_ns, value, &|| line.place())?;
                }
                Cell::Absent => {}
                Cell::Wrong => sink.issue(IssueCode::WrongType, || line.place(), || format!("{name}: {text:?}")),
            }
        }
        Ok(())
    }
}

struct Row<'a> {
    stamp: String,
    device: &'a str,
    cells: &'a [&'a str],
}

/// Takes a line apart from its end: as many cells as there are columns, the device before them, the time before that.
fn split_row<'a>(heading: &Heading, words: &'a [&'a str]) -> Option<Row<'a>> {
    let first = words.len().checked_sub(heading.columns.len())?;
    let (before, cells) = words.split_at_checked(first)?;
    let (device, before) = before.split_last()?;
    let before = match heading.is_dcgm {
        true => before.strip_suffix(&["GPU"])?,
        false => before,
    };
    let numbered = !device.is_empty() && device.bytes().all(|b| b.is_ascii_digit());
    let stamp = match before {
        // Date and time as dmon writes them: 20260102 03:04:05.
        [date, time] if heading.dated && date.len() == 8 && date.is_ascii() => {
            let (year, rest) = date.split_at_checked(4)?;
            let (month, day) = rest.split_at_checked(2)?;
            format!("{year}-{month}-{day} {time}")
        }
        other => other.join(" "),
    };
    numbered.then_some(Row { stamp, device, cells })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::reading_test::{Sample, read, samples, sniff};

    const SMI: &str = "#Date       Time        gpu    pwr  gtemp  mtemp     sm    mem     fb\n\
        #YYYYMMDD   HH:MM:SS    Idx      W      C      C      %      %     MB\n \
        20260102   03:04:05      0     60     41      -     50     12   1024\n \
        20260102   03:04:05      1     61     40      -      0      0      2\n";
    const DCGM: &str = "#Entity   GPUTL   FBUSD   PROF\nID\n# scrape_time 1700000000\n    GPU 0     100    2    N/A\n\
        [2023-11-14T22:13:21Z] GPU 1     50    1    0.25\n";
    const AT: i64 = 1_767_323_045_000_000_000;

    fn all(text: &str) -> (crate::server::recording::Recording, Vec<Sample>) {
        let (mut recording, _dir) = read(&GPU_DMON, "dmon.txt", text.as_bytes()).unwrap();
        let samples = samples(&mut recording);
        (recording, samples)
    }

    fn short(samples: &[Sample]) -> Vec<(i64, &str, &str, f64)> {
        samples.iter().map(|s| (s.0, s.1.as_str(), s.2.as_deref().unwrap_or(""), s.3)).collect()
    }

    #[test]
    fn dates_and_columns_of_nvidia_smi() {
        let (recording, samples) = all(SMI);
        let got = short(&samples);
        assert_eq!(got.len(), 10);
        assert_eq!(got[0], (AT, "gpu_power_watts", "gpu=0", 60.0));
        assert_eq!(got[1], (AT, "gpu_temperature_celsius", "gpu=0", 41.0));
        assert_eq!(got[2], (AT, "gpu_utilization", "gpu=0", 0.5));
        assert_eq!(got[3], (AT, "mem", "gpu=0", 12.0));
        assert_eq!(got[4], (AT, "gpu_memory_used_bytes", "gpu=0", 1_073_741_824.0));
        assert_eq!(got[9], (AT, "gpu_memory_used_bytes", "gpu=1", 2_097_152.0));
        assert_eq!(recording.clock, StampClock::Local);
        let csv = "#Date, Time, gpu, pwr\n#YYYYMMDD, HH:MM:SS, Idx, W\n20260102, 03:04:05, 0, 60\n";
        assert_eq!(short(&all(csv).1), [(AT, "gpu_power_watts", "gpu=0", 60.0)]);
    }

    #[test]
    fn times_before_lines_of_dcgm() {
        let (recording, samples) = all(DCGM);
        let t0 = 1_700_000_000_000_000_000;
        let expected = [
            (t0, "gpu_utilization", "gpu=0", 1.0),
            (t0, "gpu_memory_used_bytes", "gpu=0", 2_097_152.0),
            (t0 + 1_000_000_000, "gpu_utilization", "gpu=1", 0.5),
            (t0 + 1_000_000_000, "gpu_memory_used_bytes", "gpu=1", 1_048_576.0),
            (t0 + 1_000_000_000, "PROF", "gpu=1", 0.25),
        ];
        assert_eq!(short(&samples), expected);
        assert!(recording.issues.is_empty());
        let untimed = DCGM.replace("# scrape_time 1700000000\n", "");
        assert_eq!(all(&untimed).0.issues.count(IssueCode::NoSampleTime), 1);
        assert_eq!(
            all(&SMI.replace("#Date       ", "#").replace("20260102", "")).0.issues.count(IssueCode::NoSampleTime),
            2
        );
    }

    #[test]
    fn cuts_and_flips_invent_nothing() {
        for text in [SMI, DCGM] {
            let (_, whole) = all(text);
            for end in 0..text.len() {
                if let Ok((mut recording, _dir)) = read(&GPU_DMON, "m", &text.as_bytes()[..end]) {
                    assert!(samples(&mut recording).iter().all(|s| whole.contains(s)), "{end}");
                }
                let mut flipped = text.as_bytes().to_vec();
                flipped[end] = [0u8, b' ', b'\n', 0xff][end % 4];
                let _ = read(&GPU_DMON, "m", &flipped);
            }
        }
    }

    #[test]
    fn recognised_by_its_headings() {
        assert_eq!(sniff(&GPU_DMON, "x", SMI.as_bytes()), Sniff::Strong);
        assert_eq!(sniff(&GPU_DMON, "x", DCGM.as_bytes()), Sniff::Strong);
        assert_eq!(sniff(&GPU_DMON, "x", b"# gpu notes\n# Entity\nhello 1\n"), Sniff::No);
    }
}
