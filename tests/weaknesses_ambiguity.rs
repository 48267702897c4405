//! What the evidence decides is no question, whatever the order of resources and stacks (every
//! comparison runs in several). The ids `A1`… are those of a list of weaknesses that were found
//! in other tools.

mod literals;

use cdkr::model::Stack;
use literals::{
    Entry, assert_moves, assert_question, bare, cdk, compare, logical_id, parameter, queue,
    resource, stack,
};

const FUNCTION: &str = "AWS::Lambda::Function";
const ROLE: &str = "AWS::IAM::Role";

/// A function with a handler that uses something through an attribute.
fn function(id: &str, handler: &str, property: &str, target: &str) -> Entry {
    let properties =
        format!(r#"{{"Handler":"{handler}","{property}":{{"Fn::GetAtt":["{target}","Arn"]}}}}"#);
    resource(id, FUNCTION, &properties)
}

fn queue_policy(id: &str, queue: &str) -> Entry {
    resource(id, "AWS::SQS::QueuePolicy", &format!(r#"{{"Queues":[{{"Ref":"{queue}"}}]}}"#))
}

// A1
#[test]
fn a_decided_pair_decides_what_belongs_to_it() {
    let app = |queues: [&str; 2], policies: [&str; 2]| {
        [stack(
            "A",
            [
                queue(queues[0]),
                queue(queues[1]),
                function("F", "f", "DeadLetter", queues[0]),
                function("G", "g", "DeadLetter", queues[1]),
                queue_policy(policies[0], queues[0]),
                queue_policy(policies[1], queues[1]),
            ],
        )]
    };
    let comparison = compare(&app(["Q1", "Q2"], ["P1", "P2"]), &app(["Q9", "Q8"], ["P8", "P9"]));
    assert_moves(
        &comparison,
        &[("A.P1", "A.P8"), ("A.P2", "A.P9"), ("A.Q1", "A.Q9"), ("A.Q2", "A.Q8")],
    );
}

// A2
#[test]
fn what_stays_in_place_tells_apart_what_it_refers_to() {
    let app = |first, second| {
        let source = |id, queue| {
            let properties = format!(r#"{{"EventSourceArn":{{"Fn::GetAtt":["{queue}","Arn"]}}}}"#);
            resource(id, "AWS::Lambda::EventSourceMapping", &properties)
        };
        [stack("A", [queue(first), queue(second), source("S1", first), source("S2", second)])]
    };
    let comparison = compare(&app("Q1", "Q2"), &app("R2", "R1"));
    assert_moves(&comparison, &[("A.Q1", "A.R2"), ("A.Q2", "A.R1")]);
    assert_eq!(comparison.unchanged, 2);
}

// A3
#[test]
fn equal_paths_below_a_renamed_construct_decide() {
    let app = |root: &str| {
        let dlq = |name| cdk(&format!("A/{root}/{name}/DLQ/Resource"), "AWS::SQS::Queue", "{}");
        [stack("A", [dlq("Orders"), dlq("Payments")])]
    };
    let id = |root: &str, name: &str| {
        format!("A.{}", logical_id(&format!("A/{root}/{name}/DLQ/Resource")))
    };
    assert_moves(
        &compare(&app("Old"), &app("New")),
        &[
            (&id("Old", "Orders"), &id("New", "Orders")),
            (&id("Old", "Payments"), &id("New", "Payments")),
        ],
    );
}

/// Two equal roles, each used by two functions, in the order in which the functions are given.
fn roles(roles: [&str; 2], functions: &[(&str, usize)]) -> [Stack; 1] {
    let users =
        functions.iter().map(|(handler, role)| function(handler, handler, "Role", roles[*role]));
    [stack("A", [bare(roles[0], ROLE), bare(roles[1], ROLE)].into_iter().chain(users))]
}

// A4
#[test]
fn the_order_of_users_does_not_count() {
    let before = roles(["R1", "R2"], &[("a", 0), ("b", 0), ("c", 1), ("d", 1)]);
    for order in [
        [("a", 0), ("b", 0), ("c", 1), ("d", 1)],
        [("d", 1), ("b", 0), ("c", 1), ("a", 0)],
        [("b", 0), ("d", 1), ("a", 0), ("c", 1)],
    ] {
        let comparison = compare(&before, &roles(["S2", "S1"], &order));
        assert_moves(&comparison, &[("A.R1", "A.S2"), ("A.R2", "A.S1")]);
    }
}

// A4
#[test]
fn the_order_of_renamed_users_does_not_count() {
    let app = |roles: [&str; 2], functions: &[(&str, &str, usize)]| {
        let users = functions.iter().map(|(id, h, role)| function(id, h, "Role", roles[*role]));
        [stack("A", [bare(roles[0], ROLE), bare(roles[1], ROLE)].into_iter().chain(users))]
    };
    let before =
        app(["R1", "R2"], &[("F1", "a", 0), ("F2", "b", 0), ("F3", "c", 1), ("F4", "d", 1)]);
    let after =
        app(["S2", "S1"], &[("G1", "d", 1), ("G2", "b", 0), ("G3", "a", 0), ("G4", "c", 1)]);
    assert_moves(
        &compare(&before, &after),
        &[
            ("A.F1", "A.G3"),
            ("A.F2", "A.G2"),
            ("A.F3", "A.G4"),
            ("A.F4", "A.G1"),
            ("A.R1", "A.S2"),
            ("A.R2", "A.S1"),
        ],
    );
}

// A5
#[test]
fn the_order_of_stacks_does_not_count() {
    let producer = |queues: [&str; 2]| {
        let output = |id: &str| {
            format!(r#""{id}":{{"Value":{{"Ref":"{id}"}},"Export":{{"Name":"Base:{id}"}}}}"#)
        };
        let outputs = format!(r#"{{"Outputs":{{{},{}}}}}"#, output(queues[0]), output(queues[1]));
        literals::stack_with("Base", &outputs, [queue(queues[0]), queue(queues[1])])
    };
    let consumer = |name: &str, queue: &str| {
        let value = format!(r#"{{"Fn::ImportValue":"Base:{queue}"}}"#);
        stack(name, [parameter("One", &value), parameter(&format!("Only{name}"), &value)])
    };
    let before = [producer(["Q1", "Q2"]), consumer("Left", "Q1"), consumer("Right", "Q2")];
    for turn in 0..3 {
        let mut after = [producer(["R2", "R1"]), consumer("Left", "R2"), consumer("Right", "R1")];
        after.rotate_left(turn);
        let comparison = compare(&before, &after);
        assert_moves(&comparison, &[("Base.Q1", "Base.R2"), ("Base.Q2", "Base.R1")]);
    }
}

// A6
#[test]
fn one_of_two_equal_resources_that_is_left_is_a_question_that_names_all() {
    let before = [stack("A", [queue("d1"), queue("d2")])];
    let after = [stack("A", [queue("e1")])];
    let comparison = compare(&before, &after);
    assert!(comparison.mappings.is_empty());
    assert!(comparison.removed.is_empty() && comparison.added.is_empty(), "{comparison:#?}");
    assert_question(&comparison, &["A.d1", "A.d2"], &["A.e1"]);
}

/// Equal resources that nothing tells apart are one question.
#[test]
fn what_nothing_tells_apart_is_a_question() {
    let before = [stack("A", [queue("d1"), queue("d2")])];
    let after = [stack("A", [queue("e1"), queue("e2")])];
    let comparison = compare(&before, &after);
    assert!(comparison.mappings.is_empty());
    assert_question(&comparison, &["A.d1", "A.d2"], &["A.e1", "A.e2"]);
}

/// The parts of two equal constructs are one question, not one for each part.
#[test]
fn the_parts_of_equal_constructs_are_one_question() {
    let app = |names: [&str; 2]| {
        let parts = names.into_iter().flat_map(|name| {
            let main = format!("A/{name}/Queue/Resource");
            let policy = format!("A/{name}/Queue/Policy/Resource");
            let reference = format!(r#"{{"Queues":[{{"Ref":"{}"}}]}}"#, logical_id(&main));
            [cdk(&main, "AWS::SQS::Queue", "{}"), cdk(&policy, "AWS::SQS::QueuePolicy", &reference)]
        });
        [stack("A", parts)]
    };
    let comparison = compare(&app(["One", "Two"]), &app(["Three", "Four"]));
    assert!(comparison.mappings.is_empty());
    assert_eq!(comparison.ambiguous.len(), 2);
    assert!(comparison.ambiguous.iter().all(|question| question.group == 0));
    let (was, is) = &comparison.ambiguous[0].constructs;
    let names = |paths: &[cdkr::model::ConstructPath]| -> Vec<String> {
        paths.iter().map(ToString::to_string).collect()
    };
    assert_eq!(names(was), ["A/One", "A/Two"]);
    assert_eq!(names(is), ["A/Four", "A/Three"]);
}
