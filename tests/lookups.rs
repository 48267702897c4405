//! Context that an app lacks: looked up in the embedded CloudFormation, kept in
//! `cdk.context.json`, and given to the app, which is synthesized again.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]

mod program;

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::process::Output;

use program::{Place, app, text};
use serde_json::{Value as Json, json};

const REFACTOR: [&str; 5] = ["refactor", "--dry-run", "--local", "--app", "sh app.sh"];
const ZONES: &str = "availability-zones:account=111111111111:region=eu-west-1";

/// An app in a shell script: it writes a stack of one queue, and says what it lacks of a list.
struct Project {
    place: Place,
}

/// An entry of `missing`, with account and region added to its properties.
fn entry(key: &str, provider: &str, props: Json) -> Json {
    let mut props = props;
    props["account"] = json!("111111111111");
    props["region"] = json!("eu-west-1");
    json!({ "key": key, "provider": provider, "props": props })
}

impl Project {
    fn new(wanted: &[Json]) -> Self {
        let place = Place::new();
        place.seed(&app("rename", "before"));
        let project = Self { place };
        project.write("app.sh", &script(wanted));
        project
    }

    fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        fs::write(self.path(name), text).unwrap();
    }

    /// What look-ups find.
    fn account(&self, lookups: &Json) {
        self.write(".cdkr/local/111111111111/eu-west-1/lookups.json", &lookups.to_string());
    }

    fn context(&self) -> String {
        fs::read_to_string(self.path("cdk.context.json")).unwrap_or_default()
    }

    fn parsed(&self) -> Json {
        serde_json::from_str(&self.context()).unwrap()
    }

    /// How often the app was synthesized.
    fn runs(&self) -> usize {
        fs::read_to_string(self.path("runs")).unwrap_or_default().lines().count()
    }

    fn run(&self, more: &[&str]) -> Output {
        self.place.run(&[&REFACTOR[..], more].concat())
    }

    /// The standard error stream of a call that succeeds.
    fn well(&self, more: &[&str]) -> String {
        let output = self.run(more);
        let said = text(&output.stderr);
        assert!(output.status.success(), "{said}");
        said
    }

    /// The standard error stream of a call that fails.
    fn ill(&self, more: &[&str]) -> String {
        let output = self.run(more);
        assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
        text(&output.stderr)
    }
}

fn script(wanted: &[Json]) -> String {
    let mut script = r#"
echo run >> runs
context=$CDK_CONTEXT_JSON
[ -n "$CONTEXT_OVERFLOW_LOCATION_ENV" ] && context=$(cat "$CONTEXT_OVERFLOW_LOCATION_ENV")
missing=
want() { case "$context" in *"\"$1\":"*) ;; *) missing="$missing${missing:+,}$2" ;; esac }
knows() { case "$context" in *"\"$1\":"*) return 0 ;; *) return 1 ;; esac }
"#
    .to_owned();
    for entry in wanted {
        let after = entry["after"].as_str().map(|key| format!("knows '{key}' && "));
        let mut entry = entry.clone();
        entry.as_object_mut().unwrap().remove("after");
        let (key, after) = (entry["key"].as_str().unwrap(), after.unwrap_or_default());
        writeln!(script, "{after}want '{key}' '{entry}'").unwrap();
    }
    script.push_str(
        r#"
cat > "$CDK_OUTDIR/manifest.json" <<END
{"version": "55.0.0", "missing": [$missing], "artifacts": {"Shop": {
  "type": "aws:cloudformation:stack", "environment": "aws://111111111111/eu-west-1",
  "properties": {"templateFile": "Shop.template.json"}}}}
END
echo '{"Resources": {"Queue": {"Type": "AWS::SQS::Queue"}}}' > "$CDK_OUTDIR/Shop.template.json"
"#,
    );
    script
}

fn zones() -> Json {
    entry(ZONES, "availability-zones", json!({}))
}

fn parameter(name: &str) -> Json {
    entry(&format!("ssm:{name}"), "ssm", json!({ "parameterName": name }))
}

/// A VPC with two subnets of each of two kinds, one of them by its tags and one by its routes.
fn network() -> Json {
    let subnet = |id: &str, zone: &str, tags: Json| {
        json!({ "SubnetId": id, "VpcId": "vpc-1", "CidrBlock": format!("10.0.{}.0/24", &id[7..]),
                "AvailabilityZone": format!("eu-west-1{zone}"), "Tags": tags,
                "MapPublicIpOnLaunch": false })
    };
    let own = json!([{ "Key": "aws-cdk:subnet-type", "Value": "Private" },
                     { "Key": "aws-cdk:subnet-name", "Value": "App" }]);
    json!({
        "vpcs": [
            { "VpcId": "vpc-1", "CidrBlock": "10.0.0.0/16", "OwnerId": "111111111111",
              "Tags": [{ "Key": "Name", "Value": "shop" }] },
            { "VpcId": "vpc-2", "CidrBlock": "10.1.0.0/16", "Tags": [{ "Key": "Name", "Value": "lab" }] },
            { "VpcId": "vpc-3", "CidrBlock": "10.2.0.0/16", "Tags": [{ "Key": "Name", "Value": "lab" }] },
        ],
        "subnets": [
            subnet("subnet-2", "b", own.clone()), subnet("subnet-1", "a", own),
            subnet("subnet-3", "a", json!([])), subnet("subnet-4", "b", json!([])),
            { "SubnetId": "subnet-9", "VpcId": "vpc-2", "AvailabilityZone": "eu-west-1a" },
        ],
        "routeTables": [
            { "RouteTableId": "rtb-1", "VpcId": "vpc-1", "Associations": [{ "Main": true }],
              "Routes": [{ "GatewayId": "local", "DestinationCidrBlock": "10.0.0.0/16" }] },
            { "RouteTableId": "rtb-2", "VpcId": "vpc-1",
              "Associations": [{ "Main": false, "SubnetId": "subnet-3" }, { "SubnetId": "subnet-4" }],
              "Routes": [{ "GatewayId": "igw-1", "DestinationCidrBlock": "0.0.0.0/0" }] },
        ],
        "vpnGateways": [{ "VpnGatewayId": "vgw-1", "State": "available",
                          "VpcAttachments": [{ "VpcId": "vpc-1", "State": "attached" }] }],
        "images": [
            { "ImageId": "ami-1", "Name": "base-1", "OwnerId": "137112412989",
              "ImageOwnerAlias": "amazon", "State": "available", "CreationDate": "2025-01-01T00:00:00.000Z" },
            { "ImageId": "ami-2", "Name": "base-2", "OwnerId": "137112412989",
              "ImageOwnerAlias": "amazon", "State": "available", "CreationDate": "2025-02-01T00:00:00.000Z" },
            { "ImageId": "ami-3", "Name": "base-3", "OwnerId": "222222222222",
              "State": "available", "CreationDate": "2025-03-01T00:00:00.000Z" },
        ],
        "securityGroups": [
            { "GroupId": "sg-1", "GroupName": "web", "VpcId": "vpc-1", "Description": "web",
              "IpPermissionsEgress": [{ "IpProtocol": "-1", "IpRanges": [{ "CidrIp": "0.0.0.0/0" }],
                                        "Ipv6Ranges": [{ "CidrIpv6": "::/0" }] }] },
            { "GroupId": "sg-2", "GroupName": "web", "VpcId": "vpc-2", "Description": "web" },
        ],
        "hostedZones": [
            { "Id": "/hostedzone/Z1", "Name": "example.com.", "Config": { "PrivateZone": false } },
            { "Id": "/hostedzone/Z2", "Name": "example.com.", "Config": { "PrivateZone": true },
              "VPCs": [{ "VPCRegion": "eu-west-1", "VPCId": "vpc-1" }] },
            { "Id": "/hostedzone/Z3", "Name": "example.com.", "Config": { "PrivateZone": true },
              "VPCs": [{ "VPCRegion": "eu-west-1", "VPCId": "vpc-2" }] },
        ],
    })
}

fn vpc(name: &str) -> Json {
    let filter = json!({ "filter": { "tag:Name": name }, "returnAsymmetricSubnets": true });
    entry(&format!("vpc:{name}"), "vpc-provider", filter)
}

#[test]
fn whatever_an_app_lacks_is_looked_up_kept_and_found_the_next_time() {
    let group = json!({ "securityGroupName": "web", "vpcId": "vpc-1" });
    let image =
        json!({ "owners": ["amazon"], "filters": { "name": ["base-*"], "state": ["available"] } });
    let project = Project::new(&[
        zones(),
        parameter("/cdk-bootstrap/hnb659fds/version"),
        entry("ami", "ami", image),
        entry("zone", "hosted-zone", json!({ "domainName": "example.com" })),
        entry(
            "private",
            "hosted-zone",
            json!({ "domainName": "example.com.", "privateZone": true, "vpcId": "vpc-2" }),
        ),
        vpc("shop"),
        entry(
            "vpc",
            "vpc-provider",
            json!({ "filter": { "vpc-id": "vpc-1" }, "returnVpnGateways": false }),
        ),
        entry("group", "security-group", group),
        entry("by-id", "security-group", json!({ "securityGroupId": "sg-2" })),
    ]);
    project.account(&network());
    let said = project.well(&[]);
    assert_eq!(project.runs(), 2);
    assert!(said.contains(&format!("`{ZONES}` was looked up, and is kept in cdk.context.json")));
    let kept = project.context();
    insta::assert_snapshot!("looked-up", kept);
    let said = project.well(&[]);
    assert_eq!((project.runs(), project.context()), (3, kept));
    assert!(!said.contains("looked up"), "{said}");
}

#[test]
fn look_ups_are_made_with_the_role_that_the_app_names_for_them() {
    let role = |options: Json| {
        let role = json!({ "lookupRoleArn": "arn:${AWS::Partition}:iam::111111111111:role/look",
                           "lookupRoleExternalId": "shop", "assumeRoleAdditionalOptions": options });
        entry(ZONES, "availability-zones", role)
    };
    let project = Project::new(&[role(json!({ "SerialNumber": "1" }))]);
    assert!(project.ill(&[]).contains("`assumeRoleAdditionalOptions` has `SerialNumber`"));
    project.write("app.sh", &script(&[role(json!({ "DurationSeconds": 900 }))]));
    project.well(&[]);
}

#[test]
fn an_app_that_lacks_more_when_it_knows_more_is_asked_again() {
    let mut second = parameter("/cdk-bootstrap/other/version");
    second["after"] = json!(ZONES);
    let project = Project::new(&[zones(), second]);
    project.well(&[]);
    assert_eq!(project.runs(), 3);
    assert_eq!(
        project.parsed(),
        json!({ ZONES: ["eu-west-1a", "eu-west-1b", "eu-west-1c"],
                "ssm:/cdk-bootstrap/other/version": "32" })
    );
}

#[test]
fn a_context_too_long_for_a_variable_reaches_the_app_as_well() {
    let project = Project::new(&[zones()]);
    project.write("cdk.json", &json!({ "context": { "long": "x".repeat(40_000) } }).to_string());
    project.well(&[]);
    assert_eq!(project.runs(), 2);
}

#[test]
fn what_is_in_the_file_stays_and_an_earlier_failure_is_looked_up_again() {
    let project = Project::new(&[]);
    let strict = script(&[zones()]).replace("\"\\\"$1\\\":\"", "\"\\\"$1\\\":[\"");
    project.write("app.sh", &strict);
    let before = json!({ "feature": true, ZONES: { "$providerError": "no credentials" } });
    project.write("cdk.context.json", &before.to_string());
    project.well(&[]);
    assert_eq!(
        project.parsed(),
        json!({ "feature": true, ZONES: ["eu-west-1a", "eu-west-1b", "eu-west-1c"] })
    );
}

#[test]
fn an_app_that_does_not_take_its_context_is_not_run_for_ever() {
    let project = Project::new(&[zones()]);
    project.write("app.sh", &script(&[zones()]).replace("context=$CDK_CONTEXT_JSON", "context="));
    let said = project.ill(&[]);
    assert_eq!(project.runs(), 2);
    assert!(said.contains("does not find it. Context keys: 'availability-zones:"), "{said}");
    assert!(said.contains("CDK_CONTEXT_JSON"), "{said}");
}

#[test]
fn without_look_ups_the_missing_keys_are_listed_and_nothing_is_written() {
    let project = Project::new(&[zones(), vpc("shop")]);
    let said = project.ill(&["--no-lookups"]);
    assert!(said.contains(&format!("Missing context keys: '{ZONES}', 'vpc:shop'")), "{said}");
    assert_eq!((project.runs(), project.context()), (1, String::new()));
    project.write("cdk.json", r#"{"lookups": false}"#);
    assert!(project.ill(&[]).contains("look-ups are turned off"));
    assert!(project.ill(&["--lookups=false"]).contains("look-ups are turned off"));
    project.account(&network());
    project.well(&["--lookups"]);
}

#[test]
fn a_provider_that_is_not_known_is_named_with_its_key_before_anything_is_looked_up() {
    let project = Project::new(&[zones(), entry("the-key", "key-provider", json!({}))]);
    let said = project.ill(&[]);
    assert!(
        said.contains(
            "the context `the-key` cannot be looked up: cdkr has no look-ups of the provider \
             `key-provider`. `cdk synth` makes them"
        ),
        "{said}"
    );
    assert_eq!(project.context(), "");
}

#[test]
fn what_is_not_there_and_what_is_there_twice_are_told_and_the_rest_is_kept() {
    let project = Project::new(&[vpc("lab"), zones(), vpc("none"), parameter("/none")]);
    project.account(&network());
    let said = project.ill(&[]);
    for expected in [
        "the context `vpc:lab` cannot be looked up: aws://111111111111/eu-west-1 has 2 of what \
         should be one VPC with tag:Name = lab: vpc-2, vpc-3",
        "the context `vpc:none` cannot be looked up: aws://111111111111/eu-west-1 has no VPC with \
         tag:Name = none",
        "aws://111111111111/eu-west-1 has no SSM parameter `/none`",
        "lookups.json",
    ] {
        assert!(said.contains(expected), "{said}");
    }
    assert_eq!(project.parsed().as_object().unwrap().len(), 1);
}

#[test]
fn a_group_that_is_not_there_is_not_an_error_of_the_service() {
    let missing = |props: Json| entry("group", "security-group", props);
    let project = Project::new(&[missing(json!({ "securityGroupId": "sg-none" }))]);
    assert!(project.ill(&[]).contains("has no security group sg-none"));
    let dummy = json!({ "securityGroupId": "sg-none", "ignoreErrorOnMissingContext": true,
                        "dummyValue": { "securityGroupId": "sg-dummy" } });
    project.write("app.sh", &script(&[missing(dummy)]));
    project.well(&[]);
    assert_eq!(project.parsed(), json!({ "group": { "securityGroupId": "sg-dummy" } }));
}

#[test]
fn an_assembly_that_is_there_already_is_compared_with_what_it_has() {
    let project = Project::new(&[zones()]);
    project.ill(&["--no-lookups"]);
    let arguments = ["refactor", "--dry-run", "--local", "--app", "cdk.out"];
    let output = project.place.run(&arguments);
    assert!(output.status.success());
    assert!(text(&output.stderr).contains("made-up values"));
    assert_eq!((project.runs(), project.context()), (1, String::new()));
}

#[test]
fn an_app_that_is_compared_with_an_assembly_is_completed_as_well() {
    let project = Project::new(&[zones()]);
    let before = app("rename", "before");
    let arguments = ["refactor", "--dry-run", "--against", &before, "--app", "sh app.sh"];
    let mut command = project.place.command(&arguments);
    let output = command.env("CDKR_LOCAL", "1").output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(project.runs(), 2);
    assert!(project.context().contains(ZONES));
}

#[test]
fn whoever_seeds_made_up_values_is_told() {
    let project = Project::new(&[zones()]);
    let output = project.place.run(&["local", "seed", "--app", "sh app.sh"]);
    assert!(output.status.success());
    assert!(text(&output.stderr).contains("made-up values"), "{}", text(&output.stderr));
}
