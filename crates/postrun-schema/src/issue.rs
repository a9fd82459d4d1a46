//! What ingest could not read, or read and doubts: counted, located, with one example each.

use serde::{Deserialize, Serialize};

/// How much an issue matters for the figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Worth knowing; no figure suffers.
    Info,
    /// Some figures rest on fewer values than there were requests.
    Warning,
    /// Records were lost, or a headline figure is missing.
    Error,
}

/// Every kind of issue postrun knows, each with a stable id and a text that says what was done about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)] // `meaning` is the documentation of each
pub enum IssueCode {
    TtftNotMeasured,
    NoOutput,
    NotStreamed,
    FirstTokenAfterEnd,
    NonFiniteValue,
    NegativeDuration,
    ImplausibleTime,
    WrongType,
    OutOfRange,
    ArrayLengthMismatch,
    DuplicateKey,
    TruncatedRecord,
    BadRecord,
    NotARun,
    DuplicateRun,
    RoleOnlyFirstChunk,
    MoreChunksThanTokens,
    MultiTokenChunks,
    SmoothedGaps,
    StreamEndAfterLastToken,
    GapsWithoutFirstToken,
    OutputTokensRequested,
    FailedRequests,
    NotUtf8,
    UnreadRest,
    DuplicateSample,
    NoSampleTime,
    CounterReset,
    ServerRestarted,
    ClockStep,
    UnorderedTimes,
    ForeignLines,
    LongLine,
    ServerRequestNotJoined,
    ClientRequestNotJoined,
    JoinedByOrder,
    JoinDisagrees,
    ClockNotAligned,
    DoubleFact,
    DuplicateRequest,
    SampledRequests,
    UnitInDoubt,
    DamagedFile,
    FileNotUsed,
    OtherModel,
    AmbiguousRecording,
    ClockOffsetRefuted,
    FileChanged,
    TooManySeries,
    TooManyRecords,
    MissingRecords,
    RepeatedRecord,
    JournalBeside,
    SummaryOfAnotherRun,
    ServerCountedOthers,
    UnknownStatus,
}

impl IssueCode {
    /// Every code.
    pub const ALL: [IssueCode; 56] = [
        IssueCode::TtftNotMeasured,
        IssueCode::NoOutput,
        IssueCode::NotStreamed,
        IssueCode::FirstTokenAfterEnd,
        IssueCode::NonFiniteValue,
        IssueCode::NegativeDuration,
        IssueCode::ImplausibleTime,
        IssueCode::WrongType,
        IssueCode::OutOfRange,
        IssueCode::ArrayLengthMismatch,
        IssueCode::DuplicateKey,
        IssueCode::TruncatedRecord,
        IssueCode::BadRecord,
        IssueCode::NotARun,
        IssueCode::DuplicateRun,
        IssueCode::RoleOnlyFirstChunk,
        IssueCode::MoreChunksThanTokens,
        IssueCode::MultiTokenChunks,
        IssueCode::SmoothedGaps,
        IssueCode::StreamEndAfterLastToken,
        IssueCode::GapsWithoutFirstToken,
        IssueCode::OutputTokensRequested,
        IssueCode::FailedRequests,
        IssueCode::NotUtf8,
        IssueCode::UnreadRest,
        IssueCode::DuplicateSample,
        IssueCode::NoSampleTime,
        IssueCode::CounterReset,
        IssueCode::ServerRestarted,
        IssueCode::ClockStep,
        IssueCode::UnorderedTimes,
        IssueCode::ForeignLines,
        IssueCode::LongLine,
        IssueCode::ServerRequestNotJoined,
        IssueCode::ClientRequestNotJoined,
        IssueCode::JoinedByOrder,
        IssueCode::JoinDisagrees,
        IssueCode::ClockNotAligned,
        IssueCode::DoubleFact,
        IssueCode::DuplicateRequest,
        IssueCode::SampledRequests,
        IssueCode::UnitInDoubt,
        IssueCode::DamagedFile,
        IssueCode::FileNotUsed,
        IssueCode::OtherModel,
        IssueCode::AmbiguousRecording,
        IssueCode::ClockOffsetRefuted,
        IssueCode::FileChanged,
        IssueCode::TooManySeries,
        IssueCode::TooManyRecords,
        IssueCode::MissingRecords,
        IssueCode::RepeatedRecord,
        IssueCode::JournalBeside,
        IssueCode::SummaryOfAnotherRun,
        IssueCode::ServerCountedOthers,
        IssueCode::UnknownStatus,
    ];

    /// As it stands in manifests and reports: `failed_requests`.
    pub fn id(self) -> String {
        // A unit variant always serialises to a plain string.
        serde_json::to_value(self).ok().and_then(|v| v.as_str().map(String::from)).unwrap_or_default()
    }

    /// What it means and what postrun did, as a sentence for a person.
    pub fn meaning(self) -> &'static str {
        match self {
            IssueCode::TtftNotMeasured => {
                "no first token was timed (0, null, or no time that can be one); TTFT and TPOT leave these requests out"
            }
            IssueCode::NoOutput => "completed without any output token; counted as ok, in no latency metric",
            IssueCode::NotStreamed => {
                "the whole answer came at once, so there is no first token to time; these requests count in e2e only"
            }
            IssueCode::FirstTokenAfterEnd => "the first token is later than the end; TTFT kept, TPOT left out",
            IssueCode::NonFiniteValue => "NaN or infinity instead of a number; taken as not recorded",
            IssueCode::NegativeDuration => {
                "a duration that is negative or zero where it cannot be; taken as not recorded"
            }
            IssueCode::ImplausibleTime => {
                "a duration of more than 11 days (a point in time, or another unit?), or a send far from all others; taken as not recorded"
            }
            IssueCode::WrongType => "a value of another type than expected; taken as not recorded",
            IssueCode::OutOfRange => "a number that its column or setting cannot have; taken as not recorded",
            IssueCode::ArrayLengthMismatch => "arrays of unequal length; the missing entries are taken as not recorded",
            IssueCode::DuplicateKey => "a key stands twice in one object; the last one counts",
            IssueCode::TruncatedRecord => "the record is cut off at the end of the file; left out",
            IssueCode::BadRecord => "the record does not parse; left out",
            IssueCode::NotARun => "a record that is no run of this format; left out",
            IssueCode::DuplicateRun => "the same run was already read from another file; counted once",
            IssueCode::RoleOnlyFirstChunk => {
                "every stream has one chunk more than tokens: the first carries only the role; TTFT is taken from the second"
            }
            IssueCode::MoreChunksThanTokens => "more chunks than output tokens: some carried no token",
            IssueCode::MultiTokenChunks => {
                "chunks carry several tokens: read ITL per token, not the gaps between chunks"
            }
            IssueCode::SmoothedGaps => {
                "the client spread each gap evenly over the chunk's tokens: single stalls look smaller than they were"
            }
            IssueCode::StreamEndAfterLastToken => {
                "the stream ended after its last token (usage or closing chunk); e2e is taken to the last token"
            }
            IssueCode::GapsWithoutFirstToken => {
                "gaps between chunks but no time of the first one; these requests are left out of ITL"
            }
            IssueCode::OutputTokensRequested => {
                "the output length is the one asked for, not the one generated; no TPOT or token rate is made of it, and those that the client reported rest on it"
            }
            IssueCode::FailedRequests => {
                "failed requests enter no latency metric: read every latency beside the failure rate"
            }
            IssueCode::UnreadRest => {
                "records of this file are not one to a line, so nothing behind a damaged one could be read"
            }
            IssueCode::DuplicateSample => "the same series at the same moment twice; the first one counts",
            IssueCode::NoSampleTime => "values without a time stamp or a time marker before them; left out",
            IssueCode::CounterReset => {
                "a counter fell, so the server started again; increases are added up on both sides of it"
            }
            IssueCode::ServerRestarted => "the server started again inside this recording",
            IssueCode::ClockStep => {
                "the clock of a log without a time zone fell back by an hour; later times were moved on by it"
            }
            IssueCode::UnorderedTimes => {
                "times that run backwards (in logs: by more than a minute); kept as they stand"
            }
            IssueCode::ForeignLines => "lines that are none of this server's known ones; passed over",
            IssueCode::LongLine => "a line of more than a mebibyte; its rest was passed over",
            IssueCode::ServerRequestNotJoined => {
                "requests of the server that are none of the client's: warm-up, or another client"
            }
            IssueCode::ClientRequestNotJoined => "requests of the client without a record of the server",
            IssueCode::JoinedByOrder => {
                "client and server share no request id; requests were joined by their order and prompt length"
            }
            IssueCode::JoinDisagrees => {
                "client and server differ in the tokens of a joined request; the client's count stays"
            }
            IssueCode::ClockNotAligned => {
                "how the server's clock lies to the client's is not known; no time is taken between them"
            }
            IssueCode::DoubleFact => {
                "one fact is told twice, by two files of the server or two columns of a table; the first one counts"
            }
            IssueCode::DuplicateRequest => "two different records of the same request id; both are kept",
            IssueCode::SampledRequests => {
                "the file keeps a sample of its requests; counts and rates made from the rows are too low"
            }
            IssueCode::UnitInDoubt => {
                "times that no server has, in most requests: probably another unit than the one expected; kept, but first tokens later than the end are withheld, with what is made of them"
            }
            IssueCode::DamagedFile => {
                "the compressed file is cut or damaged; what stood before the damage was read, what came after it is missing"
            }
            IssueCode::FileNotUsed => "a file that was named holds nothing usable; the figures are without it",
            IssueCode::SummaryOfAnotherRun => {
                "this summary lies beside the records of a run and contradicts them; it is a run of its own, and nothing of it was taken"
            }
            IssueCode::ServerCountedOthers => {
                "the server's figures are over other requests than the run's: they are kept apart, and stand beside none of its own"
            }
            IssueCode::UnknownStatus => {
                "a status that nobody knows: the request is not counted as answered; a mapping can say what the word means"
            }
            IssueCode::OtherModel => {
                "the server served another model than the client asked for: the file may be of another server"
            }
            IssueCode::AmbiguousRecording => {
                "a file of the server could belong to the run in more than one way; its clock was not aligned by it"
            }
            IssueCode::ClockOffsetRefuted => {
                "the clock offset given by the user contradicts the recordings; it was used all the same"
            }
            IssueCode::FileChanged => {
                "the file changed while it was read: what came later may be missing, and its hash fits no later state; read it again when it is whole"
            }
            IssueCode::TooManySeries => {
                "values of more series or label sets than are kept (see `postrun explain limits`); they were left out"
            }
            IssueCode::TooManyRecords => {
                "more records of one kind than are kept (see `postrun explain limits`); the later ones were left out"
            }
            IssueCode::MissingRecords => {
                "the client counted more requests than there are records; rates are taken over the span of those that are there"
            }
            IssueCode::RepeatedRecord => "the same record once more, down to its times; counted once",
            IssueCode::JournalBeside => {
                "a journal lies beside the database, which is being written or was not closed; what only the journal holds was not read"
            }
            IssueCode::NotUtf8 => "text that is not UTF-8; the bad bytes were replaced",
        }
    }

    /// What is missing from a recording with this issue, in a few words; `None` where nothing is.
    pub fn loss(self) -> Option<&'static str> {
        Some(match self {
            IssueCode::TruncatedRecord => "a file ends in the middle of a record",
            IssueCode::DamagedFile => "a compressed file is cut or damaged",
            IssueCode::BadRecord => "records that do not parse were left out",
            IssueCode::UnreadRest => "what stands behind a damaged record could not be read",
            IssueCode::MissingRecords => "the client counted more requests than there are records",
            IssueCode::TooManyRecords => "there are more records than are kept",
            IssueCode::JournalBeside => "the database has a journal that was not read",
            IssueCode::FileChanged => "a file changed while it was read",
            IssueCode::FileNotUsed => "a named file holds nothing usable",
            _ => return None,
        })
    }

    /// Severity when it touches few records; lost records are errors whatever their number.
    fn base_severity(self) -> Severity {
        match self {
            IssueCode::MultiTokenChunks
            | IssueCode::SmoothedGaps
            | IssueCode::StreamEndAfterLastToken
            | IssueCode::RoleOnlyFirstChunk
            | IssueCode::MoreChunksThanTokens
            | IssueCode::DuplicateRun
            | IssueCode::DuplicateKey
            | IssueCode::DuplicateSample
            | IssueCode::ClockStep
            | IssueCode::ForeignLines
            | IssueCode::ServerRequestNotJoined
            | IssueCode::JoinedByOrder => Severity::Info,
            IssueCode::TruncatedRecord
            | IssueCode::BadRecord
            | IssueCode::UnreadRest
            | IssueCode::UnitInDoubt
            | IssueCode::MissingRecords
            | IssueCode::JournalBeside
            | IssueCode::DamagedFile
            | IssueCode::FileNotUsed
            | IssueCode::TooManyRecords
            | IssueCode::OutputTokensRequested => Severity::Error,
            _ => Severity::Warning,
        }
    }
}

/// One kind of issue with its count and one example.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Issue {
    /// What kind.
    pub code: IssueCode,
    /// How much it matters.
    pub severity: Severity,
    /// How many records.
    pub count: u64,
    /// The first one, in words.
    pub example: String,
    /// Where the first one is: file, and byte offset, line or record index.
    pub at: String,
}

/// Collects issues: one entry a code, first example kept.
#[derive(Debug, Clone, Default)]
pub struct Issues {
    list: Vec<Issue>,
}

impl Issues {
    /// Counts one more of `code`; `example` and `at` are built only for the first.
    pub fn add(&mut self, code: IssueCode, at: impl FnOnce() -> String, example: impl FnOnce() -> String) {
        self.add_many(code, 1, at, example);
    }

    /// Counts `count` more of `code`.
    pub fn add_many(
        &mut self,
        code: IssueCode,
        count: u64,
        at: impl FnOnce() -> String,
        example: impl FnOnce() -> String,
    ) {
        if count == 0 {
            return;
        }
        match self.list.iter_mut().find(|issue| issue.code == code) {
            Some(issue) => issue.count += count,
            None => {
                self.list.push(Issue { code, severity: code.base_severity(), count, example: example(), at: at() });
            }
        }
    }

    /// Takes over everything of `other`.
    pub fn extend(&mut self, other: Issues) {
        for issue in other.list {
            let Issue { code, count, example, at, .. } = issue;
            self.add_many(code, count, || at, || example);
        }
    }

    /// How often `code` was counted.
    pub fn count(&self, code: IssueCode) -> u64 {
        self.list.iter().find(|issue| issue.code == code).map_or(0, |issue| issue.count)
    }

    /// True when nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The issues, the gravest first, for a run of `requests` requests: a warning that touches half of them is an error.
    pub fn into_sorted(mut self, requests: u64) -> Vec<Issue> {
        for issue in &mut self.list {
            if issue.severity == Severity::Warning && requests > 0 && issue.count * 2 >= requests {
                issue.severity = Severity::Error;
            }
        }
        self.list.sort_by_key(|issue| (std::cmp::Reverse(issue.severity), issue.code));
        self.list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn severity_rises_with_the_share() {
        let count = |n| {
            let mut issues = Issues::default();
            issues.add_many(IssueCode::TtftNotMeasured, n, String::new, String::new);
            issues.into_sorted(4)[0].severity
        };
        assert_eq!(count(1), Severity::Warning);
        assert_eq!(count(2), Severity::Error);
    }
}
