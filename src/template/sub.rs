//! The text of `Fn::Sub`, in parts.

/// A part of the text of `Fn::Sub`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Segment<'a> {
    /// Text that stands for itself. `${!Name}` is the literal `${Name}` and comes as two parts,
    /// the first of them `${`.
    Literal(&'a str),
    /// `${Name}` or `${Name.Attribute}`: what is between the braces, without surrounding blanks.
    Variable(&'a str),
}

/// The text of `Fn::Sub` has a `${` that is not closed.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("`${{` without `}}` in `{0}`")]
pub struct SubError(String);

/// Splits the text of `Fn::Sub` into literals and variables (CloudFormation user guide,
/// `Fn::Sub`).
///
/// # Errors
/// When a `${` is not closed.
pub fn parse_sub(text: &str) -> Result<Vec<Segment<'_>>, SubError> {
    let mut segments = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        if at > 0 {
            segments.push(Segment::Literal(&rest[..at]));
        }
        let inner = &rest[at + 2..];
        let end = inner.find('}').ok_or_else(|| SubError(text.to_owned()))?;
        match inner[..end].strip_prefix('!') {
            Some(_) => {
                segments.push(Segment::Literal("${"));
                segments.push(Segment::Literal(&inner[1..=end]));
            }
            None => segments.push(Segment::Variable(inner[..end].trim())),
        }
        rest = &inner[end + 1..];
    }
    if !rest.is_empty() {
        segments.push(Segment::Literal(rest));
    }
    Ok(segments)
}

#[cfg(test)]
mod tests {
    use super::Segment::{Literal, Variable};
    use super::*;

    #[test]
    fn literals_and_variables_are_told_apart() {
        assert_eq!(
            parse_sub("arn:${AWS::Partition}:s3:::${Bucket.Arn}/*").unwrap(),
            [
                Literal("arn:"),
                Variable("AWS::Partition"),
                Literal(":s3:::"),
                Variable("Bucket.Arn"),
                Literal("/*")
            ]
        );
    }

    #[test]
    fn an_exclamation_mark_makes_a_literal() {
        assert_eq!(
            parse_sub("${!Name}x").unwrap(),
            [Literal("${"), Literal("Name}"), Literal("x")]
        );
    }

    #[test]
    fn an_open_brace_is_refused() {
        assert!(parse_sub("a ${b").is_err());
    }

    #[test]
    fn the_empty_text_has_no_parts() {
        assert_eq!(parse_sub("").unwrap(), []);
    }
}
