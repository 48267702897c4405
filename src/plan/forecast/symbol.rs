//! Values as they come out of a template before it is deployed: what is known of them, and who
//! they come from where it is not.

use std::collections::BTreeMap;

use crate::model::Text;

/// A value of a template with its functions worked out as far as they can be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Symbol {
    /// `null`
    Null,
    /// A scalar as text (CloudFormation does not tell `30` from `"30"`), in pieces.
    Text(Vec<Piece>),
    /// A list.
    List(Vec<Self>),
    /// An object.
    Map(BTreeMap<Text, Self>),
}

/// A piece of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// Known text.
    Literal(String),
    /// `Ref` of a resource, or an attribute of it.
    Of(Thing, Option<Text>),
    /// A function whose result is not known.
    Call(Text, Vec<Symbol>),
}

/// A resource that a value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Thing {
    /// The name of its stack.
    pub(super) stack: Text,
    /// Its logical ID.
    pub(super) id: Text,
    /// What becomes of it.
    pub(super) fate: Fate,
    /// What `Ref` of it comes to, if it exists.
    pub(super) physical: Option<Text>,
}

/// What becomes of a resource in the deployment, as seen by those that refer to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fate {
    /// It stays the same thing.
    Same,
    /// It may be another one.
    Perhaps,
    /// It is another one: new, or made anew.
    New,
}

/// How two values differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Whatever the open parts come to.
    Certain,
    /// The new value comes from a resource that is new or made anew.
    Fresh(Thing),
    /// They only differ if this resource is replaced.
    Perhaps(Thing),
    /// They may be equal once they are known.
    Open,
}

/// A place at which two values differ.
#[derive(Clone, Debug)]
pub(super) struct Leaf {
    /// The path, its segments separated by `/`.
    pub(super) path: String,
    pub(super) kind: Kind,
}

impl Symbol {
    pub(super) fn literal(text: &str) -> Self {
        Self::Text(if text.is_empty() { Vec::new() } else { vec![Piece::Literal(text.to_owned())] })
    }

    pub(super) fn call(function: &str, arguments: Vec<Self>) -> Self {
        Self::Text(vec![Piece::Call(function.into(), arguments)])
    }

    /// Returns the text, if it is known.
    pub(super) fn known(&self) -> Option<&str> {
        match self {
            Self::Text(pieces) => match pieces.as_slice() {
                [] => Some(""),
                [Piece::Literal(text)] => Some(text),
                _ => None,
            },
            _ => None,
        }
    }

    /// Returns the pieces of a text; a list or an object becomes one piece.
    pub(super) fn pieces(self) -> Vec<Piece> {
        match self {
            Self::Text(pieces) => pieces,
            Self::Null => Vec::new(),
            other => vec![Piece::Call("text".into(), vec![other])],
        }
    }

    /// Tells of every resource that the value comes from.
    pub(super) fn things<'s>(&'s self, tell: &mut dyn FnMut(&'s Thing)) {
        match self {
            Self::Null => {}
            Self::Text(pieces) => {
                for piece in pieces {
                    match piece {
                        Piece::Literal(_) => {}
                        Piece::Of(thing, _) => tell(thing),
                        Piece::Call(_, arguments) => {
                            for argument in arguments {
                                argument.things(tell);
                            }
                        }
                    }
                }
            }
            Self::List(items) => items.iter().for_each(|item| item.things(tell)),
            Self::Map(members) => members.values().for_each(|member| member.things(tell)),
        }
    }

    /// The same value with every piece replaced.
    fn each(&self, change: &dyn Fn(&Piece) -> Piece) -> Self {
        match self {
            Self::Null => Self::Null,
            Self::Text(pieces) => Self::Text(joined(pieces.iter().map(|piece| match piece {
                Piece::Call(name, arguments) => {
                    let arguments = arguments.iter().map(|each| each.each(change)).collect();
                    Piece::Call(name.clone(), arguments)
                }
                other => change(other),
            }))),
            Self::List(items) => Self::List(items.iter().map(|item| item.each(change)).collect()),
            Self::Map(members) => Self::Map(
                members.iter().map(|(key, member)| (key.clone(), member.each(change))).collect(),
            ),
        }
    }

    /// The value if every resource stayed the same thing.
    fn settled(&self) -> Self {
        self.each(&|piece| match piece {
            Piece::Of(thing, attribute) => {
                Piece::Of(Thing { fate: Fate::Same, ..thing.clone() }, attribute.clone())
            }
            other => other.clone(),
        })
    }

    /// The value with physical IDs in the place of the `Ref`s that are known.
    pub(super) fn resolved(&self) -> Self {
        self.each(&|piece| match piece {
            Piece::Of(Thing { fate: Fate::Same, physical: Some(id), .. }, None) => {
                Piece::Literal(id.to_string())
            }
            other => other.clone(),
        })
    }

    fn worst(&self) -> Option<Thing> {
        let mut worst: Option<&Thing> = None;
        self.things(&mut |thing| {
            if worst.is_none_or(|other| thing.fate > other.fate) {
                worst = Some(thing);
            }
        });
        worst.filter(|thing| thing.fate != Fate::Same).cloned()
    }
}

/// Puts neighbouring literals together.
pub(super) fn joined(pieces: impl Iterator<Item = Piece>) -> Vec<Piece> {
    let mut whole: Vec<Piece> = Vec::new();
    for piece in pieces {
        match (whole.last_mut(), piece) {
            (_, Piece::Literal(text)) if text.is_empty() => {}
            (Some(Piece::Literal(before)), Piece::Literal(text)) => before.push_str(&text),
            (_, piece) => whole.push(piece),
        }
    }
    whole
}

/// Returns how two values differ as a whole; `None` if they are equal.
pub(super) fn difference(old: &Symbol, new: &Symbol) -> Option<Kind> {
    if old == new || old.resolved() == new.resolved() {
        return None;
    }
    if let Some(worst) = new.worst() {
        let otherwise_equal = old.settled() == new.settled();
        return Some(match worst.fate {
            Fate::New => Kind::Fresh(worst),
            _ if otherwise_equal => Kind::Perhaps(worst),
            _ => certainty(old, new),
        });
    }
    Some(certainty(old, new))
}

/// Whether values that are not the same expression can come to the same.
fn certainty(old: &Symbol, new: &Symbol) -> Kind {
    let certain = match (old, new) {
        (Symbol::Text(old), Symbol::Text(new)) => match (old.as_slice(), new.as_slice()) {
            // Two things that exist have two physical IDs.
            ([Piece::Of(_, None)], [Piece::Of(_, None)]) => true,
            (old, new) => old.iter().chain(new).all(is_known),
        },
        // A list or an object instead of something that a function returns.
        (Symbol::Text(open), other) | (other, Symbol::Text(open)) => {
            open.iter().all(is_known) || matches!(other, Symbol::Null)
        }
        _ => true,
    };
    if certain { Kind::Certain } else { Kind::Open }
}

fn is_known(piece: &Piece) -> bool {
    match piece {
        Piece::Literal(_) => true,
        Piece::Of(..) => false,
        // Different arguments give different results.
        Piece::Call(name, arguments) => {
            matches!(name.as_str(), "Fn::Base64" | "Fn::ToJsonString")
                && arguments.iter().all(is_all_known)
        }
    }
}

fn is_all_known(symbol: &Symbol) -> bool {
    match symbol {
        Symbol::Null => true,
        Symbol::Text(pieces) => pieces.iter().all(is_known),
        Symbol::List(items) => items.iter().all(is_all_known),
        Symbol::Map(members) => members.values().all(is_all_known),
    }
}

/// Returns every place at which two values differ, down to scalars. What comes or goes as a whole
/// does so member by member; lists of different lengths differ as a whole; the order of tags has
/// no meaning.
pub(super) fn differences(old: Option<&Symbol>, new: Option<&Symbol>) -> Vec<Leaf> {
    let mut found = Vec::new();
    walk("", old, new, &mut found);
    found
}

fn walk(path: &str, old: Option<&Symbol>, new: Option<&Symbol>, found: &mut Vec<Leaf>) {
    let below = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}/{key}") };
    let kind = match (old, new) {
        (None, None) => return,
        (Some(old), Some(new)) => match difference(old, new) {
            None => return,
            Some(kind) => kind,
        },
        (None, Some(new)) => {
            new.worst().filter(|thing| thing.fate == Fate::New).map_or(Kind::Certain, Kind::Fresh)
        }
        (Some(_), None) => Kind::Certain,
    };
    match (old, new) {
        (Some(Symbol::Map(old)), Some(Symbol::Map(new))) => {
            for (key, value) in old {
                walk(&below(key), Some(value), new.get(key), found);
            }
            for (key, value) in new.iter().filter(|(key, _)| !old.contains_key(*key)) {
                walk(&below(key), None, Some(value), found);
            }
        }
        (None, Some(Symbol::Map(new))) if !new.is_empty() => {
            for (key, value) in new {
                walk(&below(key), None, Some(value), found);
            }
        }
        (Some(Symbol::Map(old)), None) if !old.is_empty() => {
            for (key, value) in old {
                walk(&below(key), Some(value), None, found);
            }
        }
        // An object that is not there and one without members are the same at the top only.
        (None, Some(Symbol::Map(_))) | (Some(Symbol::Map(_)), None) if path.is_empty() => {}
        (Some(Symbol::List(old)), Some(Symbol::List(new))) if old.len() == new.len() => {
            for (at, old, new) in aligned(old, new) {
                walk(&below(&at.to_string()), Some(old), Some(new), found);
            }
        }
        _ => found.push(Leaf { path: path.to_owned(), kind }),
    }
}

/// Elements that stand for each other: tags by their keys, others by their places.
fn aligned<'v>(old: &'v [Symbol], new: &'v [Symbol]) -> Vec<(usize, &'v Symbol, &'v Symbol)> {
    fn key(tag: &Symbol) -> Option<&str> {
        match tag {
            Symbol::Map(members) if members.len() <= 3 && members.contains_key("Value") => {
                members.get("Key")?.known()
            }
            _ => None,
        }
    }
    let by_key = || {
        let mut tags: BTreeMap<&str, &Symbol> =
            old.iter().map(|tag| Some((key(tag)?, tag))).collect::<Option<_>>()?;
        new.iter()
            .enumerate()
            .map(|(at, tag)| Some((at, tags.remove(key(tag)?)?, tag)))
            .collect::<Option<Vec<_>>>()
    };
    by_key().unwrap_or_else(|| {
        old.iter().zip(new).enumerate().map(|(at, (old, new))| (at, old, new)).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thing(id: &str, fate: Fate) -> Thing {
        Thing { stack: "A".into(), id: id.into(), fate, physical: Some("p".into()) }
    }

    fn of(id: &str, fate: Fate) -> Symbol {
        Symbol::Text(vec![Piece::Of(thing(id, fate), Some("Arn".into()))])
    }

    fn reference(id: &str) -> Symbol {
        Symbol::Text(vec![Piece::Of(thing(id, Fate::Same), None)])
    }

    #[test]
    fn a_reference_to_a_thing_that_is_made_anew_is_another_value() {
        let kind = difference(&of("X", Fate::Same), &of("X", Fate::New));
        assert_eq!(kind, Some(Kind::Fresh(thing("X", Fate::New))));
        let kind = difference(&of("X", Fate::Same), &of("X", Fate::Perhaps));
        assert_eq!(kind, Some(Kind::Perhaps(thing("X", Fate::Perhaps))));
    }

    #[test]
    fn what_a_function_comes_to_may_be_what_stood_there() {
        assert_eq!(difference(&Symbol::literal("arn"), &of("X", Fate::Same)), Some(Kind::Open));
        assert_eq!(difference(&Symbol::literal("p"), &reference("X")), None);
        assert_eq!(difference(&Symbol::literal("a"), &Symbol::literal("b")), Some(Kind::Certain));
    }

    #[test]
    fn the_order_of_tags_has_no_meaning_but_that_of_other_lists_has() {
        let tag = |key: &str| {
            let members = [("Key", key), ("Value", "v")];
            Symbol::Map(members.map(|(k, v)| (k.into(), Symbol::literal(v))).into())
        };
        let (one, other) = (vec![tag("a"), tag("b")], vec![tag("b"), tag("a")]);
        assert!(difference(&Symbol::List(one.clone()), &Symbol::List(other.clone())).is_some());
        assert!(differences(Some(&Symbol::List(one)), Some(&Symbol::List(other))).is_empty());
        let list = |items: [&str; 2]| Symbol::List(items.map(Symbol::literal).into());
        assert_eq!(differences(Some(&list(["a", "b"])), Some(&list(["b", "a"]))).len(), 2);
    }
}
