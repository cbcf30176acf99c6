//! What names the series of a row: its file, one column, or several columns of labels.

/// What names the series of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SeriesKey {
    /// The file, which is one series.
    File,
    /// The column that holds the names.
    Column(usize),
    /// Several columns, one label each.
    Labels(Labels),
}

impl SeriesKey {
    /// Indices of the columns.
    pub(super) fn columns(&self) -> &[usize] {
        match self {
            Self::File => &[],
            Self::Column(column) => std::slice::from_ref(column),
            Self::Labels(labels) => labels.columns(),
        }
    }
}

/// Columns whose values make up the name of a series: `host=a,region=eu`.
///
/// A backslash precedes each comma, equals sign and backslash within a label or its value, as in
/// the line protocol of `InfluxDB`. Distinct combinations of values therefore have distinct names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Labels {
    columns: Vec<usize>,
    /// (column), what precedes the value: `host=`, `,region=`.
    before: Vec<Vec<u8>>,
}

impl Labels {
    /// Makes labels of `columns`, (index, name).
    pub(super) fn new(columns: &[(usize, &str)]) -> Self {
        let before = columns.iter().enumerate().map(|(position, (_, name))| {
            let mut text = Vec::new();
            if position > 0 {
                text.push(b',');
            }
            write_escaped(name.trim().as_bytes(), &mut text);
            text.push(b'=');
            text
        });
        Self {
            before: before.collect(),
            columns: columns.iter().map(|(column, _)| *column).collect(),
        }
    }

    /// Indices of the columns.
    pub(super) fn columns(&self) -> &[usize] {
        &self.columns
    }

    /// Replaces `name` by the name of the series with these values, one for each column.
    pub(super) fn name<'v>(&self, values: impl IntoIterator<Item = &'v [u8]>, name: &mut Vec<u8>) {
        name.clear();
        for (before, value) in self.before.iter().zip(values) {
            name.extend_from_slice(before);
            write_escaped(value, name);
        }
    }
}

/// The labels in the name of a series, (label, value), for names as in [`Labels::name`]; `None` for
/// another name.
pub(super) fn labels_of(name: &str) -> Option<Vec<(String, String)>> {
    let mut labels = Vec::new();
    let (mut label, mut text) = (None, String::new());
    let mut characters = name.chars();
    loop {
        match characters.next() {
            Some('\\') => match characters.next() {
                Some(escaped @ (',' | '=' | '\\')) => text.push(escaped),
                _ => return None,
            },
            Some('=') => {
                let before = label.replace(std::mem::take(&mut text));
                if before.is_some() {
                    return None;
                }
            }
            end @ (Some(',') | None) => {
                labels.push((label.take()?, std::mem::take(&mut text)));
                if end.is_none() {
                    return Some(labels);
                }
            }
            Some(other) => text.push(other),
        }
    }
}

fn write_escaped(text: &[u8], to: &mut Vec<u8>) {
    for byte in text {
        if matches!(byte, b',' | b'=' | b'\\') {
            to.push(b'\\');
        }
        to.push(*byte);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn name(labels: &Labels, values: &[&str]) -> String {
        let mut name = b"before".to_vec();
        labels.name(values.iter().map(|value| value.as_bytes()), &mut name);
        String::from_utf8(name).unwrap()
    }

    #[test]
    fn names_carry_labels_and_values() {
        let labels = Labels::new(&[(3, " host"), (1, "a=b")]);
        assert_eq!(labels.columns(), [3, 1]);
        assert_eq!(name(&labels, &["web 1", ""]), "host=web 1,a\\=b=");
        assert_eq!(name(&labels, &["x,y", "z\\"]), "host=x\\,y,a\\=b=z\\\\");
    }

    #[test]
    fn names_without_labels_have_none() {
        for name in [
            "", "cpu", "a,b=c", "a=b,c", "a=b=c", "a=b\\", "a=b\\c", "a=b,",
        ] {
            assert_eq!(labels_of(name), None, "{name}");
        }
    }

    proptest! {
        #[test]
        fn labels_are_read_back_from_names(host: String, region: String, a: String, b: String) {
            let labels = Labels::new(&[(0, &host), (1, &region)]);
            let expected = vec![(host.trim().to_owned(), a.clone()), (region.trim().to_owned(), b.clone())];
            prop_assert_eq!(labels_of(&name(&labels, &[&a, &b])), Some(expected));
        }

        #[test]
        fn distinct_values_have_distinct_names(a: [String; 2], b: [String; 2]) {
            let labels = Labels::new(&[(0, "host"), (1, "region")]);
            let of = |values: &[String; 2]| name(&labels, &[&values[0], &values[1]]);
            prop_assert_eq!(of(&a) == of(&b), a == b);
        }

        /// Values have few different characters, so that equal names are likely if escaping is
        /// wrong.
        #[test]
        fn separators_in_values_are_escaped(a in "[,=\\\\h]{0,6}", b in "[,=\\\\h]{0,6}", c in "[,=\\\\h]{0,6}") {
            let labels = Labels::new(&[(0, "h"), (1, "h")]);
            prop_assert_eq!(
                name(&labels, &[&a, &b]) == name(&labels, &[&b, &c]),
                a == b && b == c
            );
        }
    }
}
