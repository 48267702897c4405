//! The state directory: crashes, concurrent processes, readable files.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cdkr::local::{
    Ambient, Cloud, CountingIds, CreateStack, ManualClock, Options, TemplateSource, WriteHook,
};
use cdkr::model::Environment;

use crate::world::*;

fn here() -> Environment {
    Environment::new("111111111111", "us-east-1")
}

fn open(directory: &std::path::Path, on_write: Option<WriteHook>) -> Cloud {
    let ambient = Ambient::new(Arc::new(ManualClock::at(1000)), Arc::new(CountingIds::default()));
    Cloud::open(directory, ambient, Options { on_write, ..Options::default() }).unwrap()
}

fn creation(name: &str) -> CreateStack {
    CreateStack {
        name: name.to_owned(),
        template: TemplateSource::body(&with_outputs(
            &format!("{QUEUE},{TOPIC}"),
            &format!(r#""O":{{"Value":{{"Ref":"Queue"}},"Export":{{"Name":"{name}"}}}}"#),
        )),
        ..CreateStack::default()
    }
}

#[test]
fn a_process_can_be_killed_before_any_write() {
    for fatal in 1.. {
        let directory = tempfile::tempdir().unwrap();
        let count = Arc::new(AtomicUsize::new(0));
        let counter = count.clone();
        let hook: WriteHook = Arc::new(move |_| counter.fetch_add(1, Ordering::SeqCst) + 1 < fatal);
        let killed = open(directory.path(), Some(hook));
        let request = killed.region(&here()).create_stack(&creation("Shop"));
        let advanced = killed.region(&here()).describe_stacks(None, None);
        let survived = request.is_ok() && advanced.is_ok();
        // Another process comes: the stack is there as a whole, or not at all.
        let next = open(directory.path(), None);
        let region = next.region(&here());
        let stacks = region.describe_stacks(None, None).unwrap().items;
        if let [stack] = stacks.as_slice() {
            assert_eq!(stack.info.status, "CREATE_COMPLETE", "killed at {fatal}");
            assert_eq!(region.list_stack_resources("Shop", None).unwrap().items.len(), 2);
            assert_eq!(region.physical_resources("AWS::SQS::Queue").unwrap().len(), 1);
            assert_eq!(region.list_exports(None).unwrap().items.len(), 1);
        } else {
            assert!(stacks.is_empty() && request.is_err(), "killed at {fatal}");
            assert!(region.physical_resources("AWS::SQS::Queue").unwrap().is_empty());
            region.create_stack(&creation("Shop")).unwrap();
        }
        if survived {
            assert!(fatal > 8, "the hook was called {} times", count.load(Ordering::SeqCst));
            return;
        }
    }
}

#[test]
fn many_threads_share_a_directory() {
    let directory = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let path = directory.path();
            scope.spawn(move || {
                let cloud = Cloud::open(path, Ambient::system(), Options::default()).unwrap();
                for n in 0..5 {
                    let name = format!("Stack{thread}x{n}");
                    cloud.region(&here()).create_stack(&creation(&name)).unwrap();
                }
            });
        }
    });
    let cloud = Cloud::open(directory.path(), Ambient::system(), Options::default()).unwrap();
    let stacks = cloud.region(&here()).describe_stacks(None, None).unwrap().items;
    assert_eq!(stacks.len(), 20);
    assert_eq!(cloud.region(&here()).list_exports(None).unwrap().items.len(), 20);
    let things = cloud.region(&here()).physical_resources("AWS::SNS::Topic").unwrap();
    let mut generations: Vec<u64> = things.iter().map(|thing| thing.generation).collect();
    generations.sort_unstable();
    generations.dedup();
    assert_eq!(generations.len(), 20, "every thing has a number of its own");
}

#[test]
fn lists_come_in_pages() {
    let world = world_with(Options { page_size: 2, ..Options::default() });
    for name in ["A", "B", "C"] {
        world.deploy(name, &template(&format!("{QUEUE},{TOPIC}")));
    }
    let region = world.region();
    let (mut names, mut token) = (Vec::new(), None);
    loop {
        let page = region.list_stacks(&[], token.as_deref()).unwrap();
        names.extend(page.items.into_iter().map(|stack| stack.info.name));
        token = page.next_token;
        if token.is_none() {
            break;
        }
    }
    names.sort();
    assert_eq!(names, ["A", "B", "C"]);
    let first = region.describe_stack_events("A", None).unwrap();
    assert_eq!((first.items.len(), first.items[0].status.as_str()), (2, "CREATE_COMPLETE"));
    assert!(first.next_token.is_some());
}

#[test]
fn a_stack_is_one_readable_file() {
    let world = world();
    world.deploy("Shop", &template(QUEUE));
    let file = world.cloud.root().join("111111111111/us-east-1/stacks/Shop.json");
    let text = std::fs::read_to_string(file).unwrap();
    for part in ["\"CREATE_COMPLETE\"", "\"AWS::SQS::Queue\"", "arn:aws:cloudformation"] {
        assert!(text.contains(part), "{part}");
    }
}

#[test]
fn a_lost_index_of_exports_is_made_anew() {
    let world = world();
    world.region().create_stack(&creation("Shop")).unwrap();
    assert_eq!(world.status("Shop"), "CREATE_COMPLETE");
    std::fs::remove_file(world.cloud.root().join("111111111111/us-east-1/exports.json")).unwrap();
    assert_eq!(world.region().list_exports(None).unwrap().items[0].name, "Shop");
}
