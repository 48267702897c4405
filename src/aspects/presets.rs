//! The aspects that are built in.

use std::sync::Arc;

use super::declaration::{Declaration, Matcher, Operation, Work};
use super::pattern::PropertyPattern;
use super::priority::Priority;
use crate::compare::Literal;

/// An aspect that is built in.
#[derive(Clone, Debug)]
pub struct Preset {
    /// What `refactor.overrides` calls it.
    pub name: &'static str,
    /// What it hides, as a sentence.
    pub description: &'static str,
    /// What it does; `None`: it is part of the comparison itself.
    pub declaration: Option<Arc<Declaration>>,
}

/// Notes that a built-in aspect is switched off, where the comparison itself has a part in it.
pub(super) fn switch_off(name: &str, literal: &mut Literal) {
    match name {
        ASSETS => literal.assets = true,
        NUMBERS => literal.scalars = true,
        DEPENDS_ON => literal.depends_on = true,
        NAMES => literal.names = true,
        _ => {}
    }
}

/// Returns whether a built-in aspect is part of the comparison itself.
pub(super) fn is_part_of_comparison(name: &str) -> bool {
    matches!(name, DEPENDS_ON | NAMES)
}

const ASSETS: &str = "builtin:asset-locations";
const NUMBERS: &str = "builtin:numbers-in-strings";
pub(super) const DEPENDS_ON: &str = "builtin:depends-on-order";
pub(super) const NAMES: &str = "builtin:generated-names";

/// What all names of built-in aspects begin with.
pub(super) const PREFIX: &str = "builtin:";

/// Returns the aspects that are built in, in the order in which they are invoked.
pub fn presets() -> Vec<Preset> {
    vec![
        preset(
            ASSETS,
            "The bucket or repository of an asset, and the metadata that say where it was, do not \
             count: its hash does.",
            "*",
            vec![Operation::Assets { hashes: false }, Operation::AssetMetadata],
        ),
        preset(
            "builtin:nested-template-urls",
            "The address of the template of a nested stack does not count: its content does.",
            "AWS::CloudFormation::Stack",
            ignoring("/Properties/TemplateURL"),
        ),
        preset(
            NUMBERS,
            "\"30\" and 30, \"true\" and true are the same, as they are for CloudFormation.",
            "*",
            with("/Properties", Operation::Scalars),
        ),
        preset(
            "builtin:policy-statement-order",
            "The order of the statements of a policy, and of the actions and resources in them, \
             does not count.",
            "*",
            POLICY_LISTS.iter().flat_map(|place| with(place, unordered)).collect(),
        ),
        Preset {
            name: DEPENDS_ON,
            description: "The order in `DependsOn` does not count. Part of the comparison itself.",
            declaration: None,
        },
        Preset {
            name: NAMES,
            description: "Names that the CDK derives from construct paths follow the constructs. \
                          Part of the comparison itself, which proves each of them.",
            declaration: None,
        },
    ]
}

/// The lists of a policy document, wherever it stands; the inner ones first.
const POLICY_LISTS: [&str; 8] = [
    "/Properties/**/Statement/*/Action",
    "/Properties/**/Statement/*/NotAction",
    "/Properties/**/Statement/*/Resource",
    "/Properties/**/Statement/*/NotResource",
    "/Properties/**/Statement/*/Principal/*",
    "/Properties/**/Statement/*/NotPrincipal/*",
    "/Properties/**/Statement/*/Condition/*/*",
    "/Properties/**/Statement",
];

fn ignoring(place: &str) -> Vec<Operation> {
    with(place, |place| Operation::Ignore(place, None))
}

fn unordered(place: PropertyPattern) -> Operation {
    Operation::Unordered { place, by: None, is_set: true }
}

/// An operation on a place; the tests read all of them.
fn with(place: &str, operation: impl Fn(PropertyPattern) -> Operation) -> Vec<Operation> {
    PropertyPattern::new(place).into_iter().map(operation).collect()
}

fn preset(
    name: &'static str,
    description: &'static str,
    resource_type: &str,
    operations: Vec<Operation>,
) -> Preset {
    let declaration = Declaration {
        id: name.into(),
        origin: "built in".into(),
        priority: Priority::MUTATING,
        scope: None,
        crosses_stages: true,
        matcher: Matcher { resource_type: Some(resource_type.into()), ..Matcher::default() },
        work: Work::Change(operations),
        applies: Vec::new(),
        is_applied: false,
        is_preset: true,
    };
    Preset { name, description, declaration: Some(Arc::new(declaration)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_has_a_name_a_sentence_and_all_of_its_operations() {
        let presets = presets();
        let counts: Vec<usize> = presets
            .iter()
            .map(|preset| match preset.declaration.as_ref().map(|it| &it.work) {
                Some(Work::Change(operations)) => operations.len(),
                _ => 0,
            })
            .collect();
        assert_eq!(counts, [2, 1, 1, 8, 0, 0]);
        for preset in presets {
            assert!(preset.name.starts_with(PREFIX) && preset.description.ends_with('.'));
        }
    }
}
