//! The members of a group by their classes (`NX_class`).

use super::transformations::resolved;
use warpstride_files::IoError;
use warpstride_files::source::Source;

/// Most members of a group whose classes are looked at.
const MOST_MEMBERS: usize = 500;

/// Paths of the members of the group `parent` with the class `class`, in the order of their names.
pub(super) fn of_class(source: &Source, parent: &str, class: &str) -> Vec<String> {
    let names = if parent.is_empty() {
        source.groups().ok()
    } else {
        source.members(parent).ok().flatten()
    };
    (names.unwrap_or_default().iter())
        .take(MOST_MEMBERS)
        .map(|name| format!("{parent}/{name}"))
        .filter(|path| {
            let found = source.attribute(path, "NX_class").ok().flatten();
            found.is_some_and(|found| found == class)
        })
        .collect()
}

/// The first axes of a sample: that of its `depends_on`, or those of its NXtransformations on which
/// no other depends.
pub(super) fn heads(source: &Source, sample: &str) -> Result<Vec<String>, IoError> {
    if let Some(first) = source.label(&format!("{sample}/depends_on"))? {
        let first = resolved(sample, &first);
        return Ok(if first == "." {
            Vec::new()
        } else {
            vec![first]
        });
    }
    let mut axes = Vec::new();
    let mut used = Vec::new();
    for group in of_class(source, sample, "NXtransformations") {
        let names = source.members(&group)?.unwrap_or_default();
        for name in names.iter().take(MOST_MEMBERS) {
            let path = format!("{group}/{name}");
            let moves = source
                .attribute(&path, "transformation_type")
                .ok()
                .flatten();
            if moves.is_some() {
                if let Some(on) = source.attribute(&path, "depends_on")? {
                    used.push(resolved(&group, &on));
                }
                axes.push(path);
            }
        }
    }
    axes.retain(|axis| !used.contains(axis));
    Ok(axes)
}
