//! Files that use each other in a circle, in each crate of the workspace. `circles.txt` lists those
//! that are allowed: pairs, and larger ones that are still to be cut. A file uses another if one of
//! its paths leads there, through re-exports too; tests count for nothing.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::ToTokens;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use syn::{Attribute, Expr, Item, Lit, Meta, UseTree, Visibility};

/// The first file of each crate.
const CRATES: [&str; 22] = [
    "host/src/lib.rs",
    "host/cli/src/lib.rs",
    "host/core/src/lib.rs",
    "host/cuda/src/lib.rs",
    "host/fft/src/lib.rs",
    "host/files/src/lib.rs",
    "host/formats/src/lib.rs",
    "host/jacobi/src/lib.rs",
    "host/mri/src/lib.rs",
    "host/ptycho/src/lib.rs",
    "host/ranks/src/lib.rs",
    "host/report/src/lib.rs",
    "host/sas/src/lib.rs",
    "host/selftest/src/lib.rs",
    "host/series/src/lib.rs",
    "kernels-gpu/src/lib.rs",
    "kernels-gpu/build-ptx/src/lib.rs",
    "kernels-gpu/device/src/lib.rs",
    "kernels-gpu/macros/src/lib.rs",
    "kernels-gpu/ptx/src/lib.rs",
    "python/src/lib.rs",
    "xtask/src/main.rs",
];

/// The segments of a path.
type Name = Vec<String>;

/// A module of a crate.
struct Module {
    file: PathBuf,
    children: BTreeSet<String>,
    items: BTreeSet<String>,
    /// What `use` calls by another path.
    aliases: BTreeMap<String, Name>,
    globs: Vec<Name>,
    /// The paths of its code, those of private `use` among them.
    paths: BTreeSet<Name>,
}

/// What a path leads to.
enum Entity {
    Module(Name),
    ItemOf(PathBuf),
}

/// The modules of a crate by their paths.
#[derive(Default)]
struct Modules(BTreeMap<Name, Module>);

/// Whether an attribute leaves an item to tests.
fn is_of_tests(attributes: &[Attribute]) -> bool {
    let is = |attribute: &Attribute| {
        let text = attribute.to_token_stream().to_string().replace(' ', "");
        text == "#[test]" || text.starts_with("#[cfg(test)]") || text.starts_with("#[cfg(all(test,")
    };
    attributes.iter().any(is)
}

/// Adds the paths of some code to `found`, without items of tests.
fn paths_of(code: TokenStream, found: &mut BTreeSet<Name>) {
    let mut name = Name::new();
    let (mut colons, mut skips, mut field) = (0, false, false);
    for token in code {
        if skips {
            let group = matches!(&token, TokenTree::Group(g) if g.delimiter() == Delimiter::Brace);
            skips = !(group || matches!(&token, TokenTree::Punct(p) if p.as_char() == ';'));
            continue;
        }
        match token {
            TokenTree::Ident(word) => {
                if colons != 2 {
                    found.insert(std::mem::take(&mut name));
                }
                if !field {
                    name.push(word.to_string());
                }
                (colons, field) = (0, false);
            }
            TokenTree::Punct(mark) if mark.as_char() == ':' => colons += 1,
            other => {
                found.insert(std::mem::take(&mut name));
                colons = 0;
                field = matches!(&other, TokenTree::Punct(mark) if mark.as_char() == '.');
                if let TokenTree::Group(group) = other {
                    let is_test = || group.stream().to_string().replace(' ', "") == "cfg(test)";
                    skips = group.delimiter() == Delimiter::Bracket && is_test();
                    paths_of(group.stream(), found);
                }
            }
        }
    }
    found.insert(name);
    found.remove(&Name::new());
}

/// The paths of a `use` with their new names; none for all names of a module.
fn used(tree: &UseTree, mut before: Name, found: &mut Vec<(Option<String>, Name)>) {
    match tree {
        UseTree::Path(path) => {
            before.push(path.ident.to_string());
            used(&path.tree, before, found);
        }
        UseTree::Name(name) if name.ident == "self" => found.push((before.last().cloned(), before)),
        UseTree::Name(name) => {
            before.push(name.ident.to_string());
            found.push((before.last().cloned(), before));
        }
        UseTree::Rename(renamed) => {
            if renamed.ident != "self" {
                before.push(renamed.ident.to_string());
            }
            found.push((Some(renamed.rename.to_string()), before));
        }
        UseTree::Glob(_) => found.push((None, before)),
        UseTree::Group(group) => {
            for tree in &group.items {
                used(tree, before.clone(), found);
            }
        }
    }
}

/// Attributes of an item, and its name if others can use it by one.
fn attributes_and_name(item: &Item) -> Option<(&[Attribute], Option<String>)> {
    let (attributes, name) = match item {
        Item::Const(item) => (&item.attrs, Some(&item.ident)),
        Item::Enum(item) => (&item.attrs, Some(&item.ident)),
        Item::Fn(item) => (&item.attrs, Some(&item.sig.ident)),
        Item::Impl(item) => (&item.attrs, None),
        Item::Macro(item) => (&item.attrs, item.ident.as_ref()),
        Item::Static(item) => (&item.attrs, Some(&item.ident)),
        Item::Struct(item) => (&item.attrs, Some(&item.ident)),
        Item::Trait(item) => (&item.attrs, Some(&item.ident)),
        Item::Type(item) => (&item.attrs, Some(&item.ident)),
        Item::Union(item) => (&item.attrs, Some(&item.ident)),
        _ => return None,
    };
    Some((attributes, name.map(ToString::to_string)))
}

/// The file that `#[path = "…"]` names.
fn given_path(attributes: &[Attribute]) -> Option<String> {
    let mut metas = attributes.iter().map(|attribute| &attribute.meta);
    metas.find_map(|meta| match meta {
        Meta::NameValue(pair) if pair.path.is_ident("path") => match &pair.value {
            Expr::Lit(value) => match &value.lit {
                Lit::Str(text) => Some(text.value()),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    })
}

impl Modules {
    /// Adds the module `name` of a file whose modules lie in `folder`.
    fn read(&mut self, name: Name, file: &Path, folder: &Path) {
        let text = fs::read_to_string(file).expect("a file of sources");
        let parsed = syn::parse_file(&text).expect("Rust");
        self.add(name, file, folder, &parsed.items);
    }

    fn add(&mut self, name: Name, file: &Path, folder: &Path, items: &[Item]) {
        let mut module = Module {
            file: file.to_owned(),
            children: BTreeSet::new(),
            items: BTreeSet::new(),
            aliases: BTreeMap::new(),
            globs: Vec::new(),
            paths: BTreeSet::new(),
        };
        for item in items {
            match item {
                Item::Mod(item) if !is_of_tests(&item.attrs) => {
                    let child = item.ident.to_string();
                    module.children.insert(child.clone());
                    let within = folder.join(&child);
                    let path = [&name[..], &[child]].concat();
                    if let Some((_, items)) = &item.content {
                        self.add(path, file, &within, items);
                        continue;
                    }
                    let given = given_path(&item.attrs)
                        .map(|given| file.parent().unwrap_or(folder).join(given));
                    let beside = [within.with_extension("rs"), within.join("mod.rs")];
                    let found = given.into_iter().chain(beside).find(|path| path.exists());
                    self.read(path, &found.expect("the file of a module"), &within);
                }
                Item::Use(item) if !is_of_tests(&item.attrs) => {
                    let mut found = Vec::new();
                    used(&item.tree, Name::new(), &mut found);
                    for (alias, path) in found {
                        let Some(alias) = alias else {
                            module.globs.push(path);
                            continue;
                        };
                        if matches!(item.vis, Visibility::Inherited) {
                            module.paths.insert(path.clone());
                        }
                        module.aliases.insert(alias, path);
                    }
                }
                item => {
                    if let Some((attributes, name)) = attributes_and_name(item)
                        && !is_of_tests(attributes)
                    {
                        module.items.extend(name);
                        paths_of(item.to_token_stream(), &mut module.paths);
                    }
                }
            }
        }
        self.0.insert(name, module);
    }

    /// What `segment` is in the module `at`. `depth` counts re-exports, which may lead back.
    fn within(&self, at: &Name, segment: &str, depth: usize) -> Option<Entity> {
        let module = self.0.get(at).filter(|_| depth < 6)?;
        if module.items.contains(segment) {
            return Some(Entity::ItemOf(module.file.clone()));
        }
        if let Some(path) = module.aliases.get(segment)
            && path[..] != [segment]
            && let Some(found) = self.target(at, path, depth + 1)
        {
            return Some(found);
        }
        if module.children.contains(segment) {
            return Some(Entity::Module([&at[..], &[segment.to_owned()]].concat()));
        }
        let mut of_globs =
            module
                .globs
                .iter()
                .filter_map(|glob| match self.target(at, glob, depth + 1) {
                    Some(Entity::Module(other)) if other != *at => {
                        self.within(&other, segment, depth + 1)
                    }
                    _ => None,
                });
        of_globs.next()
    }

    /// What a path in the module `from` leads to; none outside of the crate.
    fn target(&self, from: &Name, path: &[String], depth: usize) -> Option<Entity> {
        let mut at = Entity::Module(from.clone());
        for segment in path {
            let Entity::Module(module) = &at else {
                return Some(at);
            };
            at = match segment.as_str() {
                "crate" => Entity::Module(Name::new()),
                "self" => at,
                "super" => Entity::Module(module.split_last()?.1.to_vec()),
                name => self.within(module, name, depth)?,
            };
        }
        Some(at)
    }

    /// The files that each file uses.
    fn uses(&self) -> BTreeMap<&Path, BTreeSet<PathBuf>> {
        let mut uses: BTreeMap<&Path, BTreeSet<PathBuf>> = BTreeMap::new();
        for (name, module) in &self.0 {
            let of_file = uses.entry(&module.file).or_default();
            // A name alone is most often a variable; functions that have come by `use` are found
            // there.
            let variable =
                |path: &&Name| path.len() == 1 && path[0].starts_with(char::is_lowercase);
            for path in module.paths.iter().filter(|path| !variable(path)) {
                if let Some(Entity::ItemOf(file)) = self.target(name, path, 0)
                    && file != module.file
                {
                    of_file.insert(file);
                }
            }
        }
        uses
    }
}

/// The files of each circle.
fn circles<'u>(uses: &BTreeMap<&'u Path, BTreeSet<PathBuf>>) -> Vec<Vec<&'u Path>> {
    let files: Vec<&Path> = uses.keys().copied().collect();
    let number = |file: &PathBuf| files.binary_search(&file.as_path()).expect("a file");
    let used: Vec<Vec<usize>> = (uses.values())
        .map(|used| used.iter().map(number).collect())
        .collect();
    let reached = |from: usize| {
        let mut reached = vec![false; files.len()];
        let mut open = vec![from];
        while let Some(file) = open.pop() {
            for next in &used[file] {
                if !std::mem::replace(&mut reached[*next], true) {
                    open.push(*next);
                }
            }
        }
        reached
    };
    let reached: Vec<Vec<bool>> = (0..files.len()).map(reached).collect();
    let circle = |file: usize| -> Vec<&Path> {
        let both = |other: &usize| reached[file][*other] && reached[*other][file];
        let circle = (0..files.len()).filter(both);
        circle.map(|other| files[other]).collect()
    };
    let first = |file: &usize| reached[*file][*file] && circle(*file)[0] == files[*file];
    (0..files.len()).filter(first).map(circle).collect()
}

#[test]
fn files_use_each_other_in_no_other_circle() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the workspace");
    let (mut list, mut files) = (String::new(), String::new());
    for first in CRATES {
        let first = root.join(first);
        let folder = first.parent().expect("a folder");
        let mut modules = Modules::default();
        modules.read(Name::new(), &first, folder);
        let uses = modules.uses();
        assert!(
            uses.len() == 1 || uses.values().any(|used| !used.is_empty()),
            "{first:?}"
        );
        for circle in circles(&uses) {
            let names = circle
                .iter()
                .map(|file| file.strip_prefix(root).unwrap_or(file).display());
            let names: Vec<String> = names.map(|name| name.to_string()).collect();
            writeln!(files, "{} files: {}", names.len(), names.join(" ")).expect("text");
            match names.len() {
                2 => writeln!(list, "{}", names.join(" ")),
                more => writeln!(list, "{more} files with {}", names[0]),
            }
            .expect("text");
        }
    }
    let allowed = fs::read_to_string(root.join("tests/tests/circles.txt")).expect("the list");
    assert_eq!(
        list, allowed,
        "circles.txt; the files of each circle:\n{files}"
    );
}

#[test]
fn paths_are_found_in_code_without_fields_and_tests() {
    let code =
        "fn f() { a::b(x.c, &d::E { g: 1 }); #[cfg(test)] mod tests { use no::such; } h!(i::J); }";
    let mut found = BTreeSet::new();
    paths_of(code.parse().expect("tokens"), &mut found);
    let found: Vec<String> = found.iter().map(|name| name.join("::")).collect();
    for expected in ["a::b", "d::E", "i::J", "x"] {
        assert!(
            found.iter().any(|path| path == expected),
            "{expected}: {found:?}"
        );
    }
    assert!(
        !found
            .iter()
            .any(|path| path.contains("such") || path == "c"),
        "{found:?}"
    );
}
