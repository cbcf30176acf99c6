//! The name of the processor.

use std::sync::OnceLock;

/// The processor with the threads that compute on it: `AMD EPYC 7B13, 2 threads`, or `CPU, 2
/// threads` if the system does not tell the model.
#[must_use]
pub fn processor(threads: usize) -> String {
    static MODEL: OnceLock<String> = OnceLock::new();
    let model = MODEL.get_or_init(|| {
        let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        model_in(&text).unwrap_or("CPU").to_owned()
    });
    let noun = if threads == 1 { "thread" } else { "threads" };
    format!("{model}, {threads} {noun}")
}

/// The model in the contents of `/proc/cpuinfo`.
fn model_in(text: &str) -> Option<&str> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == "model name").then(|| value.trim())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_is_that_of_the_first_processor() {
        let text =
            "processor\t: 0\nmodel name\t: AMD EPYC 7B13\n\nprocessor\t: 1\nmodel name\t: other\n";
        assert_eq!(model_in(text), Some("AMD EPYC 7B13"));
        assert_eq!(model_in("Features : fp asimd\n"), None);
        assert!(processor(1).ends_with(", 1 thread"));
        assert!(processor(2).ends_with(", 2 threads"));
    }
}
