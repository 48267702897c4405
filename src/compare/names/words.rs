//! Finds whole words in texts: paths of constructs, names of stacks, bare ids.
//!
//! A word starts where no letter or digit precedes it and ends where none follows; of several
//! that start at one place the longest counts. Words are looked up, not searched for one by one:
//! a path is only tried where one of the known first components stands before a slash.

use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

use super::finder::Form;

/// How a word is made, and the path of the construct of which it is made.
type Meaning<'a> = (Form, &'a str);

/// The words to be found, with what each of them may mean.
#[derive(Default)]
pub(super) struct Words<'a> {
    meanings: HashMap<&'a str, Vec<Meaning<'a>>>,
    /// First components of the words with a slash.
    heads: HashSet<&'a str>,
    longest: usize,
    /// Length of the longest word without a slash; 0 if there is none.
    longest_single: usize,
}

impl<'a> Words<'a> {
    /// Adds a meaning of a word.
    pub(super) fn add(&mut self, word: &'a str, meaning: Meaning<'a>) {
        // A path may end in a slash: nothing is no name.
        if word.is_empty() {
            return;
        }
        match word.split_once('/') {
            Some((head, _)) => {
                self.heads.insert(head);
                self.longest = self.longest.max(word.len());
            }
            None => self.longest_single = self.longest_single.max(word.len()),
        }
        self.meanings.entry(word).or_default().push(meaning);
    }

    /// Returns where words stand in a text, and what they may mean.
    pub(super) fn find(&self, text: &str) -> Vec<(usize, usize, &[Meaning<'a>])> {
        let slashes = text.contains('/') && !self.heads.is_empty();
        if self.longest_single == 0 && !slashes {
            return Vec::new();
        }
        let mut found = Vec::new();
        let mut from = 0;
        let mut inside = false;
        for (at, c) in text.char_indices() {
            let starts = !inside && at >= from && is_inside(c);
            inside = is_inside(c);
            if !starts {
                continue;
            }
            if let Some((end, meanings)) = self.word_at(text, at, slashes) {
                found.push((at, end, meanings));
                from = end;
            }
        }
        found
    }

    fn word_at(&self, text: &str, start: usize, slashes: bool) -> Option<(usize, &[Meaning<'a>])> {
        let rest = &text[start..];
        let is_path =
            slashes && rest.split_once('/').is_some_and(|(head, _)| self.heads.contains(head));
        let longest = if is_path { self.longest } else { self.longest_single };
        let mut ends: Vec<usize> = Vec::new();
        let mut inside = false;
        for (at, c) in rest.char_indices() {
            if at > longest {
                break;
            }
            if inside && !is_inside(c) {
                ends.push(at);
            }
            inside = is_inside(c);
        }
        if inside && rest.len() <= longest {
            ends.push(rest.len());
        }
        ends.into_iter()
            .rev()
            .find_map(|end| Some((start + end, self.meanings.get(&rest[..end])?.as_slice())))
    }
}

/// Whether a character is part of a word, so that a word cannot end before or after it.
fn is_inside(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(words: &[&str], text: &str) -> Vec<String> {
        let mut known = Words::default();
        for word in words {
            known.add(word, (Form::Id, word));
        }
        let found = known.find(text);
        found.into_iter().map(|(start, end, _)| text[start..end].to_owned()).collect()
    }

    #[test]
    fn the_longest_word_at_a_place_counts() {
        let words = ["App/Web", "App/Web/Sg"];
        assert_eq!(found(&words, "App/Web/Sg2 and App/Web/Sg"), ["App/Web", "App/Web/Sg"]);
    }

    #[test]
    fn words_are_not_found_inside_of_others() {
        assert!(found(&["App/Web", "Web"], "MyApp/Website Web_2").is_empty());
    }

    #[test]
    fn ids_with_special_characters_are_words() {
        assert_eq!(
            found(&["my-queue", "from a:80"], "x.my-queue, from a:80"),
            ["my-queue", "from a:80"]
        );
    }
}
