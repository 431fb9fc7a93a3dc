//! Imports follow calls: within a crate, no file imports from one that imports from it, over any
//! number of files. A submodule may use what its parents' files define: they are one module.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use tests::tree;

/// The crates whose files are held to it.
const CRATES: [&str; 7] = ["agents", "config", "dataplane", "fabric", "fleet", "netsim", "switch"];

/// A module: its path within the crate, such as `["port", "transmit"]`.
type Module = Vec<String>;

/// The module graph of one crate.
struct Graph {
    /// The text of each module, without its tests.
    texts: BTreeMap<Module, String>,
    /// By module: names that it re-exports, and where they come from.
    exports: BTreeMap<(Module, String), Module>,
}

/// The module of the file `path`, relative to `src`.
fn module(path: &str) -> Module {
    let path = path.strip_suffix(".rs").unwrap_or(path);
    let mut parts: Module = path.split('/').map(str::to_owned).collect();
    if matches!(parts.last().map(String::as_str), Some("mod" | "lib" | "main")) {
        parts.pop();
    }
    parts
}

/// Every name that `text` imports with `use`, as a path, and whether it is a re-export.
fn imports(text: &str) -> Vec<(Vec<String>, bool)> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("use ") {
        let line_start = rest[..at].rfind('\n').map_or(0, |newline| newline + 1);
        let before = rest[line_start..at].trim();
        rest = &rest[at + 4..];
        let is_public = before.starts_with("pub");
        let is_import = before.is_empty() || is_public && !before.contains(' ');
        if !is_import {
            continue;
        }
        let Some(end) = rest.find(';') else { break };
        // The name that an import gets here does not matter.
        let statement: Vec<&str> = rest[..end].split_whitespace().collect();
        let mut words = statement.iter();
        let mut tree = String::new();
        while let Some(word) = words.next() {
            if *word == "as" {
                let renamed = words.next().map_or("", |word| word.trim_start_matches(is_name));
                tree.push_str(renamed);
            } else {
                tree.push_str(word);
            }
        }
        expand(&[], &tree, &mut |path| {
            found.push((path, is_public));
        });
    }
    found
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Calls `take` with each path of the use tree `tree` below `prefix`.
fn expand(prefix: &[String], tree: &str, take: &mut impl FnMut(Vec<String>)) {
    let Some((head, rest)) = tree.split_once("::") else {
        return take([prefix, &[tree.to_owned()]].concat());
    };
    let prefix = [prefix, &[head.to_owned()]].concat();
    let Some(list) = rest.strip_prefix('{') else { return expand(&prefix, rest, take) };
    let list = list.strip_suffix('}').unwrap_or(list);
    let (mut depth, mut start) = (0, 0);
    for (at, c) in list.char_indices().chain([(list.len(), ',')]) {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                if start < at {
                    expand(&prefix, &list[start..at], take);
                }
                start = at + 1;
            }
            _ => {}
        }
    }
}

impl Graph {
    fn read(name: &str) -> Self {
        let start = format!("{name}/src/");
        let mut texts = BTreeMap::new();
        for (path, text) in tree::rust_sources().unwrap() {
            let shown = path.to_str().unwrap();
            let Some(inside) = shown.strip_prefix(&start) else { continue };
            let is_test = inside.split('/').any(|part| part.contains("test"));
            if is_test {
                continue;
            }
            texts.insert(module(inside), tree::without_unit_tests(&text).to_owned());
        }
        let mut graph = Self { texts, exports: BTreeMap::new() };
        for (module, text) in &graph.texts {
            for (path, is_public) in imports(text) {
                if let Some((from, name)) = graph.target(module, &path).filter(|_| is_public) {
                    graph.exports.insert((module.clone(), name), from);
                }
            }
        }
        graph
    }

    /// The module that `path`, imported by `module`, is in, and the name there; `None` if it is
    /// another crate's.
    fn target(&self, module: &Module, path: &[String]) -> Option<(Module, String)> {
        let (mut from, rest): (Module, &[String]) = match path.first()?.as_str() {
            "crate" => (vec![], &path[1..]),
            "self" => (module.clone(), &path[1..]),
            "super" => {
                let up = path.iter().take_while(|part| *part == "super").count();
                (module[..module.len().checked_sub(up)?].to_vec(), &path[up..])
            }
            first => {
                let child = [module.as_slice(), &[first.to_owned()]].concat();
                if !self.texts.contains_key(&child) {
                    return None;
                }
                (child, &path[1..])
            }
        };
        for part in rest {
            let child = [from.as_slice(), std::slice::from_ref(part)].concat();
            if !self.texts.contains_key(&child) {
                return Some((from, part.clone()));
            }
            from = child;
        }
        Some((from, "self".to_owned()))
    }

    /// The files that `module` imports from. A name that a module re-exports is where it is
    /// defined.
    fn imports_of(&self, module: &Module) -> BTreeSet<Module> {
        let mut found = BTreeSet::new();
        for (path, _) in imports(&self.texts[module]) {
            let Some((mut from, name)) = self.target(module, &path) else { continue };
            let mut steps = 0;
            while let Some(next) = self.exports.get(&(from.clone(), name.clone())) {
                if steps == 10 || *next == from {
                    break;
                }
                (from, steps) = (next.clone(), steps + 1);
            }
            if !module.starts_with(&from) {
                found.insert(from);
            }
        }
        found
    }

    /// A circle of files, if there is one: repeatedly takes away the files that import from none of
    /// those left.
    fn circle(&self) -> BTreeMap<Module, BTreeSet<Module>> {
        let mut left: BTreeMap<Module, BTreeSet<Module>> =
            self.texts.keys().map(|module| (module.clone(), self.imports_of(module))).collect();
        loop {
            let modules: BTreeSet<Module> = left.keys().cloned().collect();
            let before = left.len();
            for imports in left.values_mut() {
                imports.retain(|module| modules.contains(module));
            }
            left.retain(|_, imports| !imports.is_empty());
            if left.len() == before {
                return left;
            }
        }
    }
}

#[test]
fn no_file_imports_from_one_that_imports_from_it() {
    let mut files = 0;
    for name in CRATES {
        let graph = Graph::read(name);
        files += graph.texts.len();
        let circle = graph.circle();
        let lines: Vec<String> = circle
            .iter()
            .map(|(module, imports)| {
                let imports: Vec<String> = imports.iter().map(|it| it.join("::")).collect();
                format!("{}: {}", module.join("::"), imports.join(", "))
            })
            .collect();
        assert!(circle.is_empty(), "{name}: circles among or above\n{}", lines.join("\n"));
    }
    assert!(files > 200, "{files} files were read");
}

/// The files that ARCHITECTURE.md lists for a plain frame, in call order.
fn walk() -> Vec<String> {
    let architecture = fs::read_to_string(tree::root().join("ARCHITECTURE.md")).unwrap();
    let from = architecture.find("A plain IPv4 frame passes through these files").unwrap();
    let paragraph = architecture[from..].split("\n\n").next().unwrap();
    let links = paragraph.split("](").skip(1);
    links.map(|link| link.split(')').next().unwrap().to_owned()).collect()
}

#[test]
fn the_walk_of_a_plain_frame_is_in_call_order_and_imports_follow_it() {
    let walk = walk();
    assert!((10..=15).contains(&walk.len()), "{} files", walk.len());
    let missing = walk.iter().filter(|path| !tree::root().join(path).is_file());
    assert_eq!(missing.collect::<Vec<_>>(), Vec::<&String>::new());
    let graph = Graph::read("dataplane");
    let inside = walk.iter().filter_map(|path| path.strip_prefix("dataplane/src/"));
    let modules: Vec<Module> = inside.map(module).collect();
    for (at, called) in modules.iter().enumerate() {
        let imports = graph.imports_of(called);
        let back: Vec<&Module> = modules[..at].iter().filter(|it| imports.contains(*it)).collect();
        assert!(back.is_empty(), "{} imports from its callers {back:?}", called.join("::"));
    }
    // The graph sees these files: an empty one would pass above.
    let calls =
        |caller: &str, called: &str| graph.imports_of(&module(caller)).contains(&module(called));
    assert!(calls("pipeline/route_burst.rs", "pipeline/lanes/eight.rs"));
    assert!(calls("pipeline/lanes/pairs.rs", "pipeline/outcome_groups.rs"));
    assert!(calls("port/enqueue.rs", "port/tx_batch.rs"));
}

#[test]
fn a_circle_is_found_through_re_exports() {
    let text = |text: &str| text.to_owned();
    let module = |name: &str| vec![name.to_owned()];
    let texts = BTreeMap::from([
        (vec![], text("mod a;\nmod b;\nmod c;\n")),
        (module("a"), text("use crate::b::{self, Thing};\n")),
        (module("b"), text("pub(crate) use crate::c::Thing;\n")),
        (module("c"), text("use crate::a::Other;\npub struct Thing;\n")),
    ]);
    let mut graph = Graph { texts, exports: BTreeMap::new() };
    graph.exports.insert((module("b"), text("Thing")), module("c"));
    let circle = graph.circle();
    assert_eq!(circle.keys().cloned().collect::<Vec<_>>(), [module("a"), module("b"), module("c")]);
    graph.texts.insert(module("c"), text("pub struct Thing;\n"));
    assert!(graph.circle().is_empty());
}
