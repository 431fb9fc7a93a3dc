//! Links between the documents, and into the project.

use super::page::Page;
use std::path::{Component, Path, PathBuf};
use tests::tree;

/// The links of `page` that lead nowhere. Those that leave the project are not followed.
pub(super) fn dead(page: &Page, pages: &[Page]) -> Vec<String> {
    let folder = Path::new(&page.path).parent().unwrap_or_else(|| Path::new(""));
    let is_dead = |link: &String| {
        if link.contains("://") || link.starts_with("mailto:") {
            return false;
        }
        let (path, fragment) =
            link.split_once('#').map_or((link.as_str(), None), |(p, f)| (p, Some(f)));
        let target =
            if path.is_empty() { PathBuf::from(&page.path) } else { clean(&folder.join(path)) };
        if !tree::root().join(&target).exists() {
            return true;
        }
        let Some(fragment) = fragment else { return false };
        let target = pages.iter().find(|page| Path::new(&page.path) == target);
        !target.is_some_and(|target| target.anchors().iter().any(|anchor| anchor == fragment))
    };
    let dead = page.links().into_iter().filter(is_dead);
    dead.map(|link| format!("{}: {link}", page.path)).collect()
}

/// The path without `..`.
fn clean(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                clean.pop();
            }
            Component::CurDir => {}
            other => clean.push(other),
        }
    }
    clean
}
