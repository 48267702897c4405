//! Random refactorings. The app afterwards knows its resources by the same keys: that is the
//! truth.

use std::collections::BTreeSet;

use proptest::collection::vec;
use proptest::prelude::*;

use super::build::{IDS, PHYSICAL_NAME, ResourceRecipe, pick, resource};
use super::model::{App, Construct, Home, Key, Prop, StackModel};

/// One step of a refactoring.
#[derive(Clone, Debug)]
pub enum Op {
    Rename(u8, u8),
    Wrap(u8, u8),
    MoveToStack(u8, u8),
    MoveInto(u8, u8),
    RenameStack(u8, u8),
    Add(ResourceRecipe, Option<u8>),
    Remove(u16),
    Change(u16, u8),
}

/// Steps that only move; with `impure`, others too.
pub fn ops(impure: bool) -> impl Strategy<Value = Vec<Op>> {
    let two = || (any::<u8>(), any::<u8>());
    let moves = prop_oneof![
        4 => two().prop_map(|(a, b)| Op::Rename(a, b)),
        2 => two().prop_map(|(a, b)| Op::Wrap(a, b)),
        3 => two().prop_map(|(a, b)| Op::MoveToStack(a, b)),
        1 => two().prop_map(|(a, b)| Op::MoveInto(a, b)),
        1 => two().prop_map(|(a, b)| Op::RenameStack(a, b)),
    ];
    let others = prop_oneof![
        2 => (resource(), any::<Option<u8>>()).prop_map(|(r, to)| Op::Add(r, to)),
        2 => any::<u16>().prop_map(Op::Remove),
        2 => (any::<u16>(), any::<u8>()).prop_map(|(key, how)| Op::Change(key, how)),
    ];
    let other_weight = u32::from(impure);
    vec(prop_oneof![2 => moves.boxed(), other_weight => others.boxed()], 1..=5)
}

/// Carries out the steps. Unless `reuse` is set, every new name is one that was never used.
pub fn refactor(before: &App, ops: &[Op], reuse: bool) -> App {
    let mut work = Work { app: before.clone(), used: BTreeSet::new(), reuse };
    work.used.extend(before.stacks.iter().map(|stack| stack.id.clone()));
    work.used.extend(before.constructs.iter().map(|construct| construct.id.clone()));
    for op in ops {
        work.step(op);
    }
    work.app
}

struct Work {
    app: App,
    used: BTreeSet<String>,
    reuse: bool,
}

impl Work {
    fn fresh(&mut self, number: u8) -> String {
        let id = pick(&IDS, number);
        if self.reuse {
            return id.to_owned();
        }
        let numbered = (2..).map(|number| format!("{id}{number}"));
        let id = std::iter::once(id.to_owned())
            .chain(numbered)
            .find(|id| !self.used.contains(id))
            .unwrap();
        self.used.insert(id.clone());
        id
    }

    fn construct(&self, number: u8) -> usize {
        usize::from(number) % self.app.constructs.len()
    }

    fn resource(&self, number: u16) -> Option<Key> {
        let keys: Vec<Key> = self.app.resources.keys().copied().collect();
        let key = *keys.get(usize::from(number) % keys.len().max(1))?;
        self.app.resources[&key].makes.is_none().then_some(key)
    }

    fn step(&mut self, op: &Op) {
        match op {
            Op::Rename(construct, id) => {
                let (construct, id) = (self.construct(*construct), self.fresh(*id));
                self.relocate(construct, self.app.constructs[construct].home, id);
            }
            Op::Wrap(construct, id) => {
                let (construct, id) = (self.construct(*construct), self.fresh(*id));
                let home = self.app.constructs[construct].home;
                if !self.app.is_taken(home, &id) {
                    self.app.constructs.push(Construct { id, home });
                    let wrapper = self.app.constructs.len() - 1;
                    self.app.constructs[construct].home = Home::Construct(wrapper);
                }
            }
            Op::MoveToStack(construct, stack) => {
                let construct = self.construct(*construct);
                let number = usize::from(*stack) % (self.app.stacks.len() + 1);
                if number == self.app.stacks.len() {
                    let id = format!("{}Stack", self.fresh(*stack));
                    if self.app.stacks.iter().any(|other| other.id == id) {
                        return;
                    }
                    self.app.stacks.push(StackModel { id, stage: None, nested: None });
                }
                let id = self.app.constructs[construct].id.clone();
                self.relocate(construct, Home::Stack(number), id);
            }
            Op::MoveInto(construct, other) => {
                let (construct, other) = (self.construct(*construct), self.construct(*other));
                if !self.app.subtree(construct).contains(&other) {
                    let id = self.app.constructs[construct].id.clone();
                    self.relocate(construct, Home::Construct(other), id);
                }
            }
            Op::RenameStack(stack, id) => {
                let stack = usize::from(*stack) % self.app.stacks.len();
                let id = format!("{}Stack", self.fresh(*id));
                if self.app.stacks.iter().all(|other| other.id != id) {
                    self.app.stacks[stack].id = id;
                }
            }
            Op::Add(recipe, own_construct) => {
                let mut recipe = recipe.clone();
                if let Some(id) = own_construct {
                    let home = Home::Stack(usize::from(recipe.home) % self.app.stacks.len());
                    let id = self.fresh(*id);
                    if !self.app.is_taken(home, &id) {
                        self.app.constructs.push(Construct { id, home });
                        recipe.home =
                            u8::try_from(self.app.constructs.len() - 1).unwrap_or_default();
                    }
                }
                if let Some(key) = self.app.add_resource(&recipe) {
                    self.app.resources.get_mut(&key).unwrap().properties.remove(PHYSICAL_NAME);
                }
            }
            Op::Remove(number) => {
                if let Some(key) = self.resource(*number) {
                    self.remove(key);
                }
            }
            Op::Change(number, how) => {
                if let Some(key) = self.resource(*number) {
                    self.change(key, *how);
                }
            }
        }
    }

    fn relocate(&mut self, construct: usize, home: Home, id: String) {
        let (stack, _) = self.app.place(home);
        let inside = self.app.subtree(construct);
        let is_inside = |home| matches!(home, Home::Construct(c) if inside.contains(&c));
        let holds_nested =
            self.app.stacks.iter().any(|s| s.nested.is_some_and(|(home, _)| is_inside(home)));
        // Nested stacks do not nest here.
        let is_nested = self.app.stacks[stack].nested.is_some();
        if !(self.app.is_taken(home, &id) || holds_nested && is_nested) {
            self.app.constructs[construct] = Construct { id, home };
        }
    }

    /// What named or referred to the resource has a text instead.
    fn remove(&mut self, gone: Key) {
        self.app.resources.remove(&gone);
        for resource in self.app.resources.values_mut() {
            resource.depends_on.retain(|key| *key != gone);
            for prop in resource.properties.values_mut() {
                let mut mentions = false;
                prop.for_each_key(&mut |key| mentions |= *key == gone);
                if mentions {
                    *prop = Prop::Text("none any more".into());
                }
            }
        }
    }

    fn change(&mut self, key: Key, how: u8) {
        let properties = &mut self.app.resources.get_mut(&key).unwrap().properties;
        let names: Vec<String> =
            properties.keys().filter(|name| *name != PHYSICAL_NAME).cloned().collect();
        let value = Prop::Text(pick(&IDS, how / 4).to_owned());
        match (how % 4, names.first()) {
            (0, Some(name)) => {
                properties.remove(name);
            }
            (1, Some(name)) => {
                properties.insert(name.clone(), Prop::Number(7));
            }
            (2, Some(name)) => {
                properties.insert(name.clone(), value);
            }
            _ => {
                properties.insert("Added".into(), value);
            }
        }
    }
}
