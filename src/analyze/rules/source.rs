//! JSON and YAML read with the place of everything in them.

use std::fmt;

use saphyr_parser::{Event, Marker, Parser, ScalarStyle};

use super::RuleError;

/// How deep values may be nested.
const MAX_DEPTH: usize = 64;

/// Where something stands in a text, both from one; columns count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} column {}", self.line, self.column)
    }
}

/// A value and where it begins.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Node {
    pub(super) place: Place,
    pub(super) content: Content,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Content {
    Null,
    Bool(bool),
    /// A number, as it is written.
    Number(String),
    Text {
        text: String,
        /// Where the first character stands, if the others follow it one by one.
        starts: Option<Place>,
    },
    List(Vec<Node>),
    /// The members, with the places of the keys, in the order of the text.
    Map(Vec<(String, Place, Node)>),
}

impl Content {
    /// What it is, for a reader.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Null => "nothing",
            Self::Bool(_) => "a boolean",
            Self::Number(_) => "a number",
            Self::Text { .. } => "a text",
            Self::List(_) => "a list",
            Self::Map(_) => "an object",
        }
    }
}

/// Reads a text: JSON if it begins with a bracket or a brace, else YAML.
pub(super) fn read(text: &str) -> Result<Node, RuleError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.trim_start().starts_with(['[', '{']) { json(text) } else { yaml(text) }
}

fn error<T>(place: Place, message: impl fmt::Display) -> Result<T, RuleError> {
    Err(RuleError::new(place, message))
}

/// Adds a member, unless there is one with this key.
fn member(
    members: &mut Vec<(String, Place, Node)>,
    key: (String, Place),
    value: Node,
) -> Result<(), RuleError> {
    if members.iter().any(|(other, ..)| *other == key.0) {
        return error(key.1, format_args!("the key `{}` is given twice", key.0));
    }
    members.push((key.0, key.1, value));
    Ok(())
}

struct Json<'t> {
    rest: std::iter::Peekable<std::str::Chars<'t>>,
    place: Place,
    depth: usize,
}

fn json(text: &str) -> Result<Node, RuleError> {
    let place = Place { line: 1, column: 1 };
    let mut json = Json { rest: text.chars().peekable(), place, depth: 0 };
    json.blanks();
    let node = json.value()?;
    json.blanks();
    match json.rest.peek() {
        None => Ok(node),
        Some(_) => error(json.place, "nothing may follow the rules"),
    }
}

impl Json<'_> {
    fn next(&mut self) -> Option<char> {
        let c = self.rest.next()?;
        self.place = if c == '\n' {
            Place { line: self.place.line + 1, column: 1 }
        } else {
            Place { column: self.place.column + 1, ..self.place }
        };
        Some(c)
    }

    fn blanks(&mut self) {
        while self.rest.peek().is_some_and(|c| matches!(c, ' ' | '\t' | '\r' | '\n')) {
            let _ = self.next();
        }
    }

    fn value(&mut self) -> Result<Node, RuleError> {
        let place = self.place;
        let content = match self.rest.peek().copied() {
            Some('{') => self.nested(Self::map)?,
            Some('[') => self.nested(Self::list)?,
            Some('"') => {
                let (text, is_plain) = self.text()?;
                let starts = is_plain.then_some(Place { column: place.column + 1, ..place });
                Content::Text { text, starts }
            }
            Some(_) => self.word()?,
            None => return error(place, "a value is missing"),
        };
        Ok(Node { place, content })
    }

    fn nested(
        &mut self,
        read: fn(&mut Self) -> Result<Content, RuleError>,
    ) -> Result<Content, RuleError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return error(self.place, format_args!("nested deeper than {MAX_DEPTH} levels"));
        }
        let _ = self.next();
        self.blanks();
        let content = read(self);
        self.depth -= 1;
        content
    }

    fn map(&mut self) -> Result<Content, RuleError> {
        let mut members = Vec::new();
        if self.take('}') {
            return Ok(Content::Map(members));
        }
        loop {
            let place = self.place;
            if self.rest.peek() != Some(&'"') {
                return error(place, "a key in quotes is expected");
            }
            let (key, _) = self.text()?;
            self.blanks();
            if !self.take(':') {
                return error(self.place, "`:` is expected");
            }
            self.blanks();
            let value = self.value()?;
            member(&mut members, (key, place), value)?;
            self.blanks();
            if self.take('}') {
                return Ok(Content::Map(members));
            }
            self.comma('}')?;
        }
    }

    fn list(&mut self) -> Result<Content, RuleError> {
        let mut items = Vec::new();
        if self.take(']') {
            return Ok(Content::List(items));
        }
        loop {
            items.push(self.value()?);
            self.blanks();
            if self.take(']') {
                return Ok(Content::List(items));
            }
            self.comma(']')?;
        }
    }

    fn comma(&mut self, close: char) -> Result<(), RuleError> {
        if !self.take(',') {
            return error(self.place, format_args!("`,` or `{close}` is expected"));
        }
        self.blanks();
        Ok(())
    }

    fn take(&mut self, wanted: char) -> bool {
        let is_there = self.rest.peek() == Some(&wanted);
        if is_there {
            let _ = self.next();
        }
        is_there
    }

    /// Reads a text in quotes, and says whether it is written as it is.
    fn text(&mut self) -> Result<(String, bool), RuleError> {
        let start = self.place;
        let _ = self.next();
        let (mut text, mut is_plain) = (String::new(), true);
        loop {
            let place = self.place;
            match self.next() {
                None => return error(start, "the text that begins here has no end"),
                Some('"') => return Ok((text, is_plain)),
                Some('\\') => {
                    is_plain = false;
                    text.push(self.escape(place)?);
                }
                Some(c) if c < ' ' => {
                    return error(place, "a control character must be escaped in a text");
                }
                Some(c) => text.push(c),
            }
        }
    }

    fn escape(&mut self, place: Place) -> Result<char, RuleError> {
        Ok(match self.next() {
            Some(c @ ('"' | '\\' | '/')) => c,
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some('u') => {
                let first = self.unit(place)?;
                let mut units = vec![first];
                if (0xd800..0xdc00).contains(&first) && self.take('\\') && self.take('u') {
                    units.push(self.unit(place)?);
                }
                let mut decoded = char::decode_utf16(units);
                match (decoded.next(), decoded.next()) {
                    (Some(Ok(c)), None) => c,
                    _ => return error(place, "half of a character is escaped"),
                }
            }
            _ => return error(place, "there is no such escape in JSON"),
        })
    }

    fn unit(&mut self, place: Place) -> Result<u16, RuleError> {
        let mut unit = 0;
        for _ in 0..4 {
            let digit = self.next().and_then(|c| c.to_digit(16));
            let Some(digit) = digit else {
                return error(place, "four hexadecimal digits follow `\\u`");
            };
            unit = unit * 16 + digit;
        }
        Ok(u16::try_from(unit).unwrap_or_default())
    }

    fn word(&mut self) -> Result<Content, RuleError> {
        let place = self.place;
        let mut word = String::new();
        while let Some(c) = self.rest.peek().copied().filter(|c| !" \t\r\n,]}:\"[{".contains(*c)) {
            let _ = self.next();
            word.push(c);
        }
        Ok(match word.as_str() {
            "null" => Content::Null,
            "true" => Content::Bool(true),
            "false" => Content::Bool(false),
            number if serde_json::from_str::<serde_json::Number>(number).is_ok() => {
                Content::Number(word)
            }
            "" => return error(place, "a value is missing"),
            _ => return error(place, format_args!("`{word}` is no value of JSON")),
        })
    }
}

/// A list or an object of YAML that is not closed yet.
struct Frame {
    place: Place,
    content: Content,
    key: Option<(String, Place)>,
}

fn yaml(text: &str) -> Result<Node, RuleError> {
    let mut parser = Parser::new_from_str(text);
    let mut open: Vec<Frame> = Vec::new();
    let mut whole = None;
    while let Some(event) = parser.next_event() {
        let (event, span) = match event {
            Ok(event) => event,
            Err(fault) => return error(place(*fault.marker()), fault.info()),
        };
        let at = place(span.start);
        let node = match event {
            Event::Alias(_) => return error(at, "aliases cannot be used in rules"),
            Event::Scalar(_, _, _, Some(_))
            | Event::SequenceStart(_, Some(_))
            | Event::MappingStart(_, Some(_)) => return error(at, "tags cannot be used in rules"),
            Event::DocumentStart(_) if whole.is_some() => {
                return error(at, "a second document starts");
            }
            Event::SequenceStart(..) | Event::MappingStart(..) if open.len() >= MAX_DEPTH => {
                return error(at, format_args!("nested deeper than {MAX_DEPTH} levels"));
            }
            Event::SequenceStart(..) => {
                open.push(Frame { place: at, content: Content::List(Vec::new()), key: None });
                continue;
            }
            Event::MappingStart(..) => {
                open.push(Frame { place: at, content: Content::Map(Vec::new()), key: None });
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => match open.pop() {
                Some(frame) => Node { place: frame.place, content: frame.content },
                None => continue,
            },
            Event::Scalar(text, style, _, None) => {
                let is_key =
                    matches!(open.last(), Some(Frame { content: Content::Map(_), key: None, .. }));
                let is_one_line = span.start.line() == span.end.line();
                let content = scalar(text.into_owned(), style, at, is_one_line);
                if let (true, Some(frame)) = (is_key, open.last_mut()) {
                    frame.key = Some((key(content), at));
                    continue;
                }
                Node { place: at, content }
            }
            _ => continue,
        };
        close(node, &mut open, &mut whole)?;
    }
    let nothing = Node { place: Place { line: 1, column: 1 }, content: Content::Null };
    Ok(whole.unwrap_or(nothing))
}

/// Puts a finished value where it belongs.
fn close(node: Node, open: &mut [Frame], whole: &mut Option<Node>) -> Result<(), RuleError> {
    match open.last_mut() {
        None => *whole = Some(node),
        Some(Frame { content: Content::List(items), .. }) => items.push(node),
        Some(Frame { content: Content::Map(members), key, .. }) => match key.take() {
            Some(key) => member(members, key, node)?,
            None => return error(node.place, "a key must be a text, not a list or an object"),
        },
        Some(_) => {}
    }
    Ok(())
}

fn key(content: Content) -> String {
    match content {
        Content::Text { text, .. } | Content::Number(text) => text,
        Content::Bool(flag) => flag.to_string(),
        _ => "null".to_owned(),
    }
}

fn scalar(text: String, style: ScalarStyle, at: Place, is_one_line: bool) -> Content {
    let starts = |shift: usize| is_one_line.then_some(Place { column: at.column + shift, ..at });
    match style {
        ScalarStyle::Plain => match text.as_str() {
            "" | "~" | "null" => Content::Null,
            "true" => Content::Bool(true),
            "false" => Content::Bool(false),
            number if serde_json::from_str::<serde_json::Number>(number).is_ok() => {
                Content::Number(text)
            }
            _ => Content::Text { text, starts: starts(0) },
        },
        ScalarStyle::SingleQuoted => {
            let starts = starts(1).filter(|_| !text.contains('\''));
            Content::Text { text, starts }
        }
        ScalarStyle::DoubleQuoted => {
            let is_plain = !text.contains(['"', '\\']) && !text.chars().any(char::is_control);
            Content::Text { text, starts: starts(1).filter(|_| is_plain) }
        }
        _ => Content::Text { text, starts: None },
    }
}

fn place(marker: Marker) -> Place {
    // Markers count columns from zero.
    Place { line: marker.line(), column: marker.col() + 1 }
}
