//! Finds the names of known constructs in texts.

use std::sync::OnceLock;

use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

use super::generate::{
    HASH_DIGITS, address, human_part, path_hash, short_address, split_in_middle, visible,
};
use super::words::Words;

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

/// How a name is made, and the path of the construct of which it is made.
pub(in crate::compare) type Reading = (Form, String);

/// A name that was found in a text.
#[derive(Clone, Debug)]
pub(in crate::compare) struct Token {
    /// As it is written.
    pub(in crate::compare) text: String,
    /// How it is made, and of which constructs it may be.
    pub(in crate::compare) readings: Vec<Reading>,
}

/// Where a name was found.
struct Hit {
    start: usize,
    end: usize,
    mask: char,
    readings: Vec<Reading>,
}

/// Constructs by a number that their names end in, and where the components start.
type ByHash = HashMap<u32, Vec<(u32, Start)>>;

/// Finds names in texts.
pub(in crate::compare) struct Finder<'a> {
    constructs: Vec<KnownConstruct<'a>>,
    unique: ByHash,
    words: Words<'a>,
    /// Made when the first text asks for it: few do.
    addresses: OnceLock<HashMap<u32, Vec<u32>>>,
    /// Readable parts of unique ids; made when the first text asks for it.
    humans: OnceLock<HashMap<String, Vec<(u32, Start)>>>,
}

impl<'a> KnownConstruct<'a> {
    /// Returns the components from `start` on, without `Default`.
    fn components(&self, start: Start) -> Vec<&'a str> {
        let below = match start {
            Start::Root => 0,
            Start::BelowStack | Start::StackName => self.stack_components,
        };
        let named = (start == Start::StackName).then_some(self.stack_name);
        named.into_iter().chain(visible(self.path.split('/').skip(below))).collect()
    }

    /// Returns the path below the stack, if there is any.
    fn below_stack(&self) -> Option<&'a str> {
        let mut rest = self.path;
        for _ in 0..self.stack_components {
            rest = rest.split_once('/')?.1;
        }
        Some(rest)
    }

    fn starts(&self) -> impl Iterator<Item = Start> {
        let stack_path_is_name =
            self.path.split('/').take(self.stack_components).eq([self.stack_name]);
        [Start::Root, Start::BelowStack, Start::StackName]
            .into_iter()
            .filter(move |start| *start != Start::StackName || !stack_path_is_name)
    }
}

impl<'a> Finder<'a> {
    /// Makes a finder for the names of these constructs, of these stacks (name and path of the
    /// stack's construct), and, if asked for, of these bare ids.
    pub(in crate::compare) fn new(
        constructs: Vec<KnownConstruct<'a>>,
        stack_names: &[(&'a str, &'a str)],
        ids: &HashSet<&str>,
    ) -> Self {
        let mut unique = ByHash::default();
        let mut words = Words::default();
        for (at, construct) in (0u32..).zip(&constructs) {
            for start in construct.starts() {
                let components = construct.components(start);
                if components.len() > 1 {
                    unique.entry(path_hash(&components)).or_default().push((at, start));
                }
            }
            if construct.path.contains('/') {
                words.add(construct.path, (Form::Path { whole: true }, construct.path));
            }
            let Some(below) = construct.below_stack() else { continue };
            if below.contains('/') {
                words.add(below, (Form::Path { whole: false }, construct.path));
            }
            let id = below.rsplit('/').next().unwrap_or(below);
            if ids.contains(id) {
                words.add(id, (Form::Id, construct.path));
            }
        }
        for (name, path) in stack_names {
            words.add(name, (Form::StackName, path));
        }
        Self { constructs, unique, words, addresses: OnceLock::new(), humans: OnceLock::new() }
    }

    fn addresses(&self) -> &HashMap<u32, Vec<u32>> {
        self.addresses.get_or_init(|| {
            let mut addresses: HashMap<u32, Vec<u32>> = HashMap::default();
            for (at, construct) in (0u32..).zip(&self.constructs) {
                addresses.entry(short_address(construct.path)).or_default().push(at);
            }
            addresses
        })
    }

    fn humans(&self) -> &HashMap<String, Vec<(u32, Start)>> {
        self.humans.get_or_init(|| {
            let mut humans: HashMap<String, Vec<(u32, Start)>> = HashMap::default();
            for (at, construct) in (0u32..).zip(&self.constructs) {
                for start in construct.starts() {
                    let human = human_part(&construct.components(start), "", "");
                    humans.entry(human).or_default().push((at, start));
                }
            }
            humans
        })
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
        let words = self.words.find(text);
        if words.is_empty() {
            return hits;
        }
        let taken: Vec<(usize, usize)> = hits.iter().map(|hit| (hit.start, hit.end)).collect();
        for (start, end, readings) in words {
            if taken.iter().all(|(from, to)| end <= *from || *to <= start) {
                let readings: Vec<Reading> =
                    readings.iter().map(|(form, path)| (*form, (*path).to_owned())).collect();
                hits.push(Hit { start, end, mask: mask_of(&readings), readings });
            }
        }
        hits.sort_unstable_by_key(|hit| hit.start);
        hits
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
            let ends_run = !bytes.get(at + 1).is_some_and(u8::is_ascii_hexdigit);
            let hit = self
                .unique_hit(text, at + 1)
                .or_else(|| self.address_hit(text, at + 1, run == HASH_DIGITS && ends_run));
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

    /// Do the eight digits end the unique name of a construct?
    fn unique_hit(&self, text: &str, end: usize) -> Option<Hit> {
        let (head, digits) = text[..end].split_at(end - HASH_DIGITS);
        let hash = u32::from_str_radix(digits, 16).ok()?;
        // Eight digits without a letter belong to names in either case.
        let may_be_upper = !digits.bytes().any(|b| b.is_ascii_lowercase());
        let may_be_lower = !digits.bytes().any(|b| b.is_ascii_uppercase());
        let Some(candidates) = self.unique.get(&hash) else {
            return if may_be_upper { self.unknown_hit(head, end, hash) } else { None };
        };
        let mut best: Option<(usize, Vec<Reading>)> = None;
        for (index, start) in candidates {
            let construct = &self.constructs[*index as usize];
            let components = construct.components(*start);
            let found = [(may_be_upper, false), (may_be_lower, true)]
                .into_iter()
                .filter(|(possible, _)| *possible)
                .find_map(|(_, lower)| unique_form(head, &components, *start, lower));
            let Some((length, form)) = found else { continue };
            let reading = (form, construct.path.to_owned());
            match &mut best {
                Some((longest, readings)) if *longest == length => readings.push(reading),
                Some((longest, _)) if *longest > length => {}
                _ => best = Some((length, vec![reading])),
            }
        }
        let (length, readings) = best?;
        Some(Hit { start: head.len() - length, end, mask: mask_of(&readings), readings })
    }

    /// Do the digits end an address? A whole one is `c8` and forty digits; the last eight of one
    /// stand alone.
    fn address_hit(&self, text: &str, end: usize, alone: bool) -> Option<Hit> {
        const WHOLE: usize = 42;
        let whole = end.checked_sub(WHOLE).and_then(|start| text.get(start..end));
        let whole = whole.filter(|text| text.starts_with("c8"));
        if !alone && whole.is_none() {
            return None;
        }
        let digits = &text[end - HASH_DIGITS..end];
        if digits.bytes().any(|b| b.is_ascii_uppercase()) {
            return None;
        }
        let hash = u32::from_str_radix(digits, 16).ok()?;
        let known = self.addresses().get(&hash)?;
        let paths = known.iter().map(|at| self.constructs[*at as usize].path);
        let (length, short): (usize, bool) = match whole {
            Some(_) => (WHOLE, false),
            None => (HASH_DIGITS, true),
        };
        let readings: Vec<Reading> = paths
            .filter(|path| whole.is_none_or(|whole| address(path) == whole))
            .map(|path| (Form::Address { short }, path.to_owned()))
            .collect();
        (!readings.is_empty()).then(|| Hit {
            start: end - length,
            end,
            mask: mask_of(&readings),
            readings,
        })
    }

    /// The hash is of no known construct, but the word may start like a known one: then it is
    /// a construct below it that makes no resources, and the hash proves it.
    fn unknown_hit(&self, head: &str, end: usize, hash: u32) -> Option<Hit> {
        let word_start = head
            .char_indices()
            .rev()
            .take_while(|(_, c)| c.is_ascii_alphanumeric())
            .last()
            .map(|(at, _)| at)?;
        let word = &head[word_start..];
        // Hashes of assets are full of digits; names of constructs start with a letter.
        if !word.starts_with(|c: char| c.is_ascii_alphabetic()) {
            return None;
        }
        for length in (1..word.len()).rev() {
            let Some(known) = self.humans().get(&word[..length]) else { continue };
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
fn mask_of(readings: &[Reading]) -> char {
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

    fn finder<'a>(paths: &[&'a str], ids: &[&str]) -> Finder<'a> {
        let constructs: Vec<_> = paths
            .iter()
            .map(|path| KnownConstruct { path, stack_components: 1, stack_name: "App" })
            .collect();
        Finder::new(constructs, &[], &ids.iter().copied().collect())
    }

    fn mask(finder: &Finder<'_>, text: &str) -> Option<String> {
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
        let path = format!("App/{long}");
        let finder = finder(&[&path], &[]);
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
        let whole = address("App/Deploy");
        assert_eq!(mask(&finder, &whole), Some("\u{1}A".into()));
        let tag = format!("aws-cdk:cr-owned:{}", &whole[whole.len() - 8..]);
        assert_eq!(mask(&finder, &tag), Some("aws-cdk:cr-owned:\u{1}A".into()));
    }
}
