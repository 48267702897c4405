//! A server in a temporary directory and clients of the SDK that talk to it.

#![expect(unreachable_pub, reason = "each test uses its part of this")]

use std::future::Future;
use std::io::{Read, Write};
use std::net::TcpStream;

use aws_credential_types::Credentials;
use aws_sdk_cloudformation::config::http::HttpResponse;
use aws_sdk_cloudformation::config::{BehaviorVersion, Region};
use aws_sdk_cloudformation::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_cloudformation::types::Capability;
use aws_smithy_types::retry::RetryConfig;
use cdkr::local::server::{Running, ServeOptions, access_key, start};
use cdkr::local::{Ambient, Cloud, Delays, Options};

pub const ACCOUNT: &str = "111111111111";

pub struct World {
    pub running: Running,
    runtime: tokio::runtime::Runtime,
    _directory: tempfile::TempDir,
}

pub fn world_with(options: Options) -> World {
    let directory = tempfile::tempdir().unwrap();
    let cloud = Cloud::open(directory.path(), Ambient::system(), options).unwrap();
    let running = start(cloud, &ServeOptions::default()).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    World { running, runtime, _directory: directory }
}

/// A world in which nothing takes time.
pub fn world() -> World {
    let delays = Delays { refactor_settle: 0, ..Delays::default() };
    world_with(Options { delays, ..Options::default() })
}

pub fn keys(account: &str) -> Credentials {
    Credentials::new(access_key(account), "secret", None, None, "test")
}

impl World {
    pub fn run<T>(&self, future: impl Future<Output = T>) -> T {
        self.runtime.block_on(future)
    }

    pub fn cloudformation_as(&self, credentials: Credentials) -> aws_sdk_cloudformation::Client {
        let config = aws_sdk_cloudformation::Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::new("us-east-1"))
            .endpoint_url(self.running.url())
            .retry_config(RetryConfig::disabled())
            .credentials_provider(credentials)
            .build();
        aws_sdk_cloudformation::Client::from_conf(config)
    }

    pub fn cloudformation(&self) -> aws_sdk_cloudformation::Client {
        self.cloudformation_as(keys(ACCOUNT))
    }

    pub fn s3(&self) -> aws_sdk_s3::Client {
        let config = aws_sdk_s3::Config::builder()
            .behavior_version(aws_sdk_s3::config::BehaviorVersion::latest())
            .region(Region::new("eu-west-1"))
            .endpoint_url(self.running.url())
            .retry_config(RetryConfig::disabled())
            .credentials_provider(keys(ACCOUNT))
            .build();
        aws_sdk_s3::Client::from_conf(config)
    }

    pub fn ssm(&self) -> aws_sdk_ssm::Client {
        let config = aws_sdk_ssm::Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::new("us-east-1"))
            .endpoint_url(self.running.url())
            .retry_config(RetryConfig::disabled())
            .credentials_provider(keys(ACCOUNT))
            .build();
        aws_sdk_ssm::Client::from_conf(config)
    }

    /// Sends a request as it is, and returns the whole answer.
    pub fn raw(&self, request: &str) -> String {
        let address = self.running.url().trim_start_matches("http://").to_owned();
        let mut stream = TcpStream::connect(&address).unwrap();
        let request = request.replace("HOST", &address).replace('\n', "\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    /// Sends a request to the control endpoint.
    pub fn control(&self, method: &str, path: &str, body: &str) -> String {
        self.raw(&format!(
            "{method} /_cdkr/{path} HTTP/1.1\nHost: HOST\nConnection: close\n\
             Content-Length: {}\n\n{body}",
            body.len()
        ))
    }

    pub fn sts(&self) -> aws_sdk_sts::Client {
        let config = aws_sdk_sts::Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::new("us-east-1"))
            .endpoint_url(self.running.url())
            .retry_config(RetryConfig::disabled())
            .credentials_provider(keys(ACCOUNT))
            .build();
        aws_sdk_sts::Client::from_conf(config)
    }

    /// Creates a stack and returns its ARN.
    pub fn create(&self, name: &str, template: &str) -> String {
        let request = self.cloudformation().create_stack().stack_name(name).template_body(template);
        let answer = self.run(request.capabilities(Capability::CapabilityIam).send()).unwrap();
        answer.stack_id.unwrap()
    }

    pub fn stack(&self, name: &str) -> aws_sdk_cloudformation::types::Stack {
        let answer = self.run(self.cloudformation().describe_stacks().stack_name(name).send());
        answer.unwrap().stacks.unwrap().remove(0)
    }

    pub fn status(&self, name: &str) -> String {
        self.stack(name).stack_status.unwrap().to_string()
    }
}

/// Code, message and HTTP status of an error of the SDK.
pub fn refusal<E: ProvideErrorMetadata>(
    error: &SdkError<E, HttpResponse>,
) -> (String, String, u16) {
    let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
    let status = error.raw_response().map_or(0, |response| response.status().as_u16());
    (text(error.code()), text(error.message()), status)
}
