//! Finds the executables of a cargo build in cargo's messages, since cargo decides their paths.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use warpstride_build_ptx::process;

/// One executable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Executable {
    /// Name of the target: a program, a test file, or a library's unit tests.
    pub(crate) target: String,
    /// cargo's kind: `bin`, `test`, `lib`.
    pub(crate) kind: String,
    /// Whether it is a test harness.
    pub(crate) harness: bool,
    pub(crate) path: PathBuf,
}

/// Runs the cargo `command` and returns the executables it made.
pub(crate) fn build(command: &mut Command) -> Result<Vec<Executable>> {
    let output = command
        .arg("--message-format=json-render-diagnostics")
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot start `{}`", process::shown(command)))?;
    if !output.status.success() {
        bail!("`{}` failed ({})", process::shown(command), output.status);
    }
    parse(&String::from_utf8_lossy(&output.stdout))
}

fn parse(messages: &str) -> Result<Vec<Executable>> {
    let mut executables = Vec::new();
    // Other output on the same stream is skipped; cargo's messages are objects.
    for line in messages.lines().filter(|line| line.starts_with('{')) {
        let message: Value = serde_json::from_str(line).context("cargo's message is not JSON")?;
        let Some(path) = message["executable"].as_str() else {
            continue;
        };
        executables.push(Executable {
            target: message["target"]["name"]
                .as_str()
                .unwrap_or_default()
                .into(),
            kind: message["target"]["kind"][0]
                .as_str()
                .unwrap_or_default()
                .into(),
            harness: message["profile"]["test"].as_bool().unwrap_or_default(),
            path: path.into(),
        });
    }
    Ok(executables)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn executables_are_distinguished_from_libraries() {
        let messages = r#"
{"reason":"compiler-artifact","target":{"kind":["lib"],"name":"serde"},"profile":{"test":false},"executable":null}
{"reason":"compiler-artifact","target":{"kind":["test"],"name":"agreement"},"profile":{"test":true},"executable":"/t/deps/agreement-1"}
{"reason":"compiler-artifact","target":{"kind":["bin"],"name":"warpstride"},"profile":{"test":false},"executable":"/t/warpstride"}
{"reason":"build-finished","success":true}
"#;
        let executables = parse(messages).unwrap();
        assert_eq!(executables.len(), 2);
        assert_eq!(executables[0].target, "agreement");
        assert!(executables[0].harness);
        assert_eq!(executables[1].kind, "bin");
        assert!(!executables[1].harness);
    }

    #[test]
    fn broken_messages_are_an_error() {
        assert!(parse("{\"reason\": ").is_err());
    }
}
