//! Deploys one stack: looks how it is, and whether there is anything to do.

use std::fs;

use tokio::sync::watch::Receiver;

use super::error::StackError;
use super::follow::Followed;
use super::options::Wanted;
use super::stack::{
    CAPABILITIES, Footing, Parameters, footing, inline, is_notified, is_unchanged, looked_up,
    parameter_asset, parameters, template,
};
use super::staging::{Staging, is_long};
use super::{CHANGE_SET_PREFIX, DeployRequest, DeployedStack, Outcome, Stage};
use crate::assembly::{AssemblyStack, StackProperties};
use crate::aws::{
    Aws, CallError, ChangeSetRequest, Purpose, Role, RoleOptions, Roles, Session, StackState,
    TemplateAt, fill_in, now,
};
use crate::event::{Event, Host, Remote};
use crate::model::{Environment, StackStatus, StatusKind, Template};
use crate::settings::Method;

/// How often something is looked for before it is taken for lost: what was asked for may take a
/// moment to show.
pub(super) const LOOKS: usize = 3;

/// The deployment of a stack.
pub(super) struct Deployment<'a> {
    pub(super) session: Session,
    pub(super) stack: &'a AssemblyStack,
    pub(super) name: String,
    pub(super) request: &'a DeployRequest<'a>,
    pub(super) host: &'a dyn Host,
    pub(super) cancel: Option<&'a Receiver<bool>>,
    aws: &'a Aws,
    at: usize,
    stage: &'a Stage<'a>,
    wanted: Wanted,
}

impl<'a> Deployment<'a> {
    /// Gets credentials for a stage.
    ///
    /// # Errors
    /// When there are none.
    pub(super) async fn open(
        aws: &'a Aws,
        request: &'a DeployRequest<'a>,
        (at, environment): (usize, &Environment),
        host: &'a dyn Host,
        cancel: Option<&'a Receiver<bool>>,
    ) -> Result<Self, StackError> {
        let stage = &request.stages[at];
        let stack = stage.stack;
        let name = stack.stack.name.to_string();
        let roles = roles(&stack.properties)
            .map_err(|error| StackError::Role { stack: name.clone(), error })?;
        let session = aws.session(environment, &roles, Purpose::Write).await?;
        for text in session.warnings().iter().cloned() {
            host.tell(&Event::Note { text });
        }
        let wanted = Wanted::of(stack, &request.options, request.assembly.schema_major);
        Ok(Self { session, stack, name, request, host, cancel, aws, at, stage, wanted })
    }

    /// Deploys the stack.
    ///
    /// # Errors
    /// When it cannot be deployed; the error tells how it is now.
    pub(super) async fn deploy(&self) -> Result<DeployedStack, StackError> {
        let options = &self.request.options;
        let mut existing = self.settled(&self.name).await?;
        match footing(existing.as_ref(), options.rollback) {
            Footing::Unusable(advice) => {
                let status = existing.map_or_else(unknown, |state| state.status);
                let (stack, environment) = self.place();
                return Err(StackError::State { stack, environment, status, advice });
            }
            Footing::Leftover => {
                if let Some(leftover) = existing.take() {
                    self.delete(&leftover).await?;
                }
            }
            Footing::New => existing = existing.filter(is_shell),
            Footing::Existing => {}
        }
        let is_new = existing.as_ref().is_none_or(is_shell);
        let current = existing.as_ref().filter(|_| !is_new);
        let (body, declared) = self.body()?;
        let parameters = parameters(&declared, &self.wanted, current);
        if let Some((parameter, asset)) = parameter_asset(&declared, &parameters) {
            let stack = self.name.clone();
            return Err(StackError::ParameterAsset { stack, asset, parameter });
        }
        if let Some(current) = current.filter(|_| !options.force) {
            let deployed = self.session.submitted_template(&current.id).await?;
            if is_unchanged(&self.wanted, current, &parameters, &deployed, &body) {
                return self.finish(current.clone(), Outcome::Unchanged).await;
            }
        }
        let change = self.request_for(current, parameters, body).await?;
        let shell = existing.as_ref().filter(|_| is_new);
        if options.method == Method::Direct {
            match self.not_directly(shell.is_some(), current.is_some(), &declared) {
                None => return self.change_directly(&change).await,
                Some(text) => self.host.tell(&Event::Note { text }),
            }
        }
        self.change_by_set(&change, shell.is_some()).await
    }

    /// Says why a stack is deployed by a change set although nobody wants one.
    fn not_directly(&self, is_shell: bool, exists: bool, template: &Template) -> Option<String> {
        if is_shell {
            return Some(format!(
                "Stack `{}` waits for its first change set, so it is deployed by one.",
                self.name
            ));
        }
        // Of interest only to somebody who decides; nothing is lost by what is new.
        if self.request.judge.is_none() || !exists {
            return None;
        }
        let nested = self.stack.nested.iter().map(|stack| &stack.template);
        let looked_up: Vec<String> =
            std::iter::once(template).chain(nested).flat_map(looked_up).collect();
        (!looked_up.is_empty()).then(|| {
            format!(
                "CloudFormation looks up parameters of stack `{}` when it changes the stack ({}). \
                 What that does shows in a change set only, so it is deployed by one.",
                self.name,
                looked_up.join(", ")
            )
        })
    }

    /// What CloudFormation is asked for.
    async fn request_for(
        &self,
        current: Option<&StackState>,
        parameters: Parameters,
        body: String,
    ) -> Result<ChangeSetRequest, StackError> {
        let environment = self.session.environment();
        let digits: String = now().chars().filter(char::is_ascii_digit).collect();
        // Stacks that begin in the same moment differ by their stages.
        let token = format!("{CHANGE_SET_PREFIX}{digits}-{}", self.at);
        Ok(ChangeSetRequest {
            name: self.request.options.change_set_name.clone().unwrap_or_else(|| token.clone()),
            token,
            stack: current.map_or_else(|| self.name.clone(), |state| state.id.clone()),
            creates_stack: current.is_none(),
            template: self.template(body).await?,
            parameters: parameters.given,
            kept_parameters: parameters.kept,
            capabilities: CAPABILITIES.map(str::to_owned).to_vec(),
            tags: Some(self.wanted.tags.clone().into_iter().collect()),
            notification_arns: self.wanted.notification_arns.clone(),
            role_arn: self.wanted.role_arn.as_ref().map(|arn| fill_in(arn, environment)),
            // Of interest only to somebody who decides; nothing is lost by what is new.
            with_nested: self.request.judge.is_some()
                && !self.stack.nested.is_empty()
                && current.is_some(),
        })
    }

    /// The template that is sent, as text and read.
    fn body(&self) -> Result<(String, Template), StackError> {
        if let Some(text) = &self.stage.template {
            let read = crate::template::parse(text.as_bytes());
            let read = read.map_err(|error| StackError::Template {
                stack: self.name.clone(),
                error: Box::new(error),
            })?;
            return Ok((text.clone(), read));
        }
        let file = &self.stack.properties.template_file;
        let body = fs::read_to_string(file)
            .map_err(|error| StackError::Io { path: file.clone(), error })?;
        Ok((body, self.stack.stack.template.clone()))
    }

    /// Puts the template where CloudFormation finds it.
    async fn template(&self, body: String) -> Result<TemplateAt, StackError> {
        let environment = self.session.environment();
        if self.stage.template.is_none() {
            return template(self.stack, environment, body);
        }
        if !is_long(&body) {
            return Ok(TemplateAt::Body(body));
        }
        let staging =
            Staging::of(self.stack, self.request.files, environment).map_err(|error| {
                StackError::Staging { stack: self.name.clone(), error: Box::new(error) }
            })?;
        match staging {
            Some(staging) => Ok(staging.put(self.aws, &self.name, &body).await?),
            None => inline(self.stack, body),
        }
    }

    /// What to say of a stack in which nothing was to be changed after all.
    pub(super) async fn nothing_to_do(&self) -> Result<DeployedStack, StackError> {
        // Only an update can be empty.
        let state = self.settled(&self.name).await?.ok_or_else(|| self.lost("the stack"))?;
        if state.status.kind() != StatusKind::Stable {
            let ((stack, environment), status) = (self.place(), state.status);
            let advice = "CloudFormation finds nothing to change in it, but its last operation \
                          failed. Roll it back (`aws cloudformation rollback-stack`), then deploy \
                          again";
            return Err(StackError::State { stack, environment, status, advice });
        }
        if !is_notified(&self.wanted, &state) {
            let text = format!(
                "CloudFormation does not change the notification topics of stack `{}` without \
                 another change: they are not yet as the app has them.",
                self.name
            );
            self.host.tell(&Event::Note { text });
        }
        self.finish(state, Outcome::Unchanged).await
    }

    /// What to say of a stack that has changed.
    pub(super) async fn ended(
        &self,
        Followed { state, left }: Followed,
        outcome: Outcome,
    ) -> Result<DeployedStack, StackError> {
        let done = self.finish(state, outcome).await?;
        Ok(DeployedStack { left, ..done })
    }

    /// Protects the stack from deletion if the assembly says so, or no longer.
    pub(super) async fn finish(
        &self,
        state: StackState,
        outcome: Outcome,
    ) -> Result<DeployedStack, StackError> {
        let wanted = self.stack.properties.termination_protection;
        let has = state.options.termination_protection;
        let mut outcome = outcome;
        if let Some(wanted) = wanted.filter(|wanted| *wanted != has) {
            self.session.protect_stack(&state.id, wanted).await?;
            if outcome == Outcome::Unchanged {
                outcome = Outcome::Updated;
            }
        }
        Ok(self.report(state, outcome))
    }

    pub(super) fn report(&self, state: StackState, outcome: Outcome) -> DeployedStack {
        DeployedStack {
            stage: self.at,
            id: self.stack.hierarchical_id.clone(),
            environment: self.session.environment().clone(),
            name: self.name.clone(),
            arn: state.id,
            outcome,
            outputs: state.outputs.into_iter().collect(),
            left: Vec::new(),
        }
    }

    pub(super) fn place(&self) -> (String, Environment) {
        (self.name.clone(), self.session.environment().clone())
    }

    pub(super) fn refused(&self, reason: &str) -> StackError {
        let (stack, environment) = self.place();
        let reason = format!("{}.", reason.trim().trim_end_matches('.'));
        StackError::Refused { stack, environment, reason }
    }

    pub(super) fn lost(&self, what: &str) -> StackError {
        let (stack, environment) = self.place();
        StackError::Lost { stack, environment, what: what.to_owned() }
    }

    pub(super) fn may_have_arrived(&self, error: &CallError) {
        let text = format!("{error} The request may have arrived nevertheless.");
        self.host.tell(&Event::Note { text });
    }

    pub(super) fn tell(&self, what: Remote, id: &str, status: &str) {
        let (environment, id) = (self.session.environment().clone(), id.to_owned());
        self.host.tell(&Event::Remote { environment, what, id, status: status.to_owned() });
    }
}

/// Whether a stack is only a name that waits for its first change set.
pub(super) fn is_shell(state: &StackState) -> bool {
    state.status.0 == "REVIEW_IN_PROGRESS"
}

pub(super) fn unknown() -> StackStatus {
    StackStatus("DELETE_COMPLETE".into())
}

/// The role that the manifest names to deploy a stack with.
pub(super) fn roles(properties: &StackProperties) -> Result<Roles, crate::aws::RoleOptionsError> {
    let Some(arn) = &properties.assume_role_arn else { return Ok(Roles::default()) };
    let role = Role {
        arn: arn.clone(),
        external_id: properties.assume_role_external_id.clone(),
        options: RoleOptions::from_json(&properties.assume_role_options)?,
    };
    Ok(Roles { deploy: Some(role), ..Roles::default() })
}
