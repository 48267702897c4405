//! Text with places: what stands in a file that people write, and at which line and column, so
//! that every error can name the spot. JSON by itself, and YAML.

use std::fmt;

use saphyr_parser::{Event, Marker, Parser, ScalarStyle};

/// How deep lists and objects may be nested: as deep as `serde_json` takes them.
const MAX_DEPTH: usize = 127;

/// A place in a text, both numbers from 1, columns in characters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The character in the line.
    pub column: usize,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// What is wrong, and where. It reads `7:9: …`, so that the name of the file and a colon can
/// stand before it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{at}: {problem}")]
pub struct Misplaced {
    /// Where.
    pub at: Position,
    /// What.
    pub problem: String,
}

impl Misplaced {
    pub(super) fn new(at: Position, problem: impl Into<String>) -> Self {
        Self { at, problem: problem.into() }
    }
}

/// A value with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) at: Position,
    pub(super) content: Content,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Content {
    Null,
    Bool(bool),
    /// Digit for digit.
    Number(String),
    Text(String),
    List(Vec<Node>),
    /// The members in the order of the text, repeated keys kept.
    Map(Vec<(Key, Node)>),
}

/// The name of a member with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) at: Position,
    pub(super) text: String,
}

impl Node {
    /// What it is, as an error calls it.
    pub(super) fn kind(&self) -> String {
        match &self.content {
            Content::Null => "null".to_owned(),
            Content::Bool(value) => format!("`{value}`"),
            Content::Number(text) => format!("the number {text}"),
            Content::Text(text) => format!("the text \"{text}\""),
            Content::List(_) => "a list".to_owned(),
            Content::Map(_) => "an object".to_owned(),
        }
    }

    /// The text, if it is one.
    ///
    /// # Errors
    /// What else it is.
    pub(super) fn text(&self, what: &str) -> Result<&str, Misplaced> {
        match &self.content {
            Content::Text(text) => Ok(text),
            _ => Err(self.unexpected(what)),
        }
    }

    /// Says that something else belongs here.
    pub(super) fn unexpected(&self, expected: &str) -> Misplaced {
        Misplaced::new(self.at, format!("expected {expected}, found {}", self.kind()))
    }
}

/// Reads JSON.
pub(super) fn json(text: &str) -> Result<Node, Misplaced> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    serde_json::from_str::<serde_json::Value>(text).map_err(|error| {
        let at = Position { line: error.line(), column: error.column() };
        let said = error.to_string();
        let end = format!(" at line {} column {}", at.line, at.column);
        Misplaced::new(at, said.strip_suffix(&end).unwrap_or(&said))
    })?;
    let mut reader = Reader { rest: text, at: Position { line: 1, column: 1 } };
    reader.node()
}

/// Reads YAML: plain words are text, but for `null`, `true` and `false`.
pub(super) fn yaml(text: &str) -> Result<Node, Misplaced> {
    let mut builder = Builder::default();
    let mut parser = Parser::new_from_str(text);
    while let Some(event) = parser.next_event() {
        match event {
            Ok((event, span)) => builder.take(event, place(span.start))?,
            Err(error) => return Err(Misplaced::new(place(*error.marker()), error.info())),
        }
    }
    let nothing = Node { at: Position { line: 1, column: 1 }, content: Content::Null };
    Ok(builder.document.unwrap_or(nothing))
}

/// Markers count columns from zero.
fn place(marker: Marker) -> Position {
    Position { line: marker.line(), column: marker.col() + 1 }
}

/// Walks over a text that is known to be JSON.
struct Reader<'a> {
    rest: &'a str,
    at: Position,
}

impl Reader<'_> {
    fn skip(&mut self, bytes: usize) {
        let (passed, rest) = self.rest.split_at(bytes);
        for character in passed.chars() {
            if character == '\n' {
                self.at = Position { line: self.at.line + 1, column: 1 };
            } else {
                self.at.column += 1;
            }
        }
        self.rest = rest;
    }

    /// Skips white space and separators, which are known to be where they belong.
    fn next(&mut self) -> Option<char> {
        let is_between = |c: char| c.is_ascii_whitespace() || c == ',' || c == ':';
        let bytes = self.rest.find(|c| !is_between(c)).unwrap_or(self.rest.len());
        self.skip(bytes);
        self.rest.chars().next()
    }

    fn node(&mut self) -> Result<Node, Misplaced> {
        let first = self.next();
        let at = self.at;
        let content = match first {
            Some('{') => {
                self.skip(1);
                let mut members = Vec::new();
                while self.next().is_some_and(|next| next != '}') {
                    let key = Key { at: self.at, text: self.string()? };
                    members.push((key, self.node()?));
                }
                self.close();
                Content::Map(members)
            }
            Some('[') => {
                self.skip(1);
                let mut items = Vec::new();
                while self.next().is_some_and(|next| next != ']') {
                    items.push(self.node()?);
                }
                self.close();
                Content::List(items)
            }
            Some('"') => Content::Text(self.string()?),
            _ => {
                let is_end = |c: char| c.is_ascii_whitespace() || matches!(c, ',' | ']' | '}');
                let (word, _) =
                    self.rest.split_at(self.rest.find(is_end).unwrap_or(self.rest.len()));
                self.skip(word.len());
                match word {
                    "null" => Content::Null,
                    "true" => Content::Bool(true),
                    "false" => Content::Bool(false),
                    number => Content::Number(number.to_owned()),
                }
            }
        };
        Ok(Node { at, content })
    }

    fn close(&mut self) {
        if !self.rest.is_empty() {
            self.skip(1);
        }
    }

    fn string(&mut self) -> Result<String, Misplaced> {
        let mut is_escaped = false;
        let end = self.rest.char_indices().skip(1).find(|(_, c)| {
            let ends = *c == '"' && !is_escaped;
            is_escaped = *c == '\\' && !is_escaped;
            ends
        });
        let bytes = end.map_or(self.rest.len(), |(at, _)| at + 1);
        let text = serde_json::from_str(&self.rest[..bytes])
            .map_err(|error| Misplaced::new(self.at, error.to_string()))?;
        self.skip(bytes);
        Ok(text)
    }
}

/// A list or an object that is not closed yet, with its place.
struct Frame {
    at: Position,
    content: Open,
}

enum Open {
    List(Vec<Node>),
    /// The members, and the key whose value comes next.
    Map(Vec<(Key, Node)>, Option<Key>),
}

#[derive(Default)]
struct Builder {
    open: Vec<Frame>,
    document: Option<Node>,
}

impl Builder {
    fn take(&mut self, event: Event<'_>, at: Position) -> Result<(), Misplaced> {
        let refused = |what: &str| Err(Misplaced::new(at, format!("{what} is not taken here")));
        match event {
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => Ok(()),
            Event::DocumentStart(_) if self.document.is_none() => Ok(()),
            Event::DocumentStart(_) => refused("a second document"),
            Event::Alias(_) => refused("an alias"),
            Event::Scalar(_, _, _, Some(_))
            | Event::SequenceStart(_, Some(_))
            | Event::MappingStart(_, Some(_)) => refused("a tag"),
            Event::Scalar(text, style, _, None) => {
                let is_plain = style == ScalarStyle::Plain;
                let is_key =
                    matches!(self.open.last(), Some(Frame { content: Open::Map(_, None), .. }));
                if let (true, Some(Frame { content: Open::Map(_, key), .. })) =
                    (is_key, self.open.last_mut())
                {
                    *key = Some(Key { at, text: text.into_owned() });
                    return Ok(());
                }
                let content = match text.as_ref() {
                    "" | "~" | "null" if is_plain => Content::Null,
                    "true" if is_plain => Content::Bool(true),
                    "false" if is_plain => Content::Bool(false),
                    _ => Content::Text(text.into_owned()),
                };
                self.add(Node { at, content })
            }
            Event::SequenceStart(..) => self.start(Frame { at, content: Open::List(Vec::new()) }),
            Event::MappingStart(..) => {
                self.start(Frame { at, content: Open::Map(Vec::new(), None) })
            }
            Event::SequenceEnd | Event::MappingEnd => {
                let Some(Frame { at, content }) = self.open.pop() else { return Ok(()) };
                let content = match content {
                    Open::List(items) => Content::List(items),
                    Open::Map(members, _) => Content::Map(members),
                };
                self.add(Node { at, content })
            }
        }
    }

    fn start(&mut self, frame: Frame) -> Result<(), Misplaced> {
        if matches!(self.open.last(), Some(Frame { content: Open::Map(_, None), .. })) {
            return Err(Misplaced::new(frame.at, "expected a name, found a list or an object"));
        }
        if self.open.len() >= MAX_DEPTH {
            return Err(Misplaced::new(frame.at, "nested too deeply"));
        }
        self.open.push(frame);
        Ok(())
    }

    fn add(&mut self, node: Node) -> Result<(), Misplaced> {
        match self.open.last_mut().map(|frame| &mut frame.content) {
            None => self.document = Some(node),
            Some(Open::List(items)) => items.push(node),
            Some(Open::Map(members, key)) => match key.take() {
                Some(key) => members.push((key, node)),
                None => return Err(node.unexpected("a name")),
            },
        }
        Ok(())
    }
}

/// Writes JSON with two spaces for each level, and a newline at the end.
pub(super) fn pretty(node: &Node) -> String {
    let mut out = String::new();
    write(&mut out, &node.content, 0);
    out.push('\n');
    out
}

fn write(out: &mut String, content: &Content, level: usize) {
    match content {
        Content::Null => out.push_str("null"),
        Content::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Content::Number(text) => out.push_str(text),
        Content::Text(text) => quote(out, text),
        Content::List(items) if items.is_empty() => out.push_str("[]"),
        Content::Map(members) if members.is_empty() => out.push_str("{}"),
        Content::List(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                new_line(out, at, level + 1);
                write(out, &item.content, level + 1);
            }
            new_line(out, 0, level);
            out.push(']');
        }
        Content::Map(members) => {
            out.push('{');
            for (at, (key, value)) in members.iter().enumerate() {
                new_line(out, at, level + 1);
                quote(out, &key.text);
                out.push_str(": ");
                write(out, &value.content, level + 1);
            }
            new_line(out, 0, level);
            out.push('}');
        }
    }
}

/// Starts a line, after a comma unless it is the first.
fn new_line(out: &mut String, number: usize, level: usize) {
    if number > 0 {
        out.push(',');
    }
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", level));
}

fn quote(out: &mut String, text: &str) {
    out.push_str(&serde_json::Value::from(text).to_string());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn positions(node: &Node, found: &mut Vec<String>) {
        match &node.content {
            Content::List(items) => items.iter().for_each(|item| positions(item, found)),
            Content::Map(members) => {
                for (key, value) in members {
                    found.push(format!("{} {}", key.at, key.text));
                    positions(value, found);
                }
            }
            content => found.push(format!("{} {content:?}", node.at)),
        }
    }

    fn places(node: &Node) -> Vec<String> {
        let mut found = Vec::new();
        positions(node, &mut found);
        found
    }

    #[test]
    fn everything_in_json_knows_its_line_and_column() {
        let text =
            "{\n\t\"ä\\\"\\ud83d\\ude00\": [ -1.50e3,true, null ],\n  \"b\": {\"c\" : \"d\"}}";
        let expected = [
            "2:2 ä\"😀",
            "2:23 Number(\"-1.50e3\")",
            "2:31 Bool(true)",
            "2:37 Null",
            "3:3 b",
            "3:9 c",
            "3:15 Text(\"d\")",
        ];
        assert_eq!(places(&json(text).unwrap()), expected);
    }

    #[test]
    fn everything_in_yaml_knows_its_line_and_column() {
        let text = "a:\n  - 012\n  - ~\n'b c': {d: \"null\", e: true}\n";
        let expected = [
            "1:1 a",
            "2:5 Text(\"012\")",
            "3:5 Null",
            "4:1 b c",
            "4:9 d",
            "4:12 Text(\"null\")",
            "4:20 e",
            "4:23 Bool(true)",
        ];
        assert_eq!(places(&yaml(text).unwrap()), expected);
    }

    #[test]
    fn what_is_no_json_or_yaml_is_refused_at_its_place() {
        assert_eq!(json("{\n  \"a\": 1,\n}").unwrap_err().to_string(), "3:1: trailing comma");
        assert_eq!(
            yaml("a: &b 1\nc: *b").unwrap_err().to_string(),
            "2:4: an alias is not taken here"
        );
        assert_eq!(yaml("a: !Ref b").unwrap_err().to_string(), "1:4: a tag is not taken here");
        assert!(yaml(&"[".repeat(1000)).is_err());
        assert!(json(&"[".repeat(1000)).is_err());
        assert!(yaml("[a").is_err() && yaml("{[a]: b}").is_err());
    }

    #[test]
    fn what_was_read_is_written_as_it_was() {
        let text = "{\n  \"a\": [\n    1.0,\n    \"\\\"\"\n  ],\n  \"b\": {},\n  \"c\": []\n}\n";
        assert_eq!(pretty(&json(text).unwrap()), text);
    }
}
