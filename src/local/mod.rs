//! The embedded CloudFormation: an AWS with every account and region, in a directory.
//!
//! In: requests in our own types, and a clock and a source of ids ([`Ambient`]). Out: answers,
//! or a [`ServiceError`] with the code and the text of AWS. The state is a directory of readable
//! files, written so that processes can share it and can be killed at any moment. `BEHAVIOUR.md`
//! beside this file says what can be observed.
//!
//! It judges templates and refactors by its own reading of CloudFormation's rules, and therefore
//! knows nothing of comparisons and plans. Called by whoever offers it to clients.

mod advance;
mod behind;
mod buckets;
mod change_set;
mod clock;
mod error;
mod evaluate;
mod events;
mod exports;
mod faults;
mod images;
mod inventory;
mod lookups;
mod operations;
mod parameter_store;
mod record;
mod refactor;
mod resources;
pub mod server;
mod stacks;
mod state;
mod templates;

pub use behind::Meddling;
pub use change_set::{
    ChangeSetCreated, ChangeSetDetail, ChangeSetInfo, ChangeSetType, CreateChangeSet,
};
pub use clock::{Ambient, Clock, CountingIds, IdSource, ManualClock, iso8601};
pub use error::{Answer, ServiceError};
pub use evaluate::parameters::ParameterInput;
pub use exports::Export;
pub use faults::{Faults, RefactorFault, ResourceFault};
pub use inventory::StackView;
pub use operations::{EventsOf, OperationEvent};
pub use parameter_store::BOOTSTRAP_VERSION;
pub use record::{
    Attributes, Input, Json, Output, Parameter, Physical, Resource, StackEvent, StackInfo,
};
pub use refactor::{
    CreateStackRefactor, RefactorAction, RefactorInfo, ResourceLocation, ResourceMapping,
    StackDefinition,
};
pub use stacks::{
    CreateStack, DeleteStack, Detail, Page, ParameterDeclaration, ResourceChange, StackDetail,
    StackResource, StackSummary, TemplateSource, TemplateStage, TemplateSummary, TypeDescription,
    UpdateStack,
};
pub use state::{Cloud, Delays, Options, Region, WriteHook};
