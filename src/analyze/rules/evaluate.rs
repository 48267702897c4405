//! Queries answered: for which operations is there something for every name, so that everything
//! holds?
//!
//! Nothing is multiplied out. Starting from one operation, each next name is looked up through a
//! condition that ties it to what is known already; names that have nothing to do with each other
//! are looked for one after the other; and what could not be found once is not looked for again.

use std::cell::RefCell;
use std::rc::Rc;

use rustc_hash::FxHashMap as HashMap;

use super::index::{Index, Own, components, expand, kinds, reach, scalar};
use super::query::{Comparand, Condition, Operand, Query, Selector, Variable};
use crate::analyze::model::{Operation, OperationId, OperationKind, PropertyChange, at};
use crate::model::{Text, Value};
use crate::registry::Segment;

/// What a name stands for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Thing {
    Operation(OperationId),
    Component(Own),
    Value(Own, Rc<[Segment]>),
}

impl Thing {
    fn own(&self) -> Option<Own> {
        match self {
            Self::Operation(_) => None,
            Self::Component(own) | Self::Value(own, _) => Some(*own),
        }
    }
}

/// Things by the scalars at a path from them.
type ByValue = Rc<HashMap<String, Vec<Thing>>>;

/// Names as bits.
type Names = u64;

/// What is to be found, and what it hangs on.
type Question = (Names, Vec<(Variable, Thing)>);

impl Query {
    /// Returns the operations that the query is for, in their order.
    pub(super) fn answers(&self, index: &Index<'_>) -> Vec<OperationId> {
        Search::new(self, index).answers()
    }
}

struct Search<'q, 'g> {
    query: &'q Query,
    index: &'q Index<'g>,
    /// The names that share a condition with each name.
    tied: Vec<Names>,
    bound: Vec<Option<Thing>>,
    /// All that a name could stand for by itself.
    all: RefCell<HashMap<Variable, Rc<Vec<Thing>>>>,
    /// What a name could stand for, by a value at a path from it.
    by_value: RefCell<HashMap<Operand, ByValue>>,
    known: HashMap<Question, bool>,
}

impl<'q, 'g> Search<'q, 'g> {
    fn new(query: &'q Query, index: &'q Index<'g>) -> Self {
        let count = query.selectors.len();
        let mut tied = vec![0; count];
        for condition in &query.conditions {
            if let (left, Some(right)) = query.variables(condition) {
                tied[left] |= 1 << right;
                tied[right] |= 1 << left;
            }
        }
        Self {
            query,
            index,
            tied,
            bound: vec![None; count],
            all: RefCell::default(),
            by_value: RefCell::default(),
            known: HashMap::default(),
        }
    }

    fn answers(mut self) -> Vec<OperationId> {
        let target = self.query.target;
        let mut others: Names = 0;
        for name in 0..self.query.selectors.len() {
            others |= 1 << name;
        }
        others &= !(1 << target);
        let mut found = Vec::new();
        for candidate in self.all(target).iter() {
            if let Thing::Operation(id) = candidate
                && self.try_with(target, candidate.clone(), others)
            {
                found.push(*id);
            }
        }
        found
    }

    /// Whether there is something for all of the given names, with one more bound.
    fn try_with(&mut self, name: Variable, thing: Thing, others: Names) -> bool {
        if !self.is_selected(name, &thing) {
            return false;
        }
        self.bound[name] = Some(thing);
        let holds = self.holds(name) && self.exists(others);
        self.bound[name] = None;
        holds
    }

    fn exists(&mut self, mut open: Names) -> bool {
        while open != 0 {
            let part = self.part(open);
            if !self.satisfied(part) {
                return false;
            }
            open &= !part;
        }
        true
    }

    /// The names of a set that are tied to its first one, by way of each other.
    fn part(&self, open: Names) -> Names {
        let mut part = 1 << open.trailing_zeros();
        loop {
            let ties = members(part).fold(part, |ties, name| ties | self.tied[name]) & open;
            if ties == part {
                return part;
            }
            part = ties;
        }
    }

    fn satisfied(&mut self, part: Names) -> bool {
        let around = members(part).fold(0, |around, name| around | self.tied[name]) & !part;
        let around = members(around).filter_map(|name| Some((name, self.bound[name].clone()?)));
        let question: Question = (part, around.collect());
        if let Some(known) = self.known.get(&question) {
            return *known;
        }
        let (name, candidates) = self.next(part);
        let rest = part & !(1 << name);
        let found = candidates.iter().any(|thing| self.try_with(name, thing.clone(), rest));
        self.known.insert(question, found);
        found
    }

    /// The name with the fewest candidates, and those.
    fn next(&self, part: Names) -> (Variable, Rc<Vec<Thing>>) {
        let driven = members(part).flat_map(|name| {
            let candidates = self.query.conditions.iter();
            let candidates = candidates.filter_map(move |condition| self.driven(name, condition));
            candidates.map(move |candidates| (name, Rc::new(candidates)))
        });
        let least = driven.min_by_key(|(_, candidates)| candidates.len());
        least.unwrap_or_else(|| {
            let all = members(part).map(|name| (name, self.all(name)));
            let least = all.min_by_key(|(_, candidates)| candidates.len());
            least.unwrap_or_else(|| (self.query.target, Rc::default()))
        })
    }

    /// All that a name could stand for, whatever the others stand for.
    fn all(&self, name: Variable) -> Rc<Vec<Thing>> {
        if let Some(known) = self.all.borrow().get(&name) {
            return Rc::clone(known);
        }
        let found = match &self.query.selectors[name] {
            Selector::Change(_) => {
                let all = (0..self.index.graph.operations.len()).map(Thing::Operation);
                all.filter(|thing| self.is_selected(name, thing)).collect()
            }
            Selector::Component(filter) => {
                let key = (filter.kind, filter.subtype.as_deref().map(Text::from));
                let all = self.index.components.get(&key).into_iter().flatten();
                let all = all.map(|own| Thing::Component(*own));
                all.filter(|thing| self.is_selected(name, thing)).collect()
            }
            Selector::Value(_) => {
                let whole = self.query.whole(name);
                let roots = self.all(whole.variable);
                let values = roots.iter().flat_map(|root| self.values(root, &whole));
                values.map(|(own, path, _)| Thing::Value(own, path.into())).collect()
            }
        };
        let found = Rc::new(found);
        self.all.borrow_mut().insert(name, Rc::clone(&found));
        found
    }

    /// What a name could stand for, given what a condition ties it to. `None` if the condition
    /// says nothing of that.
    fn driven(&self, name: Variable, condition: &Condition) -> Option<Vec<Thing>> {
        let bound = |other: Variable| self.bound[other].as_ref();
        match condition {
            Condition::Applies(change, target) if *change == name => {
                let own = bound(target.variable)?.own()?;
                let operations = self.index.operations.get(&own).into_iter().flatten();
                Some(operations.map(|id| Thing::Operation(*id)).collect())
            }
            Condition::Applies(change, target) if target.variable == name => {
                let Thing::Operation(id) = bound(*change)? else { return None };
                let operation = &self.index.graph.operations[*id];
                self.of_components(name, components(operation))
            }
            Condition::Refers(from, target) if *target == name => {
                let own = bound(from.variable)?.own()?;
                let found = self.index.references.get(&own).into_iter().flatten();
                Some(found.map(|(_, id)| Thing::Component((own.0, *id))).collect())
            }
            Condition::Refers(from, target) if from.variable == name => {
                let own = bound(*target)?.own()?;
                let found = self.index.referrers.get(&own).into_iter().flatten();
                self.of_components(name, found.map(|(_, id)| (own.0, *id)).collect())
            }
            Condition::Contains(outer, inner) => {
                let (other, next) = if *outer == name {
                    (*inner, &self.index.outer)
                } else if *inner == name {
                    (*outer, &self.index.inner)
                } else {
                    return None;
                };
                let own = bound(other)?.own()?;
                self.of_components(name, reach(own, next))
            }
            Condition::Same(left, right) => {
                let other = if *left == name { *right } else { *left };
                let is_ours = *left == name || *right == name;
                is_ours.then(|| bound(other).cloned().map(|thing| vec![thing])).flatten()
            }
            Condition::Equals(Comparand::Values(left), Comparand::Values(right)) => {
                let (own, other) = if left.variable == name {
                    (left, right)
                } else if right.variable == name {
                    (right, left)
                } else {
                    return None;
                };
                let wanted = self.scalars(bound(other.variable)?, other);
                let index = self.by_value(own);
                let found = wanted.iter().filter_map(|scalar| index.get(scalar));
                Some(found.flatten().cloned().collect())
            }
            Condition::Within(value) if *value == name => {
                let Selector::Value(operand) = &self.query.selectors[name] else { return None };
                let values = self.values(bound(operand.variable)?, operand);
                let things =
                    values.into_iter().map(|(own, path, _)| Thing::Value(own, path.into()));
                Some(things.collect())
            }
            Condition::Within(value) => {
                let Selector::Value(operand) = &self.query.selectors[*value] else { return None };
                let own = bound(*value)?.own()?;
                if operand.variable != name {
                    return None;
                }
                match self.query.selectors[name] {
                    Selector::Change(_) => {
                        let operations = self.index.operations.get(&own).into_iter().flatten();
                        Some(operations.map(|id| Thing::Operation(*id)).collect())
                    }
                    _ => self.of_components(name, vec![own]),
                }
            }
            _ => None,
        }
    }

    /// Components, or the values in them that a name could stand for.
    fn of_components(&self, name: Variable, components: Vec<Own>) -> Option<Vec<Thing>> {
        let mut components = components;
        components.sort_unstable();
        components.dedup();
        match &self.query.selectors[name] {
            Selector::Component(_) => Some(components.into_iter().map(Thing::Component).collect()),
            Selector::Value(_) => {
                let whole = self.query.whole(name);
                if !matches!(self.query.selectors[whole.variable], Selector::Component(_)) {
                    return None;
                }
                let values = components
                    .into_iter()
                    .flat_map(|own| self.values(&Thing::Component(own), &whole));
                Some(values.map(|(own, path, _)| Thing::Value(own, path.into())).collect())
            }
            Selector::Change(_) => None,
        }
    }

    fn by_value(&self, operand: &Operand) -> ByValue {
        if let Some(known) = self.by_value.borrow().get(operand) {
            return Rc::clone(known);
        }
        let mut index: HashMap<String, Vec<Thing>> = HashMap::default();
        for thing in self.all(operand.variable).iter() {
            for scalar in self.scalars(thing, operand) {
                index.entry(scalar).or_default().push(thing.clone());
            }
        }
        let index = Rc::new(index);
        self.by_value.borrow_mut().insert(operand.clone(), Rc::clone(&index));
        index
    }

    /// The scalars at a path, each once.
    fn scalars(&self, thing: &Thing, operand: &Operand) -> Vec<String> {
        let values = self.values(thing, operand).into_iter();
        let mut found: Vec<_> = values.filter_map(|(.., value)| scalar(value)).collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// The values at a path from a thing, with their places.
    fn values(&self, thing: &Thing, operand: &Operand) -> Vec<(Own, Vec<Segment>, &'g Value)> {
        let (own, base) = match thing {
            Thing::Component(own) => (*own, Vec::new()),
            Thing::Value(own, path) => (*own, path.to_vec()),
            Thing::Operation(id) => {
                let operation = &self.index.graph.operations[*id];
                let Some(side) = operand.side else { return Vec::new() };
                let Some(component) = operation.on(side) else { return Vec::new() };
                let base = match (&operation.kind, operation.property(side)) {
                    (_, Some(path)) => path.clone(),
                    (OperationKind::Property { .. }, None) => return Vec::new(),
                    _ => Vec::new(),
                };
                ((side, component), base)
            }
        };
        let mut found = Vec::new();
        if let Some(value) = at(self.index.body(own), &base) {
            expand(value, base, &operand.steps, &mut found);
        }
        found.into_iter().map(|(path, value)| (own, path, value)).collect()
    }

    /// Whether the selector of a name allows a thing, whatever the others stand for.
    fn is_selected(&self, name: Variable, thing: &Thing) -> bool {
        match (&self.query.selectors[name], thing) {
            (Selector::Change(filter), Thing::Operation(id)) => {
                let operation = &self.index.graph.operations[*id];
                let (kind, property) = kinds(operation);
                filter.kind.is_none_or(|wanted| wanted == kind)
                    && filter.property.is_none_or(|wanted| Some(wanted) == property)
                    && filter.certainty.is_none_or(|wanted| wanted == operation.certainty)
                    && filter.marks.iter().all(|(mark, is)| operation.marks.contains(mark) == *is)
            }
            (Selector::Component(filter), Thing::Component((side, id))) => {
                let component = &self.index.graph.side(*side).components[*id];
                let is = |wanted: &Option<String>, found: Option<&Text>| {
                    wanted.as_ref().is_none_or(|wanted| found.is_some_and(|found| found == wanted))
                };
                filter.kind.is_none_or(|wanted| wanted == component.kind)
                    && is(&filter.subtype, component.subtype.as_ref())
                    && is(&filter.name, Some(&component.name))
            }
            (Selector::Value(_), Thing::Value(..)) => true,
            _ => false,
        }
    }

    /// Whether all conditions hold that a name has part in and whose other name is bound.
    fn holds(&self, name: Variable) -> bool {
        self.query.conditions.iter().all(|condition| {
            let (left, right) = self.query.variables(condition);
            let is_ours = left == name || right == Some(name);
            let is_bound = |name: Variable| self.bound[name].is_some();
            !is_ours
                || !is_bound(left)
                || !right.is_none_or(is_bound)
                || self.is_true(condition).unwrap_or(false)
        })
    }

    fn is_true(&self, condition: &Condition) -> Option<bool> {
        let bound = |name: Variable| self.bound[name].as_ref();
        Some(match condition {
            Condition::Applies(change, target) => {
                let Thing::Operation(id) = bound(*change)? else { return None };
                self.applies(&self.index.graph.operations[*id], bound(target.variable)?, target)
            }
            Condition::Refers(from, target) => {
                let (thing, target) = (bound(from.variable)?, bound(*target)?.own()?);
                let own = thing.own()?;
                let references = self.index.references.get(&own).into_iter().flatten();
                let paths: Vec<&[Segment]> = references
                    .filter(|(_, id)| (own.0, *id) == target)
                    .map(|(path, _)| *path)
                    .collect();
                if matches!(thing, Thing::Component(_)) && from.steps.is_empty() {
                    return Some(!paths.is_empty());
                }
                let values = self.values(thing, from);
                values.iter().any(|(_, place, _)| paths.iter().any(|path| path.starts_with(place)))
            }
            Condition::Contains(outer, inner) => {
                let (outer, inner) = (bound(*outer)?.own()?, bound(*inner)?.own()?);
                reach(inner, &self.index.outer).contains(&outer)
            }
            Condition::Same(left, right) => bound(*left)? == bound(*right)?,
            Condition::Equals(Comparand::Values(one), Comparand::Literal(literal))
            | Condition::Equals(Comparand::Literal(literal), Comparand::Values(one)) => {
                self.scalars(bound(one.variable)?, one).contains(literal)
            }
            Condition::Equals(Comparand::Values(one), Comparand::Anything)
            | Condition::Equals(Comparand::Anything, Comparand::Values(one)) => {
                !self.values(bound(one.variable)?, one).is_empty()
            }
            Condition::Equals(Comparand::Values(left), Comparand::Values(right)) => {
                let left = self.scalars(bound(left.variable)?, left);
                let right = self.scalars(bound(right.variable)?, right);
                left.iter().any(|scalar| right.contains(scalar))
            }
            Condition::Equals(..) => false,
            Condition::Within(value) => {
                let Selector::Value(operand) = &self.query.selectors[*value] else { return None };
                let Thing::Value(own, path) = bound(*value)? else { return None };
                let values = self.values(bound(operand.variable)?, operand);
                values.iter().any(|(other, place, _)| other == own && **place == **path)
            }
        })
    }

    /// Whether an operation is one of a component, of a property or of something in it. What is put
    /// in or taken out applies to everything in it.
    fn applies(&self, operation: &Operation, thing: &Thing, target: &Operand) -> bool {
        let Some(own) = thing.own() else { return false };
        if operation.on(own.0) != Some(own.1) {
            return false;
        }
        if matches!(thing, Thing::Component(_)) && target.steps.is_empty() {
            return true;
        }
        let Some(property) = operation.property(own.0) else { return false };
        let is_whole = matches!(
            operation.kind,
            OperationKind::Property { change: PropertyChange::Insert | PropertyChange::Remove, .. }
        );
        self.values(thing, target).iter().any(|(_, path, _)| {
            property.starts_with(path) || (is_whole && path.starts_with(property))
        })
    }
}

fn members(names: Names) -> impl Iterator<Item = Variable> {
    (0..64).filter(move |name| names & (1 << name) != 0)
}
