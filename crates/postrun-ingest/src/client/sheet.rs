//! A client's summary as CSV: a few dozen rows, read whole.

use crate::error::IngestError;
use crate::input::source::Source;
use crate::json::records::Walked;
use crate::limits::TABLE_BYTES;
use crate::sink::RunSink;
use csv::{ByteRecord, ReaderBuilder};
use postrun_schema::{IssueCode, Issues};
use std::io::Read;

/// A row with something in it.
pub(crate) struct SheetRow {
    pub line: u64,
    /// Without the white space around them.
    pub cells: Vec<String>,
}

impl SheetRow {
    /// The cell at this place; empty where there is none.
    pub(crate) fn cell(&self, at: usize) -> &str {
        self.cells.get(at).map_or("", String::as_str)
    }
}

/// What a file holds, and what is wrong with it.
pub(crate) struct Sheet {
    pub rows: Vec<SheetRow>,
    pub walked: Walked,
    file: String,
}

impl Sheet {
    /// Reads up to [`TABLE_BYTES`]. A last row without a line break may be cut: it is left out and counted.
    fn read(file: &str, text: &mut impl Read) -> Result<Sheet, IngestError> {
        let io = IngestError::io(file);
        let mut bytes = Vec::new();
        text.by_ref().take(TABLE_BYTES + 1).read_to_end(&mut bytes).map_err(&io)?;
        let is_longer = bytes.len() as u64 > TABLE_BYTES;
        bytes.truncate(TABLE_BYTES as usize);
        let walked = Walked { issues: Issues::default(), skipped: 0, first_problem: None };
        let mut sheet = Sheet { rows: Vec::new(), walked, file: file.to_string() };
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
        let mut table = ReaderBuilder::new().flexible(true).has_headers(false).from_reader(bytes);
        let mut record = ByteRecord::new();
        while table.read_byte_record(&mut record).map_err(|e| io(std::io::Error::other(e.to_string())))? {
            // The reader's own place of a record is before the line ends that it passed over.
            let line = record.position().map_or(0, |at| {
                let rest = bytes.get(at.byte() as usize..).unwrap_or_default();
                let ends = rest.iter().take_while(|b| matches!(b, b'\n' | b'\r'));
                at.line() + ends.filter(|b| **b == b'\n').count() as u64
            });
            if table.position().byte() >= bytes.len() as u64 && !matches!(bytes.last(), Some(b'\n' | b'\r')) {
                sheet.skip(
                    IssueCode::TruncatedRecord,
                    line,
                    "the file ends without a line break: its last row may be cut",
                );
                break;
            }
            if record.iter().any(|cell| std::str::from_utf8(cell).is_err()) {
                sheet.issue(IssueCode::NotUtf8, line, "a cell");
            }
            let cells = record.iter().map(|cell| String::from_utf8_lossy(cell).trim().to_string()).collect();
            sheet.rows.push(SheetRow { line, cells });
        }
        if is_longer {
            let line = table.position().line();
            sheet.skip(
                IssueCode::TruncatedRecord,
                line,
                &format!("beyond {TABLE_BYTES} bytes, which is no summary's size"),
            );
        }
        Ok(sheet)
    }

    /// Counts a problem of one row.
    pub(crate) fn issue(&mut self, code: IssueCode, line: u64, what: &str) {
        let file = &self.file;
        self.walked.issues.add(code, || format!("{file}: line {line}"), || what.to_string());
    }

    /// The same, of a row that is left out.
    pub(crate) fn skip(&mut self, code: IssueCode, line: u64, what: &str) {
        self.walked.skipped += 1;
        self.walked.first_problem.get_or_insert_with(|| format!("line {line}: {what}"));
        self.issue(code, line, what);
    }
}

/// Reads the file and closes it behind `take`, which hands over the runs.
pub(crate) fn read(
    source: &mut Source,
    sink: &mut RunSink<'_>,
    format: &'static str,
    take: impl FnOnce(&mut Sheet, &mut RunSink<'_>) -> Result<(), IngestError>,
) -> Result<(), IngestError> {
    let mut text = source.take_reader();
    let mut sheet = Sheet::read(&source.name, &mut text)?;
    take(&mut sheet, sink)?;
    sink.close(source, text, format, sheet.walked)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sheet(text: &[u8]) -> Sheet {
        Sheet::read("s.csv", &mut { text }).unwrap()
    }

    #[test]
    fn rows_with_their_lines_and_what_is_cut() {
        let whole = sheet(b"\xef\xbb\xbfMetric,avg\n\n\"a, b\", 1.5 \r\n");
        let rows: Vec<(u64, Vec<String>)> = whole.rows.into_iter().map(|row| (row.line, row.cells)).collect();
        let texts = |cells: [&str; 2]| cells.map(String::from).to_vec();
        assert_eq!(rows, [(1, texts(["Metric", "avg"])), (3, texts(["a, b", "1.5"]))]);
        let cut = sheet(b"Metric,avg\nTTFT,1");
        assert_eq!((cut.rows.len(), cut.walked.skipped), (1, 1));
        assert_eq!(cut.walked.issues.count(IssueCode::TruncatedRecord), 1);
        assert_eq!(sheet(b"a,\xff\n").walked.issues.count(IssueCode::NotUtf8), 1);
        assert!(sheet(b"").rows.is_empty());
        // Rows of a kibibyte, one more than there is room for.
        let row = format!("{}\n", "x".repeat(1023));
        let long = sheet(row.repeat(TABLE_BYTES as usize / 1024 + 1).as_bytes());
        assert_eq!((long.rows.len() as u64, long.walked.skipped), (TABLE_BYTES / 1024, 1));
        assert_eq!(long.walked.issues.count(IssueCode::TruncatedRecord), 1);
    }
}
