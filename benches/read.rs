//! How long it takes to read stacks from the embedded CloudFormation whose every answer comes
//! late, next to what the requests must take at least: their number times the latency, divided by
//! how many are under way at once.

#![expect(clippy::print_stdout, reason = "the table is the result")]
#![expect(clippy::cast_precision_loss, reason = "small numbers")]

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use cdkr::aws::{Access, Aws, Depth, Endpoint, Identity, ReadRequest, Roles, Wanted};
use cdkr::event::Silent;
use cdkr::local::server::{self, ServeOptions, WireFaults};
use cdkr::local::{Ambient, Cloud, CreateStack, Options, TemplateSource};
use cdkr::model::Environment;

const ACCOUNT: &str = "111111111111";
const RUNS: usize = 5;

struct Case {
    stacks: usize,
    strangers: usize,
    latency_ms: u64,
    concurrency: usize,
    depth: Depth,
}

fn template(resources: usize) -> String {
    let mut text = String::from("{\"Resources\":{");
    for number in 0..resources {
        let comma = if number == 0 { "" } else { "," };
        // Writing to a string cannot fail.
        let _ = write!(text, "{comma}\"Q{number}\":{{\"Type\":\"AWS::SQS::Queue\"}}");
    }
    text + "}}"
}

fn seed(cloud: &Cloud, environment: &Environment, prefix: &str, count: usize) {
    let region = cloud.region(environment);
    for number in 0..count {
        let request = CreateStack {
            name: format!("{prefix}{number}"),
            template: TemplateSource::body(&template(10)),
            ..CreateStack::default()
        };
        region.create_stack(&request).expect("a stack can be created");
    }
}

/// The median time in milliseconds, and how many requests were made.
fn measure(case: &Case) -> (f64, usize) {
    let directory = tempfile::tempdir().expect("a directory");
    let environment = Environment::new(ACCOUNT, "eu-west-1");
    let cloud = Cloud::open(directory.path(), Ambient::system(), Options::default());
    let cloud = cloud.expect("a state directory");
    seed(&cloud, &environment, "Ours", case.stacks);
    seed(&cloud, &environment, "Stranger", case.strangers);
    let server = server::start(cloud, &ServeOptions::default()).expect("a port");
    server.arm_wire(WireFaults { latency_ms: case.latency_ms, ..WireFaults::default() });
    let runtime = tokio::runtime::Runtime::new().expect("threads");
    let request = ReadRequest {
        environment,
        stacks: (0..case.stacks)
            .map(|number| Wanted { name: format!("Ours{number}"), roles: Roles::default() })
            .collect(),
        additional: Vec::new(),
        depth: case.depth,
        wait: None,
        accepts_failed: false,
    };
    let mut times = Vec::new();
    let before = server.requests().len();
    for _ in 0..RUNS {
        let endpoint = Endpoint {
            url: server.url().to_owned(),
            identity: Identity::Account(ACCOUNT.to_owned()),
        };
        let access =
            Access { endpoint: Some(endpoint), concurrency: case.concurrency, ..Access::default() };
        let start = Instant::now();
        let read = runtime.block_on(async {
            Aws::connect(access).await.read(&request, &Silent).await.expect("stacks can be read")
        });
        times.push(start.elapsed());
        assert_eq!(read.deployed.stacks.len(), case.stacks);
    }
    let requests = (server.requests().len() - before) / RUNS;
    times.sort();
    (times[RUNS / 2].as_secs_f64() * 1000.0, requests)
}

fn main() {
    let case = |stacks, strangers, latency_ms, concurrency, depth| Case {
        stacks,
        strangers,
        latency_ms,
        concurrency,
        depth,
    };
    let cases = [
        case(200, 0, 50, 20, Depth::Comparison),
        case(200, 0, 50, 20, Depth::Complete),
        case(200, 300, 50, 20, Depth::Comparison),
        case(500, 0, 50, 20, Depth::Comparison),
        case(5, 495, 50, 20, Depth::Comparison),
        case(200, 0, 50, 50, Depth::Comparison),
        case(500, 0, 0, 20, Depth::Comparison),
    ];
    println!("stacks  others  latency  at once  depth       requests  at least  measured  ratio");
    for case in &cases {
        let (measured, requests) = measure(case);
        let latency = Duration::from_millis(case.latency_ms).as_secs_f64() * 1000.0;
        let waves = requests.div_ceil(case.concurrency) as f64;
        let least = waves * latency;
        let ratio = if least > 0.0 { format!("{:.2}", measured / least) } else { "-".to_owned() };
        println!(
            "{:>6}  {:>6}  {:>4} ms  {:>7}  {:<10}  {:>8}  {:>5.0} ms  {:>5.0} ms  {:>5}",
            case.stacks,
            case.strangers,
            case.latency_ms,
            case.concurrency,
            format!("{:?}", case.depth),
            requests,
            least,
            measured,
            ratio
        );
    }
}
