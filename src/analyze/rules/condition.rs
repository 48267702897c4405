//! The conditions of rules: `left operator right`.

use super::RuleError;
use super::source::Place;
use crate::model::Text;

/// How two operands are related.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    /// `==`
    Equals,
    /// `appliesTo`
    AppliesTo,
    /// `->`: refers to.
    RefersTo,
    /// `<-`: is referred to by.
    ReferredToBy,
    /// `>>`: contains.
    Contains,
    /// `<<`: is contained in.
    ContainedIn,
}

const OPERATORS: [(&str, Operator); 6] = [
    ("==", Operator::Equals),
    ("appliesTo", Operator::AppliesTo),
    ("->", Operator::RefersTo),
    ("<-", Operator::ReferredToBy),
    (">>", Operator::Contains),
    ("<<", Operator::ContainedIn),
];

/// One step of a path in a rule.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Step {
    /// A key or an index.
    Key(Text),
    /// `*`: any.
    Any,
}

/// One side of a condition.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Term {
    /// A scalar, as text that is equal for equal scalars.
    Literal(String),
    /// `'*'`: whatever is there.
    Anything,
    /// A name and a path.
    Path { name: String, steps: Vec<Step> },
}

/// A condition as it is written.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Written {
    pub(super) left: (Term, Place),
    pub(super) operator: (Operator, Place),
    pub(super) right: (Term, Place),
}

/// The places of the characters of a text: one by one from a first one, or all the same.
#[derive(Clone, Copy, Debug)]
pub(super) struct Origin {
    pub(super) place: Place,
    pub(super) is_exact: bool,
}

impl Origin {
    fn at(self, characters: usize) -> Place {
        let shift = if self.is_exact { characters } else { 0 };
        Place { column: self.place.column + shift, ..self.place }
    }
}

/// Reads a condition.
pub(super) fn condition(text: &str, origin: Origin) -> Result<Written, RuleError> {
    let words = words(text, origin)?;
    let shape = "a condition is `left operator right`, each separated by blanks";
    let [left, operator, right] = words.as_slice() else {
        let place = words.get(3).map_or(origin.at(0), |word| word.1);
        let found = words.len();
        return Err(RuleError::new(place, format_args!("{shape}; this has {found} parts")));
    };
    let known = OPERATORS.iter().find(|(name, _)| *name == operator.0);
    let Some((_, known)) = known else {
        let names = OPERATORS.map(|(name, _)| format!("`{name}`")).join(", ");
        let message = format!("`{}` is no operator: it must be one of {names}", operator.0);
        return Err(RuleError::new(operator.1, message));
    };
    Ok(Written {
        left: (term(&left.0, left.1, origin.is_exact)?, left.1),
        operator: (*known, operator.1),
        right: (term(&right.0, right.1, origin.is_exact)?, right.1),
    })
}

/// Reads a path that stands alone.
pub(super) fn path(text: &str, origin: Origin) -> Result<(String, Vec<Step>), RuleError> {
    match term(text.trim(), origin.at(0), origin.is_exact)? {
        Term::Path { name, steps } => Ok((name, steps)),
        _ => Err(RuleError::new(origin.at(0), format_args!("`{text}` is no path from a name"))),
    }
}

/// Splits at blanks outside of quotes.
fn words(text: &str, origin: Origin) -> Result<Vec<(String, Place)>, RuleError> {
    let mut words: Vec<(String, Place)> = Vec::new();
    let mut is_inside = false;
    let mut quote: Option<(char, usize)> = None;
    for (at, c) in text.chars().enumerate() {
        match quote {
            Some((mark, _)) if c == mark => quote = None,
            Some(_) => {}
            None if c.is_whitespace() => {
                is_inside = false;
                continue;
            }
            None if c == '\'' || c == '"' => quote = Some((c, at)),
            None => {}
        }
        if !is_inside {
            words.push((String::new(), origin.at(at)));
            is_inside = true;
        }
        if let Some((word, _)) = words.last_mut() {
            word.push(c);
        }
    }
    match quote {
        None => Ok(words),
        Some((_, at)) => Err(RuleError::new(origin.at(at), "the text that begins here has no end")),
    }
}

fn term(word: &str, place: Place, is_exact: bool) -> Result<Term, RuleError> {
    if let Some(quote) = word.chars().next().filter(|c| matches!(c, '\'' | '"')) {
        let inner = word[1..].strip_suffix(quote).filter(|inner| !inner.contains(quote));
        return match inner {
            Some("*") => Ok(Term::Anything),
            Some(inner) => Ok(Term::Literal(inner.to_owned())),
            None => Err(RuleError::new(place, format_args!("{word} is not one text in quotes"))),
        };
    }
    if let Some(number) = number(word) {
        return Ok(Term::Literal(number));
    }
    if matches!(word, "true" | "false") {
        return Ok(Term::Literal(word.to_owned()));
    }
    let origin = Origin { place, is_exact };
    let mut segments = segments(word, origin)?.into_iter();
    let (name, quoted, _) = segments.next().unwrap_or_default();
    if quoted || !is_name(&name) {
        return Err(RuleError::new(
            place,
            format_args!(
                "`{word}` is neither a name with a path, nor a number or a text in quotes"
            ),
        ));
    }
    let steps = segments.map(|(segment, quoted, at)| match segment.as_str() {
        "*" if !quoted => Ok(Step::Any),
        "" if !quoted => Err(RuleError::new(origin.at(at), "a step of the path is empty")),
        _ => Ok(Step::Key(segment.into())),
    });
    Ok(Term::Path { name, steps: steps.collect::<Result<_, _>>()? })
}

/// Splits a path at dots outside of quotes: each step, whether it was in quotes, where it begins.
fn segments(word: &str, origin: Origin) -> Result<Vec<(String, bool, usize)>, RuleError> {
    let mut found = vec![(String::new(), false, 0)];
    let mut quote = None;
    for (at, c) in word.chars().enumerate() {
        // There is always a last one.
        let Some(last) = found.last_mut() else { break };
        match quote {
            Some(mark) if c == mark => quote = None,
            Some(_) => last.0.push(c),
            None if c == '.' => found.push((String::new(), false, at + 1)),
            None if (c == '\'' || c == '"') && last.0.is_empty() => {
                last.1 = true;
                quote = Some(c);
            }
            None if c == '\'' || c == '"' || last.1 => {
                let message = "a step of a path is in quotes as a whole or not at all";
                return Err(RuleError::new(origin.at(at), message));
            }
            None => last.0.push(c),
        }
    }
    Ok(found)
}

/// Whether a text can be a name in a rule.
pub(super) fn is_name(text: &str) -> bool {
    let is_first = |c: char| c.is_ascii_alphabetic() || c == '_';
    text.starts_with(is_first)
        && text.chars().all(|c| is_first(c) || c.is_ascii_digit() || c == '-')
}

/// Returns the text of a number that is equal for equal numbers.
pub(super) fn number(text: &str) -> Option<String> {
    let number: serde_json::Number = serde_json::from_str(text).ok()?;
    let is_whole = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    // Whole numbers are kept digit for digit: they may be larger than what a real number holds.
    if is_whole { Some(text.to_owned()) } else { number.as_f64().map(|real| real.to_string()) }
}
