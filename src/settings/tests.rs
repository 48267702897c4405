use super::*;

/// A directory for a project and a home, both empty.
struct Place {
    directory: tempfile::TempDir,
    home: tempfile::TempDir,
    typed: Typed,
    variables: BTreeMap<String, String>,
}

impl Place {
    fn new() -> Self {
        Self {
            directory: tempfile::tempdir().unwrap(),
            home: tempfile::tempdir().unwrap(),
            typed: Typed {
                against: Some("before".into()),
                app: Some("node app.js".into()),
                ..Typed::default()
            },
            variables: BTreeMap::new(),
        }
    }

    fn file(self, name: &str, text: &str) -> Self {
        std::fs::write(self.directory.path().join(name), text).unwrap();
        self
    }

    fn user(self, text: &str) -> Self {
        std::fs::write(self.home.path().join(".cdk.json"), text).unwrap();
        self
    }

    fn typing(mut self, change: impl FnOnce(&mut Typed)) -> Self {
        change(&mut self.typed);
        self
    }

    fn resolve(&self) -> Result<Settings, SettingsError> {
        let surroundings = Surroundings {
            directory: self.directory.path().to_owned(),
            home: Some(self.home.path().to_owned()),
            variables: self.variables.clone(),
        };
        Settings::resolve(&self.typed, &surroundings)
    }

    /// The message with its causes, without the names of temporary directories.
    fn error(&self) -> String {
        let error = self.resolve().unwrap_err();
        let mut text = error.to_string();
        let mut cause = std::error::Error::source(&error);
        while let Some(error) = cause {
            text = format!("{text}: {error}");
            cause = error.source();
        }
        let directory = format!("{}/", self.directory.path().display());
        text.replace(&directory, "").replace(&format!("{}/", self.home.path().display()), "~/")
    }
}

#[test]
fn a_flag_wins_over_the_variable_the_project_and_the_user() {
    let mut place =
        Place::new().file("cdk.json", r#"{"app": "project"}"#).user(r#"{"app": "user"}"#);
    place.variables.insert("CDK_APP".into(), "variable".into());
    let app = |place: &Place| {
        let app = place.resolve().unwrap().app;
        let App::Command(command) = app.value else { panic!() };
        (command, app.origin)
    };
    assert_eq!(app(&place), ("node app.js".into(), Origin::Flag("--app")));
    place.typed.app = None;
    assert_eq!(app(&place), ("variable".into(), Origin::Variable("CDK_APP")));
    place.variables.clear();
    let project = place.directory.path().join("cdk.json");
    assert_eq!(app(&place), ("project".into(), Origin::File(project.clone())));
    std::fs::remove_file(project).unwrap();
    assert_eq!(app(&place), ("user".into(), Origin::File(place.home.path().join(".cdk.json"))));
}

#[test]
fn an_app_that_is_a_directory_is_an_assembly_and_not_a_command() {
    let place = Place::new().typing(|typed| typed.app = Some("cdk.out".into()));
    assert_eq!(place.resolve().unwrap().app.value, App::Command("cdk.out".into()));
    let directory = place.directory.path().join("cdk.out");
    std::fs::create_dir(&directory).unwrap();
    assert_eq!(place.resolve().unwrap().app.value, App::Directory(directory));
}

#[test]
fn without_an_app_there_are_no_settings() {
    let place = Place::new().typing(|typed| typed.app = None);
    insta::assert_snapshot!(
        place.error(),
        @"no app: neither `--app` nor the key `app` of cdk.json says where it is"
    );
}

#[test]
fn without_an_assembly_to_compare_with_the_account_is_meant() {
    let place = Place::new().typing(|typed| typed.against = None);
    let settings = place.resolve().unwrap();
    assert_eq!(settings.against, None);
    assert_eq!(settings.account.local, None);
    assert_eq!(settings.account.concurrency, DEFAULT_CONCURRENCY);
    assert_eq!(settings.account.toolkit_stack_name.value, DEFAULT_TOOLKIT_STACK);
}

#[test]
fn the_embedded_cloudformation_is_chosen_by_a_flag_or_a_variable() {
    let mut place = Place::new();
    let local = |place: &Place| {
        let found = place.resolve().unwrap().account.local?;
        let inside = found.value.strip_prefix(place.directory.path()).unwrap().to_owned();
        Some((inside.to_str().unwrap().to_owned(), found.origin))
    };
    let variable = Origin::Variable("CDKR_LOCAL");
    for (text, expected) in [("1", Some(".cdkr/local")), ("state", Some("state")), ("0", None)] {
        place.variables.insert("CDKR_LOCAL".into(), text.into());
        let expected = expected.map(|directory| (directory.to_owned(), variable.clone()));
        assert_eq!(local(&place), expected, "{text}");
    }
    place.typed.local = Some("mine".into());
    assert_eq!(local(&place), Some(("mine".to_owned(), Origin::Flag("--local"))));
}

#[test]
fn the_account_is_reached_as_the_flags_and_then_the_project_say() {
    let mut place = Place::new().file("cdk.json", r#"{"profile": "team", "region": "eu-west-1"}"#);
    place.typed.region = Some("us-east-1".into());
    let account = place.resolve().unwrap().account;
    assert_eq!(account.profile.unwrap().value, "team");
    assert_eq!(account.region.unwrap().value, "us-east-1");
}

#[test]
fn no_request_at_a_time_is_wrong_usage() {
    let place = Place::new().typing(|typed| typed.concurrency = Some(0));
    insta::assert_snapshot!(
        place.error(),
        @"`--concurrency 0`: at least one request has to run at a time"
    );
    assert!(place.resolve().unwrap_err().is_usage());
}

#[test]
fn context_comes_from_the_flag_then_the_project_then_lookups_then_the_user() {
    let place = Place::new()
        .file("cdk.json", r#"{"context": {"a": "project", "b": "project"}}"#)
        .file("cdk.context.json", r#"{"a": "looked up", "b": "looked up", "c": {"x": 1.50}}"#)
        .user(r#"{"context": {"c": "user", "d": true}}"#)
        .typing(|typed| typed.context = vec!["a=flag=1".into()]);
    let context = serde_json::to_string(&place.resolve().unwrap().context).unwrap();
    assert_eq!(context, r#"{"a":"flag=1","b":"project","c":{"x":1.50},"d":true}"#);
}

#[test]
fn look_ups_are_made_unless_somebody_says_otherwise() {
    let mut place = Place::new();
    assert!(place.resolve().unwrap().lookups);
    place = place.user(r#"{"lookups": false}"#);
    assert!(!place.resolve().unwrap().lookups);
    place = place.file("cdk.json", r#"{"lookups": true}"#);
    assert!(place.resolve().unwrap().lookups);
    place.typed.lookups = Some(false);
    assert!(!place.resolve().unwrap().lookups);
}

#[test]
fn context_without_a_value_and_reserved_context_are_refused() {
    let with = |text: &str| Place::new().typing(|typed| typed.context = vec![text.into()]).error();
    insta::assert_snapshot!(with("stage"), @"`--context stage` is not of the form `key=value`");
    insta::assert_snapshot!(
        with("aws:cdk:x=1"),
        @"`--context aws:cdk:x=1`: keys that start with `aws:` are reserved for the framework"
    );
}

#[test]
fn unknown_keys_of_cdk_json_are_tolerated_and_known_ones_are_read() {
    let place = Place::new().file(
        "cdk.json",
        r#"{"watch": {"include": ["**"]}, "versionReporting": false, "output": "out",
            "refactoring": "EXECUTE_AND_DEPLOY", "ignoreAmbiguousRefactoring": true}"#,
    );
    let settings = place.resolve().unwrap();
    assert_eq!(settings.output.value, PathBuf::from("out"));
    assert_eq!(settings.refactoring.unwrap().value, Refactoring::ExecuteAndDeploy);
    assert!(settings.ignore_ambiguous_refactoring.value);
}

#[test]
fn the_example_that_we_ship_is_read() {
    let place = Place::new().file("cdk.json", include_str!("../../cdk.json.example"));
    let settings = place.resolve().unwrap();
    assert_eq!(settings.refactoring.unwrap().value, Refactoring::Ask);
    assert_eq!(settings.context.len(), 1);
}

#[test]
fn a_malformed_file_is_named_with_the_line() {
    let with = |text: &str| Place::new().file("cdk.json", text).error();
    insta::assert_snapshot!(
        with("{\n  \"app\": \"x\",\n}"),
        @"cdk.json is not a valid configuration: trailing comma at line 3 column 1"
    );
    insta::assert_snapshot!(
        with("{\n  \"app\": 3\n}"),
        @"cdk.json is not a valid configuration: invalid type: integer `3`, expected a string at line 2 column 10"
    );
    insta::assert_snapshot!(
        with(r#"{"refactoring": "MAYBE"}"#),
        @"cdk.json is not a valid configuration: unknown variant `MAYBE`, expected one of `ASK`, `EXECUTE_AND_DEPLOY`, `DEPLOY_WITHOUT_REFACTORING`, `QUIT` at line 1 column 23"
    );
    insta::assert_snapshot!(
        Place::new().user("nonsense").error(),
        @"~/.cdk.json is not a valid configuration: expected ident at line 1 column 2"
    );
}

#[test]
fn a_map_takes_locations_and_construct_paths() {
    let place = Place::new()
        .typing(|typed| typed.map = vec!["A.X:B.Y".into(), "A/X/Resource:B/Y/Resource".into()]);
    let pairs = place.resolve().unwrap().pairs;
    assert_eq!(pairs[0].source, Named::Location(crate::model::Location::new("A", "X")));
    assert_eq!(pairs[0].destination, Named::Location(crate::model::Location::new("B", "Y")));
    assert_eq!(pairs[1].source, Named::Path("A/X/Resource".into()));
    assert!(pairs.iter().all(|pair| pair.origin == "--map" && pair.scope.is_everywhere()));
}

#[test]
fn a_malformed_map_is_refused_with_its_text() {
    let with = |text: &str| {
        let place = Place::new().typing(|typed| typed.map = vec![text.into()]);
        assert!(place.resolve().unwrap_err().is_usage());
        place.error()
    };
    insta::assert_snapshot!(with("A.X"), @"`--map A.X` is not of the form `Stack.Old:Stack.New`");
    insta::assert_snapshot!(
        with("A.X:B.Y:C.Z"),
        @"`--map A.X:B.Y:C.Z` is not of the form `Stack.Old:Stack.New`"
    );
    insta::assert_snapshot!(
        with("A:B.Y"),
        @"--map: `A` is neither a location (`Stack.LogicalId`) nor a construct path"
    );
    insta::assert_snapshot!(
        with("A//X:B/Y"),
        @"--map: `A//X` is neither a location (`Stack.LogicalId`) nor a construct path"
    );
}

fn overriding(text: &str) -> Place {
    Place::new().file("o.json", text).typing(|typed| typed.override_file = Some("o.json".into()))
}

#[test]
fn every_known_form_of_the_override_file_gives_the_same_pair() {
    let scoped = Scope { account: Some("1".into()), region: Some("r".into()) };
    let entry = r#"{"account": "1", "region": "r", "resources": {"A.X": "B.Y"}}"#;
    for (text, scope, column) in [
        (format!(r#"{{"environments": [{entry}]}}"#), scoped.clone(), 65),
        (format!(r#"{{"mappings": [{entry}]}}"#), scoped, 61),
        (r#"{"mappings": {"A.X": "B.Y"}}"#.to_owned(), Scope::default(), 15),
        (
            r#"{"mappings": [{"source": "A.X", "destination": "B.Y"}]}"#.to_owned(),
            Scope::default(),
            26,
        ),
    ] {
        let pairs = overriding(&text).resolve().unwrap().pairs;
        let expected = Pair {
            source: Named::Location(crate::model::Location::new("A", "X")),
            destination: Named::Location(crate::model::Location::new("B", "Y")),
            scope,
            origin: format!("o.json:1:{column}"),
            said: Said::File,
        };
        assert_eq!(pairs, [expected], "{text}");
    }
}

#[test]
fn a_source_that_is_given_twice_is_kept_twice() {
    let place = overriding(r#"{"mappings": {"A.X": "B.Y", "A.X": "B.Z"}}"#);
    assert_eq!(place.resolve().unwrap().pairs.len(), 2);
}

#[test]
fn anything_else_in_an_override_file_is_an_error_with_line_and_column() {
    let with = |text: &str| overriding(text).error();
    insta::assert_snapshot!(with("{}"), @"o.json:1:1: it has neither `environments` nor `mappings`");
    insta::assert_snapshot!(
        with(r#"{"environments": [], "mappings": {}}"#),
        @"o.json:1:22: it has both `environments` and `mappings`"
    );
    insta::assert_snapshot!(
        with(r#"{"environment": []}"#),
        @"o.json:1:2: unknown field `environment`, expected `environments` or `mappings`"
    );
    insta::assert_snapshot!(
        with("{\n  \"environments\": [\n    {\"account\": \"1\", \"region\": \"r\"}]}"),
        @"o.json:3:5: entry 1 of `environments` must have either `resources` or both `source` and `destination`"
    );
    insta::assert_snapshot!(
        with(r#"{"environments": [{"resources": {"A.X": 3}}]}"#),
        @"o.json:1:41: expected a string, or null, found the number 3"
    );
    insta::assert_snapshot!(
        with(r#"{"mappings": "A.X:B.Y"}"#),
        @r#"o.json:1:14: expected an object of old names and new names, or a list, found the text "A.X:B.Y""#
    );
    insta::assert_snapshot!(
        with(r#"{"mappings": {"A": "B.Y"}}"#),
        @"o.json:1:15: `A` is neither a location (`Stack.LogicalId`) nor a construct path"
    );
    insta::assert_snapshot!(
        with(r#"{"mappings": {"A.X": "B"}}"#),
        @"o.json:1:22: `B` is neither a location (`Stack.LogicalId`) nor a construct path"
    );
    insta::assert_snapshot!(with("{\n  \"mappings\": {},\n}"), @"o.json:3:1: trailing comma");
    insta::assert_snapshot!(
        Place::new().typing(|typed| typed.override_file = Some("o.json".into())).error(),
        @"cannot read o.json: No such file or directory (os error 2)"
    );
}

#[test]
fn an_override_file_may_be_yaml() {
    let text = "environments:\n  - account: 012345678901\n    resources:\n      A.X: B.Y\n";
    let place = Place::new()
        .file("o.yaml", text)
        .typing(|typed| typed.override_file = Some("o.yaml".into()));
    let pairs = place.resolve().unwrap().pairs;
    assert_eq!(pairs[0].origin, "o.yaml:4:7");
    assert_eq!(pairs[0].scope.account.as_deref(), Some("012345678901"));
}

#[test]
fn a_skip_file_lists_locations_paths_types_and_patterns() {
    let with = |text: &str| {
        Place::new().file("s.json", text).typing(|typed| typed.skip_file = Some("s.json".into()))
    };
    let place =
        with("[\"A.X\", \"A/X/Resource\",\n \"AWS::SQS::Queue\", \"A/**\", \"AWS::Lambda::*\"]");
    let skip = place.resolve().unwrap().skip;
    let origins: Vec<&str> = skip.iter().map(|entry| entry.origin.as_str()).collect();
    assert_eq!(origins, ["s.json:1:2", "s.json:1:9", "s.json:2:2", "s.json:2:21", "s.json:2:29"]);
    insta::assert_snapshot!(
        with("[\"A.X\",\n  \"Queue\"]").error(),
        @"s.json:2:3: entry 2, `Queue`, is neither a location (`Stack.LogicalId`) nor a construct path nor a resource type"
    );
    insta::assert_snapshot!(
        with(r#"{"skip": []}"#).error(),
        @"s.json:1:1: expected a list of strings, found an object"
    );
    insta::assert_snapshot!(
        with(r#"["A/X**"]"#).error(),
        @"s.json:1:2: `A/X**`: `**` has to be a component of its own: `Stack/Construct/**`"
    );
}

#[test]
fn wildcards_name_several_resources_and_correspond() {
    let pairs = overriding(r#"{"mappings": {"A/Old/**": "B/New/**", "A.Old*": "A.New*"}}"#);
    let pairs = pairs.resolve().unwrap().pairs;
    assert!(pairs.iter().all(|pair| matches!(pair.source, Named::Pattern(_))));
    let with = |text: &str| overriding(&format!(r#"{{"mappings": {{{text}}}}}"#)).error();
    insta::assert_snapshot!(
        with(r#""A/Old/**": "B/New""#),
        @"o.json:1:15: `A/Old/**` and `B/New` must have the same wildcards in the same order"
    );
    insta::assert_snapshot!(
        with(r#""A.*Old*": "A.*New*""#),
        @"o.json:1:15: `A.*Old*` can match a name in several ways; only one `*` in each component and one `**` can be mapped"
    );
    insta::assert_snapshot!(
        with(r#""A/Old**": "B/New**""#),
        @"o.json:1:15: `A/Old**`: `**` has to be a component of its own: `Stack/Construct/**`"
    );
    insta::assert_snapshot!(
        with(r#""Old*": "New*""#),
        @"o.json:1:15: `Old*` is neither a location (`Stack.LogicalId`) nor a construct path"
    );
}

#[test]
fn the_decisions_of_the_project_are_read_without_a_word_and_a_given_file_adds_to_them() {
    let record = r#"{"mappings": {"A.X": "B.Y", "A.Gone": null}}"#;
    let mut place = Place::new().file("cdkr.decisions.json", record);
    let settings = place.resolve().unwrap();
    assert_eq!(settings.pairs.len(), 1);
    assert_eq!(settings.pairs[0].said, Said::Record);
    assert_eq!(settings.pairs[0].origin, "cdkr.decisions.json:1:15");
    assert_eq!(settings.left[0].origin, "cdkr.decisions.json:1:29");
    assert_eq!(settings.decision_file.origin, Origin::Default);
    place = place.file("o.json", r#"{"mappings": {"A.V": "B.W"}}"#);
    place.typed.override_file = Some("o.json".into());
    let settings = place.resolve().unwrap();
    assert_eq!(settings.pairs.len(), 2);
    assert_eq!(settings.decision_file.origin, Origin::Flag("--override-file"));
    place.typed.override_file = Some("cdkr.decisions.json".into());
    assert_eq!(place.resolve().unwrap().pairs.len(), 1, "the same file is read once");
}

#[test]
fn the_project_may_name_its_files_of_decisions() {
    let place = Place::new()
        .file("cdk.json", r#"{"overrideFile": "o.json", "skipFile": "s.json"}"#)
        .file("o.json", r#"{"mappings": {"A.X": "B.Y"}}"#)
        .file("s.json", r#"["A.Z"]"#);
    let settings = place.resolve().unwrap();
    assert_eq!((settings.pairs.len(), settings.skip.len()), (1, 1));
    assert!(settings.decision_file.value.ends_with("o.json"));
    assert!(matches!(settings.decision_file.origin, Origin::File(_)));
}

#[test]
fn a_refactor_file_stands_for_itself() {
    let text = r#"{"mappings": {"A.X": "B.Y"}}"#;
    let place = Place::new()
        .file("cdkr.decisions.json", r#"{"mappings": {"A.V": "B.W"}}"#)
        .file("r.json", text)
        .typing(|typed| typed.refactor_file = Some("r.json".into()));
    let settings = place.resolve().unwrap();
    assert!(settings.only);
    assert_eq!(settings.pairs.len(), 1);
    assert_eq!(settings.pairs[0].origin, "r.json:1:15");
}

#[test]
fn the_history_decides_unless_a_flag_or_a_file_says_otherwise() {
    let off = r#"{"refactor": {"history": false, "other": 1}}"#;
    let on = r#"{"refactor": {"history": true}}"#;
    let history = |place: Place| place.resolve().unwrap().place().history;
    assert!(history(Place::new()));
    assert!(!history(Place::new().typing(|typed| typed.no_history = true)));
    assert!(!history(Place::new().file("cdk.json", off)));
    assert!(history(Place::new().file("cdk.json", on).user(off)));
    assert!(!history(Place::new().file("cdk.json", on).typing(|typed| typed.no_history = true)));
}
