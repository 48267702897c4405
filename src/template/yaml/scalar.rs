//! Scalars without quotes, as CloudFormation reads them.

use crate::model::{Number, Value};

/// Reads a scalar without quotes.
pub(super) fn plain(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        _ if is_json_number(text) => Value::Number(Number::from_text(text)),
        _ => text.into(),
    }
}

/// Whether a text is a number in JSON (RFC 8259, section 6).
fn is_json_number(text: &str) -> bool {
    fn digits(text: &str) -> Option<&str> {
        let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
        (rest.len() < text.len()).then_some(rest)
    }
    fn read(text: &str) -> Option<&str> {
        let text = text.strip_prefix('-').unwrap_or(text);
        let mut rest = match text.strip_prefix('0') {
            Some(rest) => rest,
            None => digits(text)?,
        };
        if let Some(fraction) = rest.strip_prefix('.') {
            rest = digits(fraction)?;
        }
        if let Some(exponent) = rest.strip_prefix(['e', 'E']) {
            rest = digits(exponent.strip_prefix(['+', '-']).unwrap_or(exponent))?;
        }
        Some(rest)
    }
    read(text) == Some("")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_json_calls_a_number_is_one_and_it_keeps_its_digits() {
        for number in ["0", "-0", "10", "1.50", "1e400", "-2.5E-3", "12345678901234567890123"] {
            assert_eq!(plain(number), Value::Number(Number::from_text(number)));
        }
        for text in [
            "012345678901",
            "1_000",
            "2012-10-17",
            "0x1F",
            "0o7",
            "+1",
            ".5",
            "1.",
            "1e",
            "1:30",
            ".inf",
            ".nan",
            "1.2.3",
        ] {
            assert_eq!(plain(text), Value::from(text));
        }
    }

    #[test]
    fn yes_and_no_are_text() {
        for text in ["yes", "no", "on", "off", "y", "N", "Yes"] {
            assert_eq!(plain(text), Value::from(text));
        }
    }

    #[test]
    fn true_false_and_null_are_what_they_say() {
        for (texts, value) in [
            (["true", "True", "TRUE"], Value::Bool(true)),
            (["false", "False", "FALSE"], Value::Bool(false)),
            (["", "~", "null"], Value::Null),
        ] {
            for text in texts {
                assert_eq!(plain(text), value);
            }
        }
    }
}
