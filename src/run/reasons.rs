//! What CloudFormation's reasons mean: which resource, why, and what to do. Pure.
//!
//! The texts are those that were seen in the wild; a text that is not known is passed on.

use super::rules::name_in_arn;
use crate::plan::Batch;

/// A reason of the service, taken apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reason {
    /// The stack that it is about.
    pub stack: Option<String>,
    /// The resource that it is about, its logical ID.
    pub resource: Option<String>,
    /// The type that it is about.
    pub resource_type: Option<String>,
    /// Why, in our words; empty if the text is not known.
    pub meaning: String,
    /// What to do about it; empty if nobody knows.
    pub remedy: String,
    /// The words of the service.
    pub text: String,
    /// Whether the same plan without that type can work: it is a type that cannot move.
    pub is_about_type: bool,
}

const TYPE: &str = "Stack Refactor does not support ";
const SECTIONS: &str =
    "Following template sections are not allowed when creating a stack while refactoring: ";

/// Takes apart what CloudFormation says of a refactor.
pub fn understand(text: &str, batch: &Batch) -> Reason {
    let (stack, said) = split_stack(text);
    let mut reason = Reason {
        stack: stack.map(|arn| name_in(arn, batch)),
        text: text.to_owned(),
        ..Reason::default()
    };
    if let Some(rest) = said.strip_prefix(TYPE).filter(|rest| rest.starts_with(is_type_start)) {
        about_type(&mut reason, rest, batch);
    } else if let Some(resource) = between(said, "Resource ", " in stack ") {
        reason.resource = Some(resource.to_owned());
        reason.stack =
            between(said, " in stack ", " does not match").map(|arn| name_in(arn, batch));
        type_of_resource(&mut reason, batch);
        "its properties would not be the same after the move".clone_into(&mut reason.meaning);
        "Values that the move changes are not resolved to the same text, or the resource was \
         changed outside of CloudFormation: look for differences (`aws cloudformation \
         detect-stack-drift`), or leave it out (`--skip-file`)."
            .clone_into(&mut reason.remedy);
    } else if said.contains("action type that is not permitted during refactor operations") {
        "something would change that does not move".clone_into(&mut reason.meaning);
        "Deploy such changes before or after the move; a nested stack moves with a template of \
         its own, not by its `TemplateURL`."
            .clone_into(&mut reason.remedy);
    } else if let Some(resource) =
        between(said, "The resource ", " defined in the resources mapping")
    {
        reason.resource = Some(resource.to_owned());
        reason.stack = between(said, "original stack ", ". ").map(|name| name_in(name, batch));
        type_of_resource(&mut reason, batch);
        "it is still in the template that it leaves".clone_into(&mut reason.meaning);
    } else if let Some(pairs) = said.split("Logical ID and Stack ID pairs: ").nth(1) {
        let (resource, stack) = pairs.split_once(" -> ").unwrap_or((pairs, ""));
        reason.resource = Some(resource.trim().to_owned());
        if !stack.is_empty() {
            reason.stack = Some(name_in(stack.trim().trim_end_matches('.'), batch));
        }
        "the refactor would have to create it, since it comes from no stack"
            .clone_into(&mut reason.meaning);
        "Deploy new resources before or after the move.".clone_into(&mut reason.remedy);
    } else if let Some(sections) = said.strip_prefix(SECTIONS) {
        reason.meaning = format!("a new stack cannot have {sections} from the beginning");
        "Create the stack by a deployment first, and move then.".clone_into(&mut reason.remedy);
    } else if said.contains("Parameter values specified for a template") {
        "a parameter of the stack is missing in its template".clone_into(&mut reason.meaning);
    } else if said.contains("references undefined resource") {
        "something refers to a resource that has left".clone_into(&mut reason.meaning);
    } else if said.contains("Refactor cannot be performed on stacks with") {
        "a stack is not ready".clone_into(&mut reason.meaning);
        "Wait until nothing is going on in it, and try again.".clone_into(&mut reason.remedy);
    } else if said.contains("Stack was updated") {
        "the stack was changed after the preview".clone_into(&mut reason.meaning);
        "Try again when nobody else deploys.".clone_into(&mut reason.remedy);
    } else if said.contains("stack policy") {
        "a stack with a stack policy cannot take part".clone_into(&mut reason.meaning);
        "Remove the policy for the time of the move.".clone_into(&mut reason.remedy);
    } else if said.starts_with("Export ") && said.contains("in use by") {
        "another stack imports it".clone_into(&mut reason.meaning);
        "Let that stack take part in the move, or keep the export.".clone_into(&mut reason.remedy);
    } else if said.contains("InternalFailure") {
        "a service failed inside".clone_into(&mut reason.meaning);
        "Try again; fewer resources at a time were seen to help.".clone_into(&mut reason.remedy);
    }
    reason
}

fn is_type_start(c: char) -> bool {
    c.is_ascii_uppercase()
}

fn about_type(reason: &mut Reason, rest: &str, batch: &Batch) {
    let kind = rest.split_whitespace().next().unwrap_or_default().trim_end_matches('.');
    if !kind.contains("::") {
        return;
    }
    reason.is_about_type = true;
    reason.resource_type = Some(kind.to_owned());
    let mut moves = batch.moves.iter().filter(|each| each.resource_type == kind);
    // With several of one type nobody knows which is meant.
    if let (Some(only), None) = (moves.next(), moves.next())
        && let Some((stack, id)) = only.source.split_once('.')
    {
        reason.resource = Some(id.to_owned());
        reason.stack = Some(stack.to_owned());
    }
    let why = match rest {
        rest if rest.contains("tag updates") => ": its tags cannot be changed after creation",
        rest if rest.contains("unsupported tag schema") => ": its tags cannot be handled",
        _ => "",
    };
    reason.meaning = format!("CloudFormation cannot move resources of type {kind}{why}");
    reason.remedy =
        format!("Leave the type out (`--assume-fixed {kind}`): the deployment will replace it.");
}

fn type_of_resource(reason: &mut Reason, batch: &Batch) {
    let (Some(stack), Some(id)) = (&reason.stack, &reason.resource) else { return };
    let place = format!("{stack}.{id}");
    let found = batch.moves.iter().find(|each| each.source == place || each.destination == place);
    reason.resource_type = found.map(|each| each.resource_type.clone());
}

/// Splits `<stackArn>: <text>`.
fn split_stack(text: &str) -> (Option<&str>, &str) {
    match text.split_once(": ") {
        Some((arn, said)) if arn.starts_with("arn:") && arn.contains(":stack/") => {
            (Some(arn), said)
        }
        _ => (None, text),
    }
}

/// The name by which the plan knows a stack: nested stacks have another one there.
fn name_in(stack: &str, batch: &Batch) -> String {
    let planned = batch.stacks.iter().find(|each| each.id.as_deref() == Some(stack));
    planned.map_or_else(|| name_in_arn(stack).to_owned(), |each| each.name.clone())
}

fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    let start = text.find(before)? + before.len();
    let length = text[start..].find(after)?;
    Some(&text[start..start + length])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{BatchStack, Move};

    const A: &str = "arn:aws:cloudformation:us-east-1:111111111111:stack/A/1";

    fn batch() -> Batch {
        let each = |kind: &str, source: &str, destination: &str| Move {
            resource_type: kind.to_owned(),
            physical_id: None,
            source: source.to_owned(),
            destination: destination.to_owned(),
        };
        Batch {
            stacks: vec![BatchStack {
                name: "Parent/Nested".to_owned(),
                id: Some("arn:aws:cloudformation:us-east-1:1:stack/Nested-X/2".to_owned()),
                before: None,
                template: String::new(),
            }],
            moves: vec![
                each("AWS::EC2::KeyPair", "A.Key", "B.Key"),
                each("AWS::S3::Bucket", "A.One", "B.One"),
                each("AWS::S3::Bucket", "A.Two", "B.Two"),
            ],
        }
    }

    #[test]
    fn a_type_that_cannot_move_is_named_with_its_only_resource() {
        let text = format!(
            "{A}: Stack Refactor does not support AWS::EC2::KeyPair because the resource type does \
             not allow tag updates after creation."
        );
        let reason = understand(&text, &batch());
        assert!(reason.is_about_type);
        assert_eq!(reason.resource_type.as_deref(), Some("AWS::EC2::KeyPair"));
        assert_eq!((reason.stack.as_deref(), reason.resource.as_deref()), (Some("A"), Some("Key")));
        assert!(reason.meaning.contains("tags cannot be changed"), "{}", reason.meaning);
        assert_eq!(reason.text, text);
    }

    #[test]
    fn of_several_resources_of_a_type_none_is_accused() {
        let reason = understand("Stack Refactor does not support AWS::S3::Bucket.", &batch());
        assert_eq!((reason.resource, reason.stack), (None, None));
        assert_eq!(reason.resource_type.as_deref(), Some("AWS::S3::Bucket"));
    }

    #[test]
    fn the_resource_whose_properties_differ_is_named() {
        let text = format!(
            "{A}: Resource One in stack {A} does not match the destination resource's properties."
        );
        let reason = understand(&text, &batch());
        assert_eq!(reason.resource.as_deref(), Some("One"));
        assert_eq!(reason.stack.as_deref(), Some("A"));
        assert_eq!(reason.resource_type.as_deref(), Some("AWS::S3::Bucket"));
        assert!(!reason.is_about_type);
    }

    #[test]
    fn other_known_reasons_name_what_they_can() {
        let mapped = understand(
            "The resource Two defined in the resources mapping did no move from its original \
             stack A. Review your stack template desired state.",
            &batch(),
        );
        assert_eq!(mapped.resource.as_deref(), Some("Two"));
        assert_eq!(mapped.stack.as_deref(), Some("A"));
        let new = understand(
            &format!(
                "{A}: Could not find any source stacks for Logical ID and Stack ID pairs: N -> {A}"
            ),
            &batch(),
        );
        assert_eq!((new.resource.as_deref(), new.stack.as_deref()), (Some("N"), Some("A")));
        let sections = understand(
            "Following template sections are not allowed when creating a stack while refactoring: \
             Conditions, Rules",
            &batch(),
        );
        assert!(sections.meaning.contains("Conditions, Rules"));
        let policy =
            understand("Stack Refactor does not support stacks with a stack policy.", &batch());
        assert!(!policy.is_about_type && policy.meaning.contains("stack policy"));
    }

    #[test]
    fn a_nested_stack_has_the_name_that_the_plan_gives_it() {
        let text = "arn:aws:cloudformation:us-east-1:1:stack/Nested-X/2: Stack was updated.";
        assert_eq!(understand(text, &batch()).stack.as_deref(), Some("Parent/Nested"));
    }

    #[test]
    fn a_reason_that_nobody_knows_is_passed_on() {
        let reason = understand("Something new.", &batch());
        assert_eq!(reason, Reason { text: "Something new.".to_owned(), ..Reason::default() });
    }
}
