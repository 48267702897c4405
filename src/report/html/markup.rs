//! Markup that is being written: what comes from templates cannot get into it but escaped.

use serde_json::Value as Json;

use crate::report::text::plain;

/// Markup. What is ours is in the program text (`&'static str`); everything else is escaped.
#[derive(Default)]
pub(super) struct Markup(String);

impl Markup {
    /// Adds markup of ours.
    pub(super) fn raw(&mut self, markup: &'static str) -> &mut Self {
        self.0.push_str(markup);
        self
    }

    /// Adds a text, inside of an element or of a quoted attribute. Characters that cannot be seen,
    /// or that reorder others, are spelt out.
    pub(super) fn text(&mut self, text: &str) -> &mut Self {
        for c in plain(text).chars() {
            match c {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                _ => self.0.push(c),
            }
        }
        self
    }

    /// Adds a text of several lines, which stay lines.
    pub(super) fn lines(&mut self, text: &str) -> &mut Self {
        for (at, line) in text.split('\n').enumerate() {
            if at > 0 {
                self.0.push('\n');
            }
            self.text(line);
        }
        self
    }

    /// Adds a number.
    pub(super) fn number(&mut self, number: usize) -> &mut Self {
        self.text(&number.to_string())
    }

    /// Adds a text as code.
    pub(super) fn code(&mut self, text: &str) -> &mut Self {
        self.raw("<code>").text(text).raw("</code>")
    }

    /// Adds data for the script: JSON without any character that could end its element. Its texts
    /// are for people as well.
    pub(super) fn data(&mut self, json: &Json) -> &mut Self {
        for c in json.to_string().chars() {
            match c {
                '<' => self.0.push_str("\\u003c"),
                '>' => self.0.push_str("\\u003e"),
                '&' => self.0.push_str("\\u0026"),
                _ => self.0.push(c),
            }
        }
        self
    }

    /// Returns the markup.
    pub(super) fn into_string(self) -> String {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn texts_cannot_leave_their_element_or_attribute() {
        let mut markup = Markup::default();
        markup.raw("<p title=\"").text("a\"b'c").raw("\">").text("</p><script>&").raw("</p>");
        assert_eq!(
            markup.into_string(),
            "<p title=\"a&quot;b&#39;c\">&lt;/p&gt;&lt;script&gt;&amp;</p>"
        );
    }

    #[test]
    fn what_cannot_be_seen_is_spelt_out() {
        let mut markup = Markup::default();
        markup.text("a\u{202e}b\u{200b}c\nd").raw("|").lines("a\nb\u{1b}");
        assert_eq!(markup.into_string(), "a\\u{202e}b\\u{200b}c\\nd|a\nb\\u{1b}");
    }

    #[test]
    fn data_cannot_end_its_element() {
        let mut markup = Markup::default();
        markup.data(&json!(["</script><!--", "&"]));
        assert_eq!(markup.into_string(), "[\"\\u003c/script\\u003e\\u003c!--\",\"\\u0026\"]");
    }
}
