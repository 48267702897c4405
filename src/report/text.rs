//! Pieces of text that all renderings share.

use std::borrow::Cow;

use comfy_table::{ContentArrangement, Table};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::Style;
use crate::compare::{Difference, Place};
use crate::model::Value;
use crate::template::json::to_compact;

/// Longest value that is shown.
const VALUE_WIDTH: usize = 80;
/// How much is shown before the place where two long values begin to differ.
const CONTEXT: usize = 20;

/// Spells out what a terminal would take for a command, and what would change the order or the
/// visibility of the letters around it.
pub fn plain(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_hostile) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if is_hostile(c) {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// Whether a character is a control character, or an invisible one that reorders or hides text.
pub(super) fn is_hostile(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{61c}' | '\u{feff}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}'
        )
}

/// What a place is called in this style.
pub(super) fn name(place: &Place, style: Style) -> String {
    match &place.path {
        Some(path) if style.paths => plain(path.as_str()).into_owned(),
        _ => plain(&place.location.to_string()).into_owned(),
    }
}

/// Both values of a difference, each on one line of bounded width. Of long values the part is
/// shown in which they begin to differ.
pub(super) fn values(difference: &Difference) -> (String, String) {
    both(difference.old.as_ref(), difference.new.as_ref(), VALUE_WIDTH)
}

/// Two values, each on one line no wider than a width. Of long values the part is shown in which
/// they begin to differ.
pub(super) fn both(old: Option<&Value>, new: Option<&Value>, width: usize) -> (String, String) {
    let text = |value: Option<&Value>| match value {
        None => "(absent)".to_owned(),
        Some(value) => plain(&to_compact(value)).into_owned(),
    };
    let (old, new) = (text(old), text(new));
    if old.width() <= width && new.width() <= width {
        return (old, new);
    }
    let same = old.chars().zip(new.chars()).take_while(|(a, b)| a == b).count();
    let skip = if same < width / 2 { 0 } else { same - CONTEXT.min(same) };
    let part = |text: String| {
        let rest: String = text.chars().skip(skip).collect();
        shorten(&if skip == 0 { rest } else { format!("…{rest}") }, width)
    };
    (part(old), part(new))
}

/// A text cut to a width, with a mark if something was cut off.
pub(super) fn shorten(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut used = 1;
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used > width {
            break;
        }
        out.push(c);
    }
    out.push('…');
    out
}

/// A line in parts that are no wider than a width, as far as its words allow. What is broken off
/// is indented further than the line.
pub fn wrapped(line: &str, width: usize) -> Vec<String> {
    if line.width() <= width {
        return vec![line.to_owned()];
    }
    let indent = line.len() - line.trim_start_matches(' ').len();
    let mut lines = Vec::new();
    let mut current = " ".repeat(indent);
    let mut is_empty = true;
    for word in line[indent..].split(' ') {
        // What fits into no line is not helped by another line.
        let fits = indent + 2 + word.width() <= width;
        if !is_empty && fits && current.width() + 1 + word.width() > width {
            lines.push(std::mem::replace(&mut current, " ".repeat(indent + 2)));
            is_empty = true;
        }
        if !is_empty {
            current.push(' ');
        }
        current.push_str(word);
        is_empty = false;
    }
    lines.push(current);
    lines.iter().map(|line| line.trim_end().to_owned()).collect()
}

/// A text no wider than a width, its middle left out: names differ at their ends.
pub fn squeezed(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let tail = width / 2;
    let mut end = text.len();
    let mut used = 0;
    for (at, c) in text.char_indices().rev() {
        used += c.width().unwrap_or(0);
        if used > tail {
            break;
        }
        end = at;
    }
    format!("{}{}", shorten(text, width - tail), &text[end..])
}

/// The paths of differing properties, the first few of them.
pub(super) fn properties<'a>(
    differences: impl Iterator<Item = &'a Difference>,
    style: Style,
) -> String {
    let all: Vec<_> = differences.map(|difference| plain(&difference.property)).collect();
    let shown = if style.verbose { all.len() } else { all.len().min(3) };
    let listed = all[..shown].join(", ");
    if shown == all.len() {
        return listed;
    }
    format!("{listed} and {} more", all.len() - shown)
}

/// `1 resource`, `2 resources`.
pub fn count(number: usize, singular: &str) -> String {
    if number == 1 { format!("1 {singular}") } else { format!("{number} {singular}s") }
}

/// The options by which a reader says that one place became another: pairs of old and new.
pub(super) fn map_options(pairs: &[(&Place, &Place)], style: Style) -> String {
    let options = pairs.iter().map(|(source, destination)| {
        let pair = format!("{}:{}", name(source, style), name(destination, style));
        format!("--map {}", shell_word(&pair))
    });
    options.collect::<Vec<_>>().join(" ")
}

/// A text as a shell takes it for one word.
pub(super) fn shell_word(text: &str) -> String {
    let safe = |c: char| c.is_ascii_alphanumeric() || "._-/:@+,=".contains(c);
    if text.chars().all(safe) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// A table with lines, as wide as its content: identifiers are never broken.
pub(super) fn grid(header: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    use comfy_table::{ContentLineStyle, LineStyle, TableStyle};
    const LINES: TableStyle = TableStyle::new()
        .top_border(LineStyle::new('┌', '─', '┬', '┐'))
        .header_lines(ContentLineStyle::new('│', '│', '│'))
        .header_separator(LineStyle::new('├', '─', '┼', '┤'))
        .content_lines(ContentLineStyle::new('│', '│', '│'))
        .row_separator(LineStyle::new('├', '─', '┼', '┤'))
        .bottom_border(LineStyle::new('└', '─', '┴', '┘'));
    let mut table = Table::new();
    table.load_style(LINES);
    table.set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(header);
    table.add_rows(rows);
    table.to_string()
}

/// Lines of which the first columns are as wide as their widest entry.
pub(super) fn columns(rows: &[Vec<String>]) -> Vec<String> {
    let last = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widths: Vec<usize> = (0..last)
        .map(|at| rows.iter().filter_map(|row| row.get(at)).map(|cell| cell.width()).max())
        .map(|width| width.unwrap_or(0))
        .collect();
    let line = |row: &Vec<String>| {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            line.push_str(cell);
            line.push_str(&" ".repeat(width - cell.width() + 2));
        }
        line.trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

/// Styles of the terminal rendering; whoever prints takes them out where they are not wanted.
pub(super) mod paint {
    use std::fmt::Display;

    use anstyle::{AnsiColor, Style};

    fn with(style: Style, text: impl Display) -> String {
        format!("{style}{text}{style:#}")
    }

    pub(in crate::report) fn heading(text: impl Display) -> String {
        with(Style::new().bold(), text)
    }

    pub(in crate::report) fn command(text: impl Display) -> String {
        with(AnsiColor::Cyan.on_default(), text)
    }

    pub(in crate::report) fn gain(text: impl Display) -> String {
        with(AnsiColor::Green.on_default(), text)
    }

    pub(in crate::report) fn loss(text: impl Display) -> String {
        with(AnsiColor::Red.on_default(), text)
    }

    pub(in crate::report) fn change(text: impl Display) -> String {
        with(AnsiColor::Yellow.on_default(), text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_to_the_terminal_are_spelt_out() {
        assert_eq!(plain("a\u{1b}[2Jb\r\nc\u{9b}d"), "a\\u{1b}[2Jb\\r\\nc\\u{9b}d");
        assert_eq!(plain("a\u{202e}b\u{200b}"), "a\\u{202e}b\\u{200b}");
        assert!(matches!(plain("Grüße, 世界"), Cow::Borrowed(_)));
    }

    #[test]
    fn a_long_text_is_cut_to_its_width_in_columns() {
        assert_eq!(shorten("abcdef", 6), "abcdef");
        assert_eq!(shorten("abcdefg", 6), "abcde…");
        assert_eq!(shorten("世界世界", 5), "世界…");
    }

    #[test]
    fn a_long_line_is_broken_between_words_and_indented() {
        let line = "    used by  Shop.OrdersConsumer, Shop.OrdersPolicy";
        assert_eq!(wrapped(line, 80), [line]);
        assert_eq!(
            wrapped(line, 36),
            ["    used by  Shop.OrdersConsumer,", "      Shop.OrdersPolicy"]
        );
        assert_eq!(wrapped("  abcdefgh i", 5), ["  abcdefgh", "    i"]);
        assert_eq!(wrapped("  a: abcdefgh", 8), ["  a: abcdefgh"]);
    }

    #[test]
    fn of_a_long_name_both_ends_are_shown() {
        assert_eq!(squeezed("abcdef", 6), "abcdef");
        assert_eq!(squeezed("abcdefgh1234", 9), "abcd…1234");
    }

    #[test]
    fn of_long_values_the_part_is_shown_that_differs() {
        let long = |end: &str| Some(Value::from(&*format!("{}{end}", "x".repeat(200))));
        let mut difference = Difference {
            property: String::new(),
            old: long("one"),
            new: long("two"),
            name_only: false,
            replaces: false,
        };
        let same = format!("…{}", "x".repeat(20));
        assert_eq!(values(&difference), (format!("{same}one\""), format!("{same}two\"")));
        difference.new = None;
        let (old, new) = values(&difference);
        assert_eq!((old.width(), &*new), (80, "(absent)"));
    }

    #[test]
    fn a_word_that_a_shell_would_split_is_quoted() {
        assert_eq!(shell_word("A.X:B.Y"), "A.X:B.Y");
        assert_eq!(shell_word("A/my bucket's:B/Y"), r"'A/my bucket'\''s:B/Y'");
    }

    #[test]
    fn wide_letters_count_two_columns() {
        let table = grid(&["a"], [vec!["世界".to_owned()], vec!["abcd".to_owned()]]);
        let widths: Vec<_> = table.lines().map(UnicodeWidthStr::width).collect();
        assert!(widths.iter().all(|width| *width == widths[0]), "{table}");
    }
}
