//! Definitions of metrics that peers use, each as the choices by which it differs from postrun's.
//!
//! An ingestor marks each reported figure with the id of one; nothing here knows which tool it came from. What each tool
//! calls its metrics, and which of these it uses for them, stands in [`client`].

pub(crate) mod client;
pub(crate) mod computed;
pub(crate) mod definitions;
pub(crate) mod estimates;
pub(crate) mod event_rates;
pub(crate) mod example;
pub(crate) mod facts;
pub(crate) mod load_curves;
pub(crate) mod prepared;
pub(crate) mod quantity;
pub(crate) mod recipe;
pub(crate) mod redefined;
pub(crate) mod steps;
pub(crate) mod texts;
pub(crate) mod weighted;

pub use definitions::CONVENTIONS;
use postrun_schema::IssueCode;
use recipe::Recipe;

/// A definition, and when it accounts for a difference.
pub struct Convention {
    /// Id in the `reported` table.
    pub id: &'static str,
    /// What the tool does differently, as a sentence. Empty: nothing.
    pub text: &'static str,
    /// How a figure is computed by it.
    pub recipe: Recipe,
    /// Where a fact that the recipe needs is missing, or the client has one that nobody records: can that be all of the
    /// difference? Given postrun's nearest value, the reported one and the run's issues.
    pub(crate) explains: fn(&Difference<'_>) -> bool,
    /// What the client knew and no file records.
    pub lacks: Option<&'static str>,
    /// The rows of a recording cannot give this figure.
    pub not_computable: bool,
    /// Metric that some versions of the tool store under the same name.
    pub otherwise: Option<&'static str>,
    /// How other versions of the tool compute it, where the files name none.
    pub older: Option<Recipe>,
    /// Largest absolute difference that is the client's rounding.
    pub rounding: f64,
}

/// A computed figure that is not the reported one.
pub(crate) struct Difference<'a> {
    pub computed: f64,
    pub reported: f64,
    pub stat: &'a str,
    /// How many records have an issue.
    pub affected: &'a dyn Fn(IssueCode) -> u64,
}

impl Difference<'_> {
    /// The client's clock ran longer: everything but the spread is larger there.
    fn reported_is_longer(&self) -> bool {
        self.stat == "std" || self.computed <= self.reported * (1.0 + 1e-6)
    }

    /// More by no more than one for each record with one of these issues.
    fn is_raised_by(&self, issues: &[IssueCode]) -> bool {
        let most: u64 = issues.iter().map(|code| (self.affected)(*code)).sum();
        (0.0..=most as f64).contains(&(self.reported - self.computed))
    }

    fn has_issue(&self, code: IssueCode) -> bool {
        (self.affected)(code) > 0
    }

    /// Templates and re-tokenising shift a length by some tokens; they do not halve or double it.
    fn is_another_count(&self) -> bool {
        (0.5..2.0).contains(&(self.computed / self.reported))
    }
}

/// By the id as it stands in a dataset, with or without a rounding behind it.
pub(crate) fn find(id: &str) -> Option<&'static Convention> {
    let id = id.split_once('@').map_or(id, |(id, _)| id);
    CONVENTIONS.iter().find(|c| c.id == id)
}
