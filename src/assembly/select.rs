//! Picking stacks by pattern, as `cdk` does.

use globset::{GlobBuilder, GlobMatcher};

use super::error::SelectError;
use super::stack::{Assembly, AssemblyStack};

/// The first schema version in which patterns reach into nested assemblies (the rule of the CDK
/// CLI).
const NESTED_FROM: u64 = 10;

impl Assembly {
    /// Returns the stacks that match any of the patterns; see [`select`].
    ///
    /// # Errors
    /// When a pattern is malformed or matches nothing.
    pub fn select(&self, patterns: &[String]) -> Result<Vec<&AssemblyStack>, SelectError> {
        select(&self.stacks, patterns, self.schema_major)
    }
}

/// Returns the stacks that match any of the patterns, in their own order, each once.
///
/// A pattern is matched against hierarchical ids (`Stage/Stack`): `*` stops at a `/`, `**` does
/// not. The exact name of a stack in CloudFormation is a pattern, too. Without patterns all
/// stacks are meant, those of stages included. In assemblies of a schema before 10 patterns
/// match outermost stacks only.
///
/// # Errors
/// When a pattern is malformed or matches nothing.
pub fn select<'a>(
    stacks: &'a [AssemblyStack],
    patterns: &[String],
    schema_major: u64,
) -> Result<Vec<&'a AssemblyStack>, SelectError> {
    if patterns.is_empty() {
        return Ok(stacks.iter().collect());
    }
    let candidates: Vec<&AssemblyStack> =
        stacks.iter().filter(|stack| stack.top_level || schema_major >= NESTED_FROM).collect();
    let mut chosen = vec![false; candidates.len()];
    for text in patterns {
        let pattern = Pattern::new(text)?;
        let mut matched = false;
        for (stack, chosen) in candidates.iter().zip(&mut chosen) {
            if pattern.matches(stack) {
                *chosen = true;
                matched = true;
            }
        }
        if !matched {
            let available: Vec<String> =
                candidates.iter().map(|stack| stack.hierarchical_id.clone()).collect();
            return Err(SelectError::NoMatch {
                pattern: text.clone(),
                suggestion: closest(text, &candidates),
                available,
            });
        }
    }
    Ok(candidates.into_iter().zip(chosen).filter(|(_, yes)| *yes).map(|(stack, _)| stack).collect())
}

struct Pattern<'a> {
    text: &'a str,
    glob: Option<GlobMatcher>,
}

impl<'a> Pattern<'a> {
    fn new(text: &'a str) -> Result<Self, SelectError> {
        // Most patterns are plain ids, and building an automaton takes its time.
        if !text.contains(['*', '?', '[', '{', '\\']) {
            return Ok(Self { text, glob: None });
        }
        let glob = GlobBuilder::new(text).literal_separator(true).backslash_escape(true).build();
        match glob {
            Ok(glob) => Ok(Self { text, glob: Some(glob.compile_matcher()) }),
            Err(error) => Err(SelectError::InvalidPattern {
                pattern: text.to_owned(),
                message: error.kind().to_string(),
            }),
        }
    }

    fn matches(&self, stack: &AssemblyStack) -> bool {
        stack.hierarchical_id == self.text
            || stack.stack.name.as_str() == self.text
            || self.glob.as_ref().is_some_and(|glob| glob.is_match(&stack.hierarchical_id))
    }
}

/// Returns the id or name that is the least different from a text, unless all are very different.
fn closest(text: &str, stacks: &[&AssemblyStack]) -> Option<String> {
    let names =
        stacks.iter().flat_map(|stack| [stack.hierarchical_id.as_str(), stack.stack.name.as_str()]);
    crate::model::closest(text, names).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assembly::StackProperties;
    use crate::model::{Environment, Stack, Template};

    fn stack(id: &str, name: &str, top_level: bool) -> AssemblyStack {
        AssemblyStack {
            artifact_id: id.replace('/', ""),
            hierarchical_id: id.to_owned(),
            environment: Environment::new("unknown-account", "unknown-region"),
            stack: Stack::new(name, Template::default()),
            nested: Vec::new(),
            top_level,
            tags: std::collections::BTreeMap::default(),
            dependencies: Vec::new(),
            do_not_refactor: Vec::new(),
            construct_path: None,
            properties: StackProperties::default(),
        }
    }

    fn sample() -> Vec<AssemblyStack> {
        vec![
            stack("Producer", "prod-stack", true),
            stack("Consumer", "Consumer", true),
            stack("Beta/Producer", "Beta-Producer", false),
            stack("Beta/Eu/Producer", "Beta-Eu-Producer", false),
        ]
    }

    fn ids(patterns: &[&str], schema: u64) -> Result<Vec<String>, SelectError> {
        let patterns: Vec<String> = patterns.iter().map(|&text| text.to_owned()).collect();
        let stacks = sample();
        let chosen = select(&stacks, &patterns, schema)?;
        Ok(chosen.iter().map(|stack| stack.hierarchical_id.clone()).collect())
    }

    #[test]
    fn without_patterns_all_stacks_are_meant() {
        assert_eq!(ids(&[], 55).unwrap().len(), 4);
        assert_eq!(ids(&[], 5).unwrap().len(), 4);
    }

    #[test]
    fn one_star_stops_at_a_slash_and_two_do_not() {
        assert_eq!(ids(&["*"], 55).unwrap(), ["Producer", "Consumer"]);
        assert_eq!(ids(&["Beta/*"], 55).unwrap(), ["Beta/Producer"]);
        assert_eq!(ids(&["Beta/**"], 55).unwrap(), ["Beta/Producer", "Beta/Eu/Producer"]);
        assert_eq!(ids(&["**"], 55).unwrap().len(), 4);
        assert_eq!(ids(&["**/Producer"], 55).unwrap().len(), 3);
        assert_eq!(ids(&["{Con,Pro}*er"], 55).unwrap(), ["Producer", "Consumer"]);
    }

    #[test]
    fn the_name_in_cloudformation_selects_too() {
        assert_eq!(ids(&["prod-stack", "Producer"], 55).unwrap(), ["Producer"]);
    }

    #[test]
    fn stacks_come_in_their_own_order_and_once() {
        assert_eq!(ids(&["Con*", "*", "Producer"], 55).unwrap(), ["Producer", "Consumer"]);
    }

    #[test]
    fn before_schema_ten_patterns_match_outermost_stacks_only() {
        assert_eq!(ids(&["**"], 9).unwrap(), ["Producer", "Consumer"]);
        assert!(ids(&["Beta/Producer"], 9).is_err());
    }

    #[test]
    fn a_pattern_without_a_match_is_named_with_the_closest_id() {
        assert_eq!(
            ids(&["Prodcer"], 55).unwrap_err().to_string(),
            "no stack matches `Prodcer`; did you mean `Producer`? stacks: `Producer`, `Consumer`, \
             `Beta/Producer`, `Beta/Eu/Producer`"
        );
        assert!(!ids(&["Xyz"], 55).unwrap_err().to_string().contains("did you mean"));
    }

    #[test]
    fn a_malformed_pattern_is_named() {
        let error = ids(&["a[b"], 55).unwrap_err().to_string();
        assert!(error.starts_with("`a[b` is not a pattern"), "{error}");
    }
}
