//! CloudFormation on the wire: one function for each operation, found by its name.

mod change_sets;
mod parts;
mod reads;
mod refactor;
mod resources;
mod stacks;

use super::form::Form;
use super::protocol::{Protocol, Reply, query_reply};
use super::xml::Xml;
use crate::local::error::{Answer, ServiceError};
use crate::local::state::Region;

const NAMESPACE: &str = "http://cloudformation.amazonaws.com/doc/2010-05-15/";

/// How CloudFormation speaks.
pub(super) const PROTOCOL: Protocol =
    Protocol::Query { namespace: NAMESPACE, version: "2010-05-15" };

/// A request to an environment: reads its members and writes the members of the result.
type Operation = fn(&Region<'_>, &Form, &mut Xml) -> Answer<()>;

/// What the output of an operation is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Output {
    Result,
    /// No output shape: the answer has no result element.
    Nothing,
}

const OPERATIONS: &[(&str, Output, Operation)] = &[
    ("CreateChangeSet", Output::Result, change_sets::create),
    ("CreateStack", Output::Result, stacks::create),
    ("CreateStackRefactor", Output::Result, refactor::create),
    ("DeleteChangeSet", Output::Result, change_sets::delete),
    ("DeleteStack", Output::Nothing, stacks::delete),
    ("DescribeChangeSet", Output::Result, change_sets::describe),
    ("DescribeEvents", Output::Result, resources::operation_events),
    ("DescribeStackEvents", Output::Result, resources::events),
    ("DescribeStackRefactor", Output::Result, refactor::describe),
    ("DescribeStackResource", Output::Result, resources::describe),
    ("DescribeStackResources", Output::Result, resources::describe_all),
    ("DescribeStacks", Output::Result, reads::describe_stacks),
    ("DescribeType", Output::Result, reads::describe_type),
    ("ExecuteChangeSet", Output::Result, change_sets::execute),
    ("ExecuteStackRefactor", Output::Nothing, refactor::execute),
    ("GetStackPolicy", Output::Result, stacks::policy),
    ("GetTemplate", Output::Result, reads::template),
    ("GetTemplateSummary", Output::Result, reads::template_summary),
    ("ListChangeSets", Output::Result, change_sets::list),
    ("ListExports", Output::Result, reads::exports),
    ("ListHookResults", Output::Result, resources::hook_results),
    ("ListImports", Output::Result, reads::imports),
    ("ListStackRefactorActions", Output::Result, refactor::actions),
    ("ListStackRefactors", Output::Result, refactor::list),
    ("ListStackResources", Output::Result, resources::list),
    ("ListStacks", Output::Result, reads::list_stacks),
    ("SetStackPolicy", Output::Nothing, stacks::set_policy),
    ("UpdateStack", Output::Result, stacks::update),
    ("UpdateTerminationProtection", Output::Result, stacks::protect),
    ("ValidateTemplate", Output::Result, reads::validate),
];

/// Carries out an operation.
pub(super) fn answer(
    region: &Region<'_>,
    action: &str,
    form: &Form,
    request_id: &str,
) -> Answer<Reply> {
    let found = OPERATIONS.binary_search_by(|(name, ..)| (*name).cmp(action));
    let Ok(at) = found else { return Err(ServiceError::no_operation(action, "2010-05-15")) };
    let (_, output, operation) = OPERATIONS[at];
    let mut result = Xml::default();
    operation(region, form, &mut result)?;
    let result = (output == Output::Result).then_some(result);
    Ok(query_reply(NAMESPACE, action, result, request_id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_sorted_by_name() {
        assert!(OPERATIONS.is_sorted_by_key(|(name, ..)| *name));
    }
}
