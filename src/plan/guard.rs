//! A first deployment that takes nothing away again if it fails.
//!
//! What is handed over from one stack to another exists once only: an inline policy is the policy
//! of that name on its role, whichever stack wrote it last. If the stack that takes it over fails
//! and is rolled back, CloudFormation deletes what the stack has made, and with it the only one
//! there is. A resource with `DeletionPolicy: Retain` is left alone.

use std::collections::BTreeSet;

use super::world::{FILLER, FILLER_TYPE};
use crate::model::{Object, Template, Text, Value};

/// Returns a template in which some resources are retained if their creation is rolled back; `None`
/// if it has none of them. The template that is sent afterwards takes the retention away again,
/// which CloudFormation only does together with another change: hence the filler.
pub fn guarded(template: &Template, ids: &BTreeSet<String>) -> Option<Template> {
    let mut guarded = template.clone();
    let Some(Value::Object(resources)) = guarded.sections.get_mut("Resources") else { return None };
    let mut found = false;
    for (id, body) in resources.iter_mut() {
        let Value::Object(body) = body else { continue };
        if ids.contains(id.as_str()) && !body.contains_key("DeletionPolicy") {
            body.insert("DeletionPolicy".into(), Value::from("Retain"));
            found = true;
        }
    }
    let filler: Object = [(Text::from("Type"), Value::from(FILLER_TYPE))].into_iter().collect();
    resources.insert(FILLER.into(), Value::Object(filler));
    found.then_some(guarded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template::{self, json};

    #[test]
    fn what_is_taken_over_is_retained_until_the_next_template() {
        let text = r#"{"Resources": {"P": {"Type": "AWS::IAM::Policy"}, "Q": {"Type": "AWS::SQS::Queue"}}}"#;
        let template = template::parse(text.as_bytes()).unwrap();
        let found = guarded(&template, &BTreeSet::from(["P".to_owned()])).unwrap();
        assert_eq!(
            json::to_compact(&Value::Object(found.sections)),
            r#"{"Resources":{"P":{"Type":"AWS::IAM::Policy","DeletionPolicy":"Retain"},"Q":{"Type":"AWS::SQS::Queue"},"CdkrFiller":{"Type":"AWS::CloudFormation::WaitConditionHandle"}}}"#
        );
        assert!(guarded(&template, &BTreeSet::from(["X".to_owned()])).is_none());
    }
}
