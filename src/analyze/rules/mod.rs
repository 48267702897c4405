//! Rules by which a team says how dangerous a change is.
//!
//! In: the text of a rule file, JSON or YAML, and a [`Graph`]. Out: what the rules say of its
//! operations. A rule names what it is about (`let`), what must hold (`where`), what follows
//! (`effect`), and rules that only matter then (`then`):
//!
//! ```yaml
//! - description: public buckets
//!   let:
//!     bucket: {Resource: AWS::S3::Bucket}
//!     change: {change: {}, where: change appliesTo bucket.Properties.AccessControl}
//!   where: change.new == 'PublicRead'
//!   effect: {risk: high}
//! ```
//!
//! The way through this part: `source` reads texts with the place of everything in them,
//! `condition` single conditions, `parse` whole files. Of every effect it makes a question that
//! stands alone (`query`), which `evaluate` answers with what `index` looks up.

mod condition;
mod evaluate;
mod index;
mod parse;
mod query;
mod source;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;

use super::model::{Graph, OperationId};
use index::Index;
use query::Query;
pub use source::Place;

/// How dangerous a change is; the worst last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Risk {
    /// Somebody looked at it.
    Low,
    /// No rule says anything.
    #[default]
    Unknown,
    /// Somebody must look at it.
    High,
}

/// What is to be done about a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Action {
    /// It is approved.
    Approve,
    /// It is rejected.
    Reject,
    /// Nothing.
    None,
}

/// What rules say of an operation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// The risk.
    pub risk: Risk,
    /// What is to be done, if a rule says so.
    pub action: Option<Action>,
    /// The description of the rule that spoke last, or where it stands.
    pub rule: String,
}

/// Why a text is no set of rules.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message} ({place})")]
pub struct RuleError {
    /// Where.
    pub place: Place,
    /// What is wrong there.
    pub message: String,
}

impl RuleError {
    fn new(place: Place, message: impl fmt::Display) -> Self {
        Self { place, message: message.to_string() }
    }
}

/// A set of rules.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    queries: Vec<Query>,
}

impl Rules {
    /// Reads rules: a list, in JSON if the text begins with a bracket, else in YAML.
    ///
    /// # Errors
    /// When the text is neither, when a rule has a part that does not exist, or when it uses an
    /// operator or a name that does not. Line and column are those of the part.
    pub fn parse(text: &str) -> Result<Self, RuleError> {
        Ok(Self { queries: parse::rules(&source::read(text)?)? })
    }

    /// Returns the rules of the program: broader permissions and lost data are dangerous, as far as
    /// the operations carry the marks that say so.
    pub fn built_in() -> Self {
        // The file is a part of the program, and a test reads it: this cannot fail. Without rules
        // everything would seem harmless.
        Self::parse(include_str!("../../../data/default-rules.yaml")).expect("tested")
    }

    /// Returns these rules with others after them, which have the last word.
    #[must_use]
    pub fn then(mut self, others: Self) -> Self {
        self.queries.extend(others.queries);
        self
    }

    /// Returns what the rules say of operations. An operation that is not there is of unknown risk.
    /// What is said of a property holds for all that is in it; of several rules the last one counts.
    pub fn judge(&self, graph: &Graph) -> BTreeMap<OperationId, Verdict> {
        let index = Index::new(graph);
        let mut verdicts: BTreeMap<OperationId, Verdict> = BTreeMap::new();
        for query in &self.queries {
            for target in query.answers(&index) {
                let mut open = vec![target];
                while let Some(id) = open.pop() {
                    let verdict = verdicts.entry(id).or_default();
                    verdict.risk = query.effect.risk.unwrap_or(verdict.risk);
                    verdict.action = query.effect.action.or(verdict.action);
                    verdict.rule.clone_from(&query.rule);
                    open.extend(&graph.operations[id].inner);
                }
            }
        }
        verdicts
    }
}
