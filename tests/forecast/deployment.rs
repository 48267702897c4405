//! Deployments as a forecast says.

use std::collections::{BTreeMap, BTreeSet};

use cdkr::local::{CreateStack, Region, TemplateSource, UpdateStack};
use cdkr::model::{
    DeployedEnvironment, DeployedStack, Environment, Object, Stack, StackOptions, StackStatus,
    Value,
};
use cdkr::plan::{Forecast, ForecastRequest, StackForecast, forecast};
use cdkr::template::{self, json};

use crate::carry::deployed_from;
use crate::world::{World, capabilities};

/// An app that is to be deployed in one environment.
pub(crate) struct App {
    pub(crate) environment: Environment,
    pub(crate) stacks: Vec<Stack>,
    pub(crate) needs: BTreeMap<String, BTreeSet<String>>,
}

impl App {
    /// Stacks with their templates; `needs` says `Consumer<Producer`.
    pub(crate) fn new(stacks: &[(&str, String)], needs: &[&str]) -> Self {
        let parse = |(name, text): &(&str, String)| {
            Stack::new(name, template::parse(text.as_bytes()).unwrap())
        };
        let mut all: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for need in needs {
            let (consumer, producer) = need.split_once('<').unwrap();
            all.entry(consumer.to_owned()).or_default().insert(producer.to_owned());
        }
        Self {
            environment: Environment::new("111111111111", "us-east-1"),
            stacks: stacks.iter().map(parse).collect(),
            needs: all,
        }
    }

    pub(crate) fn roots(&self) -> BTreeSet<String> {
        let roots = self.stacks.iter().filter(|stack| stack.parent.is_none());
        roots.map(|stack| stack.name.to_string()).collect()
    }

    pub(crate) fn forecast(&self, now: &DeployedEnvironment) -> Forecast {
        let selected = self.roots();
        forecast(&self.request(now, &selected))
    }

    pub(crate) fn request<'a>(
        &'a self,
        now: &'a DeployedEnvironment,
        selected: &'a BTreeSet<String>,
    ) -> ForecastRequest<'a> {
        ForecastRequest {
            now,
            local: &self.stacks,
            selected,
            needs: &self.needs,
            comparison: None,
            staying: &[],
            keep_names: false,
        }
    }

    /// The roots, each after those that it needs.
    pub(crate) fn order(&self) -> Vec<String> {
        let mut order: Vec<String> = Vec::new();
        let mut open = self.roots();
        while !open.is_empty() {
            let nothing = BTreeSet::new();
            let needs = |name: &String| self.needs.get(name).unwrap_or(&nothing);
            let ready =
                open.iter().find(|name| !needs(name).iter().any(|need| open.contains(need)));
            let ready = ready.unwrap().clone();
            open.remove(&ready);
            order.push(ready);
        }
        order
    }

    /// The template of a root as the app has it.
    pub(crate) fn template(&self, name: &str) -> String {
        let stack = self.stacks.iter().find(|stack| stack.name.as_str() == name).unwrap();
        json::to_template(&Value::Object(stack.template.sections.clone()))
    }
}

/// Sends a template; `Err` is why the stack is not what the template says.
pub(crate) fn send(
    world: &World,
    region: &Region<'_>,
    name: &str,
    text: &str,
) -> Result<(), String> {
    world.cloud.put_object("templates", name, text.as_bytes()).unwrap();
    let template = TemplateSource::url(&format!("https://templates.s3.amazonaws.com/{name}"));
    let result = if region.stack_exists(name).unwrap() {
        region.update_stack(&UpdateStack {
            name: name.to_owned(),
            template,
            capabilities: capabilities(),
            parameters: previous(region, name, text),
            ..UpdateStack::default()
        })
    } else {
        region.create_stack(&CreateStack {
            name: name.to_owned(),
            template,
            capabilities: capabilities(),
            ..CreateStack::default()
        })
    };
    world.clock.advance(10_000);
    match result {
        Err(error) if error.message == "No updates are to be performed." => return Ok(()),
        Err(error) => return Err(error.message),
        Ok(_) => {}
    }
    let info = region.describe_stacks(Some(name), None).unwrap().items.remove(0).info;
    if ["CREATE_COMPLETE", "UPDATE_COMPLETE"].contains(&info.status.as_str()) {
        return Ok(());
    }
    let events = region.describe_stack_events(name, None).unwrap().items;
    let failed = events.iter().filter(|event| {
        event.status.contains("FAILED") || event.status.contains("ROLLBACK_IN_PROGRESS")
    });
    let reasons: Vec<String> =
        failed.map(|event| format!("{}: {:?}", event.logical_id, event.reason)).collect();
    Err(reasons.join("\n"))
}

/// Parameters that the stack has and that the template declares keep their values.
pub(crate) fn previous(
    region: &Region<'_>,
    name: &str,
    text: &str,
) -> Vec<cdkr::local::ParameterInput> {
    let template = template::parse(text.as_bytes()).unwrap();
    let there = region.describe_stacks(Some(name), None).unwrap().items.remove(0).parameters;
    let there: BTreeSet<String> = there.into_keys().collect();
    let declared = template.section("Parameters").into_iter().flat_map(Object::iter);
    declared
        .filter(|(key, _)| there.contains(key.as_str()))
        .map(|(key, _)| cdkr::local::ParameterInput {
            key: key.to_string(),
            value: None,
            use_previous: true,
        })
        .collect()
}

/// Deploys all stacks of an app as a forecast says; `before` is called with each stack before
/// anything is sent to it.
pub(crate) fn deploy(
    world: &World,
    app: &App,
    forecast: &Forecast,
    before: &mut dyn FnMut(&StackForecast, &str),
) -> Result<(), String> {
    let region = world.cloud.region(&app.environment);
    let of = |name: &str| forecast.stacks.iter().find(|stack| stack.name == name).unwrap();
    let (mut first, mut last): (BTreeSet<&str>, BTreeSet<&str>) = Default::default();
    let mut held = Vec::new();
    let order = app.order();
    for name in &order {
        let stack = of(name);
        let text = stack.template.clone().unwrap_or_else(|| app.template(name));
        match &stack.holding {
            None => {
                before(stack, &text);
                send(world, &region, name, &text).map_err(|why| format!("{name}: {why}"))?;
                last.insert(name);
            }
            Some(holding) => {
                send(world, &region, name, &holding.template)
                    .map_err(|why| format!("{name}, held: {why}"))?;
                if !holding.until.is_empty() {
                    held.push((stack, text));
                }
            }
        }
        first.insert(name);
    }
    while !held.is_empty() {
        let count = held.len();
        held.retain(|(stack, text)| {
            let holding = stack.holding.as_ref().unwrap();
            assert!(holding.until_released.is_subset(&holding.until));
            let is_ready = holding.until.iter().all(|name| first.contains(name.as_str()))
                && holding.until_released.iter().all(|name| last.contains(name.as_str()));
            if !is_ready {
                return true;
            }
            let sent = send(world, &region, &stack.name, text);
            assert_eq!(sent, Ok(()), "{}, released", stack.name);
            last.insert(&stack.name);
            false
        });
        assert!(held.len() < count, "nothing can be released: {held:#?}");
    }
    Ok(())
}

/// What is deployed now.
pub(crate) fn now(world: &World, environment: &Environment) -> DeployedEnvironment {
    deployed_from(&world.cloud.region(environment), environment)
}

/// Stacks as if they were deployed as they are; their resources follow from the templates.
pub(crate) fn as_deployed(stacks: &[Stack]) -> DeployedEnvironment {
    let deployed = stacks.iter().map(|stack| DeployedStack {
        id: format!("arn:aws:cloudformation:us-east-1:111111111111:stack/{}/1", stack.name).into(),
        status: StackStatus("CREATE_COMPLETE".into()),
        stack: Stack { is_returned: true, ..stack.clone() },
        body: String::new().into(),
        resources: BTreeMap::new(),
        exports: Vec::new(),
        outputs: BTreeMap::new(),
        has_policy: false,
        options: StackOptions::default(),
    });
    DeployedEnvironment {
        environment: Environment::new("111111111111", "us-east-1"),
        stacks: deployed.collect(),
        empty: Vec::new(),
    }
}
