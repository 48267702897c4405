//! What is supported, as the README tells it: made from what the suite expects.

#![expect(unreachable_pub, reason = "a part of a test")]

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::Seen;
use super::fixtures::Release;

/// A line of the table: releases one after the other of which the same is true.
struct Row {
    first: Release,
    last: Release,
    schemas: (String, String),
    count: usize,
    truth: Truth,
}

/// What is true of a release.
#[derive(PartialEq, Eq)]
struct Truth {
    language: String,
    /// 0.38 is a last step before 1.0.
    major: u32,
    synthesizer: String,
    stages: &'static str,
    nested: &'static str,
}

impl Truth {
    fn of(release: &Release, seen: &Seen) -> Self {
        let has = |name: &str| seen.stacks.iter().any(|stack| stack == name);
        let by_pattern =
            seen.deployed[""].iter().any(|pattern| pattern == "**" || pattern.starts_with("Beta"));
        let is_deployed =
            seen.deployed[""].iter().any(|pattern| ["**", "Parts"].contains(&&**pattern));
        Self {
            language: release.language.clone(),
            major: release.version[0].max(1),
            synthesizer: seen.synthesizer.clone(),
            stages: match (has("Beta-Api"), by_pattern) {
                (false, _) => "-",
                (true, false) => "yes, as apps of their own",
                (true, true) => "yes",
            },
            nested: match (has("Parts"), is_deployed) {
                (false, _) => "-",
                (true, false) => "compared only",
                (true, true) => "yes",
            },
        }
    }
}

fn rows(all: &BTreeMap<String, Seen>) -> Vec<Row> {
    let mut releases: Vec<Release> = all.keys().map(|name| Release::of(name)).collect();
    releases.sort();
    let mut rows: Vec<Row> = Vec::new();
    for release in releases {
        let seen = &all[&release.name()];
        let truth = Truth::of(&release, seen);
        match rows.iter_mut().find(|row| row.truth == truth) {
            Some(row) => {
                row.count += 1;
                // A later variant does not make the line end earlier.
                row.schemas.1.clone_from(&seen.schema);
                row.last = release;
            }
            None => rows.push(Row {
                last: release.clone(),
                first: release,
                schemas: (seen.schema.clone(), seen.schema.clone()),
                count: 1,
                truth,
            }),
        }
    }
    rows
}

fn range(first: &str, last: &str) -> String {
    if first == last { first.to_owned() } else { format!("{first} to {last}") }
}

/// The table, with what was counted.
pub fn table(all: &BTreeMap<String, Seen>) -> String {
    let moves: usize = all.values().map(|seen| seen.moves.len()).sum();
    let plain = all.keys().filter(|name| Release::of(name).variant.is_none()).count();
    let upgrades = all.values().filter(|seen| seen.upgraded_from.is_some()).count();
    let mut out = format!(
        "One app, by {plain} releases of the framework and {} variants of them: all {moves} moves \
         are found, and no other.\nThe {upgrades} upgrades from one to the next move nothing and \
         replace nothing.\n\n",
        all.len() - plain
    );
    out += "| framework | language | tested | schema | synthesizer | read, compared | moved, deployed | stages | nested stacks |\n";
    out += "|---|---|---|---|---|---|---|---|---|\n";
    for row in rows(all) {
        let language = if row.truth.language == "js" { "JavaScript" } else { "Python" };
        // Writing to a string cannot fail.
        let _ = writeln!(
            out,
            "| {} | {language} | {} | {} | {} | yes | yes | {} | {} |",
            range(&row.first.number(), &row.last.number()),
            row.count,
            range(&row.schemas.0, &row.schemas.1),
            row.truth.synthesizer,
            row.truth.stages,
            row.truth.nested,
        );
    }
    out
}
