//! Programs that use the library are asked as people at a terminal are.

#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]

use std::path::PathBuf;
use std::sync::Mutex;

use cdkr::event::{Event, Host, Question, Silent, Unanswered};
use cdkr::report::Style;
use cdkr::settings::{Settings, Surroundings, Typed};
use cdkr::toolkit::{self, Deciding, Error, Prepared, Subjects};

const SUBJECTS: Subjects = Subjects { ambiguous: true, similar: true };

/// Answers with the choice that begins with a text, and remembers what was asked.
struct Scripted {
    choice: &'static str,
    asked: Mutex<Vec<Question>>,
}

impl Host for Scripted {
    fn tell(&self, _: &Event) {}

    fn ask(&self, question: &Question) -> Result<usize, Unanswered> {
        self.asked.lock().unwrap().push(question.clone());
        let wanted = |choice: &String| choice.starts_with(self.choice);
        Ok(question.choices.iter().position(wanted).unwrap())
    }
}

fn settings() -> Settings {
    let app = |side: &str| {
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures/apps/twins").join(side)
    };
    let typed = Typed {
        app: Some(app("after").to_str().unwrap().to_owned()),
        against: Some(app("before")),
        ..Typed::default()
    };
    Settings::resolve(&typed, &Surroundings::default()).unwrap()
}

async fn asked(settings: &Settings, host: &dyn Host) -> Result<Deciding<Prepared>, Error> {
    let prepared = Box::pin(toolkit::prepare(settings, host)).await.unwrap();
    assert!(prepared.outcome.has_questions(SUBJECTS));
    Box::pin(prepared.decide(settings, SUBJECTS, Style::default(), host)).await
}

#[tokio::test]
async fn a_program_decides_and_what_is_prepared_again_knows_it() {
    let host = Scripted { choice: "Shop/Purchases", asked: Mutex::default() };
    let Deciding::Settled(settled) = asked(&settings(), &host).await.unwrap() else {
        panic!("nobody has stopped");
    };
    assert_eq!(host.asked.lock().unwrap().len(), 1);
    assert_eq!(
        settled.found.outcome.moves(),
        settled.found.outcome.environments[0].mappings.len() - 2
    );
    assert_eq!(settled.decided[0].1.pairs.len(), 1);
    let again = Box::pin(toolkit::prepare(&settled.settings, &Silent)).await.unwrap();
    assert!(!again.outcome.has_questions(SUBJECTS));
    assert_eq!(again.outcome.moves(), settled.found.outcome.moves());
}

#[tokio::test]
async fn a_program_can_stop() {
    let host = Scripted { choice: "Stop", asked: Mutex::default() };
    assert!(matches!(asked(&settings(), &host).await.unwrap(), Deciding::Stopped));
}

#[tokio::test]
async fn where_nobody_answers_the_error_names_the_flag_that_does() {
    let error = asked(&settings(), &Silent).await.err().unwrap().to_string();
    assert!(error.contains("`--map Shop.") && error.contains("answers it"), "{error}");
}
