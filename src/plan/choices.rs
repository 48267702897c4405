//! What may move: the table of types, corrected by what people, the account and the service say.

use std::collections::{BTreeMap, BTreeSet};

use crate::compare::Comparison;
use crate::model::{Location, ResourceType};
use crate::registry;

/// What is known and wanted besides the templates.
#[derive(Clone, Debug, Default)]
pub struct Choices {
    /// Types that somebody says can be moved (`--assume-refactorable`).
    pub assume_refactorable: BTreeSet<ResourceType>,
    /// Types that somebody says cannot be moved (`--assume-fixed`). They win over all else.
    pub assume_fixed: BTreeSet<ResourceType>,
    /// What `DescribeType` says of types: whether they are fully mutable.
    pub described: BTreeMap<ResourceType, bool>,
    /// What the service refused in a preview, with its words.
    pub refused: BTreeMap<Refused, String>,
}

/// What a refusal of the service is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Refused {
    /// One resource, by the place where it is deployed.
    Resource(Location),
    /// Every resource of a type.
    Type(ResourceType),
}

impl Choices {
    /// Returns why CloudFormation cannot move a resource, as the end of a sentence that starts
    /// with the resource; `None` if it can, or if nothing is known of the type.
    ///
    /// In this order: what somebody says, what the service refused, what `DescribeType` says,
    /// the table. A refusal of the one resource also beats `--assume-refactorable`: the service
    /// has the last word on that.
    pub fn block(&self, resource_type: &ResourceType, place: &Location) -> Option<String> {
        if self.assume_fixed.contains(resource_type) {
            return Some(format!("stays, since `--assume-fixed {resource_type}` says so"));
        }
        let refusal = self.refused.get(&Refused::Resource(place.clone()));
        if let Some(words) = refusal {
            return Some(refused(words));
        }
        if self.assume_refactorable.contains(resource_type) {
            return None;
        }
        if let Some(words) = self.refused.get(&Refused::Type(resource_type.clone())) {
            return Some(refused(words));
        }
        match self.described.get(resource_type) {
            Some(true) => None,
            Some(false) => Some(
                "cannot be moved by CloudFormation, which says that the type is not fully mutable"
                    .to_owned(),
            ),
            None => registry::refactor_block(resource_type.as_str()),
        }
    }
}

fn refused(words: &str) -> String {
    format!("is refused by CloudFormation: {words}")
}

/// Returns the types of mapped resources of which the embedded table is not sure: it does not
/// have them, or it misses a handler that CloudFormation may have added since. For these a call
/// of `DescribeType` is worth its while.
pub fn uncertain_types(comparison: &Comparison, choices: &Choices) -> BTreeSet<ResourceType> {
    let is_open = |resource_type: &&ResourceType| {
        registry::refactor_block_is_uncertain(resource_type.as_str())
            && !choices.assume_fixed.contains(*resource_type)
            && !choices.assume_refactorable.contains(*resource_type)
            && !choices.described.contains_key(*resource_type)
    };
    comparison
        .mappings
        .iter()
        .map(|mapping| &mapping.resource_type)
        .filter(is_open)
        .cloned()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(choices: &Choices, resource_type: &str) -> Option<String> {
        choices.block(&resource_type.into(), &Location::new("A", "X"))
    }

    #[test]
    fn people_overrule_the_table_in_both_directions() {
        let choices = Choices {
            assume_refactorable: BTreeSet::from(["AWS::IAM::Policy".into()]),
            assume_fixed: BTreeSet::from(["AWS::SQS::Queue".into()]),
            ..Choices::default()
        };
        assert_eq!(block(&choices, "AWS::IAM::Policy"), None);
        assert!(block(&choices, "AWS::SQS::Queue").unwrap().contains("--assume-fixed"));
        assert_eq!(block(&choices, "AWS::SNS::Topic"), None);
        assert!(block(&Choices::default(), "AWS::IAM::Policy").is_some());
    }

    #[test]
    fn the_account_corrects_the_table() {
        let described =
            [("AWS::Lambda::Permission".into(), true), ("AWS::SNS::Topic".into(), false)];
        let choices = Choices { described: BTreeMap::from(described), ..Choices::default() };
        assert_eq!(block(&choices, "AWS::Lambda::Permission"), None);
        assert!(block(&choices, "AWS::SNS::Topic").unwrap().contains("not fully mutable"));
    }

    #[test]
    fn what_the_service_refuses_stays_with_its_words() {
        let of_type = Refused::Type("AWS::SQS::Queue".into());
        let of_one = Refused::Resource(Location::new("A", "X"));
        let mut choices = Choices {
            refused: BTreeMap::from([(of_type, "no.".to_owned())]),
            described: BTreeMap::from([("AWS::SQS::Queue".into(), true)]),
            ..Choices::default()
        };
        assert_eq!(
            block(&choices, "AWS::SQS::Queue").unwrap(),
            "is refused by CloudFormation: no."
        );
        choices.assume_refactorable.insert("AWS::SQS::Queue".into());
        assert_eq!(block(&choices, "AWS::SQS::Queue"), None);
        choices.refused.insert(of_one, "not this one.".to_owned());
        assert!(block(&choices, "AWS::SQS::Queue").unwrap().contains("not this one"));
    }
}
