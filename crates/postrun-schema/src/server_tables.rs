//! Adds the server's side to a run whose client side is written: events, samples, and the server's columns of requests.

use crate::columns::{SampleBuffer, events_batch};
use crate::error::SchemaError;
use crate::extra_writer::ExtraWriter;
use crate::parquet_guard::{caught, refuse_outside};
use crate::row::{EventRow, RequestRow};
use crate::table::Table;
use crate::writer::{PendingRun, TableWriter};
use arrow_array::{Array, ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray, UInt32Array};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::path::Path;
use std::sync::Arc;

const BATCH_ROWS: usize = 1 << 14;

/// What the server recorded of one request, for the columns that are the server's.
pub type ServerColumns = RequestRow;

/// The batches of a table's file, of at most `rows` rows; `columns` empty means all of them. Columns that the file lacks
/// are not in the batches either.
pub fn batches(
    path: &Path,
    columns: &[&str],
    rows: usize,
) -> Result<impl Iterator<Item = Result<RecordBatch, SchemaError>> + use<>, SchemaError> {
    let file = std::fs::File::open(path).map_err(SchemaError::io(path))?;
    let size = file.metadata().map_err(SchemaError::io(path))?.len();
    let open = || {
        let builder = caught(|| ParquetRecordBatchReaderBuilder::try_new(file))?;
        refuse_outside(builder.metadata(), size)?;
        let mask = match columns {
            [] => ProjectionMask::all(),
            names => ProjectionMask::columns(builder.parquet_schema(), names.iter().copied()),
        };
        caught(|| builder.with_projection(mask).with_batch_size(rows).build())
    };
    let mut reader = Some(open().map_err(SchemaError::parquet(path))?);
    let path = path.to_path_buf();
    Ok(std::iter::from_fn(move || {
        let batch = reader.as_mut().map_or(Ok(None), |reader| caught(|| reader.next().transpose()));
        if batch.is_err() {
            reader = None;
        }
        batch.map_err(|e| SchemaError::parquet(&path)(e.into())).transpose()
    }))
}

/// Reads a table of a dataset batch by batch; `columns` empty means all of them.
pub fn read_batches(
    path: &Path,
    columns: &[&str],
    mut each: impl FnMut(RecordBatch) -> Result<(), SchemaError>,
) -> Result<(), SchemaError> {
    batches(path, columns, BATCH_ROWS)?.try_for_each(|batch| each(batch?))
}

/// Writes the server's tables of a run.
pub struct ServerTables<'a> {
    run: &'a mut PendingRun,
    samples: Option<TableWriter>,
    pending_samples: SampleBuffer,
    events: Option<TableWriter>,
    pending_events: Vec<EventRow>,
}

impl PendingRun {
    /// Opens the server's tables of this run.
    pub fn server_tables(&mut self) -> ServerTables<'_> {
        ServerTables {
            run: self,
            samples: None,
            pending_samples: SampleBuffer::default(),
            events: None,
            pending_events: Vec::new(),
        }
    }

    /// Reads a table batch by batch; nothing where the run has none.
    pub fn read(
        &self,
        table: Table,
        columns: &[&str],
        each: impl FnMut(RecordBatch) -> Result<(), SchemaError>,
    ) -> Result<(), SchemaError> {
        match self.manifest.tables.contains_key(table.name()) {
            true => read_batches(&self.dir.join(table.file_name()), columns, each),
            false => Ok(()),
        }
    }

    /// Takes the numbers of another run's requests, each for the request that `to_ours` names, where this run has none of
    /// its own.
    pub fn take_extras(&mut self, other: &PendingRun, to_ours: impl Fn(u32) -> Option<u32>) -> Result<(), SchemaError> {
        if self.manifest.tables.contains_key(Table::Extras.name()) {
            return Ok(());
        }
        let mut writer = ExtraWriter::new(&self.dir, self.lifetime);
        other.read(Table::Extras, &[], |batch| {
            let requests = column::<UInt32Array>(&batch, "request");
            let names = column::<StringArray>(&batch, "name");
            let values = column::<Float64Array>(&batch, "value");
            let (Some(requests), Some(names), Some(values)) = (requests, names, values) else { return Ok(()) };
            for i in 0..batch.num_rows() {
                if let Some(request) = to_ours(requests.value(i)) {
                    writer.push(request, names.value(i), values.value(i))?;
                }
            }
            Ok(())
        })?;
        if let Some(file) = writer.finish()? {
            self.manifest.tables.insert(Table::Extras.name().to_string(), file);
        }
        Ok(())
    }

    /// Fills the server's columns of the requests for which `facts` has something. A value that is there already stays.
    pub fn fill_requests<'f>(&mut self, facts: impl Fn(u32) -> Option<&'f ServerColumns>) -> Result<(), SchemaError> {
        let path = self.dir.join(Table::Requests.file_name());
        let old = self.dir.join("requests.before");
        std::fs::rename(&path, &old).map_err(SchemaError::io(&path))?;
        let mut writer = TableWriter::create(&self.dir, Table::Requests, self.lifetime)?;
        read_batches(&old, &[], |batch| writer.write(&filled(&batch, &facts)?))?;
        self.manifest.tables.insert(Table::Requests.name().to_string(), writer.finish()?);
        std::fs::remove_file(&old).map_err(SchemaError::io(&old))
    }
}

type Time = fn(&ServerColumns) -> Option<i64>;
type Count = fn(&ServerColumns) -> Option<u32>;
type Text = fn(&ServerColumns) -> Option<&str>;

const TIMES: &[(&str, Time)] = &[
    ("arrival_ns", |r| r.arrival_ns),
    ("queued_ns", |r| r.queued_ns),
    ("first_scheduled_ns", |r| r.first_scheduled_ns),
    ("server_first_token_ns", |r| r.server_first_token_ns),
    ("server_last_token_ns", |r| r.server_last_token_ns),
    ("queue_ns", |r| r.queue_ns),
    ("prefill_ns", |r| r.prefill_ns),
    ("decode_ns", |r| r.decode_ns),
    ("inference_ns", |r| r.inference_ns),
    ("preempted_prefill_ns", |r| r.preempted_prefill_ns),
    ("preempted_decode_ns", |r| r.preempted_decode_ns),
];
const COUNTS: &[(&str, Count)] = &[
    ("prompt_tokens", |r| r.prompt_tokens),
    ("cached_tokens", |r| r.cached_tokens),
    ("output_tokens", |r| r.output_tokens),
    ("reasoning_tokens", |r| r.reasoning_tokens),
    ("requested_output_tokens", |r| r.requested_output_tokens),
    ("preemptions", |r| r.preemptions),
];
const TEXTS: &[(&str, Text)] = &[
    ("request_id", |r| r.request_id.as_deref()),
    ("finish_reason", |r| r.finish_reason.as_deref()),
    ("model", |r| r.model.as_deref()),
];

fn filled<'f>(
    batch: &RecordBatch,
    facts: &impl Fn(u32) -> Option<&'f ServerColumns>,
) -> Result<RecordBatch, SchemaError> {
    let Some(keys) = column::<UInt32Array>(batch, "request") else { return Ok(batch.clone()) };
    let rows: Vec<Option<&ServerColumns>> = keys.values().iter().map(|key| facts(*key)).collect();
    let mut columns: Vec<ArrayRef> = batch.columns().to_vec();
    for (position, field) in batch.schema().fields().iter().enumerate() {
        let name = field.name().as_str();
        if let Some((_, get)) = TIMES.iter().find(|(n, _)| *n == name)
            && let Some(old) = column::<Int64Array>(batch, name)
        {
            let new = old.iter().zip(&rows).map(|(old, row)| old.or_else(|| row.and_then(get)));
            columns[position] = Arc::new(new.collect::<Int64Array>());
        } else if let Some((_, get)) = COUNTS.iter().find(|(n, _)| *n == name)
            && let Some(old) = column::<UInt32Array>(batch, name)
        {
            let new = old.iter().zip(&rows).map(|(old, row)| old.or_else(|| row.and_then(get)));
            columns[position] = Arc::new(new.collect::<UInt32Array>());
        } else if let Some((_, get)) = TEXTS.iter().find(|(n, _)| *n == name)
            && let Some(old) = column::<StringArray>(batch, name)
        {
            let new = old.iter().zip(&rows).map(|(old, row)| old.or_else(|| row.and_then(get)));
            columns[position] = Arc::new(new.collect::<StringArray>());
        }
    }
    Ok(RecordBatch::try_new(batch.schema(), columns)?)
}

/// A column of a batch as an array of its type; `None` where the batch lacks it.
pub fn column<'b, T: Array + 'static>(batch: &'b RecordBatch, name: &str) -> Option<&'b T> {
    batch.column_by_name(name)?.as_any().downcast_ref()
}

impl ServerTables<'_> {
    /// Adds a sample; its time counts from the run's origin on the server's clock.
    pub fn push_sample(
        &mut self,
        at_ns: i64,
        series: &str,
        labels: Option<&str>,
        value: f64,
        source: &str,
    ) -> Result<(), SchemaError> {
        self.pending_samples.push(at_ns, series, labels, value, source);
        if self.pending_samples.len() >= BATCH_ROWS { self.flush_samples() } else { Ok(()) }
    }

    /// Adds an event.
    pub fn push_event(&mut self, row: EventRow) -> Result<(), SchemaError> {
        self.pending_events.push(row);
        if self.pending_events.len() >= BATCH_ROWS { self.flush_events() } else { Ok(()) }
    }

    fn flush_samples(&mut self) -> Result<(), SchemaError> {
        if self.pending_samples.len() == 0 {
            return Ok(());
        }
        let batch = self.pending_samples.take_batch()?;
        let writer = match &mut self.samples {
            Some(writer) => writer,
            none => none.insert(TableWriter::create(&self.run.dir, Table::Samples, self.run.lifetime)?),
        };
        writer.write(&batch)
    }

    fn flush_events(&mut self) -> Result<(), SchemaError> {
        if self.pending_events.is_empty() {
            return Ok(());
        }
        let batch = events_batch(&self.pending_events)?;
        self.pending_events.clear();
        let writer = match &mut self.events {
            Some(writer) => writer,
            none => none.insert(TableWriter::create(&self.run.dir, Table::Events, self.run.lifetime)?),
        };
        writer.write(&batch)
    }

    /// Closes the tables and enters them in the manifest.
    pub fn finish(mut self) -> Result<(), SchemaError> {
        self.flush_samples()?;
        self.flush_events()?;
        let written = [(Table::Samples, self.samples.take()), (Table::Events, self.events.take())];
        for (table, writer) in written {
            if let Some(writer) = writer {
                self.run.manifest.tables.insert(table.name().to_string(), writer.finish()?);
            }
        }
        Ok(())
    }
}
