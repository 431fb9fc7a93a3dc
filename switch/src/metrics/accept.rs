//! Which format a client wants, by its header `Accept` (RFC 9110, 12.5.1).

use super::page::Format;

/// The format that the values of `Accept` prefer. Without any preference the text format, which
/// every client reads.
pub(super) fn wanted(values: impl Iterator<Item = impl AsRef<str>>) -> Format {
    let values: Vec<_> = values.collect();
    let (mut open_metrics, mut text) = (0.0, 0.0);
    for range in values.iter().flat_map(|value| value.as_ref().split(',')) {
        let mut parts = range.split(';').map(str::trim);
        let kind = parts.next().unwrap_or_default().to_ascii_lowercase();
        let (mut quality, mut version) = (1.0, None);
        for part in parts {
            match part.split_once('=') {
                Some((name, value)) if name.eq_ignore_ascii_case("q") => {
                    quality = value.parse().unwrap_or(0.0);
                }
                Some((name, value)) if name.eq_ignore_ascii_case("version") => {
                    version = Some(value.trim_matches('"'));
                }
                _ => {}
            }
        }
        match (kind.as_str(), version) {
            ("application/openmetrics-text", None | Some("1.0.0")) => {
                open_metrics = f64::max(open_metrics, quality);
            }
            ("text/plain" | "text/*" | "*/*", _) => text = f64::max(text, quality),
            _ => {}
        }
    }
    if open_metrics > 0.0 && open_metrics >= text { Format::OpenMetrics } else { Format::Text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What Prometheus 2.42 and 3 send.
    const PROMETHEUS: [&str; 2] = [
        "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;\
         q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
        "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,\
         application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=1.0.0;q=0.3,\
         text/plain;version=0.0.4;q=0.2,*/*;q=0.1",
    ];

    #[test]
    fn open_metrics_is_for_those_who_prefer_it() {
        for header in PROMETHEUS {
            assert_eq!(wanted([header].into_iter()), Format::OpenMetrics, "{header}");
        }
        let separate = ["text/plain;q=0.5", "Application/OpenMetrics-Text"];
        assert_eq!(wanted(separate.into_iter()), Format::OpenMetrics);
        for text in [
            "",
            "*/*",
            "text/html,*/*;q=0.8",
            "text/plain",
            "application/openmetrics-text;q=0",
            "application/openmetrics-text;q=none",
            "application/openmetrics-text;version=0.0.1",
            "application/openmetrics-text;q=0.2,text/plain",
        ] {
            assert_eq!(wanted([text].into_iter()), Format::Text, "{text}");
        }
        assert_eq!(wanted(std::iter::empty::<&str>()), Format::Text);
    }

    proptest! {
        #[test]
        fn any_header_has_an_answer(header in "[ -~]{0,80}") {
            wanted([header.as_str()].into_iter());
        }
    }
}
