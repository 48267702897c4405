//! What dangerous changes permit: said beside them, unless their properties say it.

use std::collections::BTreeMap;

use super::phrase::Phrase;
use crate::analyze::PermissionKind;
use crate::analyze::{ComponentChange, EnvironmentReport, PermissionChange};

/// Permissions that may permit more than before, by stack and logical ID.
pub(super) struct Permits<'r>(BTreeMap<(&'r str, &'r str), Vec<&'r PermissionChange>>);

impl<'r> Permits<'r> {
    pub(super) fn of(report: &'r EnvironmentReport) -> Self {
        let mut all: BTreeMap<(&str, &str), Vec<&PermissionChange>> = BTreeMap::new();
        for one in report.permissions.iter().filter(|one| one.broadens) {
            all.entry((&one.stack, &one.logical_id)).or_default().push(one);
        }
        Self(all)
    }

    /// Returns what a change permits: `+ Allow s3:GetObject on * to *`.
    pub(super) fn lines(&self, change: &ComponentChange) -> Vec<Phrase> {
        let after = change.after.as_ref();
        let before = change.before.as_ref().filter(|_| change.has_another_place());
        let before = before.or(change.before.as_ref().filter(|_| after.is_none()));
        let places = after.into_iter().chain(before);
        let found = places.filter_map(|place| self.0.get(&(&*place.stack, &*place.logical_id)));
        found.flatten().map(|one| line(one)).collect()
    }
}

fn line(permission: &PermissionChange) -> Phrase {
    let sign = if permission.added { "+" } else { "-" };
    let cells = permission.text.iter().map(|cell| cell.replace('\n', ", "));
    let cells: Vec<String> = cells.collect();
    let phrase = Phrase::default().code(sign).words(" ");
    let (PermissionKind::Statement, [effect, action, resource, principal, condition]) =
        (permission.kind, cells.as_slice())
    else {
        let full = cells.into_iter().filter(|cell| !cell.is_empty());
        return phrase.and(Phrase::joined(full.map(|cell| Phrase::default().code(cell)), ", "));
    };
    let part = |words: &str, cell: &str| match cell {
        "" => Phrase::default(),
        cell => Phrase::default().words(words).code(cell),
    };
    phrase
        .and(part("", effect))
        .and(part(" ", action))
        .and(part(" on ", resource))
        .and(part(" to ", principal))
        .and(part(" if ", condition))
}
