//! stub

/// stub
pub struct TypeInfo;
impl TypeInfo {
    /// stub
    pub fn settable_identifier(&self) -> Option<Vec<&'static str>> {
        None
    }
    /// stub
    pub fn is_create_only(&self, _p: &str) -> bool {
        false
    }
}
/// stub
pub fn lookup(_t: &str) -> Option<TypeInfo> {
    None
}
/// stub
pub fn made_to_be_replaced(t: &str) -> bool {
    t == "AWS::Lambda::Version" || t == "AWS::ApiGateway::Deployment"
}
/// stub
pub fn is_stateful(t: &str) -> bool {
    ["AWS::SQS::Queue", "AWS::S3::Bucket", "AWS::DynamoDB::Table"].contains(&t)
}
/// stub
pub fn refactor_block(_t: &str) -> Option<String> {
    None
}
