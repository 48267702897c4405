//! Small apps written as literals, and a comparison that is checked in every order.

#![allow(dead_code, unreachable_pub, reason = "each test uses its part of this")]
#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

mod order;

use cdkr::compare::{
    CompareError, Comparison, DecidedPair, Decisions, Evidence, Mapping, Reference, SkipEntry,
};
use cdkr::model::{Environment, Location, Object, Stack, Value};
use cdkr::template::{self, json};
use md5::{Digest as _, Md5};
use sha1::Sha1;

pub use order::{canonical, shuffles};

pub const QUEUE: &str = "AWS::SQS::Queue";
pub const PARAMETER: &str = "AWS::SSM::Parameter";

/// A resource with its logical ID.
pub type Entry = (String, Value);

/// Returns a resource: its type, and the properties as JSON.
pub fn resource(id: &str, kind: &str, properties: &str) -> Entry {
    let body = format!(r#"{{"Type":"{kind}","Properties":{properties}}}"#);
    (id.to_owned(), json::parse(&body).unwrap())
}

/// Returns a resource with nothing of its own.
pub fn bare(id: &str, kind: &str) -> Entry {
    (id.to_owned(), json::parse(&format!(r#"{{"Type":"{kind}"}}"#)).unwrap())
}

/// Returns a queue with nothing of its own.
pub fn queue(id: &str) -> Entry {
    bare(id, QUEUE)
}

/// Returns a parameter of the parameter store with a value that is given as JSON.
pub fn parameter(id: &str, value: &str) -> Entry {
    resource(id, PARAMETER, &format!(r#"{{"Type":"String","Value":{value}}}"#))
}

/// Returns a resource as the CDK writes it: the logical ID follows from the path.
pub fn cdk(path: &str, kind: &str, properties: &str) -> Entry {
    let (_, body) = resource("", kind, properties);
    with((logical_id(path), body), "Metadata", &format!(r#"{{"aws:cdk:path":"{path}"}}"#))
}

/// Sets an attribute of a resource.
pub fn with((id, body): Entry, attribute: &str, value: &str) -> Entry {
    let mut body = body.as_object().unwrap().clone();
    body.insert(attribute.into(), json::parse(value).unwrap());
    (id, Value::Object(body))
}

/// Returns a stack with these resources.
pub fn stack(name: &str, resources: impl IntoIterator<Item = Entry>) -> Stack {
    stack_with(name, "{}", resources)
}

/// Returns a stack with these sections and resources.
pub fn stack_with(name: &str, sections: &str, resources: impl IntoIterator<Item = Entry>) -> Stack {
    let mut sections = json::parse(sections).unwrap().as_object().unwrap().clone();
    let resources: Object = resources.into_iter().map(|(id, body)| (id.into(), body)).collect();
    sections.insert("Resources".into(), Value::Object(resources));
    Stack::new(name, template::check(Value::Object(sections)).unwrap())
}

/// Returns a stack that the resource at `parent` makes.
pub fn nested(parent: &str, resources: impl IntoIterator<Item = Entry>) -> Stack {
    let location: Location = parent.parse().unwrap();
    let mut stack = stack(&parent.replace('.', "/"), resources);
    stack.parent = Some(location);
    stack
}

/// Returns the logical ID of the resource at a path; the first component is the stack.
pub fn logical_id(path: &str) -> String {
    path.split_once('/').map_or_else(String::new, |(_, below)| unique_id(below))
}

/// Returns `Names.uniqueId` of the construct at a path.
pub fn unique_id(path: &str) -> String {
    let components: Vec<&str> = path.split('/').filter(|id| *id != "Default").collect();
    let mut human = String::new();
    let mut previous: Option<&str> = None;
    for id in &components {
        if previous.is_some_and(|previous| previous.ends_with(id)) {
            continue;
        }
        previous = Some(id);
        if *id != "Resource" {
            human.extend(id.chars().filter(char::is_ascii_alphanumeric));
        }
    }
    if components.len() == 1 {
        return human;
    }
    human.truncate(240);
    let hash = Md5::digest(components.join("/").as_bytes());
    human + &hex(&hash[..4]).to_uppercase()
}

/// Returns `node.addr` of the construct at a path.
pub fn address(path: &str) -> String {
    let ids = path.split('/').filter(|id| *id != "Default");
    let text = std::iter::once("").chain(ids).fold(String::new(), |text, id| text + id + "\n");
    format!("c8{}", hex(&Sha1::digest(text.as_bytes())))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

pub fn environment() -> Environment {
    Environment::new("111111111111", "us-east-1")
}

/// Compares, and makes sure that neither the order of anything that has no order, nor the
/// direction changes the answer.
pub fn compare(deployed: &[Stack], local: &[Stack]) -> Comparison {
    let comparison = decide(deployed, local, &Decisions::default());
    let back = run(local, deployed, &Decisions::default()).unwrap();
    let mut inverse: Vec<(String, String)> =
        pairs(&back).into_iter().map(|(from, to)| (to, from)).collect();
    inverse.sort_unstable();
    let mut forward = pairs(&comparison);
    forward.sort_unstable();
    assert_eq!(inverse, forward, "the reversed comparison gives the inverse mapping");
    assert_eq!(comparison.ambiguous.len(), back.ambiguous.len(), "questions in both directions");
    assert_eq!(locations(&comparison.added), locations(&back.removed), "added and removed");
    assert_eq!(locations(&comparison.removed), locations(&back.added), "removed and added");
    comparison
}

/// Compares with decisions, in every order.
pub fn decide(deployed: &[Stack], local: &[Stack], decisions: &Decisions) -> Comparison {
    let comparison = run(deployed, local, decisions).unwrap();
    let expected = canonical(&comparison);
    for (name, shuffle) in shuffles() {
        for (old, new) in [
            (shuffle(deployed), shuffle(local)),
            (shuffle(deployed), local.to_vec()),
            (deployed.to_vec(), shuffle(local)),
        ] {
            let other = canonical(&run(&old, &new, decisions).unwrap());
            assert_same(&other, &expected, &format!("the answer depends on the order of {name}"));
        }
    }
    comparison
}

/// Makes sure that two texts are equal; shows the first line that is not.
#[track_caller]
pub fn assert_same(left: &str, right: &str, why: &str) {
    let different = left.lines().zip(right.lines()).enumerate().find(|(_, (a, b))| a != b);
    assert!(left == right, "{why}: {different:?}\n{left}");
}

/// Compares once.
pub fn run(
    deployed: &[Stack],
    local: &[Stack],
    decisions: &Decisions,
) -> Result<Comparison, Box<CompareError>> {
    cdkr::compare::compare(&environment(), deployed, local, decisions).map_err(Box::new)
}

/// Returns decisions of the form `A.X`, `A/Path`.
pub fn decided(pairs: &[(&str, &str)]) -> Decisions {
    let reference = |text: &str| match text.parse() {
        Ok(location) => Reference::Location(location),
        Err(_) => Reference::Path(text.into()),
    };
    let pairs = pairs.iter().map(|(source, destination)| DecidedPair {
        source: reference(source),
        destination: reference(destination),
        origin: "--map".into(),
    });
    Decisions { pairs: pairs.collect(), ..Decisions::default() }
}

/// Returns decisions that skip something.
pub fn skipping(entries: &[&str]) -> Decisions {
    let skip = entries
        .iter()
        .map(|what| SkipEntry { what: (*what).to_owned(), origin: "skip.json".into() });
    Decisions { skip: skip.collect(), ..Decisions::default() }
}

/// Returns sources and destinations of the mappings.
pub fn pairs(comparison: &Comparison) -> Vec<(String, String)> {
    let text = |mapping: &Mapping| {
        (mapping.source.location.to_string(), mapping.destination.location.to_string())
    };
    comparison.mappings.iter().map(text).collect()
}

fn locations(unpaired: &[cdkr::compare::Unpaired]) -> Vec<String> {
    unpaired.iter().map(|unpaired| unpaired.place.location.to_string()).collect()
}

/// Makes sure that exactly these resources moved, and that nothing is asked.
#[track_caller]
pub fn assert_moves(comparison: &Comparison, expected: &[(&str, &str)]) {
    let pairs = pairs(comparison);
    let pairs: Vec<(&str, &str)> = pairs.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
    assert_eq!(pairs, expected, "{comparison:#?}");
    assert!(comparison.ambiguous.is_empty(), "{:#?}", comparison.ambiguous);
}

/// Makes sure that nothing moved, nothing is asked, and that exactly these were removed and
/// added.
#[track_caller]
pub fn assert_replaced(comparison: &Comparison, removed: &[&str], added: &[&str]) {
    assert_moves(comparison, &[]);
    assert_eq!(locations(&comparison.removed), removed);
    assert_eq!(locations(&comparison.added), added);
}

/// Makes sure that nothing was added or removed, and that exactly these properties change of
/// resources that stay where they are.
#[track_caller]
pub fn assert_changes(comparison: &Comparison, expected: &[(&str, &[&str])]) {
    let changed: Vec<(String, Vec<&str>)> = comparison
        .changed
        .iter()
        .map(|change| {
            let properties = change.differences.iter().map(|d| d.property.as_str());
            (change.place.location.to_string(), properties.collect())
        })
        .collect();
    let changed: Vec<(&str, &[&str])> =
        changed.iter().map(|(at, properties)| (at.as_str(), properties.as_slice())).collect();
    assert_eq!(changed, expected, "{comparison:#?}");
    assert_eq!(locations(&comparison.removed), Vec::<String>::new());
    assert_eq!(locations(&comparison.added), Vec::<String>::new());
}

/// Returns the mapping of the resource that was at `source`.
#[track_caller]
pub fn mapping<'c>(comparison: &'c Comparison, source: &str) -> &'c Mapping {
    let mut found = comparison.mappings.iter();
    let found = found.find(|mapping| mapping.source.location.to_string() == source);
    found.unwrap_or_else(|| panic!("{source} is not mapped: {comparison:#?}"))
}

/// Returns the properties that change with a mapping.
pub fn changes(mapping: &Mapping) -> Vec<&str> {
    mapping.changes.iter().map(|difference| difference.property.as_str()).collect()
}

/// Makes sure that there is one question, and between whom.
#[track_caller]
pub fn assert_question(comparison: &Comparison, sources: &[&str], destinations: &[&str]) {
    let [question] = comparison.ambiguous.as_slice() else {
        panic!("not one question: {comparison:#?}")
    };
    let names = |places: &[cdkr::compare::Place]| -> Vec<String> {
        places.iter().map(|place| place.location.to_string()).collect()
    };
    assert_eq!(names(&question.sources), sources);
    assert_eq!(names(&question.destinations), destinations);
}

/// Whether content alone decides.
pub fn is_by_content(mapping: &Mapping) -> bool {
    matches!(mapping.evidence, Evidence::Digest | Evidence::Structure)
}
