use super::sample::{change, environment, property, quiet, report};
use super::*;
use crate::analyze::model::Certainty;
use crate::analyze::{
    ChangeEffect, ChangeReport, EnvironmentReport, PermissionChange, PermissionKind,
    PropertyReport, StackFate,
};
use crate::model::{Environment, Value};
use crate::report::{Style, text};
use crate::template::json::parse;

/// The text as it is where there are no colours.
fn terminal(report: &ChangeReport, style: Style) -> String {
    anstream::adapter::strip_str(&super::changes(report, style)).to_string()
}

fn of(changes: Vec<ComponentChange>) -> ChangeReport {
    ChangeReport {
        environments: vec![EnvironmentReport { changes, ..quiet() }],
        ..ChangeReport::default()
    }
}

const VERBOSE: Style = Style { paths: false, explain: false, verbose: true, asks: false };

#[test]
fn a_terminal_shows_what_is_dangerous_and_then_the_rest_at_a_glance() {
    insta::assert_snapshot!(terminal(&report(), Style::default()));
}

#[test]
fn every_change_is_listed_with_its_values_on_request() {
    let text = terminal(&report(), VERBOSE);
    for one in environment().changes {
        let place = one.place().unwrap();
        assert!(text.contains(&format!("{}.{}", place.stack, place.logical_id)), "{place:?}");
        for value in one.properties.iter().flat_map(|one| [&one.old, &one.new]).flatten() {
            let value = crate::template::json::to_compact(value);
            assert!(text.contains(&value), "{value}");
        }
    }
    insta::assert_snapshot!(text);
}

#[test]
fn a_pull_request_shows_what_is_dangerous_and_hides_the_rest_behind_titles() {
    let text = changes_markdown(&report(), COMMENT_LIMIT);
    assert!(text.starts_with(CHANGES_MARKER));
    insta::assert_snapshot!(text);
}

#[test]
fn the_form_for_programs_is_a_contract() {
    let mut one = environment();
    // One of each kind is enough.
    let mut seen = std::collections::BTreeSet::new();
    one.changes.retain(|change| {
        let key = (change.kind, change.subtype.clone(), change.effect, change.risk);
        seen.insert(key)
    });
    insta::assert_snapshot!(changes_json(&ChangeReport {
        environments: vec![one],
        ..ChangeReport::default()
    }));
}

#[test]
fn construct_paths_are_shown_on_request() {
    let style = Style { paths: true, ..Style::default() };
    let text = terminal(&report(), style);
    assert!(text.contains("Legacy/OrdersTable9C21/Resource → Orders/Table9C21/Resource"), "{text}");
}

#[test]
fn every_environment_has_its_summary_first() {
    let both =
        ChangeReport { environments: vec![environment(), quiet()], ..ChangeReport::default() };
    let text = terminal(&both, Style::default());
    let end = text.find("\n\n").unwrap();
    assert!(
        text[..end].contains(
            "aws://222222222222/us-east-1: 1 stack: nothing changes; 1 resource unchanged"
        )
    );
    assert!(text[end..].starts_with("\n\naws://111111111111/eu-west-1\n\nHigh risk\n"), "{text}");
    assert_eq!(text[end..].matches("222222222222").count(), 0, "{text}");
}

#[test]
fn nothing_is_said_to_be_nothing() {
    let none = ChangeReport::default();
    assert_eq!(terminal(&none, Style::default()), "Nothing changes.\n");
    assert!(changes_markdown(&none, COMMENT_LIMIT).ends_with("\nNothing changes.\n"));
    let quiet = ChangeReport { environments: vec![quiet()], ..ChangeReport::default() };
    assert_eq!(
        terminal(&quiet, Style::default()),
        "aws://222222222222/us-east-1: 1 stack: nothing changes; 1 resource unchanged\n"
    );
}

#[test]
fn every_effect_has_its_sign() {
    let sign = |before: &str, after: &str, effect, certainty| {
        let one = ComponentChange { certainty, ..change("T", before, after, effect) };
        let text = terminal(&of(vec![one]), Style::default());
        let start = text.find('[').unwrap();
        text[start..=text.find(']').unwrap()].to_owned()
    };
    let certain = Certainty::Certain;
    for (effect, expected) in [
        (ChangeEffect::Add, "[+]"),
        (ChangeEffect::Update, "[~]"),
        (ChangeEffect::Replace, "[±]"),
        (ChangeEffect::Remove, "[-]"),
        (ChangeEffect::Retain, "[↷]"),
        (ChangeEffect::TemplateOnly, "[·]"),
    ] {
        assert_eq!(sign("A.X", "A.X", effect, certain), expected);
    }
    assert_eq!(sign("A.X", "B.X", ChangeEffect::Nothing, certain), "[≡]");
    assert_eq!(sign("A.X", "B.X", ChangeEffect::Update, certain), "[≡~]");
    assert_eq!(sign("A.X", "A.X", ChangeEffect::Replace, Certainty::Possible), "[±?]");
}

/// Ten ways to change, forty resources each; names and some values differ for each of them.
fn four_hundred() -> ChangeReport {
    let one = |shape: usize, n: usize| {
        let id = format!("Stack{}.R{shape}x{n}", n % 8);
        let own = |what: &str| format!("\"{what}{n}\"");
        let kind = format!("AWS::Test::Shape{shape}");
        match shape {
            0 => change(&kind, "", &id, ChangeEffect::Add),
            1 => change(&kind, &id, "", ChangeEffect::Remove),
            2 => change(&kind, &format!("Old.R{n}"), &id, ChangeEffect::Nothing),
            _ => {
                let own = property("Properties.Own", &own("a"), &own("b"));
                let same = property(&format!("Properties.P{shape}"), "1", "2");
                let cause = Some(format!("`Stack.X{n}` is replaced"));
                let caused = PropertyReport { cause, ..property("Properties.X", "1", "1") };
                ComponentChange {
                    properties: vec![own, same, caused],
                    ..change(&kind, &id, &id, ChangeEffect::Update)
                }
            }
        }
    };
    of((0..400).map(|n| one(n / 40, n % 40)).collect())
}

#[test]
fn four_hundred_changes_of_ten_shapes_are_a_page() {
    let text = terminal(&four_hundred(), Style::default());
    insta::assert_snapshot!(text);
    assert!(text.lines().count() <= 45, "{}\n{text}", text.lines().count());
    assert!(text.lines().all(|line| line.chars().count() <= 160), "{text}");
}

#[test]
fn equal_dangers_are_said_once_with_their_first_places() {
    let high = |n: usize| {
        let mut one = change("T", &format!("A.X{n}"), &format!("A.X{n}"), ChangeEffect::Remove);
        one.risk = Risk::High;
        one.danger = Some("It is deleted with all that it holds.".into());
        one
    };
    let report = of((0..30).map(high).collect());
    for (style, shown) in [(Style::default(), 10), (VERBOSE, 30)] {
        let text = terminal(&report, style);
        assert_eq!(text.matches("It is deleted").count(), 1, "{text}");
        for n in 0..30 {
            assert_eq!(text.contains(&format!("A.X{n}\n")), n < shown, "{text}");
        }
        assert_eq!(text.contains("… and 20 more (--verbose lists them)"), shown < 30, "{text}");
        assert!(text.contains("30 removals (high risk)"), "{text}");
    }
}

#[test]
fn the_gravest_dangers_come_first() {
    let high = |place: &str, danger: Option<&str>, certainty| ComponentChange {
        risk: Risk::High,
        danger: danger.map(Into::into),
        certainty,
        ..change("T", place, place, ChangeEffect::Replace)
    };
    let text = terminal(
        &of(vec![
            high("A.Broader", None, Certainty::Certain),
            high("A.MayBeLost", Some("It may be lost."), Certainty::Possible),
            high("A.Lost", Some("It is lost."), Certainty::Certain),
        ]),
        Style::default(),
    );
    let at = ["A.Lost", "A.MayBeLost", "A.Broader"].map(|place| text.find(place).unwrap());
    assert!(at.is_sorted(), "{text}");
}

#[test]
fn what_a_new_policy_permits_is_said_beside_it() {
    let policy = ComponentChange {
        risk: Risk::High,
        ..change("AWS::S3::BucketPolicy", "", "Files.Policy", ChangeEffect::Add)
    };
    let broader = environment().permissions.into_iter().find(|one| one.broadens).unwrap();
    let permissions = vec![PermissionChange {
        stack: "Files".into(),
        logical_id: "Policy".into(),
        kind: PermissionKind::Statement,
        added: true,
        text: ["Allow", "s3:GetObject\ns3:ListBucket", "${Files.Images.Arn}/*", "*", ""]
            .map(str::to_owned)
            .to_vec(),
        ..broader
    }];
    let one = EnvironmentReport { changes: vec![policy], permissions, ..quiet() };
    let report = ChangeReport { environments: vec![one], ..ChangeReport::default() };
    let text = terminal(&report, Style::default());
    let line = "+ Allow s3:GetObject, s3:ListBucket on ${Files.Images.Arn}/* to *";
    assert!(text.contains(line), "{text}");
    let text = changes_markdown(&report, COMMENT_LIMIT);
    assert!(text.contains("- `+` `Allow` `s3:GetObject, s3:ListBucket` on"), "{text}");
}

#[test]
fn a_comment_lists_what_only_moves_once() {
    let text = changes_markdown(&report(), COMMENT_LIMIT);
    for change in environment().changes.iter().filter(|one| only_moves(one)) {
        let place = change.before.as_ref().unwrap();
        let name = format!("`{}.{}`", place.stack, place.logical_id);
        assert_eq!(text.matches(&name).count(), 1, "{name}: {text}");
    }
}

#[test]
fn what_is_lost_is_said_even_if_a_rule_calls_it_harmless() {
    let mut one = change("T", "A.X", "", ChangeEffect::Remove);
    one.risk = Risk::Low;
    one.danger = Some("It is deleted with all that it holds.".into());
    one.rule = Some("we know".into());
    let report = of(vec![one]);
    for text in [terminal(&report, Style::default()), changes_markdown(&report, COMMENT_LIMIT)] {
        assert!(text.contains("It is deleted with all"), "{text}");
        assert!(text.contains("low risk: we know"), "{text}");
    }
}

/// What is dangerous comes first, and what is left out is counted.
#[test]
fn a_comment_is_never_longer_than_its_limit() {
    let mut report = four_hundred();
    let danger = change("T", "A.Danger", "", ChangeEffect::Remove);
    let danger = ComponentChange { danger: Some("It is lost.".into()), ..danger };
    report.environments[0].changes.push(danger);
    report.environments[0].permissions = environment().permissions;
    let whole = changes_markdown(&report, COMMENT_LIMIT);
    assert!(!whole.contains("Left out"), "{whole}");
    for limit in [800, 1_000, 2_000, 3_000, 5_000, 8_000] {
        let text = changes_markdown(&report, limit);
        assert!(text.chars().count() <= limit, "{limit}: {}", text.chars().count());
        assert!(text.contains("A.Danger") && text.contains("It is lost."), "{limit}: {text}");
        assert_eq!(text.matches("<details>").count(), text.matches("</details>").count());
        let is_cut = text.len() < whole.len();
        assert_eq!(text.contains("Left out: "), is_cut, "{limit}: {text}");
    }
    let text = changes_markdown(&report, 2_000);
    assert!(text.contains(" other changes, the places of "), "{text}");
    assert!(!text.contains("dangerous change"), "{text}");
}

#[test]
fn dangers_that_do_not_fit_are_counted() {
    let danger = |n: usize| ComponentChange {
        danger: Some(format!("It holds {n} things.")),
        ..change("T", &format!("A.X{n}"), "", ChangeEffect::Remove)
    };
    let text = changes_markdown(&of((0..100).map(danger).collect()), 2_000);
    assert!(text.len() <= 2_000);
    let shown = text.matches("It holds").count();
    assert!(shown > 10, "{text}");
    let left = 100 - shown;
    assert!(text.contains(&format!("Left out: **{left} dangerous changes**")), "{text}");
}

#[test]
fn of_many_equal_dangers_as_many_places_are_shown_as_fit() {
    let danger = |n: usize| ComponentChange {
        danger: Some("It is lost.".into()),
        ..change("T", &format!("A.X{n}"), "", ChangeEffect::Remove)
    };
    let text = changes_markdown(&of((0..1_000).map(danger).collect()), 5_000);
    let shown = text.matches("`A.X").count();
    assert!(text.len() <= 5_000 && shown > 200, "{text}");
    assert!(text.contains(&format!("**{} dangerous changes**", 1_000 - shown)), "{text}");
}

/// A report of which every text wants to be something else.
fn hostile(text: &str) -> ChangeReport {
    let value = || Some(Value::from(text));
    let mut changes = Vec::new();
    for effect in [ChangeEffect::Nothing, ChangeEffect::Update, ChangeEffect::Replace] {
        for risk in [Risk::High, Risk::Unknown] {
            let one = property("p", "1", "2");
            let one = PropertyReport {
                old_path: Some(text.into()),
                new_path: Some(format!("{text}x")),
                old: value(),
                new: Some(Value::Array(value().into_iter().collect())),
                cause: Some(text.into()),
                ..one
            };
            let mut change = change(text, "A.X", "B.Y", effect);
            for place in [&mut change.before, &mut change.after].into_iter().flatten() {
                place.stack = text.into();
                place.path = Some(text.into());
            }
            changes.push(ComponentChange {
                risk,
                physical_id: Some(text.into()),
                evidence: Some(text.into()),
                rule: Some(text.into()),
                causes: vec![text.into()],
                properties: vec![one],
                ..change
            });
        }
    }
    let mut environment =
        EnvironmentReport { changes, environment: Environment::new(text, text), ..quiet() };
    environment.stacks[0].name = text.into();
    environment.stacks[0].fate = StackFate::New;
    ChangeReport { environments: vec![environment.clone(), environment], ..ChangeReport::default() }
}

#[test]
fn hostile_names_do_not_reach_the_terminal() {
    let text = "\u{1b}]0;owned\u{7}\u{9b}2J\u{202e}\r\n| x |";
    let report = hostile(text);
    for paths in [false, true] {
        for verbose in [false, true] {
            let style = Style { paths, verbose, ..Style::default() };
            for out in [
                terminal(&report, style),
                changes_json(&report),
                changes_markdown(&report, COMMENT_LIMIT),
            ] {
                let found: Vec<_> =
                    out.chars().filter(|c| *c != '\n' && text::is_hostile(*c)).collect();
                assert!(found.is_empty(), "{found:?}");
            }
        }
    }
    let parsed = parse(&changes_json(&report)).unwrap();
    let environments = parsed.get("environments").and_then(Value::as_array).unwrap();
    assert_eq!(environments[0].get("account"), Some(&Value::from(text)));
}

/// Outside of code, of which there is as much as fences say, nothing of them is left.
#[test]
fn markup_in_names_means_nothing_in_a_comment() {
    for hostile_text in [
        "</details><img src=x onerror=alert(1)>",
        "@team #12 https://a.example [x](http://y) *b* <!-- c -->",
        "``</details>`",
        "` @team",
    ] {
        let text = changes_markdown(&hostile(hostile_text), COMMENT_LIMIT);
        for line in text.lines().skip(1) {
            let bare = without_code(line);
            let ours = bare.starts_with("<details>") || bare == "</details>";
            assert!(
                ours || !bare.contains(['<', '@', '#', '[']) || bare.starts_with("###"),
                "{line}"
            );
        }
    }
}

/// A line without its spans of code.
fn without_code(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some(start) = rest.find('`') {
        out.push_str(&rest[..start]);
        rest = &rest[start..];
        let fence = rest.len() - rest.trim_start_matches('`').len();
        let (open, inner) = rest.split_at(fence);
        let mut end = None;
        let mut at = 0;
        while let Some(next) = inner[at..].find('`') {
            let run = &inner[at + next..];
            let length = run.len() - run.trim_start_matches('`').len();
            if length == fence {
                end = Some(at + next + length);
                break;
            }
            at += next + length;
        }
        match end {
            Some(end) => rest = &inner[end..],
            None => {
                out.push_str(open);
                rest = inner;
            }
        }
    }
    out + rest
}
