//! The summary of a campaign as one self-contained HTML page, by the parts of a simulation's.

use super::Page;
use serde_json::Value;

const CAMPAIGN: Page<'_> = Page {
    kind: "campaign",
    body: include_str!("campaign.html"),
    style: &[
        include_str!("colours.css"),
        include_str!("figures.css"),
        include_str!("page.css"),
        include_str!("campaign.css"),
    ],
    script: &[
        include_str!("units.js"),
        include_str!("dom.js"),
        include_str!("intervals.js"),
        include_str!("campaign.js"),
    ],
    id: "summary",
};

/// The page that shows the summary of a campaign, complete in itself.
///
/// ```
/// let summary = serde_json::json!({ "campaign": "a <b> & c", "groups": [] });
/// let page = netsim::report::campaign_page(&summary);
/// assert!(page.contains(r"a \u003cb> & c") && !page.contains("a <b>"));
/// ```
pub fn campaign_page(summary: &Value) -> String {
    CAMPAIGN.with(summary)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::REQUESTS;
    use serde_json::json;

    #[test]
    fn nothing_in_the_page_starts_a_request_and_every_place_is_filled() {
        let page = campaign_page(&json!({}));
        for request in REQUESTS {
            assert!(!page.contains(request), "the page contains {request}");
        }
        assert!(page.contains("default-src 'none'") && !page.contains("{{"));
    }

    #[test]
    fn no_name_leaves_the_data() {
        let summary = json!({ "campaign": "</script><img src=x onerror=alert(1)>{{script}}" });
        let page = campaign_page(&summary);
        let (_, rest) = page.split_once("id=\"summary\">").unwrap();
        let data = rest.split_once("</script").unwrap().0;
        assert_eq!(serde_json::from_str::<Value>(data).unwrap(), summary);
    }
}
