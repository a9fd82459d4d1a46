//! What a fuzz target, and the test of mutations, does with one input. Any answer will do but a panic; what is published
//! must be readable, and a table that was changed must be refused.

use postrun_ingest::{Ingestor, Input, Mapping, Options, find_ingestor, ingest};
use postrun_schema::{ChunkBatch, ChunkReader, Dataset, Table, read_batches};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The ingestor after which a folder of fixtures is called. `None`: it holds files of several, to be recognised.
pub fn format_of(folder: &str) -> Option<&'static Ingestor> {
    find_ingestor(folder).ok()
}

/// A folder to work in, and the mappings of the fixtures.
pub struct Bench {
    dir: tempfile::TempDir,
    fixtures: PathBuf,
}

impl Bench {
    /// `fixtures` is the folder of them.
    pub fn new(fixtures: &Path) -> Bench {
        Bench { dir: tempfile::tempdir().unwrap(), fixtures: fixtures.to_path_buf() }
    }

    /// Reads `data` as a file of this name, as the command line would. The id of the ingestor, where it gave a dataset.
    pub fn ingest(&self, name: &str, format: Option<&'static Ingestor>, data: &[u8]) -> Option<&'static str> {
        let input = self.write(name, data);
        let options = Options { format, scratch: true, ..Options::default() };
        let read = self.publish(&input, &options);
        // A table of requests is one thing by its own names, another by a mapping.
        let mapping = format.filter(|format| format.id == "mapping").map(|_| Some(Arc::new(self.mapping_for(data))));
        mapping.and_then(|mapping| self.publish(&input, &Options { mapping, ..options })).or(read)
    }

    fn mapping_for(&self, data: &[u8]) -> Mapping {
        let name = match data.first() {
            Some(b'P') => "map_parquet.toml",
            Some(b'{' | b'[') => "map_json.toml",
            _ => "map.toml",
        };
        let text = std::fs::read_to_string(self.fixtures.join("mapping/stranger").join(name)).unwrap();
        Mapping::from_toml(name, &text).unwrap()
    }

    /// Reads `text` as a mapping, and tables by it. True: it is one.
    pub fn map(&self, text: &[u8]) -> bool {
        let Ok(mapping) = Mapping::from_toml("map.toml", &String::from_utf8_lossy(text)) else { return false };
        let options = Options { mapping: Some(Arc::new(mapping)), scratch: true, ..Options::default() };
        for table in ["hammer.csv", "hammer.json"] {
            let input = self.fixtures.join("mapping/stranger/tables").join(table);
            self.publish(&input, &Options { format: format_of("mapping"), ..options.clone() });
        }
        true
    }

    fn write(&self, name: &str, data: &[u8]) -> PathBuf {
        let path = self.dir.path().join(name);
        std::fs::write(&path, data).unwrap();
        path
    }

    fn publish(&self, input: &Path, options: &Options) -> Option<&'static str> {
        let target = self.dir.path().join("out");
        let _ = std::fs::remove_dir_all(&target);
        let Ok(outcome) = ingest(&[Input::Path(input.to_path_buf())], &target, options) else {
            assert!(!target.exists(), "an error leaves nothing at the target");
            return None;
        };
        for dir in &outcome.datasets {
            let dataset = Dataset::open_own(dir).unwrap();
            assert_eq!(read_all(&dataset), Ok(()), "what was published can be read");
        }
        outcome.used.first().map(|file| file.format)
    }
}

/// Reads every table to its end.
fn read_all(dataset: &Dataset) -> Result<(), String> {
    for table in Table::ALL {
        let Some(path) = dataset.path(table) else { continue };
        let mut rows = 0;
        let counted = read_batches(&path, &[], |batch| {
            rows += batch.num_rows() as u64;
            Ok(())
        });
        counted.map_err(|e| e.to_string())?;
        if rows != dataset.rows(table) {
            return Err(format!("{}: {rows} rows, expected {}", path.display(), dataset.rows(table)));
        }
    }
    let Some(mut chunks) = ChunkReader::open(dataset).map_err(|e| e.to_string())? else { return Ok(()) };
    let with_tokens = chunks.tokens_recorded().map_err(|e| e.to_string())?;
    chunks = chunks.with_tokens(with_tokens);
    let mut batch = ChunkBatch::default();
    while chunks.read(&mut batch).map_err(|e| e.to_string())? {}
    Ok(())
}

/// A dataset with every table, to be damaged.
pub struct Victim {
    _dir: tempfile::TempDir,
    dataset: PathBuf,
    files: Vec<(PathBuf, Vec<u8>)>,
}

impl Victim {
    /// Made of a client's file and its server's.
    pub fn new(fixtures: &Path) -> Victim {
        let dir = tempfile::tempdir().unwrap();
        let dataset = dir.path().join("run");
        let input = fixtures.join("server_side/kv_tight/input");
        ingest(&[Input::Path(input)], &dataset, &Options::default()).unwrap();
        let mut paths: Vec<PathBuf> = std::fs::read_dir(&dataset).unwrap().map(|e| e.unwrap().path()).collect();
        paths.sort();
        let files = paths.into_iter().map(|path| (path.clone(), std::fs::read(path).unwrap())).collect();
        Victim { _dir: dir, dataset, files }
    }

    /// How many files it has.
    pub fn len(&self) -> usize {
        self.files.len()
    }

    /// `edits` says which file, by its first byte, and then in four bytes each: where, and what is flipped there. True: the
    /// dataset still opens.
    pub fn damage(&self, edits: &[u8]) -> bool {
        let Some((which, edits)) = edits.split_first() else { return false };
        let (path, whole) = &self.files[usize::from(*which) % self.files.len()];
        let mut damaged = whole.clone();
        for edit in edits.chunks_exact(4) {
            let at = u32::from_le_bytes([edit[0], edit[1], edit[2], 0]) as usize % damaged.len();
            damaged[at] ^= edit[3];
        }
        std::fs::write(path, &damaged).unwrap();
        let opened = Dataset::open(&self.dataset);
        let is_table = path.extension().is_some_and(|extension| extension == "parquet");
        assert!(!is_table || opened.is_ok() == (damaged == *whole), "{}: a changed table is refused", path.display());
        // Hashes are what refuses it. What lies behind them must stand damage too: large tables are opened unhashed.
        let unhashed = Dataset::open_own(&self.dataset);
        if let Ok(dataset) = &unhashed {
            let _ = read_all(dataset);
        }
        std::fs::write(path, whole).unwrap();
        opened.is_ok()
    }
}
