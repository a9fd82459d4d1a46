//! What can go wrong when a recording is read.

use postrun_schema::{SchemaError, counted};

/// An error of the ingest layer. Messages start with the file.
#[derive(Debug, thiserror::Error)]
pub enum IngestError {
    /// The operating system or the decompressor refused.
    #[error("{file}: {source}")]
    Io {
        /// File.
        file: String,
        /// What it said.
        source: std::io::Error,
    },
    /// Nothing in it.
    #[error("{file}: the file is empty")]
    Empty {
        /// File.
        file: String,
    },
    /// Compressed, and damaged before the first byte of text.
    #[error("{file}: the compressed file is damaged from its start ({what})")]
    Damaged {
        /// File.
        file: String,
        /// What the decoder said.
        what: String,
    },
    /// No ingestor knows it.
    #[error(
        "{file}: no known format fits: {seen}; known formats: {known}; name one with --input-format if you are sure"
    )]
    Unrecognised {
        /// File.
        file: String,
        /// What the first bytes look like.
        seen: String,
        /// Ids of all formats.
        known: String,
    },
    /// An archive, which may hold recordings.
    #[error("{file}: {what}; unpack it first")]
    Packed {
        /// File.
        file: String,
        /// Which kind.
        what: &'static str,
    },
    /// Two ingestors claim it equally.
    #[error(
        "{file}: two formats fit equally well: {first} and {second}; choose with --input-format {first} or --input-format {second}"
    )]
    Ambiguous {
        /// File.
        file: String,
        /// Id of one.
        first: &'static str,
        /// Id of the other.
        second: &'static str,
    },
    /// It could be something, but was not named by the user.
    #[error("{file}: perhaps {format}; name the file itself with --input-format {format}")]
    Perhaps {
        /// File.
        file: String,
        /// Ingestor.
        format: &'static str,
    },
    /// `--format` names nothing.
    #[error("unknown format {name:?}; known: {known}")]
    UnknownFormat {
        /// What was asked for.
        name: String,
        /// Ids of all formats.
        known: String,
    },
    /// A folder without a recording.
    #[error("{folder}: no file in it is a recording that postrun knows ({looked_at} looked at{named})")]
    NothingInFolder {
        /// Folder.
        folder: String,
        /// How many files.
        looked_at: usize,
        /// Their names, shortened.
        named: String,
    },
    /// Nothing is left to be read from it.
    #[error("{place}: a dataset already, not a recording; `postrun report {place}` reads it")]
    IsDataset {
        /// Folder.
        place: String,
    },
    /// Nothing usable in a file of a known format.
    #[error("{file}: nothing usable in it, read as {format}: {problem}")]
    NothingUsable {
        /// File.
        file: String,
        /// Ingestor.
        format: &'static str,
        /// The first thing that went wrong, with its place.
        problem: String,
    },
    /// A mapping file is wrong, or does not fit the data.
    #[error("{file}:{line}:{column}: {message}")]
    Mapping {
        /// Mapping file.
        file: String,
        /// From 1.
        line: usize,
        /// From 1.
        column: usize,
        /// What is wrong.
        message: String,
    },
    /// A table whose columns are not what they say.
    #[error("{file}: {message}")]
    Column {
        /// File.
        file: String,
        /// What is wrong.
        message: String,
    },
    /// Strict reading was asked for and a record was lost.
    #[error("{at}: {example} ({} missing or unreadable, and --strict was given)", counted(*count, "record"))]
    Strict {
        /// How many.
        count: u64,
        /// The first.
        example: String,
        /// File and place of the first.
        at: String,
    },
    /// `--label` with more than one run.
    #[error("--label names one run, but {runs} runs were found")]
    LabelForMany {
        /// How many.
        runs: usize,
    },
    /// The dataset layer failed.
    #[error(transparent)]
    Schema(#[from] SchemaError),
}

impl IngestError {
    /// True where a file is a recording, or may be one, and could not be read.
    pub(crate) fn is_a_loss(&self) -> bool {
        matches!(self, IngestError::NothingUsable { .. } | IngestError::Io { .. } | IngestError::Damaged { .. })
    }

    /// True where a file was read and holds nothing that can be used. Beside others it is left out, even if it was
    /// named; what the user can put right (a name, a choice between formats) and what we must is none of these.
    pub(crate) fn is_of_the_content(&self) -> bool {
        matches!(
            self,
            IngestError::Empty { .. }
                | IngestError::Damaged { .. }
                | IngestError::Unrecognised { .. }
                | IngestError::Packed { .. }
                | IngestError::NothingUsable { .. }
        )
    }

    /// Why a file was left alone, without its name.
    pub(crate) fn reason(&self) -> String {
        match self {
            IngestError::Unrecognised { .. } => "no known format".to_string(),
            IngestError::Packed { what, .. } => format!("{what}; unpack it first"),
            IngestError::Empty { .. } => "empty".to_string(),
            IngestError::Damaged { what, .. } => format!("damaged from its start: {what}"),
            IngestError::NothingUsable { problem, .. } => problem.clone(),
            IngestError::Io { source, .. } => source.to_string(),
            IngestError::Column { message, .. } => message.clone(),
            IngestError::Perhaps { format, .. } => format!("perhaps {format}: name it with --input-format {format}"),
            other => other.to_string(),
        }
    }

    pub(crate) fn io(file: &str) -> impl Fn(std::io::Error) -> IngestError + use<> {
        let file = file.to_string();
        move |source| IngestError::Io { file: file.clone(), source }
    }
}
