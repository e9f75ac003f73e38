//! Any bytes as YAML. A value that is parsed is a value of JSON, and it is written as YAML and as
//! JSON that is parsed to the same value.
use holdall::dataset::{meta, yaml};
use holdall::error::Status;
use holdall::json::Value;

/// Panics if something is wrong.
pub fn run(data: &[u8]) {
    let _ = meta::parse(data);
    let value = match yaml::parse(data) {
        Ok(value) => value,
        Err(e) => return assert_eq!(e.status, Status::Format, "{e}"),
    };
    let json = value.to_string();
    assert_eq!(Value::parse(json.as_bytes()).unwrap().to_string(), json);
    if let Value::Object(_) = value {
        let text = yaml::to_yaml(&value);
        assert!(text.is_ascii());
        let again = yaml::parse(text.as_bytes()).unwrap_or_else(|e| panic!("{e}: {text}"));
        assert_eq!(again.to_string(), json, "{text}");
    }
}
