//! S3, SSM and STS.

use aws_credential_types::Credentials;
use aws_sdk_s3::error::ProvideErrorMetadata;
use aws_sdk_s3::primitives::ByteStream;
use aws_sdk_s3::types::{ChecksumAlgorithm, CompletedMultipartUpload, CompletedPart};
use cdkr::local::server::access_key;

use crate::client::*;

const BUCKET: &str = "cdk-hnb659fds-assets-111111111111-us-east-1";

fn put(world: &World, key: &str, body: Vec<u8>) -> Option<String> {
    let request = world.s3().put_object().bucket(BUCKET).key(key).body(ByteStream::from(body));
    world.run(request.send()).unwrap().e_tag
}

#[test]
fn objects_are_put_read_listed_and_deleted() {
    let world = world();
    let client = world.s3();
    assert_eq!(
        put(&world, "a b/é+%.json", b"hello".to_vec()).unwrap(),
        "\"5d41402abc4b2a76b9719d911017c592\""
    );
    let body = world.run(async {
        let found = client.get_object().bucket(BUCKET).key("a b/é+%.json").send().await.unwrap();
        found.body.collect().await.unwrap().to_vec()
    });
    assert_eq!(body, b"hello");
    let part = world.run(async {
        let request = client.get_object().bucket(BUCKET).key("a b/é+%.json").range("bytes=1-2");
        request.send().await.unwrap().body.collect().await.unwrap().to_vec()
    });
    assert_eq!(part, b"el");
    for key in ["k/1", "k/2", "k/3"] {
        put(&world, key, vec![0; 10]);
    }
    let keys = world.run(async {
        let mut pages = client
            .list_objects_v2()
            .bucket(BUCKET)
            .prefix("k/")
            .max_keys(2)
            .into_paginator()
            .send();
        let mut keys = Vec::new();
        while let Some(page) = pages.next().await {
            let page = page.unwrap();
            keys.extend(page.contents().iter().map(|found| found.key().unwrap().to_owned()));
        }
        keys
    });
    assert_eq!(keys, ["k/1", "k/2", "k/3"]);
    world.run(client.delete_object().bucket(BUCKET).key("k/1").send()).unwrap();
    let gone = world.run(client.get_object().bucket(BUCKET).key("k/1").send()).unwrap_err();
    assert_eq!(gone.code(), Some("NoSuchKey"));
    let head = world.run(client.head_object().bucket(BUCKET).key("k/1").send()).unwrap_err();
    assert!(head.as_service_error().unwrap().is_not_found());
    let head = world.run(client.head_object().bucket(BUCKET).key("k/2").send()).unwrap();
    assert_eq!(head.content_length(), Some(10));
}

#[test]
fn a_body_in_chunks_with_a_checksum_behind_it_arrives_as_it_is() {
    let world = world();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("asset.zip");
    let content: Vec<u8> = (0..300_000_u32).map(|n| u8::try_from(n * 7 % 251).unwrap()).collect();
    std::fs::write(&file, &content).unwrap();
    for algorithm in [ChecksumAlgorithm::Crc32, ChecksumAlgorithm::Sha256] {
        world.run(async {
            let body = ByteStream::from_path(&file).await.unwrap();
            let request = world.s3().put_object().bucket(BUCKET).key("asset.zip").body(body);
            request.checksum_algorithm(algorithm).send().await.unwrap();
        });
        let cloud = world.running.cloud();
        assert_eq!(cloud.get_object(BUCKET, "asset.zip").unwrap().unwrap(), content);
    }
}

#[test]
fn every_bucket_exists_in_the_region_of_whoever_asks() {
    let world = world();
    let client = world.s3();
    let head = world.run(client.head_bucket().bucket(BUCKET).send()).unwrap();
    assert_eq!(head.bucket_region(), Some("eu-west-1"));
    let location = world.run(client.get_bucket_location().bucket(BUCKET).send()).unwrap();
    assert_eq!(location.location_constraint().unwrap().as_str(), "eu-west-1");
    let acl = world.run(client.get_bucket_acl().bucket(BUCKET).send()).unwrap_err();
    assert_eq!(acl.code(), Some("NotImplemented"));
}

#[test]
fn an_object_is_put_only_if_it_is_new() {
    let world = world();
    put(&world, "key", b"first".to_vec());
    let body = ByteStream::from_static(b"second");
    let request = world.s3().put_object().bucket(BUCKET).key("key").if_none_match("*").body(body);
    let refused = world.run(request.send()).unwrap_err();
    assert_eq!(refused.code(), Some("PreconditionFailed"));
    assert_eq!(world.running.cloud().get_object(BUCKET, "key").unwrap().unwrap(), b"first");
}

#[test]
fn an_object_is_put_only_if_it_is_the_one_that_was_read() {
    let world = world();
    let client = world.s3();
    let with = |tag: &str, text: &'static [u8]| {
        let body = ByteStream::from_static(text);
        let request = client.put_object().bucket(BUCKET).key("log").if_match(tag).body(body);
        world.run(request.send())
    };
    let refused = with("\"0\"", b"zero").unwrap_err();
    assert_eq!(refused.code(), Some("NoSuchKey"));
    put(&world, "log", b"first".to_vec());
    let read = world.run(client.get_object().bucket(BUCKET).key("log").send()).unwrap();
    let tag = read.e_tag().unwrap();
    let next = with(tag, b"second").unwrap();
    let refused = with(tag, b"third").unwrap_err();
    assert_eq!(refused.code(), Some("PreconditionFailed"));
    assert!(with(next.e_tag().unwrap(), b"fourth").is_ok());
    let keys = world.running.cloud().list_objects(BUCKET, "").unwrap();
    assert_eq!(keys, ["log"], "the lock is no object");
}

#[test]
fn a_template_of_a_megabyte_comes_from_the_bucket() {
    let world = world();
    let filler = "x".repeat(990_000);
    let text = format!(
        r#"{{"Resources":{{"T":{{"Type":"AWS::SNS::Topic"}}}},"Metadata":{{"filler":"{filler}"}}}}"#
    );
    put(&world, "big.json", text.clone().into_bytes());
    let client = world.cloudformation();
    let url = format!("https://{BUCKET}.s3.us-east-1.amazonaws.com/big.json");
    world.run(client.create_stack().stack_name("Big").template_url(url).send()).unwrap();
    assert_eq!(world.status("Big"), "CREATE_COMPLETE");
    let found = world.run(client.get_template().stack_name("Big").send()).unwrap();
    assert_eq!(found.template_body.unwrap(), text);
}

#[test]
fn every_environment_is_bootstrapped() {
    let world = world();
    let get = |name: &str| world.run(world.ssm().get_parameter().name(name).send());
    let version = get("/cdk-bootstrap/hnb659fds/version").unwrap().parameter.unwrap();
    assert_eq!(version.value(), Some("32"));
    let missing = get("/other").unwrap_err();
    assert!(missing.as_service_error().unwrap().is_parameter_not_found());
}

#[test]
fn a_role_of_another_account_sees_that_account() {
    let world = world();
    world.create("Shop", r#"{"Resources":{"T":{"Type":"AWS::SNS::Topic"}}}"#);
    let sts = world.sts();
    let me = world.run(sts.get_caller_identity().send()).unwrap();
    assert_eq!(me.account(), Some(ACCOUNT));
    let request = sts
        .assume_role()
        .role_arn("arn:aws:iam::222222222222:role/cdk-deploy")
        .role_session_name("cdkr");
    let assumed = world.run(request.send()).unwrap();
    assert!(assumed.assumed_role_user().unwrap().arn().contains(":assumed-role/cdk-deploy/cdkr"));
    let keys = assumed.credentials().unwrap();
    let keys = Credentials::new(
        keys.access_key_id(),
        keys.secret_access_key(),
        Some(keys.session_token().to_owned()),
        None,
        "test",
    );
    let other = world.cloudformation_as(keys);
    assert!(world.run(other.list_stacks().send()).unwrap().stack_summaries().is_empty());
    let mine = world.run(world.cloudformation().list_stacks().send()).unwrap();
    assert_eq!(mine.stack_summaries().len(), 1);
    let wrong = sts.assume_role().role_arn("arn:aws:iam::1:role/xxxxxxxx").role_session_name("me");
    let wrong = world.run(wrong.send()).unwrap_err();
    assert_eq!(refusal(&wrong).1, "arn:aws:iam::1:role/xxxxxxxx is invalid");
}

#[test]
fn an_object_comes_in_parts() {
    let world = world();
    let client = world.s3();
    let (parts, id) = world.run(async {
        let create = client.create_multipart_upload().bucket(BUCKET).key("dir/big");
        let id = create.send().await.unwrap().upload_id.unwrap();
        let mut parts = Vec::new();
        for number in [1, 2] {
            let part = client
                .upload_part()
                .bucket(BUCKET)
                .key("dir/big")
                .upload_id(&id)
                .part_number(number)
                .body(ByteStream::from(format!("part {number};").into_bytes()));
            let tag = part.send().await.unwrap().e_tag;
            parts.push(CompletedPart::builder().part_number(number).set_e_tag(tag).build());
        }
        (parts, id)
    });
    let listed = || {
        let request = client.list_objects_v2().bucket(BUCKET).delimiter("/").send();
        world.run(request).unwrap()
    };
    assert_eq!(listed().key_count(), Some(0), "it is not there before it is complete");
    let complete = || {
        let upload = CompletedMultipartUpload::builder().set_parts(Some(parts.clone())).build();
        let request = client.complete_multipart_upload().bucket(BUCKET).key("dir/big");
        world.run(request.upload_id(&id).multipart_upload(upload).send())
    };
    assert!(complete().unwrap().e_tag.unwrap().ends_with("-2\""));
    let found = world.running.cloud().get_object(BUCKET, "dir/big").unwrap().unwrap();
    assert_eq!(found, b"part 1;part 2;");
    assert_eq!(listed().common_prefixes()[0].prefix(), Some("dir/"));
    assert_eq!(complete().unwrap_err().code(), Some("NoSuchUpload"));
}

/// Sends a request of the JSON protocol.
fn json(world: &World, service: &str, target: &str, body: &str) -> String {
    world.raw(&format!(
        "POST / HTTP/1.1\nHost: HOST\nConnection: close\nX-Amz-Target: {target}\nAuthorization: \
         AWS4-HMAC-SHA256 Credential={}/20261121/us-east-1/{service}/aws4_request, \
         SignedHeaders=host, Signature=0\nContent-Length: {}\n\n{body}",
        access_key(ACCOUNT),
        body.len()
    ))
}

#[test]
fn image_assets_are_looked_for() {
    let world = world();
    let ask = |action: &str, body: &str| {
        json(&world, "ecr", &format!("AmazonEC2ContainerRegistry_V20150921.{action}"), body)
    };
    let found = ask("DescribeRepositories", r#"{"repositoryNames":["assets"]}"#);
    let uri = "111111111111.dkr.ecr.us-east-1.amazonaws.com/assets";
    assert!(found.contains(uri), "{found}");
    let image = r#"{"repositoryName":"assets","imageIds":[{"imageTag":"t"}]}"#;
    let none = ask("DescribeImages", image);
    assert!(none.starts_with("HTTP/1.1 400") && none.contains("ImageNotFoundException"), "{none}");
    let put = r#"{"repositoryName":"assets","imageTag":"t","imageManifest":"{}"}"#;
    assert!(ask("PutImage", put).starts_with("HTTP/1.1 200"));
    assert!(ask("PutImage", put).contains("ImageAlreadyExistsException"));
    let one = ask("DescribeImages", image);
    assert!(one.contains(r#""imageTags":["t"]"#) && one.contains("sha256:"), "{one}");
    assert!(ask("ListImages", image).contains(r#""imageTag":"t""#));
    let other = ask("DeleteRepository", "{}");
    assert!(other.contains(r#""__type":"UnknownOperationException""#), "{other}");
}

#[test]
fn the_properties_of_what_exists_are_told() {
    let world = world();
    let text = r#"{"Resources":{"T":{"Type":"AWS::SNS::Topic","Properties":{"TopicName":"news"}},
        "R":{"Type":"AWS::Events::Rule","Properties":{"Name":"nightly","ScheduleExpression":"x"}}}}"#;
    world.create("Shop", text);
    let get = |kind: &str, id: &str| {
        let body = format!(r#"{{"TypeName":"{kind}","Identifier":"{id}"}}"#);
        json(&world, "cloudcontrolapi", "CloudApiService.GetResource", &body)
    };
    let found = get("AWS::SNS::Topic", "arn:aws:sns:us-east-1:111111111111:news");
    assert!(found.contains(r#"\"TopicName\":\"news\""#), "{found}");
    assert!(found.contains(r#"\"TopicArn\":\"arn:aws:sns:us-east-1:111111111111:news\""#));
    assert!(found.contains(r#"{\"Key\":\"aws:cloudformation:stack-name\",\"Value\":\"Shop\"}"#));
    // What identifies it is not its physical ID.
    assert!(get("AWS::Events::Rule", "nightly").contains("ResourceNotFoundException"));
    let rule = get("AWS::Events::Rule", "arn:aws:events:us-east-1:111111111111:rule/nightly");
    assert!(rule.contains("HTTP/1.1 200"), "{rule}");
    assert!(get("AWS::SNS::Topic", "other").contains("ResourceNotFoundException"));
    assert!(get("AWS::IAM::Policy", "x").contains("UnsupportedActionException"));
    assert!(get("Third::Party::Type", "x").contains("TypeNotFoundException"));
    let unknown = json(&world, "dynamodb", "DynamoDB_20120810.ListTables", "{}");
    assert!(unknown.contains(r#""__type":"UnknownService""#), "{unknown}");
}
