//! What a rule asks: which operations there are for which everything holds.

use super::condition::Step;
use super::{Action, Risk};
use crate::analyze::model::{Certainty, ComponentKind, Mark, PropertyChange, Side};

/// The number of a name in its query.
pub(super) type Variable = usize;

/// The question for the operations that an effect is for. It holds all that the rule and the rules
/// around it say.
#[derive(Clone, Debug)]
pub(super) struct Query {
    /// The description of the rule, or where it stands.
    pub(super) rule: String,
    /// What each name stands for.
    pub(super) selectors: Vec<Selector>,
    /// What must hold.
    pub(super) conditions: Vec<Condition>,
    /// The name that the effect is for.
    pub(super) target: Variable,
    /// What follows.
    pub(super) effect: Effect,
}

/// What follows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Effect {
    pub(super) risk: Option<Risk>,
    pub(super) action: Option<Action>,
}

/// What a name can stand for.
#[derive(Clone, Debug)]
pub(super) enum Selector {
    /// An operation.
    Change(ChangeFilter),
    /// A component, on either side.
    Component(ComponentFilter),
    /// A value, with the way to it from the name that it begins with.
    Value(Operand),
}

/// Which operations.
#[derive(Clone, Debug, Default)]
pub(super) struct ChangeFilter {
    pub(super) kind: Option<ChangeKind>,
    pub(super) property: Option<PropertyChange>,
    pub(super) certainty: Option<Certainty>,
    /// Marks that must be there, or must not.
    pub(super) marks: Vec<(Mark, bool)>,
}

/// Kinds of operations as rules name them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChangeKind {
    Insert,
    Remove,
    Replace,
    Rename,
    Move,
    /// Any operation of a property.
    Update,
}

/// Which components.
#[derive(Clone, Debug, Default)]
pub(super) struct ComponentFilter {
    pub(super) kind: Option<ComponentKind>,
    pub(super) subtype: Option<String>,
    pub(super) name: Option<String>,
}

/// A name with a path.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Operand {
    pub(super) variable: Variable,
    /// Of an operation: which side's property.
    pub(super) side: Option<Side>,
    pub(super) steps: Vec<Step>,
}

/// What can be compared.
#[derive(Clone, Debug)]
pub(super) enum Comparand {
    /// A scalar, as text.
    Literal(String),
    /// Whatever is there.
    Anything,
    /// The values at a path.
    Values(Operand),
}

/// What must hold.
#[derive(Clone, Debug)]
pub(super) enum Condition {
    /// An operation is one of a component or a property.
    Applies(Variable, Operand),
    /// A component or a value refers to a component.
    Refers(Operand, Variable),
    /// The first component contains the second one.
    Contains(Variable, Variable),
    /// Both are the same.
    Same(Variable, Variable),
    /// Any of the one is equal to any of the other.
    Equals(Comparand, Comparand),
    /// A value is where its selector says.
    Within(Variable),
}

impl Query {
    /// The names in a condition: one or two.
    pub(super) fn variables(&self, condition: &Condition) -> (Variable, Option<Variable>) {
        match condition {
            Condition::Applies(change, operand) => (*change, Some(operand.variable)),
            Condition::Refers(operand, target) => (operand.variable, Some(*target)),
            Condition::Contains(left, right) | Condition::Same(left, right) => {
                (*left, Some(*right))
            }
            Condition::Equals(Comparand::Values(left), Comparand::Values(right)) => {
                (left.variable, Some(right.variable))
            }
            Condition::Equals(Comparand::Values(one), _)
            | Condition::Equals(_, Comparand::Values(one)) => (one.variable, None),
            // Two literals are no condition: the reader refuses them.
            Condition::Equals(..) => (self.target, None),
            Condition::Within(value) => match &self.selectors[*value] {
                Selector::Value(operand) => (*value, Some(operand.variable)),
                _ => (*value, None),
            },
        }
    }

    /// Returns the whole way to a value: from a name that is not a value itself.
    pub(super) fn whole(&self, value: Variable) -> Operand {
        let mut whole = Operand { variable: value, side: None, steps: Vec::new() };
        while let Selector::Value(operand) = &self.selectors[whole.variable] {
            let steps = operand.steps.iter().chain(&whole.steps).cloned().collect();
            whole = Operand { variable: operand.variable, side: operand.side, steps };
        }
        whole
    }
}
