use super::*;
use crate::aws::{ChangeSetMeans, ChangeSetState, change_set_means};
use crate::plan::BatchStack;

fn refactor(status: &str, execution: &str) -> RefactorState {
    RefactorState {
        status: status.to_owned(),
        execution_status: execution.to_owned(),
        reason: "why".to_owned(),
        execution_reason: "why".to_owned(),
        ..RefactorState::default()
    }
}

#[test]
fn every_state_of_a_refactor_that_ends_it_is_known_to_end_it() {
    let why = || "why".to_owned();
    for (status, execution, means) in [
        ("CREATE_IN_PROGRESS", "UNAVAILABLE", RefactorMeans::Wait),
        ("CREATE_COMPLETE", "UNAVAILABLE", RefactorMeans::Wait),
        ("CREATE_COMPLETE", "AVAILABLE", RefactorMeans::Ready),
        ("CREATE_FAILED", "UNAVAILABLE", RefactorMeans::Refused(why())),
        ("CREATE_FAILED", "OBSOLETE", RefactorMeans::Refused(why())),
        ("CREATE_COMPLETE", "OBSOLETE", RefactorMeans::Obsolete(why())),
        ("CREATE_COMPLETE", "EXECUTE_IN_PROGRESS", RefactorMeans::Wait),
        ("CREATE_COMPLETE", "EXECUTE_COMPLETE", RefactorMeans::Executed),
        ("CREATE_COMPLETE", "EXECUTE_FAILED", RefactorMeans::Failing(why())),
        ("CREATE_COMPLETE", "ROLLBACK_IN_PROGRESS", RefactorMeans::Wait),
        ("CREATE_COMPLETE", "ROLLBACK_COMPLETE", RefactorMeans::Undone(why())),
        ("CREATE_COMPLETE", "ROLLBACK_FAILED", RefactorMeans::Broken(why())),
        ("DELETE_IN_PROGRESS", "UNAVAILABLE", RefactorMeans::Unknown),
        ("DELETE_COMPLETE", "UNAVAILABLE", RefactorMeans::Unknown),
        ("DELETE_FAILED", "UNAVAILABLE", RefactorMeans::Unknown),
    ] {
        assert_eq!(refactor_means(Some(&refactor(status, execution))), means, "{status}");
    }
    assert_eq!(refactor_means(None), RefactorMeans::Unknown);
}

#[test]
fn a_change_set_is_executed_only_when_it_is_whole_and_available() {
    let state = |status: &str, execution: &str| ChangeSetState {
        status: status.to_owned(),
        execution_status: execution.to_owned(),
        ..ChangeSetState::default()
    };
    let means = |status, execution| change_set_means(Some(&state(status, execution)));
    assert_eq!(means("CREATE_PENDING", "UNAVAILABLE"), ChangeSetMeans::Wait);
    assert_eq!(means("CREATE_COMPLETE", "AVAILABLE"), ChangeSetMeans::Ready);
    assert_eq!(means("CREATE_COMPLETE", "OBSOLETE"), ChangeSetMeans::Obsolete);
    assert_eq!(means("CREATE_COMPLETE", "EXECUTE_COMPLETE"), ChangeSetMeans::Executing);
    assert_eq!(means("FAILED", "UNAVAILABLE"), ChangeSetMeans::Refused(String::new()));
    assert_eq!(means("DELETE_COMPLETE", "UNAVAILABLE"), ChangeSetMeans::Unknown);
}

fn batch() -> Batch {
    let stack = |name: &str, before: Option<&str>| BatchStack {
        name: name.to_owned(),
        id: None,
        before: before.map(str::to_owned),
        template: "{}".to_owned(),
    };
    Batch {
        stacks: vec![stack("A", Some("x")), stack("B", None)],
        moves: vec![Move {
            resource_type: "AWS::S3::Bucket".to_owned(),
            physical_id: None,
            source: "A.X".to_owned(),
            destination: "B.Y".to_owned(),
        }],
    }
}

fn action(source: (&str, &str), destination: (&str, &str)) -> RefactorAction {
    let place = |(stack, id): (&str, &str)| Some((stack.to_owned(), id.to_owned()));
    RefactorAction {
        action: "MOVE".to_owned(),
        entity: "RESOURCE".to_owned(),
        source: place(source),
        destination: place(destination),
        ..RefactorAction::default()
    }
}

fn creation() -> RefactorAction {
    RefactorAction {
        action: "CREATE".to_owned(),
        entity: "STACK".to_owned(),
        description: "Stack arn:aws:cloudformation:eu-west-1:1:stack/B/u created.".to_owned(),
        ..RefactorAction::default()
    }
}

fn name(stack: &str) -> String {
    name_in_arn(stack).to_owned()
}

#[test]
fn a_preview_that_does_what_was_asked_for_is_taken_whatever_names_its_stacks() {
    let a = "arn:aws:cloudformation:eu-west-1:1:stack/A/u";
    let actions = [action((a, "X"), ("B", "Y")), creation()];
    assert_eq!(unasked(&batch(), &actions, name), Vec::<String>::new());
}

#[test]
fn a_preview_that_does_more_less_or_something_else_is_not() {
    let asked = action(("A", "X"), ("B", "Y"));
    let more = [asked.clone(), action(("A", "Z"), ("B", "Z")), creation()];
    assert_eq!(
        unasked(&batch(), &more, name),
        ["it would move A.Z to B.Z, which nobody asked for"]
    );
    assert_eq!(unasked(&batch(), &[creation()], name), ["it would not move A.X to B.Y"]);
    assert_eq!(unasked(&batch(), &[asked], name), ["it would create 0 stacks, not 1"]);
}

const ONE: &str = r#"{"Resources":{"X":{"Type":"AWS::S3::Bucket"}}}"#;
const FILLED: &str = r#"{"Resources":{"X":{"Type":"AWS::S3::Bucket"},
    "F":{"Type":"AWS::CloudFormation::WaitConditionHandle"}}}"#;

fn change(action: &str, id: &str, kind: &str) -> ChangeSetChange {
    ChangeSetChange {
        action: action.to_owned(),
        logical_id: id.to_owned(),
        resource_type: kind.to_owned(),
        ..ChangeSetChange::default()
    }
}

fn planned(purpose: Purpose, template: &str, retained: &[&str]) -> Change {
    Change {
        stack: "A".to_owned(),
        id: None,
        purpose,
        before: None,
        template: template.to_owned(),
        parameters: Vec::new(),
        capabilities: Vec::new(),
        retained: retained.iter().map(|id| (*id).to_owned()).collect(),
    }
}

#[test]
fn only_fillers_may_come_and_go_in_a_change_set() {
    let none = Vec::<String>::new();
    let (fill, empty) = (planned(Purpose::Fill, FILLED, &[]), planned(Purpose::Fill, ONE, &[]));
    assert_eq!(unexpected(Some(ONE), &fill, &[change("Add", "F", FILLER)]), none);
    assert_eq!(unexpected(Some(FILLED), &empty, &[change("Remove", "F", FILLER)]), none);
    let also = [change("Add", "F", FILLER), change("Modify", "X", "AWS::S3::Bucket")];
    assert_eq!(unexpected(Some(ONE), &fill, &also), ["it would modify X (AWS::S3::Bucket)"]);
    assert_eq!(unexpected(Some(ONE), &fill, &[]), ["it would not add F"]);
    let other = [change("Add", "X", "AWS::S3::Bucket")];
    assert_eq!(unexpected(None, &empty, &other), ["it would add X (AWS::S3::Bucket)"]);
}

#[test]
fn of_what_is_retained_nothing_but_policies_may_change() {
    let policy = |replacement: &str, scope: &str| ChangeSetChange {
        replacement: replacement.to_owned(),
        scope: vec![scope.to_owned()],
        ..change("Modify", "X", "AWS::S3::Bucket")
    };
    let says = |purpose, retained: &[&str], modification: Option<ChangeSetChange>| {
        let mut all = vec![change("Add", "F", FILLER)];
        all.extend(modification);
        unexpected(Some(ONE), &planned(purpose, FILLED, retained), &all)
    };
    let refused = ["it would modify X (AWS::S3::Bucket)"];
    for purpose in [Purpose::Retain, Purpose::Release] {
        assert!(says(purpose, &["X"], Some(policy("False", "DeletionPolicy"))).is_empty());
        assert!(says(purpose, &["X"], Some(policy("", "Metadata"))).is_empty());
        assert!(says(purpose, &["X"], None).is_empty(), "it need not be shown");
        assert_eq!(says(purpose, &["X"], Some(policy("False", "Properties"))), refused);
        assert_eq!(says(purpose, &["X"], Some(policy("True", "DeletionPolicy"))), refused);
        assert_eq!(says(purpose, &["X"], Some(policy("Conditional", "Tags"))), refused);
        assert_eq!(says(purpose, &["Y"], Some(policy("False", "DeletionPolicy"))), refused);
    }
    assert_eq!(says(Purpose::Fill, &["X"], Some(policy("False", "DeletionPolicy"))), refused);
}
