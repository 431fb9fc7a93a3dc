//! A page as a browser shows it.

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A page takes a second; a browser that hangs should not hold up the tests.
const PATIENCE: Duration = Duration::from_secs(120);

/// What stood in the page when its scripts had run.
pub(crate) struct Shown {
    /// All of it, without the text of scripts and styles.
    html: String,
}

/// Opens the page from a file and waits for its scripts.
pub(crate) fn show(page: &str) -> Shown {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("page.html");
    std::fs::write(&file, page).unwrap();
    let child = Command::new("chromium")
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .args(["--no-first-run", "--window-size=1280,2000", "--virtual-time-budget=5000"])
        .arg(format!("--user-data-dir={}", directory.path().join("profile").display()))
        .arg("--dump-dom")
        .arg(format!("file://{}", file.display()))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap_or_else(|error| {
            panic!("chromium cannot be started ({error}): apt-get install chromium")
        });
    let html = output_of(child);
    assert!(html.contains("</html>"), "chromium showed nothing of {}", file.display());
    Shown { html: without_code(&html) }
}

/// What the browser prints until it ends, which it must.
fn output_of(mut child: Child) -> String {
    let mut stdout = child.stdout.take().unwrap();
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        stdout.read_to_string(&mut text).map(|_| text)
    });
    let started = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if started.elapsed() > PATIENCE {
            child.kill().unwrap();
            panic!("chromium did not end within {PATIENCE:?}");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    reader.join().unwrap().unwrap()
}

/// The page without what stands in its `script` and `style` elements.
fn without_code(html: &str) -> String {
    let mut kept = html.to_owned();
    for (open, close) in [("<script", "</script>"), ("<style", "</style>")] {
        let mut rest = std::mem::take(&mut kept);
        while let Some(start) = rest.find(open) {
            let end = start + rest[start..].find(close).unwrap() + close.len();
            kept.push_str(&rest[..start]);
            rest.drain(..end);
        }
        kept.push_str(&rest);
    }
    kept
}

/// Text without its tags, as it reads.
fn text_of(html: &str) -> String {
    let text = html.split('<').map(|part| part.split_once('>').map_or(part, |(_, text)| text));
    let text: String = text.collect();
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&")
}

impl Shown {
    /// Whether this stands in the page's HTML.
    pub(crate) fn contains(&self, html: &str) -> bool {
        self.html.contains(html)
    }

    /// How often this stands in the page's HTML.
    pub(crate) fn count(&self, html: &str) -> usize {
        self.html.matches(html).count()
    }

    /// The HTML around the first place where `text` stands, to see what is wrong.
    pub(crate) fn around(&self, text: &str) -> String {
        let Some(at) = self.html.find(text) else { return String::new() };
        let before: Vec<char> = self.html[..at].chars().rev().take(200).collect();
        before.into_iter().rev().chain(self.html[at..].chars().take(100)).collect()
    }

    /// All text of the page.
    pub(crate) fn text(&self) -> String {
        text_of(&self.html)
    }

    /// The text of the paragraph with this id.
    pub(crate) fn text_of(&self, id: &str) -> String {
        text_of(self.after(id).split("</p>").next().unwrap())
    }

    /// The rows of the body of the table in the element with this id.
    pub(crate) fn rows_of(&self, id: &str) -> usize {
        let (_, table) = self.after(id).split_once("<tbody>").unwrap();
        table.split_once("</tbody>").unwrap().0.matches("<tr>").count()
    }

    /// What stands after the opening tag of the element with this id.
    fn after(&self, id: &str) -> &str {
        let (_, rest) = self.html.split_once(&format!("id=\"{id}\"")).unwrap();
        rest.split_once('>').unwrap().1
    }

    /// An attribute of the page's root element.
    pub(crate) fn attribute_of_root(&self, name: &str) -> Option<&str> {
        let root = &self.html[self.html.find("<html").unwrap()..];
        let (root, _) = root.split_once('>').unwrap();
        let (_, value) = root.split_once(&format!("{name}=\""))?;
        value.split('"').next()
    }
}
