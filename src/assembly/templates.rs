//! Templates read from disk, several at a time.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::confine;
use super::error::AssemblyError;
use crate::model::Template;
use crate::template::{self, TemplateError};

/// A template to be read.
#[derive(Debug)]
pub(super) struct Job {
    /// The stack that it is for, as people know it.
    pub stack: String,
    /// Where it is.
    pub file: PathBuf,
}

/// Reads templates on all processors; the results are in the order of the jobs.
///
/// # Errors
/// The error of the first job that failed.
pub(super) fn read_all(jobs: &[Job]) -> Result<Vec<Template>, AssemblyError> {
    let workers = thread::available_parallelism().map_or(1, usize::from).min(jobs.len());
    if workers <= 1 {
        return jobs.iter().map(read).collect();
    }
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        while let Some((at, job)) = {
            let at = next.fetch_add(1, Ordering::Relaxed);
            jobs.get(at).map(|job| (at, job))
        } {
            done.push((at, read(job)));
        }
        done
    };
    let mut results: Vec<(usize, Result<Template, AssemblyError>)> = thread::scope(|scope| {
        let helpers: Vec<_> = (1..workers).map(|_| scope.spawn(work)).collect();
        let mut results = work();
        for helper in helpers {
            match helper.join() {
                Ok(done) => results.extend(done),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        results
    });
    results.sort_unstable_by_key(|(at, _)| *at);
    results.into_iter().map(|(_, result)| result).collect()
}

fn read(job: &Job) -> Result<Template, AssemblyError> {
    let bytes = confine::read(&job.file)?;
    let parsed = if bytes.iter().all(u8::is_ascii_whitespace) {
        // CloudFormation has stacks without a template; a synthesized one that is empty was cut.
        Err(TemplateError::Empty)
    } else {
        template::parse(&bytes)
    };
    parsed.map_err(|error| AssemblyError::Template {
        stack: job.stack.clone(),
        file: job.file.clone(),
        error,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_the_jobs_and_the_first_error_wins() {
        let directory = tempfile::tempdir().unwrap();
        let jobs: Vec<Job> = (0..50)
            .map(|n| {
                let file = directory.path().join(format!("{n}.json"));
                let text = format!(r#"{{"Resources":{{"R{n}":{{"Type":"T"}}}}}}"#);
                std::fs::write(&file, text).unwrap();
                Job { stack: format!("S{n}"), file }
            })
            .collect();
        let templates = read_all(&jobs).unwrap();
        for (n, template) in templates.iter().enumerate() {
            assert!(template.resource(&format!("R{n}")).is_some());
        }
        for n in [40, 7] {
            std::fs::write(&jobs[n].file, r#"{"Resources":{"B":null}}"#).unwrap();
        }
        let error = read_all(&jobs).unwrap_err().to_string();
        assert!(error.contains("stack `S7`") && error.contains("resource `B`"), "{error}");
    }
}
