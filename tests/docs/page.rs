//! One document, and what is in it.

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
use std::fs;
use tests::tree;

/// A Markdown file of the project.
pub(super) struct Page {
    /// Relative to the root.
    pub(super) path: String,
    pub(super) text: String,
}

/// A fenced block.
pub(super) struct Fence {
    /// What stands behind the opening fence.
    pub(super) info: String,
    pub(super) text: String,
}

impl Page {
    /// All of them but the changelog, whose history names what is gone.
    pub(super) fn all() -> Vec<Self> {
        let files = tree::files().unwrap().into_iter();
        let paths = files.filter_map(|file| file.to_str().map(str::to_owned));
        let paths = paths.filter(|path| path.ends_with(".md") && path != "CHANGELOG.md");
        let read = |path: String| {
            let text = fs::read_to_string(tree::root().join(&path)).unwrap();
            Self { path, text }
        };
        paths.map(read).collect()
    }

    fn events(&self) -> Parser<'_> {
        Parser::new_ext(&self.text, Options::ENABLE_TABLES)
    }

    /// Where its links lead.
    pub(super) fn links(&self) -> Vec<String> {
        let link = |event| match event {
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                Some(dest_url.into_string())
            }
            _ => None,
        };
        self.events().filter_map(link).collect()
    }

    /// Its headings, as fragments of links name them.
    pub(super) fn anchors(&self) -> Vec<String> {
        let (mut anchors, mut heading) = (Vec::new(), None::<String>);
        for event in self.events() {
            match event {
                Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
                Event::End(TagEnd::Heading(_)) => {
                    anchors.extend(heading.take().map(|it| slug(&it)))
                }
                Event::Text(text) | Event::Code(text) => {
                    if let Some(heading) = &mut heading {
                        heading.push_str(&text);
                    }
                }
                _ => {}
            }
        }
        anchors
    }

    /// Its fenced blocks.
    pub(super) fn fences(&self) -> Vec<Fence> {
        let (mut fences, mut open) = (Vec::new(), None::<Fence>);
        for event in self.events() {
            match event {
                Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) => {
                    open = Some(Fence { info: info.into_string(), text: String::new() });
                }
                Event::End(TagEnd::CodeBlock) => fences.extend(open.take()),
                Event::Text(text) => {
                    if let Some(open) = &mut open {
                        open.text.push_str(&text);
                    }
                }
                _ => {}
            }
        }
        fences
    }
}

/// A heading as GitHub and mdbook name it in links.
fn slug(heading: &str) -> String {
    let kept = heading.to_lowercase();
    let kept = kept.chars().filter(|it| it.is_alphanumeric() || [' ', '-', '_'].contains(it));
    kept.map(|it| if it == ' ' { '-' } else { it }).collect()
}
