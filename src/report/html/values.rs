//! Values side by side: what goes and what comes, line by line.

use super::markup::Markup;
use crate::model::Value;
use crate::template::json::to_pretty;

/// How many equal lines are shown around those that differ.
const CONTEXT: usize = 2;
/// Longer lists of lines are compared only as far as they begin and end alike: the table of a
/// comparison has a cell for each pair of lines.
const COMPARED: usize = 250_000;
/// What has more lines is folded up.
const SHOWN: usize = 24;

/// What becomes of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Line<'t> {
    Same(&'t str),
    Old(&'t str),
    New(&'t str),
}

/// Writes the difference of two values; `None` where there is none.
pub(super) fn difference(out: &mut Markup, old: Option<&Value>, new: Option<&Value>) {
    let (old, new) = texts(old, new);
    let (old, new) = (lines(old.as_deref()), lines(new.as_deref()));
    let script = shortened(compared(&old, &new));
    if script.is_empty() {
        return;
    }
    let is_long = script.len() > SHOWN;
    if is_long {
        out.raw("<details class=\"long\"><summary>").number(script.len());
        out.raw(" lines</summary>");
    }
    out.raw("<pre>");
    write(out, &script);
    out.raw("</pre>");
    if is_long {
        out.raw("</details>");
    }
}

/// Both values as they are compared: texts of several lines as these lines, everything else as
/// JSON.
fn texts(old: Option<&Value>, new: Option<&Value>) -> (Option<String>, Option<String>) {
    let has_lines = |value: &&Value| value.as_str().is_some_and(|text| text.contains('\n'));
    let is_text = |value: Option<&Value>| value.is_none_or(|value| value.as_str().is_some());
    let as_text = is_text(old) && is_text(new) && old.iter().chain(&new).any(has_lines);
    let text = |value: Option<&Value>| {
        value.map(|value| match value.as_str() {
            Some(text) if as_text => text.to_owned(),
            _ => to_pretty(value),
        })
    };
    (text(old), text(new))
}

fn lines(text: Option<&str>) -> Vec<&str> {
    text.map(|text| text.split('\n').collect()).unwrap_or_default()
}

/// The shortest way from one list of lines to the other: the longest common subsequence stays.
fn compared<'t>(old: &[&'t str], new: &[&'t str]) -> Vec<Line<'t>> {
    let start = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (head, old, new) = (&old[..start], &old[start..], &new[start..]);
    let end = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
    let (old, tail) = old.split_at(old.len() - end);
    let new = &new[..new.len() - end];
    let mut script: Vec<Line<'t>> = head.iter().map(|line| Line::Same(line)).collect();
    if old.len().saturating_mul(new.len()) > COMPARED {
        script.extend(old.iter().map(|line| Line::Old(line)));
        script.extend(new.iter().map(|line| Line::New(line)));
    } else {
        script.extend(subsequence(old, new));
    }
    script.extend(tail.iter().map(|line| Line::Same(line)));
    script
}

fn subsequence<'t>(old: &[&'t str], new: &[&'t str]) -> Vec<Line<'t>> {
    // The length of the longest common subsequence of what begins at each pair of lines.
    let width = new.len() + 1;
    let mut longest = vec![0_usize; (old.len() + 1) * width];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            longest[i * width + j] = if old[i] == new[j] {
                longest[(i + 1) * width + j + 1] + 1
            } else {
                longest[(i + 1) * width + j].max(longest[i * width + j + 1])
            };
        }
    }
    let (mut i, mut j, mut script) = (0, 0, Vec::new());
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            script.push(Line::Same(old[i]));
            (i, j) = (i + 1, j + 1);
        } else if j == new.len()
            || (i < old.len() && longest[(i + 1) * width + j] >= longest[i * width + j + 1])
        {
            script.push(Line::Old(old[i]));
            i += 1;
        } else {
            script.push(Line::New(new[j]));
            j += 1;
        }
    }
    script
}

/// Leaves out equal lines that are far from any that differ; `None` stands for them.
fn shortened(script: Vec<Line<'_>>) -> Vec<Option<Line<'_>>> {
    let differs: Vec<usize> =
        (0..script.len()).filter(|at| !matches!(script[*at], Line::Same(_))).collect();
    let near = |at: usize| {
        let next = differs.partition_point(|other| *other < at);
        let after = differs.get(next).is_some_and(|other| other - at <= CONTEXT);
        after || (next > 0 && at - differs[next - 1] <= CONTEXT)
    };
    let mut out = Vec::new();
    for (at, line) in script.into_iter().enumerate() {
        if near(at) {
            out.push(Some(line));
        } else if !matches!(out.last(), Some(None)) {
            out.push(None);
        }
    }
    out
}

fn write(out: &mut Markup, script: &[Option<Line<'_>>]) {
    let mut at = 0;
    while at < script.len() {
        if at > 0 {
            out.raw("\n");
        }
        match (script[at], script.get(at + 1)) {
            (Some(Line::Old(old)), Some(Some(Line::New(new)))) if stands_alone(script, at) => {
                pair(out, old, new);
                at += 1;
            }
            (Some(Line::Old(line)), _) => {
                out.raw("<del>- ").text(line).raw("</del>");
            }
            (Some(Line::New(line)), _) => {
                out.raw("<ins>+ ").text(line).raw("</ins>");
            }
            (Some(Line::Same(line)), _) => {
                out.raw("  ").text(line);
            }
            (None, _) => {
                out.raw("  …");
            }
        }
        at += 1;
    }
}

/// Whether a line that goes is the only one in its place, and that which comes as well: then what
/// differs in them is worth showing.
fn stands_alone(script: &[Option<Line<'_>>], at: usize) -> bool {
    let is_old = |at: usize| matches!(script.get(at), Some(Some(Line::Old(_))));
    let is_new = |at: usize| matches!(script.get(at), Some(Some(Line::New(_))));
    let is_first = at == 0 || !is_old(at - 1);
    is_first && !is_new(at + 2)
}

fn pair(out: &mut Markup, old: &str, new: &str) {
    let start: usize =
        (old.chars().zip(new.chars())).take_while(|(a, b)| a == b).map(|(c, _)| c.len_utf8()).sum();
    let (head, old, new) = (&old[..start], &old[start..], &new[start..]);
    let end: usize = (old.chars().rev().zip(new.chars().rev()))
        .take_while(|(a, b)| a == b)
        .map(|(c, _)| c.len_utf8())
        .sum();
    let (old, tail) = old.split_at(old.len() - end);
    let new = &new[..new.len() - end];
    // Where nothing is alike the marks would say nothing.
    let marks = head.len() + tail.len() > 4;
    let part = |out: &mut Markup, text: &str| {
        if marks && !text.is_empty() {
            out.raw("<mark>").text(text).raw("</mark>");
        } else {
            out.text(text);
        }
    };
    out.raw("<del>- ").text(head);
    part(out, old);
    out.text(tail).raw("</del>\n<ins>+ ").text(head);
    part(out, new);
    out.text(tail).raw("</ins>");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template::json::parse;

    /// The markup of a difference of two JSON texts; an empty one stands for no value.
    fn shown(old: &str, new: &str) -> String {
        let value = |text: &str| (!text.is_empty()).then(|| parse(text).unwrap());
        let mut out = Markup::default();
        difference(&mut out, value(old).as_ref(), value(new).as_ref());
        out.into_string()
    }

    #[test]
    fn of_two_values_the_part_is_marked_that_differs() {
        assert_eq!(
            shown("\"orders-v1-queue\"", "\"orders-v2-queue\""),
            "<pre><del>- &quot;orders-v<mark>1</mark>-queue&quot;</del>\n\
             <ins>+ &quot;orders-v<mark>2</mark>-queue&quot;</ins></pre>"
        );
        assert_eq!(shown("1", "2"), "<pre><del>- 1</del>\n<ins>+ 2</ins></pre>");
    }

    #[test]
    fn a_value_that_comes_or_goes_is_shown_as_a_whole() {
        assert_eq!(shown("", "true"), "<pre><ins>+ true</ins></pre>");
        assert_eq!(shown("null", ""), "<pre><del>- null</del></pre>");
        assert_eq!(shown("", ""), "");
    }

    #[test]
    fn of_large_values_only_what_differs_is_shown_with_a_little_around_it() {
        assert_eq!(
            shown("[1,2,3,4,5,6,7,8]", "[1,2,3,4,5,60,7,8]"),
            "<pre>  …\n    4,\n    5,\n<del>-   6,</del>\n<ins>+   60,</ins>\n    7,\n    8\n  …</pre>"
        );
    }

    #[test]
    fn texts_of_several_lines_are_compared_by_lines() {
        assert_eq!(shown(r#""a\nb""#, r#""a\nc\nb""#), "<pre>  a\n<ins>+ c</ins>\n  b</pre>");
        // A text against something else is JSON on both sides.
        assert!(shown(r#""a\nb""#, "1").contains("&quot;a\\nb&quot;"));
    }

    #[test]
    fn long_values_are_folded_up() {
        let list = (0..100).map(|n| n.to_string()).collect::<Vec<_>>().join(",");
        let text = shown("", &format!("[{list}]"));
        assert!(text.starts_with("<details class=\"long\"><summary>102 lines</summary><pre><ins>"));
    }

    #[test]
    fn markup_in_values_is_text() {
        assert!(!shown("\"<b>\"", "\"</pre>\"").contains("<b>"));
    }
}
