//! Damaged Parquet, of which the decoder takes some things for granted.

use parquet::errors::ParquetError;
use parquet::file::metadata::ParquetMetaData;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};

thread_local! {
    static DECODING: Cell<bool> = const { Cell::new(false) };
}

/// The decoder panics on some damaged files; here that is an error like its others. What it held must not be used again.
pub fn caught<T, E: From<ParquetError>>(decode: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
    let gave_up = |_| Err(ParquetError::General("damaged: the decoder gave up".to_string()).into());
    let outer = DECODING.replace(true);
    let decoded = catch_unwind(AssertUnwindSafe(decode));
    DECODING.set(outer);
    decoded.unwrap_or_else(gave_up)
}

/// From now on a panic that [`caught`] makes an error of says nothing itself. For the whole process: binaries call it, once.
pub fn silence_caught() {
    let usual = take_hook();
    set_hook(Box::new(move |info| {
        if !DECODING.get() {
            usual(info);
        }
    }));
}

/// Refuses column chunks that lie outside a file of `size` bytes: the decoder takes it for granted that none does.
pub fn refuse_outside(metadata: &ParquetMetaData, size: u64) -> Result<(), ParquetError> {
    for chunk in metadata.row_groups().iter().flat_map(|group| group.columns()) {
        let start = chunk.dictionary_page_offset().unwrap_or(chunk.data_page_offset());
        let end = start.checked_add(chunk.compressed_size());
        let all = [start, chunk.data_page_offset(), chunk.compressed_size(), chunk.uncompressed_size()];
        if all.iter().any(|n| *n < 0) || end.is_none_or(|end| end as u64 > size) {
            let name = chunk.column_path().string();
            return Err(ParquetError::General(format!("column {name:?} lies outside the file")));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::silence_caught;
    use crate::extra_writer::ExtraWriter;
    use crate::server_tables::read_batches;
    use crate::table::Table;
    use crate::writer::Lifetime;

    /// A sign that is flipped in the last bytes of a table, where offsets and sizes stand, made the decoder panic.
    #[test]
    fn a_damaged_footer_is_an_error_or_another_table() {
        let dir = tempfile::tempdir().unwrap();
        let mut writer = ExtraWriter::new(dir.path(), Lifetime::Kept);
        (0..100).for_each(|request| writer.push(request, "images", f64::from(request)).unwrap());
        writer.finish().unwrap();
        let path = dir.path().join(Table::Extras.file_name());
        let whole = std::fs::read(&path).unwrap();
        let read = || {
            let mut rows = 0;
            let all = read_batches(&path, &[], |batch| {
                rows += batch.num_rows();
                Ok(())
            });
            all.map(|()| rows)
        };
        assert_eq!(read().ok(), Some(100));
        silence_caught();
        let mut refused = 0;
        for at in whole.len() - 700..whole.len() {
            for flipped in [0x01, 0x40, 0x80] {
                let mut damaged = whole.clone();
                damaged[at] ^= flipped;
                std::fs::write(&path, damaged).unwrap();
                refused += usize::from(read().is_err());
            }
        }
        assert!(refused > 200, "{refused}");
    }
}
