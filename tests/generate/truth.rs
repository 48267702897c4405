//! What may be said about a refactoring whose truth is known.
//!
//! A mapping is right if it joins a resource with itself. Where resources cannot be told apart by
//! anything but their names, no tool can know which is which: two resources are *exchangeable* if
//! colour refinement over the app (contents, what they refer to and through which door, who
//! refers to them) gives them the same colour. Resources that an automorphism of the app swaps
//! always have equal colours; the converse holds for graphs without circles and few regular
//! parts such as these, and on top of it every mapping must be consistent with the others (see
//! `contradictions`), which is what makes a set of swaps an automorphism.

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash, Hasher};

use cdkr::compare::{Comparison, Evidence};
use cdkr::model::Location;

use super::model::{App, Key, Prop, Resource, Whose};
use super::render::Rendered;

/// Colours of the resources of two apps, comparable between them.
pub struct Colours {
    pub old: BTreeMap<Key, u64>,
    pub new: BTreeMap<Key, u64>,
}

/// What a resource contains: its text with gaps, and who is in the gaps.
#[derive(Clone, Debug)]
struct Content {
    text: String,
    slots: Vec<(String, Key)>,
    depends_on: Vec<Key>,
    children: Vec<Key>,
    names: Vec<Key>,
}

impl Content {
    fn say(&mut self, text: &str) {
        self.text.push_str(text);
    }
}

fn hash(value: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

fn content(app: &App, key: Key) -> Content {
    let resource = &app.resources[&key];
    let Resource { kind, condition, retain, .. } = resource;
    let mut content = Content {
        text: format!("{kind} {condition:?} {retain}"),
        slots: Vec::new(),
        depends_on: app.rendered_depends_on(key),
        children: resource.makes.map(|stack| app.children(stack)).unwrap_or_default(),
        names: Vec::new(),
    };
    for (name, prop) in &resource.properties {
        content.text.push_str(name);
        read(prop, name, &mut content);
    }
    content
}

fn read(prop: &Prop, door: &str, content: &mut Content) {
    match prop {
        Prop::Reference(reference) => {
            let kind = format!("{:?} {:?}", reference.attribute, reference.form);
            content.text.push_str(&kind);
            content.slots.push((format!("{door} {kind}"), reference.target));
        }
        Prop::Name(whose, form) | Prop::NameInside(whose, form) => {
            content.say(&format!("name {form:?}"));
            if let Whose::Of(key) = whose {
                content.names.push(*key);
            }
        }
        Prop::If(condition, yes, no) => {
            content.say(&format!("If {condition}"));
            read(yes, door, content);
            read(no, door, content);
        }
        Prop::List(items) => {
            content.say(&format!("list of {}", items.len()));
            for item in items {
                read(item, door, content);
            }
        }
        Prop::Object(members) => {
            for (name, prop) in members {
                content.say(&format!(".{name}"));
                read(prop, &format!("{door}.{name}"), content);
            }
        }
        Prop::Tags(tags) => {
            for (name, prop) in tags {
                content.say(&format!("tag {name}"));
                read(prop, door, content);
            }
        }
        literal => content.say(&format!("{literal:?}")),
    }
}

/// What counts for the colour of a resource.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Counts {
    /// Its content, down to what it refers to.
    Content,
    /// Also who refers to it.
    Structure,
    /// Also whose names are written into it.
    Names,
}

/// Refines until nothing changes any more.
pub fn colours(old: &App, new: &App, counts: Counts) -> Colours {
    let sides = [old, new].map(|app| {
        let contents: BTreeMap<Key, Content> =
            app.resources.keys().map(|key| (*key, content(app, *key))).collect();
        let mut incoming: BTreeMap<Key, Vec<(String, Key)>> = BTreeMap::new();
        for (key, content) in &contents {
            let mut add = |target: &Key, door: &str| {
                incoming.entry(*target).or_default().push((door.to_owned(), *key));
            };
            content.slots.iter().for_each(|(door, target)| add(target, door));
            content.depends_on.iter().for_each(|target| add(target, "DependsOn"));
            if counts == Counts::Names {
                content.names.iter().for_each(|target| add(target, "name"));
            }
        }
        (contents, incoming)
    });
    let mut colours: [BTreeMap<Key, u64>; 2] = sides
        .each_ref()
        .map(|(contents, _)| contents.iter().map(|(key, c)| (*key, hash(&c.text))).collect());
    let mut count = 0;
    loop {
        let distinct: BTreeSet<u64> = colours.iter().flat_map(BTreeMap::values).copied().collect();
        if distinct.len() == count {
            break;
        }
        count = distinct.len();
        for ((contents, incoming), colours) in sides.iter().zip(&mut colours) {
            let of = |key: &Key| colours.get(key).copied().unwrap_or_default();
            let set = |keys: &[Key]| {
                let mut set: Vec<u64> = keys.iter().map(of).collect();
                set.sort_unstable();
                set
            };
            let next = contents
                .iter()
                .map(|(key, content)| {
                    let slots: Vec<u64> = content.slots.iter().map(|(_, key)| of(key)).collect();
                    let sets = (set(&content.depends_on), set(&content.children));
                    let own = hash((of(key), slots, sets));
                    if counts == Counts::Content {
                        return (*key, own);
                    }
                    let mut from: Vec<(&str, u64)> = incoming
                        .get(key)
                        .into_iter()
                        .flatten()
                        .map(|(door, from)| (door.as_str(), of(from)))
                        .collect();
                    from.sort_unstable();
                    let names: Vec<u64> = match counts {
                        Counts::Names => content.names.iter().map(of).collect(),
                        _ => Vec::new(),
                    };
                    (*key, hash((own, from, names)))
                })
                .collect();
            *colours = next;
        }
    }
    let [old, new] = colours;
    Colours { old, new }
}

/// Makes all resources of an app distinguishable by content and structure alone, with as few
/// additions as possible.
pub fn without_twins(app: &mut App) {
    loop {
        let colours = colours(app, app, Counts::Structure).old;
        let mut seen = BTreeSet::new();
        let Some((twin, _)) = colours.iter().find(|(_, colour)| !seen.insert(**colour)) else {
            return;
        };
        let mark = Prop::Text(format!("mark {twin}"));
        app.resources.get_mut(twin).unwrap().properties.insert("Mark".into(), mark);
    }
}

/// Whether one of two resources refers to the other.
fn are_connected(app: &App, left: Key, right: Key) -> bool {
    let refers = |from: Key, to: Key| {
        let content = content(app, from);
        content.slots.iter().any(|(_, target)| *target == to) || content.depends_on.contains(&to)
    };
    refers(left, right) || refers(right, left)
}

/// A refactoring with everything that is known about it.
pub struct Truth<'r> {
    old: (&'r App, &'r Rendered),
    new: (&'r App, &'r Rendered),
}

impl<'r> Truth<'r> {
    pub fn new(old: (&'r App, &'r Rendered), new: (&'r App, &'r Rendered)) -> Self {
        Self { old, new }
    }

    /// Returns what is the same in the comparison: mapped, or in the same place still.
    pub fn pairs(&self, comparison: &Comparison) -> BTreeMap<Key, (Key, Option<Evidence>)> {
        let by_location = |rendered: &Rendered| -> BTreeMap<Location, Key> {
            rendered.locations.iter().map(|(key, location)| (location.clone(), *key)).collect()
        };
        let (old, new) = (by_location(self.old.1), by_location(self.new.1));
        let mut pairs = BTreeMap::new();
        for mapping in &comparison.mappings {
            let (from, to) = (&mapping.source.location, &mapping.destination.location);
            pairs.insert(old[from], (new[to], Some(mapping.evidence.clone())));
        }
        let taken: BTreeSet<Key> = pairs.values().map(|(new, _)| *new).collect();
        let left: BTreeSet<&Location> =
            comparison.removed.iter().map(|removed| &removed.place.location).collect();
        let asked: BTreeSet<&Location> = comparison
            .ambiguous
            .iter()
            .flat_map(|question| &question.sources)
            .map(|place| &place.location)
            .collect();
        for (location, key) in &old {
            if let Some(same) = new.get(location)
                && !pairs.contains_key(key)
                && !taken.contains(same)
                && !left.contains(location)
                && !asked.contains(location)
                && self.old.0.resources[key].kind == self.new.0.resources[same].kind
            {
                pairs.insert(*key, (*same, None));
            }
        }
        pairs
    }

    /// Returns the mappings that contradict the truth.
    ///
    /// Besides the truth itself a mapping may join two resources of equal content
    /// - if neither of them has another partner that is just as equal (a resource that was removed
    ///   and one that was added: RFC 0162 calls that a move), or only one that nothing tells apart
    ///   from it (twins);
    /// - if some resource has the name of another one now: a resource is taken to have
    ///   stayed where it was (RFC 0162's "X, Y become Y, Z": Y stays, X becomes Z), and where an
    ///   equal one has taken over the place, or the very names that are written into the other,
    ///   the rest follows from that;
    /// - if it follows from another pair that may be joined: that one is next to it, or has taken
    ///   the true partner.
    ///
    /// Contents are equal if the texts are and what they refer to is the same: mapped to each
    /// other, or unmapped and of equal content. So no mapping may contradict another.
    pub fn contradictions(&self, comparison: &Comparison) -> Vec<String> {
        let (old_app, new_app) = (self.old.0, self.new.0);
        let pairs = self.pairs(comparison);
        let by_content = colours(old_app, new_app, Counts::Content);
        let exact = colours(old_app, new_app, Counts::Names);
        let reused = self.reuses_names();
        let equal = |old: Key, new: Key| self.is_equal(&pairs, &by_content, old, new);
        let (mut doubtful, mut untrue) = (Vec::new(), BTreeMap::new());
        for (from, (to, evidence)) in &pairs {
            let Some(evidence) = evidence.as_ref().filter(|_| from != to) else { continue };
            let truly = new_app.resources.contains_key(from);
            let origin = old_app.resources.contains_key(to);
            let exchangeable = |colours: &BTreeMap<Key, u64>| {
                colours.get(from).is_some() && colours.get(from) == colours.get(to)
            };
            let is_twin = exchangeable(&exact.old) || exchangeable(&exact.new) || reused;
            let has_better = (truly && equal(*from, *from)) || (origin && equal(*to, *to));
            let by_content =
                !matches!(evidence, Evidence::MovedAndChanged { .. } | Evidence::PhysicalId(_));
            if by_content && !equal(*from, *to) {
                doubtful.push((*from, *to, "joins different contents"));
            } else if !is_twin && (has_better || !by_content) {
                doubtful.push((*from, *to, "is not the one that the structure points out"));
            } else {
                untrue.insert(*from, *to);
            }
        }
        // What follows from a pair that may be joined.
        loop {
            let before = doubtful.len();
            doubtful.retain(|(from, to, _)| {
                let follows = equal(*from, *to)
                    && untrue.iter().any(|(old, new)| {
                        (old == to || new == from)
                            || (are_connected(old_app, *old, *from)
                                && are_connected(new_app, *new, *to))
                    });
                if follows {
                    untrue.insert(*from, *to);
                }
                !follows
            });
            if doubtful.len() == before {
                break;
            }
        }
        let location = |rendered: &Rendered, key: &Key| {
            rendered.locations.get(key).map_or_else(|| "nothing".to_owned(), ToString::to_string)
        };
        let show = |(from, to, verdict): (Key, Key, &str)| {
            let [was, was_truly] = [&from, &to].map(|key| location(self.old.1, key));
            let [is_truly, is] = [&from, &to].map(|key| location(self.new.1, key));
            let evidence = &pairs[&from].1;
            format!("{was} -> {is} {verdict}: truly -> {is_truly}, {was_truly} -> ({evidence:?})")
        };
        doubtful.into_iter().map(show).collect()
    }

    /// Whether two resources have the same text and refer to what is the same, in this mapping or
    /// by its content.
    fn is_equal(
        &self,
        pairs: &BTreeMap<Key, (Key, Option<Evidence>)>,
        by_content: &Colours,
        old: Key,
        new: Key,
    ) -> bool {
        let (was, is) = (content(self.old.0, old), content(self.new.0, new));
        let same = |old: &Key, new: &Key| match pairs.get(old) {
            Some((partner, _)) => partner == new,
            None => by_content.old.get(old) == by_content.new.get(new),
        };
        let slots = was.slots.iter().zip(&is.slots);
        was.text == is.text
            && was.slots.len() == is.slots.len()
            && slots.into_iter().all(|((_, old), (_, new))| same(old, new))
            && was.depends_on.len() == is.depends_on.len()
            && was.depends_on.iter().all(|old| is.depends_on.iter().any(|new| same(old, new)))
    }

    /// Returns the resources that moved and were not mapped.
    pub fn missing(&self, comparison: &Comparison) -> Vec<String> {
        let pairs = self.pairs(comparison);
        let mut missing = Vec::new();
        for (key, from) in &self.old.1.locations {
            let Some(to) = self.new.1.locations.get(key) else { continue };
            if from == to || pairs.get(key).is_some_and(|(partner, _)| partner == key) {
                continue;
            }
            // A nested stack that won or lost resources has changed.
            let inside = |app: &App| app.resources[key].makes.map(|stack| app.children(stack));
            if inside(self.old.0) != inside(self.new.0) {
                continue;
            }
            // In a nested stack that moved as a whole nothing has moved.
            let (was, is) = (self.old.0.resource_place(*key).0, self.new.0.resource_place(*key).0);
            let inside = was == is && self.old.0.stacks[was].nested.is_some();
            if !(inside && from.logical_id == to.logical_id) {
                missing.push(format!("{} {from} -> {to}", self.old.0.resources[key].kind));
            }
        }
        missing
    }

    /// Whether some resource has a name now that was another one's: its logical ID, in whatever
    /// stack, or its path.
    pub fn reuses_names(&self) -> bool {
        let (old, new) = (self.old.0, self.new.0);
        let names = |app: &App, key: Key| [app.logical_id(key), app.resource_path(key).join("/")];
        let mut owners: BTreeMap<String, BTreeSet<Key>> = BTreeMap::new();
        for key in old.resources.keys() {
            for name in names(old, *key) {
                owners.entry(name).or_default().insert(*key);
            }
        }
        new.resources.keys().any(|key| {
            let names = names(new, *key);
            names.iter().any(|name| owners.get(name).is_some_and(|owners| !owners.contains(key)))
        })
    }
}
