use super::*;
use crate::analyze::changes::Place;
use crate::model::Environment;
use crate::template::json::parse;

fn place(stack: &str, id: &str) -> Place {
    Place { stack: stack.into(), logical_id: id.into(), path: None }
}

fn change(kind: &str, id: &str, effect: ChangeEffect) -> ComponentChange {
    let (is_new, goes) = (effect == ChangeEffect::Add, effect == ChangeEffect::Remove);
    ComponentChange {
        kind: ComponentKind::Resource,
        subtype: Some(kind.into()),
        before: (!is_new).then(|| place("App", id)),
        after: (!goes).then(|| place("App", id)),
        physical_id: None,
        effect,
        certainty: Certainty::Certain,
        evidence: None,
        risk: Risk::Unknown,
        rule: None,
        action: None,
        danger: None,
        causes: Vec::new(),
        properties: Vec::new(),
    }
}

/// Values are JSON; an empty text stands for one that is not there.
fn property(path: &str, old: &str, new: &str) -> PropertyReport {
    let value = |text: &str| (!text.is_empty()).then(|| parse(text).unwrap());
    let kind = match (old, new) {
        ("", _) => PropertyChange::Insert,
        (_, "") => PropertyChange::Remove,
        _ => PropertyChange::Update,
    };
    PropertyReport {
        change: kind,
        old_path: (!old.is_empty()).then(|| path.to_owned()),
        new_path: (!new.is_empty()).then(|| path.to_owned()),
        old: value(old),
        new: value(new),
        name_only: false,
        replaces: None,
        cause: None,
        risk: Risk::Unknown,
        broadens_permissions: false,
    }
}

fn update(kind: &str, id: &str, properties: &[PropertyReport]) -> ComponentChange {
    ComponentChange { properties: properties.into(), ..change(kind, id, ChangeEffect::Update) }
}

fn groups(changes: Vec<ComponentChange>) -> Vec<Group> {
    aggregate(&EnvironmentReport {
        environment: Environment::new("1", "r"),
        stacks: Vec::new(),
        changes,
        unchanged: Vec::new(),
        permissions: Vec::new(),
    })
}

/// A line for each group: how many members it has, and what they have in common.
fn outline(groups: &[Group]) -> Vec<String> {
    let mut lines = Vec::new();
    for group in groups {
        let common: Vec<String> = group.common.iter().map(word).collect();
        lines.push(format!("{} {}", group.members.len(), common.join(" ")));
        lines.extend(outline(&group.inner).into_iter().map(|line| format!("  {line}")));
    }
    lines
}

fn word(common: &Common) -> String {
    let value = |value: &Option<Value>| value.as_ref().map_or("-".to_owned(), to_compact);
    match common {
        Common::Risk(risk) => format!("{risk:?}"),
        Common::Component(kind, None) => kind.to_string(),
        Common::Component(_, Some(subtype)) => subtype.to_string(),
        Common::Happens(happens) => {
            let moved = if happens.moved { "Move+" } else { "" };
            let property = match happens.property {
                Some((_, true)) => "(names)".to_owned(),
                Some((change, false)) => format!("({change:?})"),
                None => String::new(),
            };
            format!("{moved}{:?}{property}", happens.effect)
        }
        Common::Causes(causes) => format!("because [{}]", causes.join(" < ")),
        Common::Properties { paths, replaces, .. } => {
            let replaces = if replaces.is_some() { "!" } else { "" };
            format!("{}{replaces}", paths.join(","))
        }
        Common::Values(old, new) => format!("{}→{}", value(old), value(new)),
        Common::Various(aspect) => format!("various {aspect:?}"),
    }
}

#[test]
fn what_says_nothing_new_is_said_in_one_line() {
    let one = update("Queue", "A", &[property("Properties.Delay", "1", "2")]);
    assert_eq!(
        outline(&groups(vec![one])),
        ["1 Unknown", "  1 Queue Update(Update) Properties.Delay 1→2"]
    );
}

#[test]
fn the_highest_risk_comes_first_and_a_change_has_one_risk() {
    let mut queue = update(
        "Queue",
        "A",
        &[property("Properties.Delay", "1", "2"), property("Properties.Policy", "1", "2")],
    );
    queue.risk = Risk::High;
    queue.properties[1].risk = Risk::High;
    let mut topic = change("Topic", "B", ChangeEffect::Add);
    topic.risk = Risk::Low;
    let other = change("Topic", "C", ChangeEffect::Add);
    assert_eq!(
        outline(&groups(vec![topic, queue, other])),
        [
            "1 High",
            "  1 Queue Update(Update)",
            "    1 Properties.Policy 1→2",
            "    1 Properties.Delay 1→2",
            "1 Unknown",
            "  1 Topic Add",
            "1 Low",
            "  1 Topic Add",
        ]
    );
}

#[test]
fn places_in_lists_do_not_tell_changes_apart() {
    let changes = (0..3).map(|n| {
        let path = format!("Properties.Tags.{n}.Value");
        update("Queue", &format!("Q{n}"), &[property(&path, "\"a\"", "\"b\"")])
    });
    assert_eq!(
        outline(&groups(changes.collect()))[1],
        "  3 Queue Update(Update) Properties.Tags.Value \"a\"→\"b\""
    );
}

#[test]
fn a_few_values_are_told_apart_and_many_are_not() {
    let queue = |n: usize, new: usize| {
        let new = new.to_string();
        update("Queue", &format!("Q{n}"), &[property("Properties.Delay", "0", &new)])
    };
    let two = (0..6).map(|n| queue(n, 1 + n / 4)).collect();
    assert_eq!(
        outline(&groups(two))[1..],
        ["  6 Queue Update(Update) Properties.Delay", "    4 0→1", "    2 0→2"]
    );
    let all = (0..40).map(|n| queue(n, n + 1)).collect();
    assert_eq!(
        outline(&groups(all))[1..],
        ["  40 Queue Update(Update) Properties.Delay various Values"]
    );
    let most = (0..10).map(|n| queue(n, if n < 5 { 99 } else { n })).collect();
    assert_eq!(
        outline(&groups(most))[1..],
        ["  10 Queue Update(Update) Properties.Delay", "    5 0→99", "    5 various Values"]
    );
}

#[test]
fn causes_split_only_where_they_differ() {
    let caused = |id: &str, cause: Option<&str>| {
        let one = property("Properties.Bucket", "{\"Ref\":\"B\"}", "{\"Ref\":\"B\"}");
        let one = PropertyReport { cause: cause.map(str::to_owned), ..one };
        update("Policy", id, &[one])
    };
    let same = ["P", "Q"].map(|id| caused(id, Some("B is replaced"))).into();
    assert_eq!(
        outline(&groups(same))[1],
        "  2 Policy Update(Update) because [B is replaced] Properties.Bucket \
         {\"Ref\":\"B\"}→{\"Ref\":\"B\"}"
    );
    let mixed = vec![caused("P", Some("B is replaced")), caused("Q", None)];
    let lines = outline(&groups(mixed));
    assert_eq!(lines.len(), 4, "{lines:#?}");
    assert!(lines[2].starts_with("    1 because [B is replaced] Properties.Bucket"), "{lines:#?}");
    assert!(lines[3].starts_with("    1 Properties.Bucket"), "{lines:#?}");
    let other = (0..9).map(|n| caused(&format!("P{n}"), Some(&format!("B{n} is replaced"))));
    let lines = outline(&groups(other.collect()));
    assert_eq!(lines.len(), 2, "{lines:#?}");
    assert!(lines[1].starts_with("  9 Policy Update(Update) various Causes"), "{lines:#?}");
}

#[test]
fn of_a_replaced_resource_only_that_counts_which_replaces_it() {
    let mut table = update(
        "Table",
        "T",
        &[property("Properties.KeySchema", "1", "2"), property("Properties.Tags", "1", "2")],
    );
    table.effect = ChangeEffect::Replace;
    table.properties[0].replaces = Some(Certainty::Certain);
    assert_eq!(
        outline(&groups(vec![table.clone()]))[1..],
        ["  1 Table Replace(Update) Properties.KeySchema! 1→2"]
    );
    table.certainty = Certainty::Possible;
    assert_eq!(outline(&groups(vec![table])).len(), 4, "what is only possible leaves the rest");
}

#[test]
fn properties_that_change_together_are_one_line() {
    let changes = (0..40).map(|n| {
        let value = |what: &str| format!("\"{what}{n}\"");
        let one = |path: &str| property(path, &value("a"), &value("b"));
        update("Function", &format!("F{n}"), &[one("Properties.Code"), one("Properties.Role")])
    });
    assert_eq!(
        outline(&groups(changes.collect()))[1..],
        ["  40 Function Update(Update) Properties.Code,Properties.Role various Values"]
    );
}

/// Every change in every line.
#[test]
fn no_change_is_lost_and_every_group_knows_its_members() {
    fn check(group: &Group) {
        assert!(group.members.is_sorted(), "{group:#?}");
        for inner in &group.inner {
            assert!(inner.members.iter().all(|one| group.members.contains(one)), "{group:#?}");
            check(inner);
        }
        let covered: BTreeSet<usize> =
            group.inner.iter().flat_map(|inner| inner.members.iter().copied()).collect();
        if !group.inner.is_empty() {
            assert_eq!(members_of(group), covered, "{group:#?}");
        }
    }
    fn members_of(group: &Group) -> BTreeSet<usize> {
        group.members.iter().copied().collect()
    }
    let changes = four_hundred();
    let total = changes.len();
    let groups = groups(changes);
    groups.iter().for_each(check);
    let mut all: Vec<usize> = groups.iter().flat_map(|group| group.members.clone()).collect();
    all.sort_unstable();
    assert_eq!(all, (0..total).collect::<Vec<_>>());
}

/// Ten ways to change, forty resources each; names and some values differ for each of them.
fn four_hundred() -> Vec<ComponentChange> {
    let shape = |shape: usize, n: usize| {
        let id = format!("R{shape}x{n}");
        let own = |what: &str| format!("\"{what}{n}\"");
        let mut change = match shape {
            0 => {
                let tag = property("Properties.Tags.0.Value", &own("a"), &own("b"));
                let name = property("Properties.QueueName", &own("a"), &own("b"));
                let names = [tag, name].map(|one| PropertyReport { name_only: true, ..one });
                update("Queue", &id, &names)
            }
            1 => update("Function", &id, &[property("Properties.Runtime", "18", "22")]),
            2 => update("Function", &id, &[property("Properties.Code", &own("a"), &own("b"))]),
            3 => change("Topic", &id, ChangeEffect::Add),
            4 => change("Topic", &id, ChangeEffect::Remove),
            5 => change("Bucket", &id, ChangeEffect::Nothing),
            6 => {
                let one = property("Properties.Key", &own("a"), &own("b"));
                let one = PropertyReport { replaces: Some(Certainty::Certain), ..one };
                let causes = vec![format!("`App.Key{n}` is replaced")];
                let properties = vec![one];
                let change = change("Secret", &id, ChangeEffect::Replace);
                ComponentChange { causes, properties, ..change }
            }
            7 => {
                let one = property("Properties.Table", &own("a"), &own("a"));
                let cause = Some(format!("`App.Table{n}` is replaced"));
                update("Policy", &id, &[PropertyReport { cause, ..one }])
            }
            8 => {
                let change = change("Alarm", &id, ChangeEffect::TemplateOnly);
                let properties = vec![property("Metadata.x", &own("a"), &own("b"))];
                ComponentChange { properties, ..change }
            }
            _ => update("Alarm", &id, &[property("Properties.Period", "", "60")]),
        };
        if shape == 5 {
            change.before = Some(place("Old", &id));
        }
        change
    };
    (0..400).map(|n| shape(n / 40, n % 40)).collect()
}

#[test]
fn four_hundred_changes_of_ten_shapes_are_ten_groups() {
    let groups = groups(four_hundred());
    let lines = outline(&groups);
    // The risk, nine types with one or two ways to change.
    assert!(lines.len() <= 15, "{lines:#?}");
    for line in &lines {
        assert!(line.trim().starts_with("40 ") || groups.len() == 1, "{line}");
    }
}
