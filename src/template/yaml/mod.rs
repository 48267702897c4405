//! YAML text → [`Value`], short tags as the functions that they stand for.
//!
//! Scalars are read as CloudFormation reads them, which is neither YAML 1.1 nor 1.2: `yes` and
//! `no` are text, and so is whatever is not a number in JSON: `012345678901` is an account,
//! `2012-10-17` the version of a policy. Duplicate keys, merge keys (`<<`) and the rarer tags are
//! refused, as CloudFormation does (user guide, "CloudFormation template formats").

mod scalar;

use std::collections::HashMap;

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, Tag};

use super::TemplateError;
use crate::model::{Object, Text, Value};
use scalar::plain;

/// How deep values may be nested: as deep as in JSON.
const MAX_DEPTH: usize = 128;
/// How much aliases may add, in bytes: more than any template may have.
const MAX_ALIASED: usize = 8 * 1024 * 1024;

/// Reads one YAML document. An empty one is null.
///
/// # Errors
/// When the text is not YAML that CloudFormation reads; line and column are named.
pub fn parse(text: &str) -> Result<Value, TemplateError> {
    let mut loader = Loader::default();
    let mut parser = Parser::new_from_str(text);
    while let Some(event) = parser.next_event() {
        match event {
            Ok((event, span)) => loader.take(event, span.start)?,
            Err(error) => return Err(at(*error.marker(), error.info())),
        }
    }
    Ok(loader.document.unwrap_or_default())
}

/// An error at a place of the text.
fn at(place: Marker, message: impl std::fmt::Display) -> TemplateError {
    // Markers count columns from zero.
    let (line, column) = (place.line(), place.col() + 1);
    TemplateError::Yaml(format!("{message} at line {line} column {column}"))
}

/// A finished value with what its use as an alias would cost.
#[derive(Clone)]
struct Node {
    value: Value,
    /// Levels of lists and objects in it.
    depth: usize,
    /// About how many bytes it takes.
    size: usize,
}

/// A list or an object that is not closed yet.
struct Frame {
    content: Content,
    tag: Option<Function>,
    anchor: usize,
    depth: usize,
    size: usize,
}

enum Content {
    List(Vec<Value>),
    /// The members, and the key whose value comes next.
    Map(Object, Option<Text>),
}

/// What a short tag stands for, such as `Fn::Sub` or `Ref`.
struct Function(Text);

#[derive(Default)]
struct Loader {
    open: Vec<Frame>,
    anchors: HashMap<usize, Node>,
    /// How much anchors and aliases have copied.
    copied: usize,
    document: Option<Value>,
}

impl Loader {
    fn take(&mut self, event: Event<'_>, place: Marker) -> Result<(), TemplateError> {
        match event {
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => Ok(()),
            Event::DocumentStart(_) if self.document.is_none() => Ok(()),
            Event::DocumentStart(_) => Err(at(place, "a second document starts")),
            Event::Alias(anchor) => self.alias(anchor, place),
            Event::Scalar(text, style, anchor, tag) => {
                if self.expects_key() {
                    return self.key(&text, style, anchor, tag.as_deref(), place);
                }
                let value = scalar(&text, style, tag.as_deref(), place)?;
                let depth = usize::from(matches!(value, Value::Object(_)))
                    + usize::from(value.get("Fn::GetAtt").is_some());
                self.add(Node { value, depth, size: text.len() + NODE }, anchor, place)
            }
            Event::SequenceStart(anchor, tag) => {
                self.open(Content::List(Vec::new()), anchor, tag.as_deref(), "seq", place)
            }
            Event::MappingStart(anchor, tag) => {
                self.open(Content::Map(Object::new(), None), anchor, tag.as_deref(), "map", place)
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(place),
        }
    }

    fn expects_key(&self) -> bool {
        matches!(self.open.last(), Some(Frame { content: Content::Map(_, None), .. }))
    }

    /// How many levels are open, counting two for a function: its object and its argument.
    fn depth(&self) -> usize {
        self.open.len() + self.open.iter().filter(|frame| frame.tag.is_some()).count()
    }

    fn open(
        &mut self,
        content: Content,
        anchor: usize,
        tag: Option<&Tag>,
        core: &str,
        place: Marker,
    ) -> Result<(), TemplateError> {
        if self.expects_key() {
            return Err(at(place, "a key must be a text, not a list or an object"));
        }
        let tag = match tag.map(|tag| Meaning::of(tag, place)).transpose()? {
            Some(Meaning::Function(function)) => Some(function),
            Some(Meaning::Core(name)) if name == core => None,
            Some(Meaning::Core(name)) => return Err(unusable(&name, place)),
            Some(Meaning::Text) | None => None,
        };
        self.open.push(Frame { content, tag, anchor, depth: 0, size: NODE });
        self.check_depth(0, place)
    }

    fn check_depth(&self, more: usize, place: Marker) -> Result<(), TemplateError> {
        if self.depth() + more > MAX_DEPTH {
            return Err(at(place, format_args!("nested deeper than {MAX_DEPTH} levels")));
        }
        Ok(())
    }

    fn close(&mut self, place: Marker) -> Result<(), TemplateError> {
        // The parser closes only what it has opened.
        let Some(frame) = self.open.pop() else { return Ok(()) };
        let value = match frame.content {
            Content::List(items) => Value::Array(items),
            Content::Map(object, _) => Value::Object(object),
        };
        let node = match frame.tag {
            None => Node { value, depth: frame.depth + 1, size: frame.size },
            Some(function) => {
                Node { value: function.of(value), depth: frame.depth + 2, size: frame.size + NODE }
            }
        };
        self.add(node, frame.anchor, place)
    }

    /// Puts a finished value where it belongs.
    fn add(&mut self, node: Node, anchor: usize, place: Marker) -> Result<(), TemplateError> {
        self.check_depth(node.depth, place)?;
        if anchor > 0 {
            self.copy(node.size, place)?;
            self.anchors.insert(anchor, node.clone());
        }
        let Some(frame) = self.open.last_mut() else {
            self.document = Some(node.value);
            return Ok(());
        };
        frame.depth = frame.depth.max(node.depth);
        frame.size += node.size;
        match &mut frame.content {
            Content::List(items) => items.push(node.value),
            Content::Map(object, key) => {
                // A value comes only after its key.
                if let Some(key) = key.take() {
                    object.insert(key, node.value);
                }
            }
        }
        Ok(())
    }

    fn key(
        &mut self,
        text: &str,
        style: ScalarStyle,
        anchor: usize,
        tag: Option<&Tag>,
        place: Marker,
    ) -> Result<(), TemplateError> {
        match tag.map(|tag| Meaning::of(tag, place)).transpose()? {
            Some(Meaning::Function(Function(name))) => {
                return Err(at(place, format_args!("the function `{name}` cannot be a key")));
            }
            Some(Meaning::Core(_) | Meaning::Text) | None => {}
        }
        if text == "<<" && style == ScalarStyle::Plain {
            return Err(at(place, "merge keys (`<<`) are not supported by CloudFormation"));
        }
        if anchor > 0 {
            let node = Node { value: text.into(), depth: 0, size: text.len() + NODE };
            self.copy(node.size, place)?;
            self.anchors.insert(anchor, node);
        }
        self.set_key(text, place)
    }

    fn set_key(&mut self, text: &str, place: Marker) -> Result<(), TemplateError> {
        let Some(Frame { content: Content::Map(object, key), size, .. }) = self.open.last_mut()
        else {
            return Ok(());
        };
        if object.contains_key(text) {
            return Err(at(place, format_args!("the key `{text}` is given twice")));
        }
        *size += text.len() + NODE;
        *key = Some(text.into());
        Ok(())
    }

    fn alias(&mut self, anchor: usize, place: Marker) -> Result<(), TemplateError> {
        let Some(node) = self.anchors.get(&anchor) else {
            return Err(at(place, "an alias refers to the value that it is part of"));
        };
        let size = node.size;
        let node = node.clone();
        self.copy(size, place)?;
        if !self.expects_key() {
            return self.add(node, 0, place);
        }
        match node.value {
            Value::String(text) => self.set_key(&text, place),
            other => Err(at(place, format_args!("a key must be a text, not {}", other.kind()))),
        }
    }

    /// Counts what is copied, lest a few lines unfold to gigabytes.
    fn copy(&mut self, size: usize, place: Marker) -> Result<(), TemplateError> {
        self.copied = self.copied.saturating_add(size);
        if self.copied > MAX_ALIASED {
            return Err(at(place, "aliases add too much text"));
        }
        Ok(())
    }
}

/// About how many bytes a value takes besides its text.
const NODE: usize = 32;

/// What a tag means.
enum Meaning {
    /// A short form of an intrinsic function.
    Function(Function),
    /// A tag of YAML itself, such as `str`.
    Core(String),
    /// `!`: not to be resolved.
    Text,
}

impl Meaning {
    fn of(tag: &Tag, place: Marker) -> Result<Self, TemplateError> {
        let full = format!("{}{}", tag.handle, tag.suffix);
        if full == "!" {
            return Ok(Self::Text);
        }
        if let Some(name) = full.strip_prefix("tag:yaml.org,2002:") {
            return Ok(Self::Core(name.to_owned()));
        }
        let name = full.strip_prefix('!').unwrap_or_default();
        let name = name.strip_prefix("Fn::").unwrap_or(name);
        if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            return Err(at(place, format_args!("the tag `{full}` is no intrinsic function")));
        }
        Ok(Self::Function(Function(match name {
            "Ref" | "Condition" => name.into(),
            _ => compact_str::format_compact!("Fn::{name}"),
        })))
    }
}

impl Function {
    /// Returns the function with its argument.
    fn of(self, argument: Value) -> Value {
        let argument = match argument {
            // The text of `!GetAtt` names resource and attribute.
            Value::String(text) if self.0 == "Fn::GetAtt" => match text.split_once('.') {
                Some((resource, attribute)) => {
                    Value::Array(vec![resource.into(), attribute.into()])
                }
                None => Value::String(text),
            },
            other => other,
        };
        Value::Object(std::iter::once((self.0, argument)).collect())
    }
}

fn unusable(core: &str, place: Marker) -> TemplateError {
    at(place, format_args!("the tag `!!{core}` cannot be used here"))
}

fn scalar(
    text: &str,
    style: ScalarStyle,
    tag: Option<&Tag>,
    place: Marker,
) -> Result<Value, TemplateError> {
    match tag.map(|tag| Meaning::of(tag, place)).transpose()? {
        Some(Meaning::Function(function)) => Ok(function.of(text.into())),
        Some(Meaning::Text) => Ok(text.into()),
        None if style == ScalarStyle::Plain => Ok(plain(text)),
        None => Ok(text.into()),
        Some(Meaning::Core(core)) => match (core.as_str(), plain(text)) {
            ("str", _) => Ok(text.into()),
            ("int" | "float", number @ Value::Number(_)) => Ok(number),
            ("bool", flag @ Value::Bool(_)) => Ok(flag),
            ("null", Value::Null) => Ok(Value::Null),
            _ => Err(unusable(&core, place)),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template::json;

    fn same(yaml: &str, expected: &str) {
        let value = parse(yaml).unwrap_or_else(|error| panic!("{yaml}: {error}"));
        assert_eq!(json::to_compact(&value), expected, "{yaml}");
    }

    fn error(yaml: &str) -> String {
        parse(yaml).expect_err(yaml).to_string()
    }

    #[test]
    fn short_tags_are_the_functions_that_they_stand_for() {
        same("!Ref Bucket", r#"{"Ref":"Bucket"}"#);
        same("!Condition IsProd", r#"{"Condition":"IsProd"}"#);
        same("!Sub '${A}-x'", r#"{"Fn::Sub":"${A}-x"}"#);
        same("!GetAZs ''", r#"{"Fn::GetAZs":""}"#);
        same(
            "!If [IsProd, 2, !Ref 'AWS::NoValue']",
            r#"{"Fn::If":["IsProd",2,{"Ref":"AWS::NoValue"}]}"#,
        );
        same(
            "!And [!Condition A, !Not [!Condition B]]",
            r#"{"Fn::And":[{"Condition":"A"},{"Fn::Not":[{"Condition":"B"}]}]}"#,
        );
        same("!Transform {Name: AWS::Include}", r#"{"Fn::Transform":{"Name":"AWS::Include"}}"#);
        same("!Join\n- ':'\n- - a\n  - !Ref B\n", r#"{"Fn::Join":[":",["a",{"Ref":"B"}]]}"#);
        same("Fn::Base64: !Sub |\n  a\n  b\n", r#"{"Fn::Base64":{"Fn::Sub":"a\nb\n"}}"#);
    }

    #[test]
    fn an_attribute_is_split_at_its_first_dot() {
        same("!GetAtt A.Outputs.B", r#"{"Fn::GetAtt":["A","Outputs.B"]}"#);
        same("!GetAtt [A, B.C]", r#"{"Fn::GetAtt":["A","B.C"]}"#);
        same("!GetAtt A", r#"{"Fn::GetAtt":"A"}"#);
    }

    #[test]
    fn the_argument_of_a_function_is_text() {
        same("!Ref 012", r#"{"Ref":"012"}"#);
        same("!ImportValue 5", r#"{"Fn::ImportValue":"5"}"#);
        same("!GetAZs", r#"{"Fn::GetAZs":""}"#);
    }

    #[test]
    fn quotes_make_text() {
        same(r#"['1', "true", '', "null"]"#, r#"["1","true","","null"]"#);
        same("[! 1, !!str 1, !!int 1]", r#"["1","1",1]"#);
        same("a: |\n  1\nb: >-\n  2\n  3", r#"{"a":"1\n","b":"2 3"}"#);
    }

    #[test]
    fn keys_are_text_whatever_they_look_like() {
        same(
            "{80: a, true: b, null: c, 1.50: d}",
            r#"{"80":"a","true":"b","null":"c","1.50":"d"}"#,
        );
        assert!(error("? [a]\n: b").contains("a key must be a text"));
        assert!(error("!Ref a: b").contains("cannot be a key"));
    }

    #[test]
    fn the_order_of_keys_is_kept() {
        same("{b: 1, a: 2, c: 3}", r#"{"b":1,"a":2,"c":3}"#);
    }

    #[test]
    fn a_key_given_twice_is_refused_with_its_place() {
        assert_eq!(
            error("Resources:\n  A: 1\n  A: 2\n"),
            "not valid YAML: the key `A` is given twice at line 3 column 3"
        );
    }

    #[test]
    fn aliases_repeat_what_they_refer_to() {
        same("a: &x [1, {b: c}]\nd: *x", r#"{"a":[1,{"b":"c"}],"d":[1,{"b":"c"}]}"#);
        same("a: &k name\n*k : 1", r#"{"a":"name","name":1}"#);
        same("a: &f !Ref X\nb: *f", r#"{"a":{"Ref":"X"},"b":{"Ref":"X"}}"#);
        assert!(error("a: *x").contains("line 1"));
        assert!(error("&x [*x]").contains("part of"));
    }

    #[test]
    fn aliases_that_unfold_to_gigabytes_are_refused() {
        let mut lines = vec!["a0: &a0 [x, x, x, x, x, x, x, x, x, x]".to_owned()];
        for n in 1..30 {
            let list = vec![format!("*a{}", n - 1); 10].join(", ");
            lines.push(format!("a{n}: &a{n} [{list}]"));
        }
        let text = lines.join("\n");
        assert!(error(&text).contains("aliases add too much"));
    }

    #[test]
    fn aliases_that_unfold_to_great_depth_are_refused() {
        let lines = (1..200).map(|n| format!("a{n}: &a{n} [*a{}]", n - 1));
        let text = format!("a0: &a0 [x]\n{}", lines.collect::<Vec<_>>().join("\n"));
        assert!(error(&text).contains("nested deeper than 128 levels"));
    }

    #[test]
    fn merge_keys_are_refused() {
        let text = "a: &a {b: 1}\nc:\n  <<: *a\n";
        assert!(error(text).contains("merge keys (`<<`) are not supported"));
        same("'<<': 1", r#"{"<<":1}"#);
    }

    #[test]
    fn great_depth_is_refused_without_a_crash() {
        assert!(error(&"[".repeat(10_000)).contains("at line 1"));
        assert!(error(&"- ".repeat(10_000)).contains("nested deeper than 128 levels"));
        assert!(error(&"!Not [".repeat(65)).contains("nested deeper than 128 levels"));
        let deep = format!("{}1{}", "[".repeat(128), "]".repeat(128));
        assert!(parse(&deep).is_ok());
    }

    #[test]
    fn a_second_document_is_refused() {
        same("---\na: 1\n...\n", r#"{"a":1}"#);
        assert_eq!(
            error("a: 1\n---\nb: 2\n"),
            "not valid YAML: a second document starts at line 2 column 1"
        );
    }

    #[test]
    fn an_empty_document_is_null() {
        for text in ["", "# nothing\n", "---\n"] {
            same(text, "null");
        }
    }

    #[test]
    fn tags_that_are_no_functions_are_refused() {
        for text in ["!!binary aGk=", "!!set {a}", "!!timestamp 2012-10-17", "!<x:y> a", "!a!b c"] {
            let error = error(text);
            assert!(error.contains("line 1"), "{text}: {error}");
        }
    }

    #[test]
    fn what_is_not_yaml_is_refused_with_its_place() {
        assert!(error("a: 'x\nb: 1").contains("line"));
        assert!(error("a: [1, 2").contains("line"));
        assert!(error("a:\n\t- b").contains("line 2"));
    }

    #[test]
    fn a_template_reads_the_same_as_yaml_and_as_json() {
        let yaml = "
Resources:
  Role:
    Type: AWS::IAM::Role
    Properties:
      AssumeRolePolicyDocument:
        Version: 2012-10-17
        Statement:
          - {Effect: Allow, Principal: {AWS: !Sub 'arn:${AWS::Partition}:iam::012345678901:root'}}
";
        same(
            yaml,
            r#"{"Resources":{"Role":{"Type":"AWS::IAM::Role","Properties":{"AssumeRolePolicyDocument":{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"AWS":{"Fn::Sub":"arn:${AWS::Partition}:iam::012345678901:root"}}}]}}}}}"#,
        );
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_the_reader_crash(text in "[-a:&*!|>'\"\\[\\]{},#%@ \n\t?<0-9é]{0,60}") {
            drop(parse(&text));
        }
    }
}
