//! `cdkr` reading from an emulator that we did not write: a moto server (`moto_server`),
//! whose URL is in `CDKR_TEST_MOTO`. Without it the test is skipped.

use cdkr::aws::{
    Access, Aws, Depth, Endpoint, Identity, Purpose, ReadRequest, Role, Roles, Wanted,
};
use cdkr::event::Silent;
use cdkr::model::{Environment, Value};

const YAML: &str = "Resources:\n  Queue:\n    Type: AWS::SQS::Queue\nOutputs:\n  Arn:\n    Value: \
                    !GetAtt Queue.Arn\n    Export:\n      Name: Web:Arn\n";
const IMPORTING: &str = r#"{"Resources":{"Topic":{"Type":"AWS::SNS::Topic",
  "Properties":{"TopicName":"t","DisplayName":{"Fn::ImportValue":"Web:Arn"}}}}}"#;

#[tokio::test]
async fn stacks_exports_and_roles_of_moto_are_read() {
    let Ok(url) = std::env::var("CDKR_TEST_MOTO") else {
        println!("skipped: CDKR_TEST_MOTO does not name a moto server");
        return;
    };
    // An account of its own, so that the test can be run again.
    let account = format!("{:012}", std::process::id());
    let environment = Environment::new(&account, "eu-west-1");
    let endpoint = Endpoint { url, identity: Identity::Account("123456789012".to_owned()) };
    let aws = Aws::connect(Access { endpoint: Some(endpoint), ..Access::default() }).await;
    let arn = "arn:${AWS::Partition}:iam::${AWS::AccountId}:role/deploy".to_owned();
    let roles = Roles { lookup: None, deploy: Some(Role { arn, ..Role::default() }) };
    let anyone = aws.session(&environment, &roles, Purpose::Write).await.unwrap();
    for (name, template) in [("Web", YAML), ("Api", IMPORTING)] {
        let created = anyone.cloudformation().call_once("CreateStack", Some(name), |sdk| {
            sdk.create_stack().stack_name(name).template_body(template).send()
        });
        created.await.unwrap();
    }
    let wanted = |name: &str| Wanted { name: name.to_owned(), roles: roles.clone() };
    let mut request = ReadRequest {
        environment: environment.clone(),
        stacks: ["Web", "Api", "New"].map(wanted).to_vec(),
        additional: Vec::new(),
        depth: Depth::Comparison,
        wait: None,
    };
    let read = aws.read(&request, &Silent).await.unwrap();
    let names: Vec<_> =
        read.deployed.stacks.iter().map(|stack| stack.stack.name.as_str()).collect();
    assert_eq!(names, ["Api", "Web"]);
    let web = &read.deployed.stacks[1];
    let queue = web.stack.template.resource("Queue").unwrap();
    assert_eq!(queue.get("Type").and_then(Value::as_str), Some("AWS::SQS::Queue"));
    assert_eq!(web.exports[0].name, "Web:Arn");
    // Of a stack without exports: moto has no `ListImports`.
    let complete =
        ReadRequest { stacks: vec![wanted("Api")], depth: Depth::Complete, ..request.clone() };
    let read = aws.read(&complete, &Silent).await.unwrap();
    assert!(read.deployed.stacks[0].resources["Topic"].physical_id.is_some());
    request.additional.push("Missing".to_owned());
    let error = aws.read(&request, &Silent).await.unwrap_err().to_string();
    assert!(error.contains("there is no stack `Missing`"), "{error}");
}
