//! Accounts, roles and what is not allowed.

use cdkr::aws::{
    Access, Aws, AwsError, Cause, Identity, Purpose, ReadRequest, Roles, TOOLKIT_STACK, Wanted,
};
use cdkr::event::Silent;
use cdkr::local::TemplateSource;
use cdkr::local::server::WireFaultKind;
use cdkr::model::Environment;

use super::world::{ACCOUNT, QUEUE, create_in, environment, names, request, role, world};

const OTHER: &str = "222222222222";

fn account(account: &str) -> Identity {
    Identity::Account(account.to_owned())
}

fn roles() -> Roles {
    let arn = |kind: &str| {
        format!("arn:${{AWS::Partition}}:iam::${{AWS::AccountId}}:role/{kind}-${{AWS::Region}}")
    };
    Roles { lookup: Some(role(&arn("lookup"))), deploy: Some(role(&arn("deploy"))) }
}

fn with_roles(environment: Environment) -> ReadRequest {
    let stacks = vec![Wanted { name: "Web".to_owned(), roles: roles() }];
    ReadRequest { environment, stacks, ..request(&[]) }
}

#[test]
fn a_role_leads_to_the_account_of_the_environment() {
    let world = world();
    let environment = Environment::new(OTHER, "us-east-1");
    let region = world.running.cloud().region(&environment);
    create_in(&region, "Web", TemplateSource::body(QUEUE));
    let aws = world.aws(account(ACCOUNT));
    let read = world.run(aws.read(&with_roles(environment.clone()), &Silent)).unwrap();
    assert_eq!(names(&read), ["Web"]);
    assert!(read.warnings.is_empty());
    // Asked once, however many stacks and readings there are.
    world.run(aws.read(&with_roles(environment.clone()), &Silent)).unwrap();
    assert_eq!(world.count("AssumeRole"), 1);
    let session = world.run(aws.session(&environment, &roles(), Purpose::Write)).unwrap();
    assert_eq!(session.role(), Some("arn:aws:iam::222222222222:role/deploy-us-east-1"));
}

#[test]
fn without_its_roles_the_right_account_is_read_with_a_warning() {
    let world = world();
    world.create("Web", QUEUE);
    world.arm(WireFaultKind::AccessDenied, Some("AssumeRole"), 2);
    let aws = world.aws(account(ACCOUNT));
    let read = world.run(aws.read(&with_roles(environment()), &Silent)).unwrap();
    assert_eq!(names(&read), ["Web"]);
    assert_eq!(
        read.warnings,
        [
            "the role arn:aws:iam::111111111111:role/lookup-eu-west-1 cannot be assumed, going on \
             with the current credentials, which belong to account 111111111111: User is not \
             authorized to perform: AssumeRole (AccessDenied).",
            "the role arn:aws:iam::111111111111:role/deploy-eu-west-1 cannot be assumed, going on \
             with the current credentials, which belong to account 111111111111: User is not \
             authorized to perform: AssumeRole (AccessDenied).",
        ]
    );
}

#[test]
fn without_its_roles_another_account_is_not_read() {
    let world = world();
    world.arm(WireFaultKind::AccessDenied, Some("AssumeRole"), 2);
    let aws = world.aws(account(ACCOUNT));
    let request = with_roles(Environment::new(OTHER, "us-east-1"));
    let error = world.run(aws.read(&request, &Silent)).unwrap_err();
    assert!(matches!(error, AwsError::WrongAccount { .. }));
    let text = error.to_string();
    for part in [OTHER, ACCOUNT, "role/deploy-us-east-1", "--profile", "cdk bootstrap"] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

#[test]
fn expired_credentials_are_said_to_be_expired_and_no_other_role_is_tried() {
    let world = world();
    world.arm(WireFaultKind::ExpiredToken, None, 1000);
    let aws = world.aws(account(ACCOUNT));
    let error = world.run(aws.read(&with_roles(environment()), &Silent)).unwrap_err();
    assert_eq!(error.cause(), Some(Cause::Expired));
    assert_eq!(error.code(), Some("ExpiredToken"));
    assert_eq!(world.count("AssumeRole"), 1);
    let error = world.refused(&request(&["Web"])).to_string();
    assert!(error.contains("have expired (") && error.contains("aws sso login"), "{error}");
}

#[test]
fn a_server_that_is_not_there_is_named_as_unreachable() {
    let world = world();
    let mut access = world.access(account(ACCOUNT));
    // Nothing listens on the discard port.
    access.endpoint.as_mut().unwrap().url = "http://127.0.0.1:9".to_owned();
    let aws = world.run(Aws::connect(access));
    let error = world.run(aws.read(&request(&["Web"]), &Silent)).unwrap_err();
    assert_eq!(error.cause(), Some(Cause::Connection), "{error}");
}

#[test]
fn a_policy_that_may_not_be_seen_is_a_warning() {
    let world = world();
    world.create("Web", QUEUE);
    world.arm(WireFaultKind::AccessDenied, Some("GetStackPolicy"), 1);
    let read = world.read(&request(&["Web"])).unwrap();
    assert_eq!(
        read.warnings,
        ["whether stack policies forbid a refactor is not known for `Web`: GetStackPolicy is not \
          allowed"]
    );
}

#[test]
fn a_listing_that_is_not_allowed_costs_calls_but_no_stack() {
    let world = world();
    let all: Vec<_> = (0..15).map(|at| format!("Stack{at:02}")).collect();
    for name in &all {
        world.create(name, QUEUE);
    }
    let all: Vec<_> = all.iter().map(String::as_str).collect();
    world.arm(WireFaultKind::AccessDenied, Some("DescribeStacks"), 1);
    // One after another, so that it is the listing that meets the fault.
    let access = Access { concurrency: 1, ..world.access(account(ACCOUNT)) };
    let aws = world.run(Aws::connect(access));
    assert_eq!(names(&world.run(aws.read(&request(&all), &Silent)).unwrap()), all);
}

#[test]
fn the_caller_is_who_the_credentials_belong_to() {
    let world = world();
    let aws = world.aws(account(OTHER));
    assert_eq!(world.run(aws.caller()).unwrap().account, OTHER);
}

#[test]
fn the_bootstrap_version_comes_from_the_parameter_or_the_stack() {
    let world = world();
    let version = |parameter: Option<&str>, stack: &str| {
        let aws = world.anyone();
        let roles = Roles::default();
        world.run(aws.bootstrap_version(&environment(), &roles, parameter, stack))
    };
    world.region().put_parameter("/cdk-bootstrap/mine/version", Some("27")).unwrap();
    assert_eq!(version(Some("/cdk-bootstrap/mine/version"), TOOLKIT_STACK).unwrap(), Some(27));
    assert_eq!(version(Some("/nothing"), TOOLKIT_STACK).unwrap(), None);
    let toolkit = r#"{"Resources":{"Queue":{"Type":"AWS::SQS::Queue"}},
      "Outputs":{"BootstrapVersion":{"Value":"29"}}}"#;
    world.create("MyToolkit", toolkit);
    assert_eq!(version(Some("/nothing"), "MyToolkit").unwrap(), Some(29));
    assert_eq!(version(None, "MyToolkit").unwrap(), Some(29));
    world.region().put_parameter("/odd", Some("new")).unwrap();
    let error = version(Some("/odd"), TOOLKIT_STACK).unwrap_err().to_string();
    assert!(error.contains("`new`, which is no number (/odd)"), "{error}");
}
