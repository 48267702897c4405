//! Changes of permissions, for somebody who has to agree to them.

use serde_json::{Value as Json, json};

use super::text::{count, grid, paint, plain};
use crate::analyze::{PermissionChange, PermissionKind};
use crate::model::Environment;

/// The version of the form for programs: raised when a field goes away or changes its meaning.
const VERSION: u32 = 1;

/// What is said of a kind of permissions: the title of its table, the columns, and its name and
/// those of its cells in the form for programs.
pub(super) struct Layout {
    pub(super) kind: PermissionKind,
    pub(super) title: &'static str,
    pub(super) columns: &'static [&'static str],
    name: &'static str,
    cells: &'static [&'static str],
}

pub(super) const LAYOUTS: &[Layout] = &[
    Layout {
        kind: PermissionKind::Statement,
        title: "Statements of Policies",
        columns: &["Effect", "Action", "Resource", "Principal", "Condition"],
        name: "statement",
        cells: &["effect", "action", "resource", "principal", "condition"],
    },
    Layout {
        kind: PermissionKind::ManagedPolicy,
        title: "Managed Policies",
        columns: &["Attached To", "Policy"],
        name: "managedPolicy",
        cells: &["holder", "policy"],
    },
    Layout {
        kind: PermissionKind::PermissionsBoundary,
        title: "Permissions Boundaries",
        columns: &["Limits", "Policy"],
        name: "permissionsBoundary",
        cells: &["holder", "policy"],
    },
    Layout {
        kind: PermissionKind::Membership,
        title: "Members of Groups",
        columns: &["User", "Group"],
        name: "membership",
        cells: &["user", "group"],
    },
    Layout {
        kind: PermissionKind::Assignment,
        title: "Assignments of Permission Sets",
        columns: &["Permission Set", "Principal", "Target"],
        name: "assignment",
        cells: &["permissionSet", "principal", "target"],
    },
    Layout {
        kind: PermissionKind::SecurityGroupRule,
        title: "Rules of Security Groups",
        columns: &["Group", "Direction", "Protocol", "Peer"],
        name: "securityGroupRule",
        cells: &["group", "direction", "protocol", "peer"],
    },
    Layout {
        kind: PermissionKind::PublicAccess,
        title: "Public Access",
        columns: &["Resource", "Setting", "Value"],
        name: "publicAccess",
        cells: &["resource", "setting", "value"],
    },
];

/// Renders the changes of permissions in an environment for a terminal: a table for each kind,
/// rows that come with `+`, rows that go with `-`, those that broaden marked by `!`. Colours are
/// in the text as escape sequences. Nothing changed: an empty text.
pub fn permissions(environment: &Environment, changes: &[PermissionChange]) -> String {
    if changes.is_empty() {
        return String::new();
    }
    let broader = changes.iter().filter(|change| change.broadens).count();
    let verdict = match broader {
        0 => "none of them broadens".to_owned(),
        _ => format!("{broader} of them (marked !) may permit more than before"),
    };
    let counted = count(changes.len(), "change");
    let place = environment.to_string();
    let heading = format!("{counted} of permissions in {}, {verdict}:", plain(&place));
    let mut blocks = vec![paint::heading(heading)];
    blocks.extend(LAYOUTS.iter().filter_map(|layout| table(layout, changes)));
    blocks.join("\n\n") + "\n"
}

fn table(layout: &Layout, changes: &[PermissionChange]) -> Option<String> {
    let rows: Vec<Vec<String>> =
        changes.iter().filter(|change| change.kind == layout.kind).map(row).collect();
    if rows.is_empty() {
        return None;
    }
    let mut header = vec![""];
    header.extend(layout.columns);
    header.push("Written In");
    Some(format!("{}\n{}", layout.title, grid(&header, rows)))
}

fn row(change: &PermissionChange) -> Vec<String> {
    let sign = if change.added { "+" } else { "-" };
    let sign = if change.broadens { format!("{sign} !") } else { sign.to_owned() };
    let mut row = vec![sign];
    row.extend(change.text.iter().map(|cell| lines(cell)));
    row.push(plain(&format!("{}.{}", change.stack, change.logical_id)).into_owned());
    row
}

/// A cell with its lines, each without anything that a terminal would take for a command.
fn lines(cell: &str) -> String {
    cell.split('\n').map(plain).collect::<Vec<_>>().join("\n")
}

/// Renders the changes of permissions in an environment as a JSON document (`version` 1).
pub fn permissions_json(environment: &Environment, changes: &[PermissionChange]) -> Json {
    let changes: Vec<Json> = changes.iter().filter_map(change_json).collect();
    json!({
        "version": VERSION,
        "account": environment.account.as_str(),
        "region": environment.region.as_str(),
        "changes": changes,
    })
}

fn change_json(change: &PermissionChange) -> Option<Json> {
    let layout = LAYOUTS.iter().find(|layout| layout.kind == change.kind)?;
    let says: serde_json::Map<String, Json> = layout
        .cells
        .iter()
        .zip(&change.text)
        .map(|(name, cell)| ((*name).to_owned(), Json::from(cell.as_str())))
        .collect();
    Some(json!({
        "kind": layout.name,
        "change": if change.added { "added" } else { "removed" },
        "broadens": change.broadens,
        "stack": change.stack,
        "logicalId": change.logical_id,
        "type": change.resource_type,
        "says": says,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(kind: PermissionKind, text: &[&str], marks: (bool, bool)) -> PermissionChange {
        PermissionChange {
            stack: "Web".to_owned(),
            logical_id: "Role1A2B".to_owned(),
            resource_type: "AWS::IAM::Role".to_owned(),
            kind,
            added: marks.0,
            broadens: marks.1,
            text: text.iter().map(|cell| (*cell).to_owned()).collect(),
        }
    }

    fn changes() -> Vec<PermissionChange> {
        vec![
            change(
                PermissionKind::Statement,
                &[
                    "Allow",
                    "s3:GetObject\ns3:PutObject",
                    "${Web.Bucket843D52FF.Arn}/*",
                    "AWS:${Web.Role1A2B}",
                    "Bool aws:securetransport = true",
                ],
                (true, true),
            ),
            change(
                PermissionKind::Statement,
                &["Deny", "all but\niam:*", "*", "AWS:${Web.Role1A2B}", ""],
                (false, true),
            ),
            change(
                PermissionKind::ManagedPolicy,
                &["${Web.Role1A2B}", "arn:${AWS::Partition}:iam::aws:policy/ReadOnlyAccess"],
                (false, false),
            ),
            change(
                PermissionKind::SecurityGroupRule,
                &["${Web.Group}", "In", "TCP 443", "0.0.0.0/0"],
                (true, true),
            ),
            change(
                PermissionKind::PublicAccess,
                &["${Web.Url}", "AuthType", "NO\u{1b}[2JNE"],
                (true, true),
            ),
        ]
    }

    fn environment() -> Environment {
        Environment::new("111111111111", "eu-west-1")
    }

    #[test]
    fn permissions_are_tables_one_for_each_kind() {
        let text = permissions(&environment(), &changes());
        let text = anstream::adapter::strip_str(&text).to_string();
        insta::assert_snapshot!(text);
    }

    #[test]
    fn permissions_for_programs_name_each_cell() {
        let document = permissions_json(&environment(), &changes()[..1]);
        insta::assert_snapshot!(serde_json::to_string_pretty(&document).unwrap());
    }

    #[test]
    fn where_no_permission_changes_nothing_is_said() {
        assert_eq!(permissions(&environment(), &[]), "");
    }

    #[test]
    fn every_kind_of_permission_has_a_layout_with_a_name_for_each_cell() {
        for layout in LAYOUTS {
            assert_eq!(layout.columns.len(), layout.cells.len(), "{}", layout.title);
        }
    }
}
