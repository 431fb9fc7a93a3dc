//! Queues: their peak rates and early drops.

use crate::{EXACT, import, plain, switch};
use config::SwitchConfig;
use dataplane::queue::shaper::PeakRate;
use dataplane::settings::DepthCurve;
use dataplane::time::Speed;
use std::path::Path;

/// [`EXACT`], where the strict queue of the first port has a scheduler with `fields`.
pub(crate) fn with_peak_rates(fields: &str) -> String {
    let schedulers =
        format!("\"SCHEDULER\": {{ \"limited\": {{ \"type\": \"STRICT\", {fields} }},");
    EXACT.replace("\"SCHEDULER\": {", &schedulers).replace(
        "\"Ethernet0|5\": { \"scheduler\": \"fast\" }",
        "\"Ethernet0|5\": { \"scheduler\": \"limited\" }",
    )
}

/// SONiC's rates are octets a second.
#[test]
fn peak_rates_are_imported_exactly_and_those_in_packets_refused() {
    let fields = "\"meter_type\": \"bytes\", \"pir\": \"750001\", \"pbs\": \"8192\"";
    let text = import(&with_peak_rates(fields), false).unwrap().text;
    let lines = plain(&text);
    let at = lines.iter().position(|line| *line == "[[shaper]]").unwrap();
    let expected =
        ["priority = 5", "ports = [\"Ethernet0\"]", "peak_rate = \"6000008\"", "peak_burst = 8192"];
    assert_eq!(lines[at + 1..at + 5], expected);
    let ports = switch(&text).settings.ports;
    let peak = PeakRate { rate: Speed::from_bps(6_000_008), burst_bytes: 8_192 };
    assert_eq!((ports[0].peak_rates[5], ports[1].peak_rates), (Some(peak), [None; 8]));
    // At all ports: no `ports`. Without `pbs`: what is the default here.
    let all = EXACT.replace("\"type\": \"STRICT\"", "\"type\": \"STRICT\", \"pir\": \"1000000\"");
    let text = import(&all, false).unwrap().text;
    assert!(!text.contains("ports = ") && !text.contains("peak_burst"), "{text}");
    let ports = switch(&text).settings.ports;
    let rates = ports.iter().map(|port| port.peak_rates[5].unwrap().rate.bps());
    assert_eq!(rates.collect::<Vec<_>>(), [8_000_000; 2]);
    // 0 is none.
    let none = import(&with_peak_rates("\"pir\": \"0\", \"pbs\": \"0\""), false).unwrap();
    assert!(!none.text.contains("shaper"), "{}", none.text);
    for (fields, expected) in [
        (
            "\"meter_type\": \"packets\", \"pir\": \"1000\"",
            "db.json: SCHEDULER|limited|meter_type: a peak rate is in bytes a second here, and not in \
             packets; give it in bytes",
        ),
        (
            "\"meter_type\": \"frames\", \"pir\": \"1000\"",
            "db.json: SCHEDULER|limited|meter_type: `frames` is neither bytes nor packets",
        ),
        (
            "\"pir\": \"fast\"",
            "db.json: SCHEDULER|limited|pir: `fast` is no whole number from 0 to 200000000000",
        ),
    ] {
        assert_eq!(import(&with_peak_rates(fields), true).unwrap_err(), [expected]);
    }
}

/// With a profile for the lossy queue 1 of both ports.
fn with_wred(fields: &str) -> String {
    let queues = "\"QUEUE\": { \"Ethernet0,Ethernet4|1\": { \"wred_profile\": \"L\" },";
    let profiles = format!(
        "\"WRED_PROFILE\": {{ \"L\": {{ {fields}, \"green_min_threshold\": \"50000\",
         \"green_max_threshold\": \"90000\" }},"
    );
    let text = EXACT.replace("\"QUEUE\": {", queues);
    text.replace("\"WRED_PROFILE\": {", &profiles)
}

#[test]
fn a_lossy_queue_drops_early_as_its_profile_says() {
    let green = "\"wred_green_enable\": \"true\"";
    let both = format!("{green}, \"ecn\": \"ecn_all\", \"green_drop_probability\": \"5\"");
    let cases = [
        (green.to_owned(), [None, Some((50_000, 65_536))]),
        (both, [Some((50_000, 3_277)); 2]),
        // Nothing happens up to the maximum.
        (format!("{green}, \"green_drop_probability\": \"0\""), [None, Some((90_000, 65_536))]),
        ("\"wred_yellow_enable\": \"true\"".to_owned(), [None, None]),
    ];
    for (fields, expected) in cases {
        let text = import(&with_wred(&fields), false).unwrap_or_else(|e| panic!("{e:?}")).text;
        let config = SwitchConfig::parse(Path::new("A.toml"), &text).unwrap();
        let of = |curve: Option<DepthCurve>| curve.map(|curve| (curve.kmin_bytes, curve.pmax_q16));
        let settings = &config.settings;
        assert_eq!([of(settings.ecn[1]), of(settings.wred[1])], expected, "{fields}");
        assert!(settings.wred.iter().all(|it| it.is_none_or(|curve| curve.kmax_bytes == 90_000)));
        assert_eq!(
            settings.wred.iter().flatten().count(),
            expected.iter().skip(1).flatten().count()
        );
    }
    let wrong = with_wred(&format!("{green}, \"ecn\": \"some\""));
    assert_eq!(import(&wrong, false).unwrap_err().len(), 1);
}
