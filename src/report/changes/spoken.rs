//! Changes of which rules speak, in few lines.

use super::super::text::{columns, paint, plain};
use crate::analyze::{Action, ChangeReport, ComponentChange};
use crate::model::Environment;

/// Returns the changes of which a rule says what is to be done.
pub fn with_action(report: &ChangeReport, action: Action) -> Vec<(&Environment, &ComponentChange)> {
    let all = report.environments.iter();
    let all = all.flat_map(|one| one.changes.iter().map(move |change| (&one.environment, change)));
    all.filter(|(_, change)| change.action == Some(action)).collect()
}

/// Renders changes with the rules that speak of them, by environment.
pub fn spoken(heading: &str, changes: &[(&Environment, &ComponentChange)]) -> String {
    let mut lines = vec![paint::loss(heading)];
    let rows = changes.iter().map(|(_, change)| {
        let kind =
            change.subtype.as_ref().map_or_else(|| change.kind.to_string(), ToString::to_string);
        let place = change.place().map(|place| format!("{}.{}", place.stack, place.logical_id));
        let rule = change.rule.clone().unwrap_or_default();
        [kind, place.unwrap_or_default(), rule].map(|text| plain(&text).into_owned()).to_vec()
    });
    let rows = columns(&rows.collect::<Vec<_>>());
    let mut environment: Option<&Environment> = None;
    for (line, (own, _)) in rows.into_iter().zip(changes) {
        if environment != Some(*own) {
            environment = Some(own);
            lines.push(format!("  in {own}:"));
        }
        lines.push(format!("  {line}"));
    }
    lines.join("\n") + "\n"
}
