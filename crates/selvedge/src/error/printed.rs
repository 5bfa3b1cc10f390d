//! What a person and a machine see of an error. The words themselves are [`Error`]'s and the tools'.

use std::io;

use super::Error;

impl Error {
    /// Complete lines for a terminal, the last one without its end.
    pub fn lines(&self) -> String {
        match self {
            Error::Deployment(problems) => problems.to_string(),
            other => format!("error: {other}"),
        }
    }

    /// What `--json` prints: one object, `{"error": {"class", "message" or "problems"}}`.
    pub fn json(&self) -> serde_json::Value {
        let class = self.class().name();
        match self {
            Error::Deployment(problems) => {
                serde_json::json!({ "error": { "class": class, "problems": problems.json() } })
            }
            Error::Told { said: Some(said), .. } => said.clone(),
            other => serde_json::json!({ "error": { "class": class, "message": other.to_string() } }),
        }
    }
}

/// The system's words as the rest of a sentence: lower case, without its number.
pub(crate) fn words(source: &io::Error) -> String {
    let text = source.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_lowercase().chain(chars).collect())
}
