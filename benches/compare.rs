//! How long a comparison takes, from the text of all templates to the mappings, next to the
//! time that `serde_json` needs to parse the same texts on one thread.

#![expect(clippy::print_stdout, reason = "the table is the result")]
#![expect(clippy::cast_precision_loss, reason = "bytes are shown as megabytes")]

mod apps;

use std::hint::black_box;
use std::time::Instant;

use cdkr::aspects::{self, Declarations, Sides};
use cdkr::compare::{Comparison, Decisions, compare};
use cdkr::model::{Environment, Stack};
use cdkr::template;
use criterion::{Criterion, criterion_group, criterion_main};

type Texts = Vec<(String, String)>;

/// Makes both sides of a case.
type Make = Box<dyn Fn() -> (Texts, Texts)>;

fn read(texts: &Texts) -> Vec<Stack> {
    texts
        .iter()
        .map(|(name, text)| Stack::new(name, template::parse(text.as_bytes()).expect("a template")))
        .collect()
}

fn from_texts(before: &Texts, after: &Texts) -> Comparison {
    let (before, after) = std::thread::scope(|scope| {
        let before = scope.spawn(|| read(before));
        let after = read(after);
        (before.join().expect("templates are valid"), after)
    });
    compared(&before, &after)
}

fn compared(before: &[Stack], after: &[Stack]) -> Comparison {
    let environment = Environment::new("111111111111", "us-east-1");
    compare(&environment, before, after, &Decisions::default()).expect("the apps are valid")
}

/// The comparison as the program makes it: with the aspects that are built in.
fn with_presets(before: &[Stack], after: &[Stack]) -> Comparison {
    let environment = Environment::new("111111111111", "us-east-1");
    let sides = Sides { constructs: &[], deployed: before, local: after };
    let presets = Declarations::default();
    let found = aspects::compare(&presets, &environment, sides, &Decisions::default());
    found.expect("the apps are valid").comparison
}

fn parsed_by_serde(before: &Texts, after: &Texts) {
    for (_, text) in before.iter().chain(after) {
        black_box(serde_json::from_str::<serde_json::Value>(text).expect("JSON"));
    }
}

/// The median time of some runs in milliseconds.
fn median(mut run: impl FnMut()) -> f64 {
    let mut times: Vec<f64> = (0..5)
        .map(|_| {
            let start = Instant::now();
            run();
            start.elapsed().as_secs_f64() * 1000.0
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Queues that were renamed and edited: each has to be found among all the others.
fn similar(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("similar");
    group.sample_size(10);
    for count in [1_000, 10_000] {
        let (old, new) = (read(&apps::alike(count, false)), read(&apps::alike(count, true)));
        assert_eq!(compared(&old, &new).similar.len(), count, "every queue is found");
        group.bench_function(format!("{count} queues renamed and edited"), |bencher| {
            bencher.iter(|| black_box(compared(&old, &new)));
        });
    }
    group.finish();
}

fn table(_: &mut Criterion) {
    // It makes no difference to a filter: `cargo bench --bench compare -- similar` is for the other.
    if std::env::args().any(|argument| argument == "similar") {
        return;
    }
    println!(
        "{:<36} {:>9} {:>9} {:>9} {:>9} {:>9} {:>6}",
        "", "MB", "serde", "compare", "aspects", "all", "ratio"
    );
    let mut cases: Vec<(String, Make)> = Vec::new();
    for count in [1_000, 10_000, 25_000, 100_000] {
        let make = move || (apps::workers(count, None), apps::workers(count, Some(10)));
        cases.push((format!("{count} resources, 10 % wrapped"), Box::new(make)));
    }
    let all = || (apps::workers(10_000, None), apps::workers(10_000, Some(1)));
    cases.push(("10000 resources, all wrapped".to_owned(), Box::new(all)));
    let released = || (apps::workers(10_000, None), apps::released(apps::workers(10_000, None)));
    cases.push(("10000 resources, functions changed".to_owned(), Box::new(released)));
    let rewritten =
        || (apps::workers(10_000, None), apps::rewritten(apps::workers(10_000, Some(10))));
    cases.push(("10000 resources, written otherwise".to_owned(), Box::new(rewritten)));
    for count in [1_000, 10_000, 100_000] {
        let make = move || (apps::identical(count, "Old"), apps::identical(count, "New"));
        cases.push((format!("{count} identical, renamed"), Box::new(make)));
    }
    let only = std::env::var("CASE").unwrap_or_default();
    for (name, make) in cases.into_iter().filter(|(name, _)| name.contains(&only)) {
        let (before, after) = make();
        let bytes: usize = before.iter().chain(&after).map(|(_, text)| text.len()).sum();
        let serde = median(|| parsed_by_serde(&before, &after));
        let (old, new) = (read(&before), read(&after));
        let alone = median(|| drop(black_box(compared(&old, &new))));
        let aspects = median(|| drop(black_box(with_presets(&old, &new))));
        let all = median(|| drop(black_box(from_texts(&before, &after))));
        let found = with_presets(&old, &new);
        println!(
            "{name:<36} {:>9.1} {serde:>7.1}ms {alone:>7.1}ms {aspects:>7.1}ms {all:>7.1}ms {:>6.2}   {} mapped, {} questions",
            bytes as f64 / 1e6,
            all / serde,
            found.mappings.len(),
            found.ambiguous.len(),
        );
    }
}

criterion_group!(benches, similar, table);
criterion_main!(benches);
