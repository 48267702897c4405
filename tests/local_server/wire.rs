//! What is special about the wire: faults, hosts, lengths, many clients, the end.

use aws_sdk_cloudformation::error::SdkError;
use cdkr::local::server::{Fault, WireFault, WireFaultKind, WireFaults, access_key};
use cdkr::model::Environment;

use crate::client::*;

const TOPIC: &str = r#"{"Resources":{"T":{"Type":"AWS::SNS::Topic"}}}"#;

fn armed(world: &World, kind: WireFaultKind, action: &str) {
    let fault = WireFault { kind, action: Some(action.to_owned()), times: 1 };
    world.running.arm_wire(WireFaults { latency_ms: 0, faults: vec![fault] });
}

fn here() -> Environment {
    Environment::new(ACCOUNT, "us-east-1")
}

#[test]
fn an_answer_can_be_lost_before_or_after_the_deed() {
    let world = world();
    let create = |name: &str| {
        let request = world.cloudformation().create_stack().stack_name(name).template_body(TOPIC);
        world.run(request.send())
    };
    armed(&world, WireFaultKind::DropBefore, "CreateStack");
    assert!(matches!(create("Before"), Err(SdkError::DispatchFailure(_))));
    armed(&world, WireFaultKind::DropAfter, "CreateStack");
    assert!(matches!(create("After"), Err(SdkError::DispatchFailure(_))));
    let region = world.running.cloud().region(&here());
    assert!(!region.stack_exists("Before").unwrap());
    assert!(region.stack_exists("After").unwrap());
    create("Before").unwrap();
    let dropped = world.running.requests().into_iter().filter(|request| request.status.is_none());
    assert_eq!(dropped.count(), 2);
}

#[test]
fn answers_can_be_refused_or_broken() {
    let world = world();
    world.create("Shop", TOPIC);
    let list = || world.run(world.cloudformation().list_stacks().send());
    for (kind, code, status) in [
        (WireFaultKind::Throttle, "Throttling", 400),
        (WireFaultKind::InternalError, "InternalFailure", 500),
        (WireFaultKind::ExpiredToken, "ExpiredToken", 403),
        (WireFaultKind::AccessDenied, "AccessDenied", 403),
    ] {
        armed(&world, kind, "ListStacks");
        let (found, _, http) = refusal(&list().unwrap_err());
        assert_eq!((found.as_str(), http), (code, status), "{kind:?}");
        list().unwrap();
    }
    for kind in [WireFaultKind::NotXml, WireFaultKind::MalformedXml] {
        armed(&world, kind, "ListStacks");
        let error = list().unwrap_err();
        assert!(!matches!(error, SdkError::DispatchFailure(_)), "{kind:?}: {error:?}");
        list().unwrap();
    }
}

#[test]
fn faults_are_armed_by_their_texts_in_every_environment() {
    let world = world();
    world.create("Shop", TOPIC);
    let faults = ["fail-resource=Mail.T:no more topics", "throttle=1:ListStacks", "latency=1ms"];
    let faults: Vec<Fault> = faults.into_iter().map(|text| Fault::parse(text).unwrap()).collect();
    world.running.arm(&faults);
    world.create("Mail", TOPIC);
    assert_eq!(world.status("Mail"), "ROLLBACK_COMPLETE");
    let throttled = world.run(world.cloudformation().list_stacks().send()).unwrap_err();
    assert_eq!(refusal(&throttled).0, "Throttling");
    world.create("Mail2", TOPIC);
    assert_eq!(world.status("Mail2"), "CREATE_COMPLETE");
    let other = world.cloudformation_as(keys("222222222222"));
    let create = other.create_stack().stack_name("Mail").template_body(TOPIC).send();
    world.run(create).unwrap();
    let found = world.run(other.describe_stacks().stack_name("Mail").send()).unwrap();
    assert_eq!(found.stacks()[0].stack_status().unwrap().as_str(), "ROLLBACK_COMPLETE");
}

#[test]
fn the_control_endpoint_arms_faults_and_counts_requests() {
    let world = world();
    assert!(world.control("GET", "health", "").contains("\"ok\""));
    let put = world.control("PUT", "faults/111111111111/us-east-1", r#"{"throttle":1}"#);
    assert!(put.starts_with("HTTP/1.1 204"), "{put}");
    let list = || world.run(world.cloudformation().list_stacks().send());
    assert_eq!(refusal(&list().unwrap_err()).0, "Throttling");
    list().unwrap();
    world.control("PUT", "wire", r#"{"faults":[{"kind":"expired-token","times":9}]}"#);
    assert_eq!(refusal(&list().unwrap_err()).0, "ExpiredToken");
    world.control("DELETE", "wire", "");
    list().unwrap();
    let requests = world.control("GET", "requests", "");
    assert!(requests.contains("\"count\":4"), "{requests}");
    assert!(requests.contains("\"action\":\"ListStacks\""), "{requests}");
    let wrong = world.control("PUT", "wire", "{]");
    assert!(wrong.starts_with("HTTP/1.1 400"), "{wrong}");
    assert!(world.control("GET", "nothing", "").contains("404"));
}

#[test]
fn a_page_of_the_web_cannot_ask() {
    let world = world();
    let answer =
        world.raw("GET /_cdkr/requests HTTP/1.1\nHost: evil.example\nConnection: close\n\n");
    assert!(answer.starts_with("HTTP/1.1 403"), "{answer}");
    let none = world.raw("POST / HTTP/1.1\nHost: HOST\nConnection: close\nContent-Length: 0\n\n");
    assert!(none.starts_with("HTTP/1.1 403") && none.contains("MissingAuthenticationToken"));
}

#[test]
fn a_body_that_is_too_long_is_answered_without_xml() {
    let world = world();
    let body = "x".repeat(1_300_000);
    let request = world.cloudformation().create_stack().stack_name("Long").template_body(body);
    let error = world.run(request.send()).unwrap_err();
    let SdkError::ServiceError(answer) = &error else { panic!("{error:?}") };
    assert_eq!(answer.raw().status().as_u16(), 413);
    let text = String::from_utf8_lossy(answer.raw().body().bytes().unwrap()).into_owned();
    assert_eq!(text, "HTTP content length exceeded 1200000 bytes.");
}

#[test]
fn the_old_and_the_new_form_of_keys_name_the_account() {
    let world = world();
    for (key, account) in [
        (access_key("333333333333"), "333333333333"),
        ("444444444444".to_owned(), "444444444444"),
        ("AKIDEXAMPLE".to_owned(), "123456789012"),
    ] {
        let answer = world.raw(&format!(
            "POST / HTTP/1.1\nHost: HOST\nConnection: close\nAuthorization: AWS4-HMAC-SHA256 \
             Credential={key}/20261121/us-east-1/sts/aws4_request, SignedHeaders=host, \
             Signature=0\nContent-Length: 43\n\nAction=GetCallerIdentity&Version=2011-06-15"
        ));
        assert!(answer.contains(&format!("<Account>{account}</Account>")), "{answer}");
    }
}

#[test]
fn many_clients_are_answered_at_the_same_time() {
    let world = world();
    for n in 0..5 {
        world.create(&format!("Stack{n}"), TOPIC);
    }
    let client = world.cloudformation();
    let templates = world.run(async {
        let requests = (0..100).map(|n| {
            let client = client.clone();
            tokio::spawn(async move {
                let name = format!("Stack{}", n % 5);
                client.get_template().stack_name(name).send().await.unwrap().template_body.unwrap()
            })
        });
        let mut templates = Vec::new();
        for request in requests.collect::<Vec<_>>() {
            templates.push(request.await.unwrap());
        }
        templates
    });
    assert!(templates.iter().all(|text| text == TOPIC));
    let counted = world.running.requests();
    assert_eq!(counted.iter().filter(|request| request.action == "GetTemplate").count(), 100);
}

#[test]
fn stopping_finishes_the_answer_that_is_on_its_way() {
    let world = world();
    world.running.arm_wire(WireFaults { latency_ms: 300, faults: Vec::new() });
    let client = world.cloudformation();
    let stopper = world.running.stopper();
    let cloud = world.running.cloud().clone();
    let answer = world.run(async {
        let request = tokio::spawn(async move { client.list_stacks().send().await });
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        stopper.stop();
        request.await.unwrap()
    });
    answer.unwrap();
    let url = world.running.url().to_owned();
    drop(world);
    assert!(std::net::TcpStream::connect(url.trim_start_matches("http://")).is_err());
    drop(cloud);
}
