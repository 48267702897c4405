use super::*;
use crate::local::templates::parse;

struct Somewhere;

impl World for Somewhere {
    fn reference(&self, id: &str) -> Result<Json, String> {
        Ok(format!("ref-{id}").into())
    }
    fn attribute(&self, id: &str, attribute: &str) -> Result<Json, String> {
        Ok(format!("{id}/{attribute}").into())
    }
    fn import(&self, name: &str) -> Result<Json, String> {
        Ok(format!("import-{name}").into())
    }
    fn stack_output(&self, stack: &str, region: Option<&str>, o: &str) -> Result<Json, String> {
        Ok(format!("{stack}/{}/{o}", region.unwrap_or("-")).into())
    }
}

fn evaluate(value: &str) -> Result<Json, String> {
    let template = parse(&format!(
        r#"{{"X":{value},
            "Mappings":{{"M":{{"us-east-1":{{"n":"one","l":["a","b"]}}}}}},
            "Conditions":{{
                "Yes":{{"Fn::Equals":[{{"Ref":"P"}},"v"]}},
                "No":{{"Fn::Not":[{{"Condition":"Yes"}}]}},
                "Both":{{"Fn::And":[{{"Condition":"Yes"}},{{"Condition":"No"}}]}},
                "Any":{{"Fn::Or":[{{"Condition":"Both"}},{{"Condition":"Yes"}}]}},
                "Loop":{{"Fn::Not":[{{"Condition":"Loop"}}]}}}}}}"#
    ))
    .unwrap();
    let parameter =
        Parameter { value: "v".into(), parameter_type: "String".into(), ..Parameter::default() };
    let parameters = BTreeMap::from([("P".to_owned(), parameter)]);
    let pseudo = Pseudo {
        environment: Environment::new("111111111111", "us-east-1"),
        stack_name: "S".to_owned(),
        stack_id: "arn:S".to_owned(),
        notification_arns: Vec::new(),
    };
    let scope = Scope::new(&template, &parameters, pseudo);
    let value = scope.value(template.sections.get("X").unwrap(), &Somewhere)?;
    Ok(value.unwrap_or_else(|| "NOTHING".into()))
}

#[test]
fn functions_give_the_values_that_cloudformation_gives() {
    for (value, expected) in [
        (r#"{"Ref":"A"}"#, r#""ref-A""#),
        (r#"{"Ref":"P"}"#, r#""v""#),
        (r#"{"Ref":"AWS::URLSuffix"}"#, r#""amazonaws.com""#),
        (r#"{"Ref":"AWS::NoValue"}"#, r#""NOTHING""#),
        (r#"{"a":{"Ref":"AWS::NoValue"},"b":[1,{"Ref":"AWS::NoValue"}]}"#, r#"{"b":[1]}"#),
        (r#"{"Fn::GetAtt":"A.B.C"}"#, r#""A/B.C""#),
        (r#"{"Fn::GetAtt":["A",{"Ref":"P"}]}"#, r#""A/v""#),
        (r#"{"Fn::Sub":"${A}-${A.B}-${AWS::Region}-${!x}"}"#, r#""ref-A-A/B-us-east-1-${x}""#),
        (r#"{"Fn::Sub":["${x}",{"x":{"Ref":"A"}}]}"#, r#""ref-A""#),
        (r#"{"Fn::Join":["-",["a",1,true,{"Ref":"A"}]]}"#, r#""a-1-true-ref-A""#),
        (r#"{"Fn::If":["Yes","y","n"]}"#, r#""y""#),
        (r#"{"Fn::If":["No",{"Ref":"A"},{"Ref":"AWS::NoValue"}]}"#, r#""NOTHING""#),
        (r#"{"Fn::If":["Any",{"Fn::If":["Both",1,2]},3]}"#, "2"),
        (r#"{"Fn::FindInMap":["M",{"Ref":"AWS::Region"},"l"]}"#, r#"["a","b"]"#),
        (r#"{"Fn::FindInMap":["M","x","y",{"DefaultValue":{"Ref":"A"}}]}"#, r#""ref-A""#),
        (r#"{"Fn::Select":[1,{"Fn::Split":[",","a,b"]}]}"#, r#""b""#),
        (r#"{"Fn::Select":["2",{"Fn::GetAZs":""}]}"#, r#""us-east-1c""#),
        (r#"{"Fn::Base64":{"Fn::Sub":"${P}"}}"#, r#""dg==""#),
        (r#"{"Fn::ImportValue":{"Fn::Sub":"${P}-x"}}"#, r#""import-v-x""#),
        (r#"{"Fn::GetStackOutput":{"StackName":"S","OutputName":"O"}}"#, r#""S/-/O""#),
        (r#"{"Fn::ToJsonString":{"a":[{"Ref":"P"}]}}"#, r#""{\"a\":[\"v\"]}""#),
        (r#"{"Fn::Length":[1,2]}"#, "2"),
        (r#"{"Condition":"Yes"}"#, r#"{"Condition":"Yes"}"#),
        (r#"{"Ref":"A","Other":1}"#, r#"{"Other":1,"Ref":"A"}"#),
        ("1.50", "1.50"),
    ] {
        assert_eq!(evaluate(value).unwrap().to_string(), expected, "{value}");
    }
}

#[test]
fn what_cannot_be_evaluated_is_refused_with_the_texts_of_cloudformation() {
    for (value, expected) in [
        (r#"{"Fn::FindInMap":["M","x","y"]}"#, "Template error: Unable to get mapping for M::x::y"),
        (
            r#"{"Fn::If":["Loop",1,2]}"#,
            "Template format error: Circular dependency in conditions: [Loop]",
        ),
        (r#"{"Fn::Foo":1}"#, "Template error: Unsupported function: Fn::Foo"),
        (r#"{"Fn::Join":["-","a"]}"#, "Template error: every Fn::Join object requires"),
    ] {
        let error = evaluate(value).unwrap_err();
        assert!(error.starts_with(expected), "{value}: {error}");
    }
}
