//! Credentials in an environment, and the clients that use them.

use std::sync::Arc;
use std::time::Duration;

use aws_config::SdkConfig;
use aws_config::retry::RetryConfig;
use aws_sdk_cloudformation::config::retry::RetryPartition;
use tokio::sync::Semaphore;

use super::client::Client;
use crate::model::Environment;

/// Credentials in an environment, and the clients that use them. Cheap to clone.
#[derive(Clone)]
pub struct Session(Arc<Inner>);

struct Inner {
    identified: Identified,
    cloudcontrol: Client<aws_sdk_cloudcontrol::Client>,
    cloudformation: Client<aws_sdk_cloudformation::Client>,
    ecr: Client<aws_sdk_ecr::Client>,
    ec2: Client<aws_sdk_ec2::Client>,
    route53: Client<aws_sdk_route53::Client>,
    s3: Client<aws_sdk_s3::Client>,
    ssm: Client<aws_sdk_ssm::Client>,
}

/// Who a session is.
pub(super) struct Identified {
    pub environment: Environment,
    pub role: Option<String>,
    pub warnings: Vec<String>,
}

/// How much a session may ask.
pub(super) struct Limits {
    pub partition: RetryPartition,
    pub gate: Arc<Semaphore>,
    /// Before the second attempt.
    pub pause: Duration,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Identified { environment, role, .. } = &self.0.identified;
        f.debug_struct("Session")
            .field("environment", environment)
            .field("role", role)
            .finish_non_exhaustive()
    }
}

impl Session {
    pub(super) fn new(config: &SdkConfig, limits: &Limits, identified: Identified) -> Self {
        let partitioned = aws_sdk_cloudformation::config::Builder::from(config)
            .retry_partition(limits.partition.clone());
        let once = partitioned.clone().retry_config(RetryConfig::disabled());
        // The embedded server knows no host names of buckets.
        let path_style = config.endpoint_url().is_some();
        let s3 = aws_sdk_s3::config::Builder::from(config).force_path_style(path_style);
        let s3_once = s3.clone().retry_config(RetryConfig::disabled());
        let cloudcontrol = aws_sdk_cloudcontrol::config::Builder::from(config);
        let cloudcontrol_once = cloudcontrol.clone().retry_config(RetryConfig::disabled());
        let ecr = aws_sdk_ecr::config::Builder::from(config);
        let ecr_once = ecr.clone().retry_config(RetryConfig::disabled());
        let ec2 = aws_sdk_ec2::config::Builder::from(config);
        let ec2_once = ec2.clone().retry_config(RetryConfig::disabled());
        let route53 = aws_sdk_route53::config::Builder::from(config);
        let route53_once = route53.clone().retry_config(RetryConfig::disabled());
        let ssm = aws_sdk_ssm::config::Builder::from(config);
        let ssm_once = ssm.clone().retry_config(RetryConfig::disabled());
        let wrap = Wrap { environment: &identified.environment, limits };
        let inner = Inner {
            cloudcontrol: wrap.client(
                aws_sdk_cloudcontrol::Client::from_conf(cloudcontrol.build()),
                aws_sdk_cloudcontrol::Client::from_conf(cloudcontrol_once.build()),
            ),
            cloudformation: wrap.client(
                aws_sdk_cloudformation::Client::from_conf(partitioned.build()),
                aws_sdk_cloudformation::Client::from_conf(once.build()),
            ),
            ecr: wrap.client(
                aws_sdk_ecr::Client::from_conf(ecr.build()),
                aws_sdk_ecr::Client::from_conf(ecr_once.build()),
            ),
            ec2: wrap.client(
                aws_sdk_ec2::Client::from_conf(ec2.build()),
                aws_sdk_ec2::Client::from_conf(ec2_once.build()),
            ),
            route53: wrap.client(
                aws_sdk_route53::Client::from_conf(route53.build()),
                aws_sdk_route53::Client::from_conf(route53_once.build()),
            ),
            s3: wrap.client(
                aws_sdk_s3::Client::from_conf(s3.build()),
                aws_sdk_s3::Client::from_conf(s3_once.build()),
            ),
            ssm: wrap.client(
                aws_sdk_ssm::Client::from_conf(ssm.build()),
                aws_sdk_ssm::Client::from_conf(ssm_once.build()),
            ),
            identified,
        };
        Self(Arc::new(inner))
    }

    /// Returns the account and region; never an environment-agnostic one.
    pub fn environment(&self) -> &Environment {
        &self.0.identified.environment
    }

    /// Returns the ARN of the role that was assumed; `None`: these are the base credentials.
    pub fn role(&self) -> Option<&str> {
        self.0.identified.role.as_deref()
    }

    /// Returns which roles could not be assumed, and what was done instead: a sentence each.
    pub fn warnings(&self) -> &[String] {
        &self.0.identified.warnings
    }

    /// Returns the client of Cloud Control.
    pub fn cloudcontrol(&self) -> &Client<aws_sdk_cloudcontrol::Client> {
        &self.0.cloudcontrol
    }

    /// Returns the client of CloudFormation.
    pub fn cloudformation(&self) -> &Client<aws_sdk_cloudformation::Client> {
        &self.0.cloudformation
    }

    /// Returns the client of the container registry.
    pub fn ecr(&self) -> &Client<aws_sdk_ecr::Client> {
        &self.0.ecr
    }

    /// Returns the client of EC2.
    pub fn ec2(&self) -> &Client<aws_sdk_ec2::Client> {
        &self.0.ec2
    }

    /// Returns the client of Route 53.
    pub fn route53(&self) -> &Client<aws_sdk_route53::Client> {
        &self.0.route53
    }

    /// Returns the client of S3.
    pub fn s3(&self) -> &Client<aws_sdk_s3::Client> {
        &self.0.s3
    }

    /// Returns the client of Systems Manager.
    pub fn ssm(&self) -> &Client<aws_sdk_ssm::Client> {
        &self.0.ssm
    }
}

struct Wrap<'a> {
    environment: &'a Environment,
    limits: &'a Limits,
}

impl Wrap<'_> {
    fn client<C>(&self, sdk: C, once: C) -> Client<C> {
        let Limits { gate, pause, .. } = self.limits;
        Client::new(self.environment.clone(), Arc::clone(gate), *pause, sdk, once)
    }
}
