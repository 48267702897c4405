//! Assets, published to the embedded bucket and by a stand-in for Docker.

use cdkr::event::{AssetKind, AssetStatus, Event};
use cdkr::local::server::{WireFault, WireFaultKind, WireFaults};
use serde_json::json;

use super::outcomes;
use super::world::{App, options, template, world};

#[test]
fn assets_are_uploaded_once_and_the_template_comes_from_its_bucket() {
    let world = world();
    let app = App::new().stack("Web", &template(10)).published("Web").directory_asset("Web");
    outcomes(&world, &app);
    let cloud = world.running.cloud();
    let bucket = "cdk-assets-111111111111-us-east-1";
    let archive = cloud.get_object(bucket, "code.zip").unwrap().unwrap();
    assert_eq!(&archive[..2], b"PK");
    assert!(cloud.get_object(bucket, "Web.json").unwrap().is_some());
    assert_eq!(world.count("PutObject"), 2);
    let published = |event: &Event| match event {
        Event::Asset { status: AssetStatus::Published { bytes }, done, of, .. } => {
            Some((bytes.is_some(), *done, *of))
        }
        _ => None,
    };
    let told: Vec<_> = world.events().iter().filter_map(published).collect();
    assert_eq!(told, [(true, 1, 2), (true, 2, 2)]);
    outcomes(&world, &app);
    assert_eq!(world.count("PutObject"), 2);
    assert!(world.count("AssumeRole") > 0);
}

#[test]
fn a_bucket_that_refuses_is_an_error_that_says_to_bootstrap_and_no_stack_is_changed() {
    let world = world();
    let app = App::new().stack("Web", &template(10)).published("Web");
    let fault = WireFault {
        kind: WireFaultKind::AccessDenied,
        action: Some("PutObject".to_owned()),
        times: 1,
    };
    world.running.arm_wire(WireFaults { latency_ms: 0, faults: vec![fault] });
    let text = world.deploy(&app, options()).unwrap_err().to_string();
    for part in ["asset Web", "cdk-assets-111111111111-us-east-1", "cdk bootstrap aws://111111"] {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert_eq!(world.count("CreateChangeSet"), 0);
}

#[test]
fn a_request_to_stop_ends_the_publication_too() {
    let world = world();
    let error = world.publish_cancelled(&App::new().stack("Web", &template(1)).published("Web"));
    let error = error.unwrap_err();
    assert!(error.is_cancelled(), "{error}");
    assert_eq!(world.count("PutObject"), 0);
}

#[cfg(unix)]
#[test]
fn a_file_that_a_command_makes_is_uploaded() {
    let world = world();
    let made = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(made.path(), "made").unwrap();
    let say = format!("echo {}", made.path().display());
    let to = json!({"here": {"bucketName": "made-here", "objectKey": "made.zip"}});
    let asset =
        |say: &str| json!({"source": {"executable": ["sh", "-c", say]}, "destinations": to});
    let app = App::new().stack("Web", &template(1));
    outcomes(&world, &app.clone().asset("made", asset(&say)));
    let object = world.running.cloud().get_object("made-here", "made.zip").unwrap().unwrap();
    assert_eq!(object, b"made");
    let to = json!({"here": {"bucketName": "made-here", "objectKey": "other.zip"}});
    let broken = json!({"source": {"executable": ["sh", "-c", "echo no luck >&2; exit 3"]},
        "destinations": to});
    let error = world.deploy(&app.asset("broken", broken), options()).unwrap_err().to_string();
    for part in ["asset broken", "`sh` failed", "no luck", "No stack was changed"] {
        assert!(error.contains(part), "{part} in {error}");
    }
}

#[test]
fn images_are_not_pushed_to_a_registry_that_takes_no_layers() {
    let world = world();
    let app = with_image();
    outcomes(&world, &app);
    assert_eq!(world.count("PutImage"), 1);
    assert_eq!(world.count("GetAuthorizationToken"), 0);
    outcomes(&world, &app);
    assert_eq!(world.count("PutImage"), 1);
    let last = world.events().into_iter().rfind(|event| matches!(event, Event::Asset { .. }));
    assert!(
        matches!(
            last,
            Some(Event::Asset { kind: AssetKind::Image, status: AssetStatus::Exists, .. })
        ),
        "{last:?}"
    );
}

fn with_image() -> App {
    let image = json!({
        "source": {"directory": "asset.code", "dockerBuildArgs": {"TOKEN": "hidden"}},
        "destinations": {"here": {
            "repositoryName": "assets-${AWS::AccountId}", "imageTag": "ABC",
            "assumeRoleArn": "arn:${AWS::Partition}:iam::${AWS::AccountId}:role/images"}},
    });
    App::new().stack("Web", &template(1)).image("ABC", image)
}

#[cfg(unix)]
mod docker {
    use std::fs;
    use std::path::{Path, PathBuf};

    use cdkr::deploy::DeployOptions;

    use super::*;

    /// A stand-in for Docker that notes its calls beside itself; other files there say how it
    /// is to behave.
    fn docker(directory: &Path) -> DeployOptions {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/deploy/docker.sh");
        let docker: PathBuf = directory.join("docker");
        std::os::unix::fs::symlink(script, &docker).unwrap();
        DeployOptions { push_images: Some(true), docker: Some(docker), ..options() }
    }

    fn calls(directory: &Path) -> Vec<String> {
        let text = fs::read_to_string(directory.join("calls")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    const ADDRESS: &str = "111111111111.dkr.ecr.us-east-1.amazonaws.com/assets-111111111111:ABC";

    #[test]
    fn an_image_is_built_and_pushed_with_a_login_that_nobody_sees_and_that_does_not_stay() {
        let (world, directory) = (world(), tempfile::tempdir().unwrap());
        let options = docker(directory.path());
        world.deploy(&with_image(), options).unwrap();
        let registry = ADDRESS.split('/').next().unwrap();
        assert_eq!(
            calls(directory.path()),
            [
                format!("login --username AWS --password-stdin {registry}"),
                "inspect cdkasset-abc".to_owned(),
                "build --build-arg TOKEN=hidden --tag cdkasset-abc .".to_owned(),
                format!("tag cdkasset-abc {ADDRESS}"),
                format!("push {ADDRESS}"),
            ]
        );
        let read = |name: &str| fs::read_to_string(directory.path().join(name)).unwrap();
        assert_eq!(read("password"), "local");
        assert!(read("config").contains(&format!(r#""{registry}":"""#)), "{}", read("config"));
        assert!(read("directory").trim().ends_with("asset.code"));
        assert!(!Path::new(read("config-directory").trim()).exists());
        let told = format!("{:?}", world.events());
        assert!(told.contains("step 1 of 1") && !told.contains("hidden"), "{told}");
    }

    #[test]
    fn an_image_that_is_in_the_registry_needs_no_docker() {
        let (world, directory) = (world(), tempfile::tempdir().unwrap());
        world.region().put_image("assets-111111111111", "ABC", "sha256:1").unwrap();
        let options = DeployOptions {
            docker: Some(PathBuf::from("/nowhere/docker")),
            ..docker(directory.path())
        };
        world.deploy(&with_image(), options).unwrap();
        assert_eq!(calls(directory.path()), Vec::<String>::new());
    }

    #[test]
    fn an_image_that_is_on_the_machine_is_not_built_again() {
        let (world, directory) = (world(), tempfile::tempdir().unwrap());
        fs::write(directory.path().join("has-image"), "").unwrap();
        world.deploy(&with_image(), docker(directory.path())).unwrap();
        let calls = calls(directory.path());
        assert!(!calls.iter().any(|call| call.starts_with("build")), "{calls:?}");
        assert!(calls.iter().any(|call| call.starts_with("push")), "{calls:?}");
    }

    #[test]
    fn a_build_that_fails_says_why_without_its_arguments_and_changes_no_stack() {
        let (world, directory) = (world(), tempfile::tempdir().unwrap());
        fs::write(directory.path().join("fails"), "build").unwrap();
        let error = world.deploy(&with_image(), docker(directory.path())).unwrap_err().to_string();
        for part in ["asset ABC", "build` failed", "step 1 of 1", "No stack was changed"] {
            assert!(error.contains(part), "{part} in {error}");
        }
        assert!(!error.contains("hidden"), "{error}");
        assert_eq!(world.count("CreateChangeSet"), 0);
    }

    #[test]
    fn a_docker_that_is_not_there_is_an_error_that_says_what_to_do() {
        let (world, directory) = (world(), tempfile::tempdir().unwrap());
        let options = DeployOptions {
            docker: Some(PathBuf::from("/nowhere/docker")),
            ..docker(directory.path())
        };
        let error = world.deploy(&with_image(), options).unwrap_err().to_string();
        assert!(error.contains("/nowhere/docker") && error.contains("CDK_DOCKER"), "{error}");
    }

    #[test]
    fn an_image_that_a_command_makes_is_pushed_under_the_name_that_it_says() {
        let (world, directory) = (world(), tempfile::tempdir().unwrap());
        let image = json!({
            "source": {"executable": ["sh", "-c", "echo made:1; echo noise >&2"]},
            "destinations": {"here": {"repositoryName": "assets", "imageTag": "t"}},
        });
        let app = App::new().stack("Web", &template(1)).image("made", image);
        world.deploy(&app, docker(directory.path())).unwrap();
        let calls = calls(directory.path());
        assert!(calls.iter().any(|call| call.starts_with("tag made:1 1111")), "{calls:?}");
    }
}
