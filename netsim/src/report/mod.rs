//! A simulation's outcome as one self-contained HTML page.
//!
//! The page is self-contained: style, script and data are part of it, and it loads nothing. Rust
//! only joins the parts; the page's script divides, rounds and draws.
//!
//! | part | idea |
//! |---|---|
//! | `document.html` | what all pages have around their body |
//! | `page.html`, `page.css` | what stands where |
//! | `colours.css`, `figures.css` | colors, light and dark; what is drawn |
//! | `units.js`, `dom.js` | numbers to text; text to elements, never to HTML |
//! | `time.js`, `frame.js` | the time axis of all charts; their margins, cursor, zoom and keys |
//! | `chart.js`, `legend.js`, `pauses.js` | lines, what they are, rows of pauses |
//! | `layout.js`, `topology.js`, `key.js` | where nodes stand; the picture; what its signs mean |
//! | `summary.js`, `tables.js`, `main.js` | the verdict; flows and drops; all together |
//! | `campaign.*`, `intervals.js` | the page of a campaign; its charts of means with intervals |

mod campaign;

pub use campaign::campaign_page;

use crate::outcome::Outcome;
use serde::Serialize;

/// What all pages have around their body.
const DOCUMENT: &str = include_str!("document.html");

const SIMULATION: Page<'_> = Page {
    kind: "simulation",
    body: include_str!("page.html"),
    style: &[include_str!("colours.css"), include_str!("figures.css"), include_str!("page.css")],
    script: &SCRIPT,
    id: "outcome",
};

const SCRIPT: [&str; 13] = [
    include_str!("units.js"),
    include_str!("dom.js"),
    include_str!("time.js"),
    include_str!("frame.js"),
    include_str!("legend.js"),
    include_str!("chart.js"),
    include_str!("pauses.js"),
    include_str!("layout.js"),
    include_str!("key.js"),
    include_str!("topology.js"),
    include_str!("summary.js"),
    include_str!("tables.js"),
    include_str!("main.js"),
];

/// What a page is made of, beside its data.
struct Page<'a> {
    /// What it shows: `simulation`.
    kind: &'a str,
    body: &'a str,
    /// The parts of the style; later ones win.
    style: &'a [&'a str],
    /// The parts of the script; what a part does when it is read may use the parts before it.
    script: &'a [&'a str],
    /// By this the script finds the data.
    id: &'a str,
}

/// What the page's script reads.
#[derive(Serialize)]
struct Data<'a> {
    /// A script's numbers are exact up to 2^53 only, and a seed that is off by one is another run.
    seed: String,
    outcome: &'a Outcome,
}

/// The page that shows `outcome`, complete in itself.
pub fn page(outcome: &Outcome) -> String {
    let data = Data { seed: outcome.seed.to_string(), outcome };
    SIMULATION.with(&data)
}

impl Page<'_> {
    /// The page, complete in itself. The data come last, so that nothing in them is taken for a
    /// place to fill.
    fn with(&self, data: &impl Serialize) -> String {
        DOCUMENT
            .replace("{{kind}}", self.kind)
            .replace("{{body}}", self.body)
            .replace("{{style}}", &self.style.concat())
            .replace("{{script}}", &self.script.concat())
            .replace("{{id}}", self.id)
            .replacen("{{data}}", &embedded(data), 1)
    }
}

/// Data as JSON that may stand in a `script` element.
fn embedded(data: &impl Serialize) -> String {
    let json = serde_json::to_string(data).expect("strings and numbers, and every key is a name");
    // In JSON a `<` can only be in a string. Written so, no name ends the element or opens a
    // comment, and it reads the same.
    json.replace('<', "\\u003c")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::FlowOutcome;

    /// What makes a browser fetch something.
    pub(super) const REQUESTS: [&str; 12] = [
        "http:",
        "https:",
        "src=",
        "src:",
        "srcset",
        "href",
        "@import",
        "url(",
        "fetch(",
        "XMLHttp",
        "WebSocket",
        "import(",
    ];

    fn named(name: &str) -> Outcome {
        let flow = FlowOutcome { name: name.to_owned(), ..FlowOutcome::default() };
        Outcome { name: name.to_owned(), flows: vec![flow], ..Outcome::default() }
    }

    /// The text of the element that holds the data, as a browser finds it.
    fn data_in(page: &str) -> &str {
        let (_, rest) = page.split_once("id=\"outcome\">").unwrap();
        rest.split_once("</script").unwrap().0
    }

    #[test]
    fn nothing_in_the_page_starts_a_request() {
        let page = page(&Outcome::default());
        for request in REQUESTS {
            assert!(!page.contains(request), "the page contains {request}");
        }
        assert!(page.contains("default-src 'none'"), "and the browser is told to refuse any");
    }

    #[test]
    fn every_place_is_filled() {
        let page = page(&Outcome::default());
        assert!(!page.contains("{{"), "a place of page.html is not filled");
    }

    #[test]
    fn the_page_carries_the_outcome() {
        let outcome = Outcome { seed: u64::MAX, ..named("a quiet run") };
        let page = page(&outcome);
        let data: serde_json::Value = serde_json::from_str(data_in(&page)).unwrap();
        assert_eq!(data["outcome"], serde_json::to_value(&outcome).unwrap());
        assert_eq!(data["seed"], "18446744073709551615", "a script's number could not hold it");
    }

    #[test]
    fn no_name_leaves_the_data() {
        let hostile = [
            "</script><img src=x onerror=alert(1)>",
            "<!--<script>",
            "]]>\"'\\\u{2028}\u{0}",
            "{{script}}{{outcome}}{{style}}{{data}}{{kind}}{{body}}{{id}}",
        ];
        let plain = page(&named("plain"));
        for name in hostile {
            let page = page(&named(name));
            let data: serde_json::Value = serde_json::from_str(data_in(&page)).unwrap();
            assert_eq!(data["outcome"]["flows"][0]["name"], name, "it is shown as it is");
            assert!(!data_in(&page).contains('<'), "{name:?} is markup");
            let around = |page: &str| page.replacen(data_in(page), "", 1);
            assert_eq!(around(&page), around(&plain), "{name:?} changes the page");
        }
    }

    #[test]
    fn the_same_outcome_is_the_same_page() {
        assert_eq!(page(&named("twice")), page(&named("twice")));
    }
}
