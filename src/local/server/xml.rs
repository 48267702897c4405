//! A writer of XML: no more than answers of AWS need.

/// A document that grows by elements.
#[derive(Debug, Default)]
pub(super) struct Xml(String);

impl Xml {
    /// Returns the document.
    pub(super) fn finish(self) -> String {
        self.0
    }

    /// Writes `<name>` with attributes, then what `write` writes, then `</name>`.
    pub(super) fn with(&mut self, name: &str, attributes: &str, write: impl FnOnce(&mut Self)) {
        self.0.push('<');
        self.0.push_str(name);
        if !attributes.is_empty() {
            self.0.push(' ');
            self.0.push_str(attributes);
        }
        self.0.push('>');
        write(self);
        self.0.push_str("</");
        self.0.push_str(name);
        self.0.push('>');
    }

    /// Writes an element with elements in it.
    pub(super) fn inside(&mut self, name: &str, write: impl FnOnce(&mut Self)) {
        self.with(name, "", write);
    }

    /// Writes an element with a text.
    pub(super) fn text(&mut self, name: &str, text: &str) {
        self.inside(name, |xml| xml.escaped(text));
    }

    /// Writes an element with attributes and a text.
    pub(super) fn with_text(&mut self, name: &str, attributes: &str, text: &str) {
        self.with(name, attributes, |xml| xml.escaped(text));
    }

    /// Writes an element with a text if there is one.
    pub(super) fn some(&mut self, name: &str, text: Option<&str>) {
        if let Some(text) = text {
            self.text(name, text);
        }
    }

    /// Writes an element with `true` or `false`.
    pub(super) fn flag(&mut self, name: &str, flag: bool) {
        self.text(name, if flag { "true" } else { "false" });
    }

    /// Writes a list: an element with one `member` for each item.
    pub(super) fn list<T>(
        &mut self,
        name: &str,
        items: impl IntoIterator<Item = T>,
        mut write: impl FnMut(&mut Self, T),
    ) {
        self.inside(name, |xml| {
            for item in items {
                xml.inside("member", |xml| write(xml, item));
            }
        });
    }

    /// Writes a list of texts.
    pub(super) fn texts<T: AsRef<str>>(&mut self, name: &str, items: impl IntoIterator<Item = T>) {
        self.list(name, items, |xml, item| xml.escaped(item.as_ref()));
    }

    /// Writes elements that are written already.
    pub(super) fn append(&mut self, other: &Self) {
        self.0.push_str(&other.0);
    }

    fn escaped(&mut self, text: &str) {
        for c in text.chars() {
            match c {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                // Parsers turn a bare carriage return into a line feed.
                '\r' => self.0.push_str("&#13;"),
                '\t' | '\n' => self.0.push(c),
                // XML 1.0 cannot contain these in any form.
                '\0'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => self.0.push('\u{fffd}'),
                c => self.0.push(c),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_escaped_and_stay_well_formed() {
        let mut xml = Xml::default();
        xml.inside("a", |xml| {
            xml.text("b", "<&>\"é\r\n\t\u{1}\u{ffff}");
            xml.some("c", None);
            xml.texts("d", ["x", "y"]);
            xml.flag("e", true);
        });
        assert_eq!(
            xml.finish(),
            "<a><b>&lt;&amp;&gt;&quot;é&#13;\n\t\u{fffd}\u{fffd}</b>\
             <d><member>x</member><member>y</member></d><e>true</e></a>"
        );
    }
}
