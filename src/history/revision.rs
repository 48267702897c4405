//! Events as people name them: `HEAD`, `HEAD~2`, the beginning of a hash.

use super::error::Head;
use super::hash::EventHash;
use super::log::Log;

/// The fewest digits by which an event is known.
const FEWEST: usize = 4;

/// Why a text names no event.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum RevisionError {
    /// It is written in another way.
    #[error(
        "`{0}` names no event: write `HEAD`, `HEAD~2`, or the first digits of a hash, at least \
         {FEWEST} of them"
    )]
    Malformed(String),
    /// No event is called so.
    #[error("there is no event `{0}` in the log; `cdkr history log --oneline` lists them")]
    Unknown(String),
    /// Several are.
    #[error("`{text}` is the beginning of several events: {}. Write more of it", shorts(.events))]
    Several {
        /// What was written.
        text: String,
        /// The events.
        events: Vec<EventHash>,
    },
    /// There is no event at all.
    #[error("the log is empty: there is no `HEAD`")]
    Empty,
    /// There are several last events.
    #[error(
        "the log has branched, so that there are several heads: {}. Name one of them, or merge \
         the branches with `cdkr history merge`", shorts(.0)
    )]
    Branched(Vec<EventHash>),
    /// It counts further back than there are events.
    #[error("`{text}`: the log begins with {}, and nothing is before it", .first.short())]
    TooFar {
        /// What was written.
        text: String,
        /// The first event.
        first: EventHash,
    },
    /// It counts back over a merge.
    #[error(
        "`{text}`: {} has merged {}, and each of them is the one before. Name the one that is \
         meant", .merge.short(), shorts(.parents)
    )]
    Merge {
        /// What was written.
        text: String,
        /// The merge.
        merge: EventHash,
        /// What it has merged.
        parents: Vec<EventHash>,
    },
}

fn shorts(events: &[EventHash]) -> String {
    events.iter().map(EventHash::short).collect::<Vec<_>>().join(" and ")
}

impl Log {
    /// Returns the event that a text names: `HEAD`, a hash or its beginning, each followed by any
    /// number of `~` (the event before) and `~N` (the N-th event before).
    ///
    /// # Errors
    /// When it names none, or not one alone.
    pub fn resolve(&self, text: &str) -> Result<EventHash, RevisionError> {
        let (start, steps) = text.split_at(text.find('~').unwrap_or(text.len()));
        let mut event = self.named(start, text)?;
        for count in steps.split('~').skip(1) {
            let count: usize = match count {
                "" => 1,
                count => count.parse().map_err(|_| RevisionError::Malformed(text.to_owned()))?,
            };
            for _ in 0..count {
                event = self.before(event, text)?;
            }
        }
        Ok(event)
    }

    fn named(&self, name: &str, text: &str) -> Result<EventHash, RevisionError> {
        if matches!(name, "HEAD" | "head" | "@") {
            return match self.heads()[..] {
                [] => Err(RevisionError::Empty),
                [Head { event, .. }] => Ok(event),
                ref several => {
                    let heads = several.iter().map(|head| head.event).collect();
                    Err(RevisionError::Branched(heads))
                }
            };
        }
        let name = name.to_ascii_lowercase();
        if name.len() < FEWEST || !name.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(RevisionError::Malformed(text.to_owned()));
        }
        let events = self.events().map(|(hash, _)| hash);
        let events: Vec<_> = events.filter(|hash| hash.to_string().starts_with(&name)).collect();
        match events[..] {
            [] => Err(RevisionError::Unknown(text.to_owned())),
            [event] => Ok(event),
            _ => Err(RevisionError::Several { text: text.to_owned(), events }),
        }
    }

    fn before(&self, hash: EventHash, text: &str) -> Result<EventHash, RevisionError> {
        let text = || text.to_owned();
        let parents = self.event(hash).map(|event| event.parents.as_slice()).unwrap_or_default();
        match parents {
            [] => Err(RevisionError::TooFar { text: text(), first: hash }),
            [parent] => Ok(*parent),
            several => {
                let parents = several.to_vec();
                Err(RevisionError::Merge { text: text(), merge: hash, parents })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::samples::{add, state, story};
    use crate::history::{MergeEvent, merge};

    #[test]
    fn an_event_is_known_by_its_place_and_by_its_first_digits() {
        let (log, hashes) = story(&[("Web.A:T", ""), ("Web.B:T", "Web.A>Web.B"), ("Web.C:T", "")]);
        for (text, at) in [("HEAD", 2), ("HEAD~", 1), ("HEAD~2", 0), ("HEAD~1~1", 0), ("@~0", 2)] {
            assert_eq!(log.resolve(text), Ok(hashes[at]), "{text}");
        }
        let full = hashes[1].to_string();
        for text in [&full, &full[..12], &full[..4], &full[..8].to_uppercase()] {
            assert_eq!(log.resolve(text), Ok(hashes[1]), "{text}");
        }
        assert_eq!(log.resolve(&format!("{}~1", &full[..6])), Ok(hashes[0]));
        let first = hashes[0];
        assert_eq!(
            log.resolve("HEAD~3"),
            Err(RevisionError::TooFar { text: "HEAD~3".into(), first })
        );
        for text in ["", "HEAD~x", "abc", "xyzt", "HEAD^^", "ab~-1"] {
            assert_eq!(log.resolve(text), Err(RevisionError::Malformed(text.into())), "{text}");
        }
        assert_eq!(log.resolve("0000000"), Err(RevisionError::Unknown("0000000".into())));
        assert_eq!(Log::default().resolve("HEAD"), Err(RevisionError::Empty));
    }

    #[test]
    fn digits_that_several_events_begin_with_are_refused_with_all_of_them() {
        let (mut log, mut hashes) = story(&[("Web.A:T", "")]);
        let begins = |hashes: &[EventHash]| {
            let mut starts: Vec<String> =
                hashes.iter().map(|hash| hash.to_string()[..4].to_owned()).collect();
            starts.sort();
            starts.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0].clone())
        };
        // A few hundred events share four digits sooner or later.
        let start = loop {
            if let Some(start) = begins(&hashes) {
                break start;
            }
            let stacks = format!("Web.A:T #{}", hashes.len());
            hashes.push(add(&mut log, hashes.last().copied(), &stacks, Vec::new()));
        };
        let error = log.resolve(&start).unwrap_err();
        let RevisionError::Several { events, .. } = &error else { panic!("{error}") };
        assert!(events.len() > 1);
        assert!(error.to_string().contains(&events[0].short()), "{error}");
    }

    #[test]
    fn nobody_guesses_which_branch_comes_before_a_merge() {
        let (log, hashes) = story(&[("Web.A:T", "")]);
        let (mut ours, mut theirs) = (log.clone(), log);
        add(&mut ours, Some(hashes[0]), "Web.A:T Web.B:T", Vec::new());
        add(&mut theirs, Some(hashes[0]), "Web.A:T Web.C:T", Vec::new());
        let both = MergeEvent { state: state("Web.A:T Web.B:T Web.C:T"), ..MergeEvent::default() };
        let merged = merge(&ours, &theirs, &both).unwrap();
        let error = merged.resolve("HEAD~1").unwrap_err().to_string();
        assert!(error.contains("each of them is the one before"), "{error}");
        let branched = ours.united(&theirs).unwrap();
        assert!(matches!(branched.resolve("HEAD"), Err(RevisionError::Branched(_))));
    }
}
