//! The page of a campaign, as a browser shows it.

use super::browser::{Shown, show};
use serde_json::{Value, json};

const HOSTILE: &str = "</script><img src=x onerror=document.documentElement.dataset.owned=1>";

fn group(scenario: &str, load: &str, scheme: &str, figures: &Value, refused: &Value) -> Value {
    json!({
        "scenario": scenario, "parameters": { "traffic.load": load }, "scheme": scheme,
        "runs": 20, "unsound": 0, "refused": refused, "figures": figures,
    })
}

/// Two scenarios and two values; one scheme cannot hold in one of them.
fn shown() -> Shown {
    let none = Value::Null;
    let of = |mean: f64| {
        json!({
            "deadlock": { "mean": 0.0, "low": 0.0, "high": 0.16, "count": 20 },
            "goodput_gbps": { "mean": mean, "low": mean - 1.0, "high": mean + 2.0, "count": 20 },
            "deadlock_us": null,
        })
    };
    let single = json!({
        "deadlock": { "mean": 1.0, "low": 0.84, "high": 1.0, "count": 20 },
        "goodput_gbps": { "mean": 5.0, "low": null, "high": null, "count": 1 },
        "deadlock_us": null,
    });
    let groups = [
        group("one", "0.3", "pfc", &of(10.0), &none),
        group("one", "0.3", "gfc", &none, &json!("its queues are too short")),
        group("one", "0.6", "pfc", &of(20.0), &none),
        group("one", "0.6", "gfc", &of(25.0), &none),
        group(HOSTILE, "0.3", "pfc", &single, &none),
    ];
    let figure = |key: &str, title: &str, is_share: bool| json!({ "key": key, "title": title, "is_share": is_share });
    show(&netsim::report::campaign_page(&json!({
        "campaign": "load", "about": HOSTILE, "digest": "0123456789abcdef0123", "runs": 100,
        "seeds": { "first": 1, "last": 20 }, "schemes": ["pfc", "gfc"],
        "parameters": [{ "key": "traffic.load", "values": ["0.3", "0.6"] }],
        "figures": [
            figure("deadlock", "deadlocked", true),
            figure("deadlock_us", "deadlock at us", false),
            figure("goodput_gbps", "goodput Gb/s", false),
        ],
        "groups": groups,
    })))
}

#[test]
fn every_mean_is_a_dot_with_a_bar_and_every_group_a_row() {
    let page = shown();
    assert_eq!(page.attribute_of_root("data-error"), None, "a fault in its script");
    assert_eq!(page.attribute_of_root("data-owned"), None, "a name ran as script");
    assert!(page.text().contains(HOSTILE), "a name is shown as it is");
    for hole in ["NaN", "undefined", "Infinity", "[object", "null"] {
        assert!(!page.contains(hole), "shows {hole}:\n{}", page.around(hole));
    }
    // Two figures of four groups; nobody has the time of a deadlock.
    assert_eq!(page.count("class=\"interval-chart\""), 4);
    assert_eq!(page.count("class=\"dot\""), 8);
    assert_eq!(page.count("class=\"bar\""), 7, "a single value has no interval");
    assert_eq!(page.count("class=\"line s1\""), 2, "from value to value, by figure");
    assert_eq!(page.rows_of("figures-table"), 5);
    let text = page.text();
    assert!(text.contains("gfc cannot hold here: its queues are too short"), "{text}");
    assert!(text.contains("pfc, 0.6: 20, 19 to 22 (20 runs)"), "{text}");
    assert!(text.contains("20 (19 to 22)"), "{text}");
}
