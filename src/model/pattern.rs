//! Names with wildcards.

use std::fmt;

/// Matches one or more components of a path.
const BELOW: &str = "**";

/// A name of a resource in which `*` stands for any characters but `/`, and `**`, as a component
/// of its own, for one or more components of a path: `Web.Old*`, `Shop/*/Table`, `Shop/Web/**`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pattern(String);

/// Why a text with wildcards is no pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// `a**`
    #[error("`**` has to be a component of its own: `Stack/Construct/**`")]
    Joined,
    /// `//`
    #[error("a component of the path is empty")]
    Empty,
}

impl Pattern {
    /// Reads a pattern; `None` if there is no wildcard in the text.
    ///
    /// # Errors
    /// When `**` is no component of its own, or a component is empty.
    pub fn parse(text: &str) -> Result<Option<Self>, PatternError> {
        if !text.contains('*') {
            return Ok(None);
        }
        for component in text.split('/') {
            if component.is_empty() {
                return Err(PatternError::Empty);
            }
            if component.contains(BELOW) && component != BELOW {
                return Err(PatternError::Joined);
            }
        }
        Ok(Some(Self(text.to_owned())))
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the wildcards in their order.
    pub fn wildcards(&self) -> Vec<&'static str> {
        let mut found = Vec::new();
        let mut rest = self.0.as_str();
        while let Some(at) = rest.find('*') {
            let wildcard = if rest[at..].starts_with(BELOW) { BELOW } else { "*" };
            found.push(wildcard);
            rest = &rest[at + wildcard.len()..];
        }
        found
    }

    /// Whether there is only one way to match any name: at most one `*` in each component (stack
    /// and logical ID are two), and at most one `**`.
    pub fn is_unequivocal(&self) -> bool {
        let mut components: Vec<&str> = self.0.split('/').collect();
        if let Some((stack, id)) = components.last().and_then(|last| last.split_once('.')) {
            components.pop();
            components.extend([stack, id]);
        }
        components.iter().filter(|one| **one == BELOW).count() <= 1
            && components.iter().all(|one| *one == BELOW || one.matches('*').count() <= 1)
    }

    /// Returns what the wildcards stand for in a name that matches.
    pub fn captures<'n>(&self, name: &'n str) -> Option<Vec<&'n str>> {
        let mut captures = Vec::new();
        matches(&self.0, name, &mut captures).then_some(captures)
    }

    /// Returns the name with these texts in place of the wildcards.
    pub fn filled(&self, captures: &[&str]) -> String {
        let mut captures = captures.iter();
        let (mut name, mut rest) = (String::new(), self.0.as_str());
        while let Some(at) = rest.find('*') {
            name.push_str(&rest[..at]);
            name.push_str(captures.next().copied().unwrap_or_default());
            rest = &rest[at..];
            rest = rest.strip_prefix(BELOW).unwrap_or(&rest[1..]);
        }
        name + rest
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// Matches from the left, the shortest texts first.
fn matches<'n>(pattern: &str, name: &'n str, captures: &mut Vec<&'n str>) -> bool {
    let Some(at) = pattern.find('*') else { return pattern == name };
    let Some(name) = name.strip_prefix(&pattern[..at]) else { return false };
    let is_below = pattern[at..].starts_with(BELOW);
    let rest = &pattern[at + if is_below { 2 } else { 1 }..];
    let ends = name.char_indices().map(|(end, _)| end).chain([name.len()]);
    for end in ends {
        let component_ends = end == name.len() || name[end..].starts_with('/');
        if !is_below || (end > 0 && component_ends) {
            captures.push(&name[..end]);
            if matches(rest, &name[end..], captures) {
                return true;
            }
            captures.pop();
        }
        if !is_below && component_ends {
            break;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> Pattern {
        Pattern::parse(text).unwrap().unwrap()
    }

    #[test]
    fn a_star_stays_in_its_component_and_two_take_whole_ones() {
        for (text, name, captures) in [
            ("Web.Old*", "Web.OldTable", Some(vec!["Table"])),
            ("Web.Old*", "Web.Old", Some(vec![""])),
            ("Web.Old*", "Web.Other", None),
            ("*.Old*", "Web.OldTable", Some(vec!["Web", "Table"])),
            ("A/*/Table", "A/B/Table", Some(vec!["B"])),
            ("A/*/Table", "A/B/C/Table", None),
            ("A/B/**", "A/B/C/Resource", Some(vec!["C/Resource"])),
            ("A/B/**", "A/B", None),
            ("A/B/**", "A/Bee/C", None),
            ("**/Queue", "A/B/Queue", Some(vec!["A/B"])),
            ("A/**/Queue*/Resource", "A/B/C/Queue1/Resource", Some(vec!["B/C", "1"])),
            ("AWS::Lambda::*", "AWS::Lambda::Version", Some(vec!["Version"])),
        ] {
            assert_eq!(pattern(text).captures(name), captures, "{text} {name}");
        }
    }

    #[test]
    fn what_was_captured_fills_the_other_pattern() {
        assert_eq!(pattern("B/**/X*").filled(&["C/D", "1"]), "B/C/D/X1");
        assert_eq!(pattern("*.*").filled(&["A", "B"]), "A.B");
        assert_eq!(pattern("B/**/X*").wildcards(), ["**", "*"]);
    }

    #[test]
    fn only_patterns_that_match_in_one_way_are_unequivocal() {
        for (text, expected) in [
            ("*.*", true),
            ("A/*/B*", true),
            ("A/**/*", true),
            ("A/*x*", false),
            ("**/A/**", false),
        ] {
            assert_eq!(pattern(text).is_unequivocal(), expected, "{text}");
        }
    }

    #[test]
    fn a_text_without_wildcards_is_no_pattern_and_a_malformed_one_an_error() {
        assert_eq!(Pattern::parse("A/B"), Ok(None));
        assert_eq!(Pattern::parse("A/B**"), Err(PatternError::Joined));
        assert_eq!(Pattern::parse("A/***"), Err(PatternError::Joined));
        assert_eq!(Pattern::parse("A//*"), Err(PatternError::Empty));
    }
}
