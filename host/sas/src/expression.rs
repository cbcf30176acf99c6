//! Arithmetic expressions of named values, as in `--tie thickness=2*radius`.
//!
//! An expression is kept in postfix form, so evaluation needs no recursion; the parser's own
//! recursion is limited.

/// Greatest length of an expression, characters.
const MAX_LENGTH: usize = 1000;
/// Greatest depth of parentheses, signs and powers.
const MAX_DEPTH: usize = 50;

/// A parsed expression: numbers, names, + − * / ^, parentheses, and the functions sqrt, exp, log
/// (the natural logarithm), abs, min and max.
#[derive(Debug, Clone, PartialEq)]
pub struct Expression {
    text: String,
    names: Vec<String>,
    steps: Vec<Step>,
}

/// An operation on the stack of values.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Step {
    Number(f64),
    /// Index among the names.
    Name(usize),
    Negate,
    Add,
    Subtract,
    Multiply,
    Divide,
    Power,
    Sqrt,
    Exp,
    Log,
    Abs,
    Min,
    Max,
}

/// Functions by name, with their numbers of arguments.
const FUNCTIONS: [(&str, Step, usize); 6] = [
    ("sqrt", Step::Sqrt, 1),
    ("exp", Step::Exp, 1),
    ("log", Step::Log, 1),
    ("abs", Step::Abs, 1),
    ("min", Step::Min, 2),
    ("max", Step::Max, 2),
];

impl Expression {
    /// Parses an expression.
    ///
    /// # Errors
    /// What was expected, and what was found where.
    pub fn parse(text: &str) -> Result<Self, String> {
        let length = text.chars().count();
        if length > MAX_LENGTH {
            return Err(format!(
                "expected at most {MAX_LENGTH} characters, found {length}"
            ));
        }
        let mut parser = Parser {
            text,
            at: 0,
            depth: 0,
            names: Vec::new(),
            steps: Vec::new(),
        };
        parser.sum()?;
        parser.skip_spaces();
        if parser.at < text.len() {
            return Err(parser.refused("an operator (+ - * / ^) or the end"));
        }
        Ok(Self {
            text: text.trim().to_owned(),
            names: parser.names,
            steps: parser.steps,
        })
    }

    /// The text, without spaces around it.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The names in the expression, each once, in the order of their first use.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The value for these values of [`Self::names`]; a name without a value is NaN.
    ///
    /// # Errors
    /// What cannot be computed: a division by zero, the root of a negative number, the logarithm
    /// of one that is not positive, or a result that is not finite.
    pub fn value(&self, of_names: &[f64]) -> Result<f64, String> {
        let mut stack: Vec<f64> = Vec::new();
        for step in &self.steps {
            let value = match *step {
                Step::Number(value) => value,
                Step::Name(index) => of_names.get(index).copied().unwrap_or(f64::NAN),
                step => {
                    // The parser gives every operation its values.
                    let last = stack.pop().unwrap_or(f64::NAN);
                    step.of_one(last).unwrap_or_else(|| {
                        let first = stack.pop().unwrap_or(f64::NAN);
                        step.of_two(first, last)
                    })?
                }
            };
            if !value.is_finite() {
                return Err("expected a finite value, found a number beyond all limits".to_owned());
            }
            stack.push(value);
        }
        Ok(stack.pop().unwrap_or(f64::NAN))
    }
}

impl Step {
    /// The result of a function of one value; `None` if this is none.
    fn of_one(self, x: f64) -> Option<Result<f64, String>> {
        let refused = |what: &str| {
            Err(format!(
                "expected {what}, found {}",
                warpstride_core::text::shortest(x)
            ))
        };
        Some(match self {
            Self::Negate => Ok(-x),
            Self::Abs => Ok(x.abs()),
            Self::Exp => Ok(x.exp()),
            Self::Sqrt if x < 0.0 => refused("a number of 0 or more in sqrt"),
            Self::Sqrt => Ok(x.sqrt()),
            Self::Log if x <= 0.0 => refused("a number above 0 in log"),
            Self::Log => Ok(x.ln()),
            _ => return None,
        })
    }

    /// The result of an operation on two values.
    fn of_two(self, a: f64, b: f64) -> Result<f64, String> {
        Ok(match self {
            Self::Add => a + b,
            Self::Subtract => a - b,
            Self::Multiply => a * b,
            Self::Divide if b == 0.0 => {
                return Err("expected a divisor other than 0, found a division by zero".to_owned());
            }
            Self::Divide => a / b,
            Self::Power if a == 0.0 && b < 0.0 => {
                return Err(
                    "expected a divisor other than 0, found a negative power of 0".to_owned(),
                );
            }
            Self::Power if a < 0.0 && b.fract() != 0.0 => {
                return Err(format!(
                    "expected a base of 0 or more for a fractional power, found {}",
                    warpstride_core::text::shortest(a)
                ));
            }
            Self::Power => a.powf(b),
            Self::Min => a.min(b),
            Self::Max => a.max(b),
            _ => f64::NAN,
        })
    }
}

/// A recursive-descent parser: sum, product, sign, power, atom.
struct Parser<'a> {
    text: &'a str,
    /// Position, bytes.
    at: usize,
    depth: usize,
    names: Vec<String>,
    steps: Vec<Step>,
}

impl Parser<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn skip_spaces(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    /// Skips one of the characters `of`, and spaces before it.
    fn take(&mut self, of: &[char]) -> Option<char> {
        self.skip_spaces();
        let found = self.rest().chars().next().filter(|c| of.contains(c))?;
        self.at += found.len_utf8();
        Some(found)
    }

    fn refused(&self, expected: &str) -> String {
        match self.rest().chars().next() {
            Some(found) => format!(
                "expected {expected}, found {found:?} at character {}",
                self.text[..self.at].chars().count() + 1
            ),
            None => format!("expected {expected}, found the end"),
        }
    }

    fn deeper(
        &mut self,
        parse: impl FnOnce(&mut Self) -> Result<(), String>,
    ) -> Result<(), String> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(format!(
                "expected at most {MAX_DEPTH} nested parentheses, signs and powers"
            ));
        }
        parse(self)?;
        self.depth -= 1;
        Ok(())
    }

    fn sum(&mut self) -> Result<(), String> {
        self.product()?;
        while let Some(operator) = self.take(&['+', '-', '−']) {
            self.product()?;
            self.steps.push(match operator {
                '+' => Step::Add,
                _ => Step::Subtract,
            });
        }
        Ok(())
    }

    fn product(&mut self) -> Result<(), String> {
        self.sign()?;
        while let Some(operator) = self.take(&['*', '/']) {
            self.sign()?;
            self.steps.push(match operator {
                '*' => Step::Multiply,
                _ => Step::Divide,
            });
        }
        Ok(())
    }

    /// A power binds more tightly than the sign before it: −x^2 is −(x^2).
    fn sign(&mut self) -> Result<(), String> {
        match self.take(&['+', '-', '−']) {
            Some('+') => self.deeper(Self::sign),
            Some(_) => {
                self.deeper(Self::sign)?;
                self.steps.push(Step::Negate);
                Ok(())
            }
            None => self.power(),
        }
    }

    /// Powers are grouped from the right: a^b^c is a^(b^c).
    fn power(&mut self) -> Result<(), String> {
        self.atom()?;
        if self.take(&['^']).is_some() {
            self.deeper(Self::sign)?;
            self.steps.push(Step::Power);
        }
        Ok(())
    }

    fn atom(&mut self) -> Result<(), String> {
        self.skip_spaces();
        match self.rest().chars().next() {
            Some('(') => {
                self.at += 1;
                self.deeper(Self::sum)?;
                self.close()
            }
            Some(c) if c.is_ascii_digit() || c == '.' => self.number(),
            Some(c) if c.is_ascii_alphabetic() || c == '_' => self.name(),
            _ => Err(self.refused("a number, a parameter, a function or (")),
        }
    }

    fn close(&mut self) -> Result<(), String> {
        match self.take(&[')']) {
            Some(_) => Ok(()),
            None => Err(self.refused(")")),
        }
    }

    fn number(&mut self) -> Result<(), String> {
        let rest = self.rest().as_bytes();
        let digits = |mut at: usize| {
            while rest.get(at).is_some_and(u8::is_ascii_digit) {
                at += 1;
            }
            at
        };
        let mut end = digits(0);
        if rest.get(end) == Some(&b'.') {
            end = digits(end + 1);
        }
        if matches!(rest.get(end), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(rest.get(end + 1), Some(b'+' | b'-')));
            let exponent = digits(end + 1 + sign);
            if exponent > end + 1 + sign {
                end = exponent;
            }
        }
        let word = self.rest().get(..end).unwrap_or_default();
        let value = word
            .parse::<f64>()
            .ok()
            .filter(|value| value.is_finite())
            .ok_or_else(|| format!("expected a finite number, found {word:?}"))?;
        self.steps.push(Step::Number(value));
        self.at += end;
        Ok(())
    }

    fn name(&mut self) -> Result<(), String> {
        let rest = self.rest();
        let end = rest
            .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
            .unwrap_or(rest.len());
        // The number of a data set, as in `radius.2`: such names are refused with a reason.
        let numbered = rest[end..].strip_prefix('.').map_or(0, |after| {
            let digits = after.len() - after.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            if digits > 0 { digits + 1 } else { 0 }
        });
        let end = end + numbered;
        let name = rest[..end].to_owned();
        self.at += end;
        if self.take(&['(']).is_some() {
            return self.arguments(&name);
        }
        let index = self.names.iter().position(|known| *known == name);
        let index = index.unwrap_or_else(|| {
            self.names.push(name);
            self.names.len() - 1
        });
        self.steps.push(Step::Name(index));
        Ok(())
    }

    /// The arguments of a function; `min` and `max` take two or more.
    fn arguments(&mut self, name: &str) -> Result<(), String> {
        let Some((_, step, least)) = FUNCTIONS.iter().find(|(known, ..)| *known == name) else {
            let known = FUNCTIONS.map(|(name, ..)| name).join(", ");
            return Err(format!(
                "expected one of the functions {known}, found {name}"
            ));
        };
        let mut count = 1;
        self.deeper(Self::sum)?;
        while self.take(&[',']).is_some() {
            self.deeper(Self::sum)?;
            count += 1;
            if *least == 2 {
                self.steps.push(*step);
            }
        }
        self.close()?;
        if count < *least || *least == 1 && count > 1 {
            let expected = if *least == 1 { "one" } else { "two or more" };
            return Err(format!(
                "expected {expected} in {name}(…), found {}",
                warpstride_core::text::count(count, ["argument", "arguments"])
            ));
        }
        if *least == 1 {
            self.steps.push(*step);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Result<f64, String> {
        let of = Expression::parse(text)?;
        let values = of.names().iter().map(|name| match name.as_str() {
            "radius" => 30.0,
            "n_2" => -2.0,
            _ => 0.0,
        });
        of.value(&values.collect::<Vec<f64>>())
    }

    #[test]
    fn expressions_have_the_values_of_the_usual_rules() {
        for (text, expected) in [
            ("1", 1.0),
            ("2*radius", 60.0),
            (" 2 * radius+1 ", 61.0),
            ("8-4-2", 2.0),
            ("8/4/2", 1.0),
            ("1+2*3", 7.0),
            ("(1+2)*3", 9.0),
            ("2^3^2", 512.0),
            ("-2^2", -4.0),
            ("2^-1", 0.5),
            ("-n_2^2", -4.0),
            ("--3", 3.0),
            ("2*-3", -6.0),
            ("1.5e2+.5", 150.5),
            ("2e", 0.0),
            ("sqrt(radius*1.2)", 6.0),
            ("log(exp(2))", 2.0),
            ("min(3, radius, 7)", 3.0),
            ("max(radius, 7)", 30.0),
            ("abs(n_2)", 2.0),
            ("radius − 1", 29.0),
            ("n_2^3", -8.0),
        ] {
            if text == "2e" {
                assert!(value(text).is_err(), "{text}");
                continue;
            }
            let found = value(text).unwrap();
            assert!((found - expected).abs() < 1e-12, "{text}: {found}");
        }
        let of = Expression::parse("radius*n_2 + radius").unwrap();
        assert_eq!(of.names(), ["radius", "n_2"]);
    }

    #[test]
    fn what_cannot_be_read_or_computed_is_refused() {
        let deep = format!("{}1{}", "(".repeat(60), ")".repeat(60));
        let signs = "-".repeat(400) + "1";
        let powers = "2^".repeat(400) + "1";
        let long = "1+".repeat(600) + "1";
        for (text, words) in [
            ("", "a number, a parameter, a function or (, found the end"),
            ("2*", "found the end"),
            ("2 radius", "an operator (+ - * / ^) or the end, found 'r'"),
            ("(1", "expected ), found the end"),
            ("1)", "found ')' at character 2"),
            (
                "sin(1)",
                "functions sqrt, exp, log, abs, min, max, found sin",
            ),
            ("sqrt(1, 2)", "expected one in sqrt(…), found 2 arguments"),
            ("min(1)", "two or more in min(…), found 1 argument"),
            ("1e999", "a finite number, found \"1e999\""),
            ("é", "found 'é'"),
            ("1/0", "a division by zero"),
            ("0^-1", "a negative power of 0"),
            ("sqrt(-1)", "0 or more in sqrt, found -1"),
            ("log(0)", "above 0 in log, found 0"),
            ("(-8)^0.5", "for a fractional power, found -8"),
            ("exp(1e5)", "a finite value"),
            (&deep, "at most 50 nested"),
            (&signs, "at most 50 nested"),
            (&powers, "at most 50 nested"),
            (&long, "at most 1000 characters, found 1201"),
        ] {
            let refused = value(text).unwrap_err();
            assert!(refused.contains(words), "{text}: {refused}");
        }
    }
}
