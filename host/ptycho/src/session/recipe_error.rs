//! Why a recipe is invalid.

use super::recipe_line::line_of;
use warpstride_core::text::TomlError;

/// Why a recipe is invalid: the option (with its line in a document), what was expected, and what
/// was found.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct RecipeError(pub(crate) Box<TomlError>);

impl RecipeError {
    /// `option` is a path, such as `dm.alpha`.
    pub(crate) fn new(
        option: impl Into<String>,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> Self {
        Self(Box::new(TomlError {
            line: None,
            key: option.into(),
            expected: expected.into(),
            found: found.into(),
        }))
    }

    /// Path of the option, such as `dm.alpha`; empty for the recipe as a whole.
    #[must_use]
    pub fn option(&self) -> &str {
        &self.0.key
    }

    /// Adds the line of the option in `text`, if it has one.
    #[must_use]
    pub fn in_text(mut self, text: &str) -> Self {
        self.0.line = self.0.line.or_else(|| line_of(text, &self.0.key));
        self
    }

    /// The error of the value of an option: `--set dm.alpha=9: expected 0.001 to 2`.
    #[must_use]
    pub fn of_option(&self, option: &str) -> String {
        format!("{option}: expected {}", self.0.expected)
    }

    /// The same with what was found, where that is not the value of `argument`: `--slices 2:
    /// expected 1, or …, found 2 with dm`.
    #[must_use]
    pub fn of_argument(&self, argument: &str) -> String {
        let text = self.of_option(argument);
        let found = &self.0.found;
        let plain = |text: &str| text.replace(char::is_whitespace, "").to_lowercase();
        let value = argument.rsplit(['=', ' ']).next().unwrap_or_default();
        let numbers = [value, found].map(|text| text.parse::<f64>().ok());
        let same = numbers[0].is_some() && numbers[0] == numbers[1];
        if same || plain(argument).ends_with(&plain(found)) {
            text
        } else {
            format!("{text}, found {found}")
        }
    }
}
