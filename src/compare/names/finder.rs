//! Finds the names of known constructs in texts.

use std::collections::{HashMap, HashSet};

use aho_corasick::{AhoCorasick, MatchKind};

use super::generate::{
    HASH_DIGITS, address, human_part, path_hash, short_address, split_in_middle, visible,
};

/// Lengths to which the framework cuts unique names.
const COMMON_LIMITS: [usize; 12] = [32, 48, 50, 60, 63, 64, 80, 100, 128, 140, 255, 256];

/// Characters that the framework puts between the parts of unique names.
const SEPARATORS: [&str; 6] = ["", "-", "_", ".", "/", ":"];

/// Special characters that resources allow in unique names.
const KEPT: [&str; 2] = ["", "-_./"];

/// A construct whose names are to be found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::compare) struct KnownConstruct<'a> {
    /// The whole path.
    pub(in crate::compare) path: &'a str,
    /// How many components belong to the stack.
    pub(in crate::compare) stack_components: usize,
    /// The name of the stack.
    pub(in crate::compare) stack_name: &'a str,
}

/// How a name is made of a path. Two names correspond only if they are made in the same way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::compare) enum Form {
    /// A unique id or unique resource name.
    Unique {
        /// Where the components start: the root, the stack's name, or below the stack.
        start: Start,
        /// Which of the separators.
        separator: u8,
        /// Which of the sets of kept characters.
        kept: u8,
        /// All letters are small.
        lower: bool,
    },
    /// `node.addr`, whole or its last eight digits.
    Address {
        /// Only the last digits.
        short: bool,
    },
    /// The path of the construct, with or without the stack.
    Path {
        /// With the stack.
        whole: bool,
    },
    /// The name of a stack.
    StackName,
    /// The bare id of a construct.
    Id,
}

/// Where the components of a unique name start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(in crate::compare) enum Start {
    Root,
    StackName,
    BelowStack,
}

/// A name that was found in a text.
#[derive(Clone, Debug)]
pub(in crate::compare) struct Token {
    /// As it is written.
    pub(in crate::compare) text: String,
    /// How it is made, and of which constructs it may be.
    pub(in crate::compare) readings: Vec<(Form, String)>,
}

/// Where a name was found.
struct Hit {
    start: usize,
    end: usize,
    mask: char,
    readings: Vec<(Form, String)>,
}

#[derive(Clone, Copy)]
enum Hashed {
    Unique(u32, Start),
    Address(u32),
}

struct OwnedConstruct {
    path: String,
    stack_components: usize,
    stack_name: String,
}

/// Finds names in texts.
pub(in crate::compare) struct Finder {
    constructs: Vec<OwnedConstruct>,
    hashed: HashMap<u32, Vec<Hashed>>,
    humans: HashMap<String, Vec<(u32, Start)>>,
    words: Option<AhoCorasick>,
    readings: Vec<Vec<(Form, String)>>,
    whole_paths: HashSet<String>,
}

impl OwnedConstruct {
    /// Returns the components from `start` on, without `Default`.
    fn components(&self, start: Start) -> Vec<&str> {
        let all: Vec<&str> = self.path.split('/').collect();
        let below = self.stack_components.min(all.len());
        match start {
            Start::Root => visible(&all),
            Start::BelowStack => visible(&all[below..]),
            Start::StackName => {
                let mut components = vec![self.stack_name.as_str()];
                components.extend(visible(&all[below..]));
                components
            }
        }
    }

    fn starts(&self) -> impl Iterator<Item = Start> {
        let stack_path_is_name =
            self.path.split('/').take(self.stack_components).eq([self.stack_name.as_str()]);
        [Start::Root, Start::BelowStack, Start::StackName]
            .into_iter()
            .filter(move |start| *start != Start::StackName || !stack_path_is_name)
    }
}

impl Finder {
    /// Makes a finder for the names of these constructs, of these stacks (name and path of the
    /// stack's construct), and, if asked for, of these bare ids.
    pub(in crate::compare) fn new(
        constructs: &[KnownConstruct<'_>],
        stack_names: &[(String, String)],
        ids: &HashSet<&str>,
    ) -> Self {
        let constructs: Vec<_> = constructs
            .iter()
            .map(|known| OwnedConstruct {
                path: known.path.to_owned(),
                stack_components: known.stack_components,
                stack_name: known.stack_name.to_owned(),
            })
            .collect();
        let mut hashed: HashMap<u32, Vec<Hashed>> = HashMap::new();
        let mut humans: HashMap<String, Vec<(u32, Start)>> = HashMap::new();
        let mut words: HashMap<String, Vec<(Form, String)>> = HashMap::new();
        for (at, construct) in (0u32..).zip(&constructs) {
            for start in construct.starts() {
                let components = construct.components(start);
                if components.is_empty() {
                    continue;
                }
                if components.len() > 1 {
                    let hash = path_hash(&components);
                    hashed.entry(hash).or_default().push(Hashed::Unique(at, start));
                }
                humans.entry(human_part(&components, "", "")).or_default().push((at, start));
            }
            let all: Vec<&str> = construct.path.split('/').collect();
            hashed.entry(short_address(&all)).or_default().push(Hashed::Address(at));
            let mut word = |text: String, form| {
                words.entry(text).or_default().push((form, construct.path.clone()));
            };
            if all.len() > 1 {
                word(construct.path.clone(), Form::Path { whole: true });
            }
            if all.len() > construct.stack_components + 1 {
                word(all[construct.stack_components..].join("/"), Form::Path { whole: false });
            }
            let id = all[all.len() - 1];
            if all.len() > construct.stack_components && ids.contains(id) {
                word(id.to_owned(), Form::Id);
            }
        }
        for (name, path) in stack_names {
            words.entry(name.clone()).or_default().push((Form::StackName, path.clone()));
        }
        let mut words: Vec<_> = words.into_iter().collect();
        words.sort_unstable_by(|left, right| left.0.cmp(&right.0));
        let automaton = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(words.iter().map(|(word, _)| word))
            .ok()
            .filter(|_| !words.is_empty());
        let whole_paths = words.iter().map(|(word, _)| word.clone()).collect();
        let readings = words.into_iter().map(|(_, readings)| readings).collect();
        Self { constructs, hashed, humans, words: automaton, readings, whole_paths }
    }

    /// Returns the text with every name replaced by a mark for its form, and adds the names to
    /// `tokens`; `None` if there is no name in it.
    pub(in crate::compare) fn mask(&self, text: &str, tokens: &mut Vec<Token>) -> Option<String> {
        if text.len() < 3 {
            return None;
        }
        let hits = self.hits(text);
        if hits.is_empty() {
            return None;
        }
        let mut masked = String::with_capacity(text.len());
        let mut at = 0;
        for hit in hits {
            masked.push_str(&text[at..hit.start]);
            masked.push('\u{1}');
            masked.push(hit.mask);
            at = hit.end;
            tokens
                .push(Token { text: text[hit.start..hit.end].to_owned(), readings: hit.readings });
        }
        masked.push_str(&text[at..]);
        Some(masked)
    }

    fn hits(&self, text: &str) -> Vec<Hit> {
        let mut hits = self.hashed_hits(text);
        if let Some(words) = &self.words {
            let taken: Vec<(usize, usize)> = hits.iter().map(|hit| (hit.start, hit.end)).collect();
            for found in words.find_iter(text) {
                if taken.iter().any(|(start, end)| found.start() < *end && *start < found.end()) {
                    continue;
                }
                hits.extend(self.word_hit(
                    text,
                    found.start(),
                    found.end(),
                    found.pattern().as_usize(),
                ));
            }
            hits.sort_unstable_by_key(|hit| hit.start);
        }
        hits
    }

    /// A path or another whole word. If a longer word was found than the text has, its parent
    /// may still be meant: in `App/Web/Sg2` there is no `App/Web/Sg`, but `App/Web`.
    fn word_hit(&self, text: &str, start: usize, end: usize, pattern: usize) -> Option<Hit> {
        let inside = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
        if inside(text[..start].chars().next_back()) {
            return None;
        }
        if !inside(text[end..].chars().next()) {
            let readings = self.readings[pattern].clone();
            let mask = mask_of(&readings);
            return Some(Hit { start, end, mask, readings });
        }
        let mut word = &text[start..end];
        while let Some((parent, _)) = word.rsplit_once('/') {
            word = parent;
            if self.whole_paths.contains(word) {
                let found = self.words.as_ref()?.find(word)?;
                let readings = self.readings[found.pattern().as_usize()].clone();
                let mask = mask_of(&readings);
                return Some(Hit { start, end: start + word.len(), mask, readings });
            }
        }
        None
    }

    /// Names that end in eight hexadecimal digits.
    fn hashed_hits(&self, text: &str) -> Vec<Hit> {
        let bytes = text.as_bytes();
        let mut hits: Vec<Hit> = Vec::new();
        let mut run = 0;
        for (at, byte) in bytes.iter().enumerate() {
            run = if byte.is_ascii_hexdigit() { run + 1 } else { 0 };
            if run < HASH_DIGITS {
                continue;
            }
            let digits = &text[at + 1 - HASH_DIGITS..=at];
            let Ok(hash) = u32::from_str_radix(digits, 16) else { continue };
            let hit = match self.hashed.get(&hash) {
                Some(candidates) => self.known_hit(text, at + 1, candidates),
                None => self.unknown_hit(text, at + 1, hash),
            };
            // A name may contain another one: ids of constructs do.
            let Some(hit) = hit else { continue };
            if hits.last().is_some_and(|last| last.start < hit.start && hit.start < last.end) {
                continue;
            }
            while hits.last().is_some_and(|last| hit.start <= last.start) {
                hits.pop();
            }
            hits.push(hit);
        }
        hits
    }

    /// The hash is that of known constructs: is the rest of the name theirs as well?
    fn known_hit(&self, text: &str, end: usize, candidates: &[Hashed]) -> Option<Hit> {
        let digits = &text[end - HASH_DIGITS..end];
        let head = &text[..end - HASH_DIGITS];
        // Eight digits without a letter belong to names in either case.
        let may_be_upper = !digits.bytes().any(|b| b.is_ascii_lowercase());
        let may_be_lower = !digits.bytes().any(|b| b.is_ascii_uppercase());
        let mut best: Option<(usize, Vec<(Form, String)>)> = None;
        for candidate in candidates {
            let (index, found) = match *candidate {
                Hashed::Unique(index, start) => {
                    let components = self.constructs[index as usize].components(start);
                    let found = [(may_be_upper, false), (may_be_lower, true)]
                        .into_iter()
                        .filter(|(possible, _)| *possible)
                        .find_map(|(_, lower)| unique_form(head, &components, start, lower));
                    (index, found)
                }
                Hashed::Address(index) if may_be_lower => {
                    let all: Vec<&str> = self.constructs[index as usize].path.split('/').collect();
                    let whole = address(&all);
                    let before = &whole[..whole.len() - HASH_DIGITS];
                    let short = !head.ends_with(before);
                    let length = if short { 0 } else { before.len() };
                    (index, Some((length, Form::Address { short })))
                }
                Hashed::Address(_) => continue,
            };
            let Some((length, form)) = found else { continue };
            let reading = (form, self.constructs[index as usize].path.clone());
            match &mut best {
                Some((longest, readings)) if *longest == length => readings.push(reading),
                Some((longest, _)) if *longest > length => {}
                _ => best = Some((length, vec![reading])),
            }
        }
        let (length, readings) = best?;
        let mask = mask_of(&readings);
        Some(Hit { start: end - HASH_DIGITS - length, end, mask, readings })
    }

    /// The hash is of no known construct, but the word may start like a known one: then it is
    /// a construct below it that makes no resources, and the hash proves it.
    fn unknown_hit(&self, text: &str, end: usize, hash: u32) -> Option<Hit> {
        let head = &text[..end - HASH_DIGITS];
        let word_start = head
            .char_indices()
            .rev()
            .take_while(|(_, c)| c.is_ascii_alphanumeric())
            .last()
            .map(|(at, _)| at)?;
        let word = &head[word_start..];
        for length in (1..word.len()).rev() {
            let Some(known) = self.humans.get(&word[..length]) else { continue };
            let mut readings = Vec::new();
            for &(index, start) in known {
                let construct = &self.constructs[index as usize];
                let mut components = construct.components(start);
                components.push(&word[length..]);
                if path_hash(&components) == hash {
                    let form = Form::Unique { start, separator: 0, kept: 0, lower: false };
                    readings.push((form, format!("{}/{}", construct.path, &word[length..])));
                }
            }
            if !readings.is_empty() {
                let mask = mask_of(&readings);
                return Some(Hit { start: word_start, end, mask, readings });
            }
        }
        None
    }
}

/// One mark for each kind of name; which form exactly is a matter of the proof.
fn mask_of(readings: &[(Form, String)]) -> char {
    match readings.first().map(|(form, _)| *form) {
        Some(Form::Unique { .. }) => 'U',
        Some(Form::Address { .. }) => 'A',
        Some(Form::Path { .. }) => 'P',
        Some(Form::StackName | Form::Id) | None => 'I',
    }
}

/// Returns how long the readable part before the hash is, if `head` ends with that of these
/// components, and how it is made.
fn unique_form(
    head: &str,
    components: &[&str],
    start: Start,
    lower: bool,
) -> Option<(usize, Form)> {
    let mut best = None;
    for (separator_index, separator) in (0u8..).zip(SEPARATORS) {
        for (kept_index, kept) in (0u8..).zip(KEPT) {
            let mut human = human_part(components, separator, kept);
            human.push_str(separator);
            if lower {
                human.make_ascii_lowercase();
            }
            let form = Form::Unique { start, separator: separator_index, kept: kept_index, lower };
            let length = matching_length(head, &human);
            if length.is_some() && length > best.map(|(length, _)| length) {
                best = length.map(|length| (length, form));
            }
        }
    }
    best
}

/// Returns the length of the end of `head` that is `human`, whole or cut to one of the lengths
/// that the framework cuts names to.
fn matching_length(head: &str, human: &str) -> Option<usize> {
    if head.ends_with(human) {
        return Some(human.len());
    }
    // Names that keep only their end fill the whole text.
    if !head.is_empty()
        && human.ends_with(head)
        && COMMON_LIMITS.contains(&(head.len() + HASH_DIGITS))
    {
        return Some(head.len());
    }
    let cut = |length: usize| {
        split_in_middle(human, length)
            .filter(|part| head.ends_with(part.as_str()))
            .map(|part| part.len())
    };
    COMMON_LIMITS
        .iter()
        .find_map(|limit| cut(limit - HASH_DIGITS))
        .or_else(|| human.get(..240).filter(|part| head.ends_with(part)).map(str::len))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finder(paths: &[&str], ids: &[&str]) -> Finder {
        let constructs: Vec<_> = paths
            .iter()
            .map(|path| KnownConstruct { path, stack_components: 1, stack_name: "App" })
            .collect();
        Finder::new(&constructs, &[], &ids.iter().copied().collect())
    }

    fn mask(finder: &Finder, text: &str) -> Option<String> {
        finder.mask(text, &mut Vec::new())
    }

    #[test]
    fn unique_ids_are_found_inside_other_text() {
        let finder = finder(&["App/Shop/Lb"], &[]);
        let below = super::super::unique_id(&["Shop", "Lb"]);
        let whole = super::super::unique_id(&["App", "Shop", "Lb"]);
        assert_eq!(mask(&finder, &format!("from {below}:80")).unwrap(), "from \u{1}U:80");
        assert_eq!(mask(&finder, &format!("x-{whole}")).unwrap(), "x-\u{1}U");
        assert_eq!(mask(&finder, &whole.to_lowercase()).unwrap(), "\u{1}U");
    }

    #[test]
    fn paths_are_found_as_whole_words_only() {
        let finder = finder(&["App/Web", "App/Web/Sg"], &[]);
        assert_eq!(mask(&finder, "App/Web/Sg"), Some("\u{1}P".into()));
        assert_eq!(mask(&finder, "for App/Web/Sg."), Some("for \u{1}P.".into()));
        assert_eq!(mask(&finder, "App/Web/Sg2"), Some("\u{1}P/Sg2".into()));
        assert_eq!(mask(&finder, "MyApp/Web"), None);
        assert_eq!(mask(&finder, "App/Website"), None);
    }

    #[test]
    fn a_construct_without_resources_is_recognised_by_its_hash() {
        let finder = finder(&["App/Dist"], &[]);
        let name = super::super::unique_id(&["App", "Dist", "Origin1"]);
        let mut tokens = Vec::new();
        assert_eq!(finder.mask(&name, &mut tokens), Some("\u{1}U".into()));
        assert_eq!(tokens[0].readings[0].1, "App/Dist/Origin1");
        assert_eq!(mask(&finder, "AppDistOrigin1DEADBEEF"), None);
    }

    #[test]
    fn names_cut_in_the_middle_are_found() {
        let long = "VeryLongConstructName".repeat(3);
        let finder = finder(&[&format!("App/{long}")], &[]);
        let components = ["App", long.as_str()];
        let human = human_part(&components, "", "");
        let name =
            format!("{}{:08X}", split_in_middle(&human, 24).unwrap(), path_hash(&components));
        assert_eq!(name.len(), 32);
        assert_eq!(mask(&finder, &name), Some("\u{1}U".into()));
    }

    #[test]
    fn bare_ids_count_only_when_asked_for() {
        assert_eq!(mask(&finder(&["App/Orders"], &[]), "Orders-cluster"), None);
        let ids = finder(&["App/Orders"], &["Orders"]);
        assert_eq!(mask(&ids, "Orders-cluster"), Some("\u{1}I-cluster".into()));
    }

    #[test]
    fn addresses_are_found_whole_and_short() {
        let finder = finder(&["App/Deploy"], &[]);
        let whole = address(&["App", "Deploy"]);
        assert_eq!(mask(&finder, &whole), Some("\u{1}A".into()));
        let tag = format!("aws-cdk:cr-owned:{}", &whole[whole.len() - 8..]);
        assert_eq!(mask(&finder, &tag), Some("aws-cdk:cr-owned:\u{1}A".into()));
    }
}
