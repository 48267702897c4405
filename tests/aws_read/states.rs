//! The states of resources, through Cloud Control.

use std::sync::atomic::{AtomicUsize, Ordering};

use cdkr::aws::{ResourceRequest, ResourceState, Roles};

use super::world::{ACCOUNT, environment, world};
use cdkr::aws::Identity;
use cdkr::local::server::{WireFault, WireFaultKind, WireFaults};

fn request(kind: &str, identifier: &str) -> ResourceRequest {
    ResourceRequest { resource_type: kind.to_owned(), identifier: identifier.to_owned() }
}

/// Topics of these names.
fn topics(names: &[String]) -> String {
    let topic = |name: &String| {
        format!(r#""{name}":{{"Type":"AWS::SNS::Topic","Properties":{{"TopicName":"{name}"}}}}"#)
    };
    let all = names.iter().map(topic).collect::<Vec<_>>().join(",");
    format!(r#"{{"Resources":{{{all}}}}}"#)
}

fn fault(kind: WireFaultKind, times: u32) -> WireFaults {
    let fault = WireFault { kind, action: Some("GetResource".to_owned()), times };
    WireFaults { faults: vec![fault], ..WireFaults::default() }
}

#[test]
fn every_resource_has_an_answer_of_its_own_in_the_order_of_the_questions() {
    let world = world();
    let names: Vec<String> = (0..30).map(|number| format!("T{number}")).collect();
    world.create("Shop", &topics(&names));
    let arn = |name: &str| format!("arn:aws:sns:eu-west-1:{ACCOUNT}:{name}");
    let mut requests: Vec<ResourceRequest> =
        names.iter().map(|name| request("AWS::SNS::Topic", &arn(name))).collect();
    requests.push(request("AWS::SNS::Topic", &arn("gone")));
    requests.push(request("AWS::IAM::Policy", "p"));
    requests.push(request("Third::Party::Type", "x"));
    let aws = world.aws(Identity::Account(ACCOUNT.to_owned()));
    let told = AtomicUsize::new(0);
    let tell = |_: usize| {
        told.fetch_add(1, Ordering::Relaxed);
    };
    let (here, roles) = (environment(), Roles::default());
    let found = world.run(aws.resources(&here, &roles, &requests, &tell)).unwrap();
    for (name, state) in names.iter().zip(&found) {
        let ResourceState::Read(state) = state else { panic!("{name}: {state:?}") };
        assert_eq!(state.get("TopicName").unwrap().as_str(), Some(name.as_str()));
    }
    assert_eq!(
        found[30..],
        [ResourceState::NotFound, ResourceState::Unsupported, ResourceState::Unsupported]
    );
    assert_eq!(told.into_inner(), requests.len());
}

#[test]
fn what_is_throttled_is_asked_for_again_and_what_is_denied_is_said_to_be() {
    let world = world();
    world.create("Shop", &topics(&["T".to_owned()]));
    let arn = format!("arn:aws:sns:eu-west-1:{ACCOUNT}:T");
    let requests = [request("AWS::SNS::Topic", &arn)];
    let aws = world.aws(Identity::Account(ACCOUNT.to_owned()));
    let (here, roles) = (environment(), Roles::default());
    let ask = || world.run(aws.resources(&here, &roles, &requests, &|_| {}));
    world.running.arm_wire(fault(WireFaultKind::Throttle, 3));
    assert!(matches!(ask().unwrap()[0], ResourceState::Read(_)));
    world.running.arm_wire(fault(WireFaultKind::AccessDenied, 1));
    let denied = ask().unwrap();
    assert!(matches!(&denied[0], ResourceState::Denied(text) if text.contains("AccessDenied")));
    world.running.arm_wire(fault(WireFaultKind::ExpiredToken, 99));
    assert!(ask().is_err());
}
