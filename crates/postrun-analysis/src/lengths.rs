//! Prompt and output lengths of the requests that latencies are made of.

use crate::error::AnalysisError;
use crate::requests::Requests;
use crate::summary::Summary;
use postrun_schema::Dataset;

/// Distributions of lengths in tokens, over the measured requests that were answered.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Lengths {
    /// Of prompts; `None` where not recorded.
    pub prompt: Option<Summary>,
    /// Of outputs; `None` where not recorded.
    pub output: Option<Summary>,
}

/// The lengths of a run, with these percentiles.
pub fn lengths(dataset: &Dataset, percentiles: &[f64]) -> Result<Lengths, AnalysisError> {
    let requests = Requests::load(dataset)?;
    let summary = |tokens: &[Option<u32>]| {
        let known =
            (0..requests.len()).filter(|i| requests.counts(*i)).filter_map(|i| tokens.get(i).copied().flatten());
        Summary::of(&mut known.map(f64::from).collect::<Vec<f64>>(), percentiles)
    };
    Ok(Lengths { prompt: summary(&requests.prompt_tokens), output: summary(&requests.output_tokens) })
}
