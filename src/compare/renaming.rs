//! The renaming of constructs that the pairs found so far define.

use rustc_hash::FxHashMap as HashMap;

/// An old path with more new paths than this says nothing about where its parts went.
const MOST_IMAGES: usize = 8;

/// Old construct path → new construct paths, and back.
#[derive(Default)]
pub(super) struct Renaming<'a> {
    forward: HashMap<&'a str, Vec<&'a str>>,
    backward: HashMap<&'a str, Vec<&'a str>>,
}

impl<'a> Renaming<'a> {
    /// Learns from a pair of resources: whatever is left of their paths without a common end
    /// was renamed.
    pub(super) fn learn(&mut self, old: &'a str, new: &'a str) {
        for (old, new) in prefixes(old, new) {
            add(&mut self.forward, old, new);
            add(&mut self.backward, new, old);
        }
    }

    /// Whether some pair says that the construct `old` is now `new`.
    pub(super) fn says(&self, old: &str, new: &str) -> bool {
        self.forward
            .get(old)
            .is_some_and(|images| images.len() <= MOST_IMAGES && images.contains(&new))
    }

    /// Returns, from the nearest ancestor on, what an old path may have become.
    pub(super) fn images<'p>(
        &'p self,
        path: &'p str,
    ) -> impl Iterator<Item = (&'p str, Vec<String>)> {
        lookup(&self.forward, path)
    }

    /// Returns, from the nearest ancestor on, what a new path may have been.
    pub(super) fn origins<'p>(
        &'p self,
        path: &'p str,
    ) -> impl Iterator<Item = (&'p str, Vec<String>)> {
        lookup(&self.backward, path)
    }
}

fn add<'a>(map: &mut HashMap<&'a str, Vec<&'a str>>, from: &'a str, to: &'a str) {
    let images = map.entry(from).or_default();
    if images.len() <= MOST_IMAGES && !images.contains(&to) {
        images.push(to);
    }
}

/// Returns the rest of a path below the nearest known ancestor, and the paths that the
/// ancestor's images make with it; then the same for the next ancestor. The path itself is always
/// among them: a construct need not have been renamed.
fn lookup<'p>(
    map: &'p HashMap<&str, Vec<&str>>,
    path: &'p str,
) -> impl Iterator<Item = (&'p str, Vec<String>)> {
    ancestors(path)
        .filter_map(move |ancestor| {
            let images = map.get(ancestor).filter(|images| images.len() <= MOST_IMAGES)?;
            let rest = &path[ancestor.len()..];
            let mut paths: Vec<String> =
                images.iter().map(|image| format!("{image}{rest}")).collect();
            paths.push(path.to_owned());
            paths.sort_unstable();
            paths.dedup();
            Some((rest, paths))
        })
        .chain(std::iter::once((path, vec![path.to_owned()])))
}

/// Returns a path and all its ancestors, the longest first.
pub(super) fn ancestors(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(path), |path| path.rsplit_once('/').map(|(parent, _)| parent))
}

/// Returns the pairs of ancestors (or the paths themselves) below which two paths are equal, the
/// longest first.
pub(super) fn prefixes<'a>(old: &'a str, new: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
    std::iter::successors(Some((old, new)), |(old, new)| {
        let (old, old_id) = old.rsplit_once('/')?;
        let (new, new_id) = new.rsplit_once('/')?;
        (old_id == new_id).then_some((old, new))
    })
}

/// Returns the outermost pair of ancestors below which two paths are equal: what was renamed.
pub(super) fn renamed<'a>(old: &'a str, new: &'a str) -> (&'a str, &'a str) {
    prefixes(old, new).last().unwrap_or((old, new))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn images(renaming: &Renaming<'_>, path: &str) -> Vec<String> {
        renaming.images(path).flat_map(|(_, paths)| paths).collect()
    }

    #[test]
    fn a_pair_tells_where_its_siblings_went() {
        let mut renaming = Renaming::default();
        renaming.learn("App/Thing/Role/Resource", "App/Parent/Thing/Role/Resource");
        assert!(renaming.says("App/Thing", "App/Parent/Thing"));
        assert!(images(&renaming, "App/Thing/Queue").contains(&"App/Parent/Thing/Queue".into()));
    }

    #[test]
    fn several_images_are_kept() {
        let mut renaming = Renaming::default();
        renaming.learn("App/A/Q", "Left/A/Q");
        renaming.learn("App/B/Q", "Right/B/Q");
        assert_eq!(images(&renaming, "App/C")[..3], ["App/C", "Left/C", "Right/C"]);
    }

    #[test]
    fn too_many_images_say_nothing() {
        let paths: Vec<String> = (0..20).map(|n| format!("Stack{n}/Q")).collect();
        let mut renaming = Renaming::default();
        for path in &paths {
            renaming.learn("App/Q", path);
        }
        assert_eq!(images(&renaming, "App/C"), ["App/C"]);
    }

    #[test]
    fn what_was_renamed_is_the_outermost_difference() {
        assert_eq!(renamed("App/Old/Q/Resource", "App/New/Q/Resource"), ("App/Old", "App/New"));
        assert_eq!(renamed("App/Q", "App/P/Q"), ("App", "App/P"));
    }
}
