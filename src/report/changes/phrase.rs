//! A line in pieces: what is ours can be written as it is, what others wrote cannot.

use crate::report::text::plain;

/// A line, for a terminal or for Markdown.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Phrase(Vec<Piece>);

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Piece {
    /// Words of ours.
    Words(String),
    /// A name or a value.
    Code(String),
    /// A sentence, names in it between backquotes.
    Prose(String),
}

impl Phrase {
    pub(super) fn words(mut self, words: &str) -> Self {
        if !words.is_empty() {
            self.0.push(Piece::Words(words.to_owned()));
        }
        self
    }

    pub(super) fn code(mut self, code: impl Into<String>) -> Self {
        self.0.push(Piece::Code(code.into()));
        self
    }

    pub(super) fn prose(mut self, prose: &str) -> Self {
        self.0.push(Piece::Prose(prose.to_owned()));
        self
    }

    pub(super) fn and(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Phrases with words between them.
    pub(super) fn joined(phrases: impl IntoIterator<Item = Self>, between: &str) -> Self {
        let full = phrases.into_iter().filter(|phrase| !phrase.is_empty());
        full.reduce(|all, one| all.words(between).and(one)).unwrap_or_default()
    }

    /// The line for a terminal.
    pub(super) fn text(&self) -> String {
        let pieces = self.0.iter().map(|piece| match piece {
            Piece::Words(words) => words.clone(),
            Piece::Code(text) | Piece::Prose(text) => plain(text).into_owned(),
        });
        pieces.collect()
    }

    /// The line for Markdown.
    pub(super) fn markdown(&self) -> String {
        let pieces = self.0.iter().map(|piece| match piece {
            Piece::Words(words) => words.clone(),
            Piece::Code(code) => span(code),
            Piece::Prose(prose) => sentence(prose),
        });
        pieces.collect()
    }
}

/// A name or a value as a span of code, in which Markdown, HTML, mentions and references mean
/// nothing: fenced by more backquotes than there are in it.
pub(super) fn span(code: &str) -> String {
    let code = plain(code);
    if code.trim().is_empty() {
        // Blanks alone are no code.
        return format!("`\"{code}\"`");
    }
    let fence = fence(&code, 1);
    let blank = if code.starts_with(['`', ' ']) || code.ends_with(['`', ' ']) { " " } else { "" };
    format!("{fence}{blank}{code}{blank}{fence}")
}

/// Backquotes, at least so many, and more than follow each other in a text.
pub(super) fn fence(text: &str, least: usize) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    "`".repeat(least.max(longest + 1))
}

/// A sentence of others: what is between backquotes, and every word that could mean anything but
/// itself, becomes code.
fn sentence(prose: &str) -> String {
    let mut out = String::with_capacity(prose.len() + 16);
    let parts: Vec<&str> = prose.split('`').collect();
    for (at, part) in parts.iter().enumerate() {
        // The last part has no backquote after it.
        if at % 2 == 1 && at + 1 < parts.len() && !part.trim().is_empty() {
            out.push_str(&span(part));
        } else {
            let words: Vec<String> = part.split(' ').map(word).collect();
            out.push_str(&words.join(" "));
        }
    }
    out
}

fn word(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-'\"’–—→…%=+?!".contains(c);
    let inner = word.trim_start_matches('(').trim_end_matches([')', '.', ',', ';', ':']);
    if inner.chars().all(is_plain) {
        return word.to_owned();
    }
    // Both are parts of the word around the inner one.
    let start = word.len() - word.trim_start_matches('(').len();
    let (before, rest) = word.split_at(start);
    let after = rest.strip_prefix(inner).unwrap_or_default();
    format!("{before}{}{after}", span(inner))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_in_markdown_means_nothing_but_itself() {
        assert_eq!(span("App.Queue"), "`App.Queue`");
        assert_eq!(span("a`b"), "``a`b``");
        assert_eq!(span("``"), "``` `` ```");
        assert_eq!(span("a\nb\u{202e}"), "`a\\nb\\u{202e}`");
        assert_eq!(span(""), "`\"\"`");
    }

    #[test]
    fn words_of_others_that_could_mean_something_are_code() {
        assert_eq!(
            sentence("`App.Key` is replaced, and all (that it holds) is deleted."),
            "`App.Key` is replaced, and all (that it holds) is deleted."
        );
        assert_eq!(
            sentence("see <b>x</b> #12, @team: [a](http://b) *now*."),
            "see `<b>x</b>` `#12`, `@team`: `[a](http://b`) `*now*`."
        );
        assert_eq!(sentence("an odd ` one"), "an odd  one");
        assert_eq!(sentence("(x_y)."), "(`x_y`).");
    }
}
