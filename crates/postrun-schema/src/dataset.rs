//! Opens a dataset and refuses one that is partial, damaged or newer than this build.

use crate::error::SchemaError;
use crate::hashing::sha256_of_file;
use crate::manifest::{MANIFEST_FILE, Manifest, SCHEMA};
use crate::natural::natural_path_order;
use crate::parquet_guard::caught;
use crate::table::{Table, is_chunk_key};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::path::{Path, PathBuf};

/// An opened dataset: one run.
#[derive(Debug, Clone)]
pub struct Dataset {
    dir: PathBuf,
    manifest: Manifest,
    own: bool,
}

impl Dataset {
    /// Opens the run in `dir`. Checks the manifest, and every table against the size and hash it names: Parquet itself would
    /// read many a flipped bit as another value.
    pub fn open(dir: &Path) -> Result<Dataset, SchemaError> {
        Dataset::open_checked(dir, false)
    }

    /// Opens a run that this process has just written, perhaps by [`crate::Staging::for_own_use`]: hashes nothing, and
    /// does without the keys of chunks.
    pub fn open_own(dir: &Path) -> Result<Dataset, SchemaError> {
        Dataset::open_checked(dir, true)
    }

    fn open_checked(dir: &Path, own: bool) -> Result<Dataset, SchemaError> {
        let path = dir.join(MANIFEST_FILE);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                return Err(SchemaError::NoManifest { path: dir.to_path_buf() });
            }
            Err(e) => return Err(SchemaError::io(&path)(e)),
        };
        let bad = |message: String| SchemaError::BadManifest { path: path.clone(), message };
        // The version comes first: a newer manifest may not have the fields this build expects.
        let version: Version = serde_json::from_str(&text).map_err(|e| bad(e.to_string()))?;
        check_version(&version.schema, &path)?;
        let manifest: Manifest = serde_json::from_str(&text).map_err(|e| bad(e.to_string()))?;
        let dataset = Dataset { dir: dir.to_path_buf(), manifest, own };
        dataset.check_tables()?;
        Ok(dataset)
    }

    fn check_tables(&self) -> Result<(), SchemaError> {
        if !self.manifest.tables.contains_key(Table::Requests.name()) {
            return Err(SchemaError::BadManifest {
                path: self.dir.join(MANIFEST_FILE),
                message: "it names no requests table".to_string(),
            });
        }
        for table in Table::ALL {
            let Some(entry) = self.manifest.tables.get(table.name()) else { continue };
            let path = self.dir.join(table.file_name());
            let bytes = std::fs::metadata(&path).map_err(SchemaError::io(&path))?.len();
            let differs = |what, expected: String, found: String| SchemaError::TableDiffers {
                path: path.clone(),
                what,
                expected,
                found,
            };
            if bytes != entry.bytes {
                return Err(differs("bytes", entry.bytes.to_string(), bytes.to_string()));
            }
            // A run that this process wrote has no hash, and nobody else had a hand in it.
            if !self.own {
                let found = sha256_of_file(&path)?;
                if found != entry.sha256 {
                    return Err(differs("sha256", entry.sha256.clone(), found));
                }
            }
            check_columns(table, &path, entry.rows, self.own, differs)?;
        }
        Ok(())
    }

    /// The folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The manifest.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// File of a table, where the run has it.
    pub fn path(&self, table: Table) -> Option<PathBuf> {
        self.manifest.tables.contains_key(table.name()).then(|| self.dir.join(table.file_name()))
    }

    /// Rows of a table; 0 where the run does not have it.
    pub fn rows(&self, table: Table) -> u64 {
        self.manifest.tables.get(table.name()).map_or(0, |t| t.rows)
    }
}

/// Rows as the manifest says, every column that must be there, and each of its type. Columns unknown to this build are
/// passed over; missing optional ones are read as null, and missing keys of our own chunks by nobody.
fn check_columns(
    table: Table,
    path: &Path,
    rows: u64,
    own: bool,
    differs: impl Fn(&'static str, String, String) -> SchemaError,
) -> Result<(), SchemaError> {
    let file = std::fs::File::open(path).map_err(SchemaError::io(path))?;
    let builder = caught(|| ParquetRecordBatchReaderBuilder::try_new(file)).map_err(SchemaError::parquet(path))?;
    let found_rows = builder.metadata().file_metadata().num_rows();
    if u64::try_from(found_rows) != Ok(rows) {
        return Err(differs("rows", rows.to_string(), found_rows.to_string()));
    }
    for expected in table.arrow_schema().fields() {
        match builder.schema().field_with_name(expected.name()) {
            Ok(found) if found.data_type() == expected.data_type() => {}
            Ok(found) => {
                let typed = |t: &arrow_schema::DataType| format!("{} of type {t}", expected.name());
                return Err(differs("column", typed(expected.data_type()), typed(found.data_type())));
            }
            Err(_) if expected.is_nullable() || (own && is_chunk_key(table, expected.name())) => {}
            Err(_) => return Err(differs("column", expected.name().to_string(), "none".to_string())),
        }
    }
    Ok(())
}

#[derive(serde::Deserialize)]
struct Version {
    schema: String,
}

fn check_version(found: &str, path: &Path) -> Result<(), SchemaError> {
    let major = |s: &str| s.rsplit_once('/').and_then(|(name, v)| Some((name.to_string(), v.parse::<u32>().ok()?)));
    match (major(found), major(SCHEMA)) {
        (Some((name, v)), Some((ours, supported))) if name == ours && v <= supported => Ok(()),
        (Some((name, _)), Some((ours, _))) if name == ours => {
            Err(SchemaError::Newer { path: path.to_path_buf(), found: found.to_string(), supported: SCHEMA })
        }
        _ => Err(SchemaError::BadManifest {
            path: path.to_path_buf(),
            message: format!("schema is {found:?}, expected {SCHEMA:?}"),
        }),
    }
}

/// The datasets in `dir`: itself, or its `run=<label>` folders in natural order. Empty: `dir` holds none.
pub fn find_datasets(dir: &Path) -> Result<Vec<PathBuf>, SchemaError> {
    if dir.join(MANIFEST_FILE).is_file() {
        return Ok(vec![dir.to_path_buf()]);
    }
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).map_err(SchemaError::io(dir))? {
        let path = entry.map_err(SchemaError::io(dir))?.path();
        let is_run = path.file_name().is_some_and(|n| n.to_string_lossy().starts_with("run="));
        // A `run=` folder without a manifest is kept, so that opening it says what is wrong.
        if is_run && path.is_dir() && (path.join(MANIFEST_FILE).is_file() || path.join("requests.parquet").is_file()) {
            found.push(path);
        }
    }
    found.sort_by(|a, b| natural_path_order(a, b));
    Ok(found)
}

/// True when `dir` holds a manifest that postrun wrote, of whatever version.
pub fn is_dataset(dir: &Path) -> bool {
    let text = std::fs::read_to_string(dir.join(MANIFEST_FILE)).unwrap_or_default();
    let version: Option<Version> = serde_json::from_str(&text).ok();
    version.is_some_and(|v| v.schema.starts_with("postrun.dataset/"))
}
