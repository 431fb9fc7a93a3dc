//! `export sonic`: what it refuses, and that an import gives the same switch again.

use crate::egress::with_peak_rates;
use crate::{EXACT, import, switch, with_two_queue_maps};
use config::SwitchConfig;
use config::sonic::{SonicError, export};
use dataplane::settings::SwitchSettings;
use std::fs;
use std::path::Path;

#[test]
fn two_curves_of_one_queue_are_no_profile_of_sonic() {
    let text = "name = 'a'\n[[port]]\nname = 'Ethernet0'\ndevice = 'net_null0'\nvlan = 1\n\
                [[ecn]]\npriority = 2\nkmin = '10KB'\nkmax = '20KB'\n\
                [[wred]]\npriority = 2\nkmin = '10KB'\nkmax = '30KB'\n";
    let switch = SwitchConfig::parse(Path::new("A.toml"), text).unwrap();
    let Err(SonicError::Refused(lines)) = export(&switch) else { panic!("it is refused") };
    let one = "[[wred]]: SONiC has one curve for marks and early drops of a queue";
    assert!(lines.iter().any(|line| line.contains(one)), "{lines:?}");
}

/// With a watchdog at the port and without one.
#[test]
fn the_big_red_switch_is_imported_exactly_and_comes_back() {
    let on = "\"BIG_RED_SWITCH\": \"enable\", \"POLL_INTERVAL\"";
    let on = EXACT.replacen("\"POLL_INTERVAL\"", on, 1);
    let own = ",\n    \"Ethernet0\": { \"action\": \"forward\", \"detection_time\": \"200\", \
               \"restoration_time\": \"300\" }";
    assert!(on.contains(own));
    let without = on.replacen(own, "", 1);
    for (text, is_on) in [(EXACT, false), (&on, true), (&without, true)] {
        let config = switch(&import(text, false).unwrap().text);
        assert_eq!(config.settings.big_red_switch, is_on, "{text}");
        let back = export(&config).unwrap().text;
        assert_same(&config, &switch(&import(&back, false).unwrap().text));
    }
}

/// The switch's own files, as far as SONiC knows what they say.
#[test]
fn an_export_is_imported_as_the_same_switch() {
    let mut texts = vec![
        import(EXACT, false).unwrap().text,
        import(&EXACT.replace("\"xon\": \"0\"", "\"xon\": \"4000\""), false).unwrap().text,
        import(&with_two_queue_maps(), false).unwrap().text,
        import(&EXACT.replace("\"static_th\": \"400000\"", "\"dynamic_th\": \"-1\""), false).unwrap().text,
        // Ports that differ in MTU, a static threshold, marking of a lossy priority, VLANs.
        "name = 'a'\n[[lossless]]\npriority = 1\nstatic_th = '90KB'\n[[lossless]]\npriority = 6\n\
         [[tag]]\ntag = 7\ndscp = 48\npriority = 1\n[[tag]]\ntag = 8\ndscp = 8\npriority = 6\n\
         [[tag]]\ntag = 0\npriority = 2\n[scheduler]\nstrict = [7]\nweights = { 2 = 3, 6 = 2 }\n\
         [[ecn]]\npriority = 2\nkmin = '10KB'\nkmax = '20KB'\npmax = 1.0\n\
         [[wred]]\npriority = 2\nkmin = '10KB'\nkmax = '20KB'\npmax = 1.0\n\
         [[wred]]\npriority = 0\nkmin = '30KB'\nkmax = '90KB'\npmax = 0.07\n[watchdog]\n\
         [[port]]\nname = 'Ethernet12'\ndevice = 'net_null0'\nspeed = '10G'\ntrusted = true\n\
         addresses = ['10.0.0.1/24', 'fd00::1/64']\nmtu = 9000\n\
         [[port]]\nname = 'Ethernet0'\ndevice = 'net_null1'\nvlans = [10, '20-22']\nnative = 10\ntrusted = true\n\
         watchdog = false\ncable_length = '300m'\n\
         [[port]]\nname = 'Ethernet4'\ndevice = 'net_null2'\nvlan = 20\npfc = false\n"
            .to_owned(),
        import(&with_peak_rates("\"pir\": \"750001\", \"pbs\": \"8192\""), false).unwrap().text,
    ];
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    for entry in fs::read_dir(examples).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            texts.push(fs::read_to_string(path).unwrap());
        }
    }
    let mut exported = 0;
    for text in texts {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/SWITCH.toml");
        let switch = SwitchConfig::parse(&file, &text).unwrap();
        let database = match export(&switch) {
            Ok(database) => database.text,
            Err(SonicError::Refused(lines)) => {
                assert!(lines.iter().all(|line| line.contains("SONiC")), "{lines:?}");
                continue;
            }
            Err(error) => panic!("{error}"),
        };
        exported += 1;
        let again =
            import(&database, false).unwrap_or_else(|lines| panic!("{lines:#?}\n{database}"));
        let again = SwitchConfig::parse(&file, &again.text).unwrap();
        assert_same(&switch, &again);
        assert_eq!(export(&again).unwrap().text.lines().count(), database.lines().count());
    }
    assert!(exported >= 2, "{exported}");
}

/// The same for each frame, as far as SONiC knows it. Ports may come in another order.
fn assert_same(one: &SwitchConfig, other: &SwitchConfig) {
    assert_eq!(one.ports.len(), other.ports.len());
    let is_lossless = one.settings.ports.iter().any(|port| port.lossless_bits() != 0);
    for port in &one.ports {
        let same = other.ports.iter().find(|same| same.name == port.name);
        let Some(same) = same else {
            // SONiC's ports have SONiC's names.
            assert!(!port.name.starts_with("Ethernet"));
            continue;
        };
        let settings = |config: &SwitchConfig, at: usize| config.settings.ports[at].clone();
        let (a, b) = (settings(one, port.id.index()), settings(other, same.id.index()));
        assert_eq!(
            (a.speed, a.frame_bytes_max, a.watchdog),
            (b.speed, b.frame_bytes_max, b.watchdog)
        );
        assert_eq!(a.lossless, b.lossless, "{}", port.name);
        assert_eq!(format!("{:?}", port.mode), format!("{:?}", same.mode), "{}", port.name);
        assert_eq!(port.addresses, same.addresses);
        assert_eq!((port.length, port.trust.by), (same.length, same.trust.by));
        assert_eq!(a.peak_rates, b.peak_rates, "{}", port.name);
    }
    let SwitchSettings { buffer, scheduler, ecn, wred, big_red_switch, .. } = &one.settings;
    let theirs = &other.settings;
    assert_eq!(buffer.lossy_bytes, theirs.buffer.lossy_bytes);
    assert_eq!(buffer.lossy_queue_bytes, theirs.buffer.lossy_queue_bytes);
    assert_eq!(buffer.lossy_queue_alpha_log2, theirs.buffer.lossy_queue_alpha_log2);
    assert!(!is_lossless || buffer.size_bytes == theirs.buffer.size_bytes);
    assert!(!is_lossless || one.settings.headroom_bytes() == theirs.headroom_bytes());
    assert_eq!(scheduler.strict_bits, theirs.scheduler.strict_bits);
    assert_eq!((ecn, wred), (&theirs.ecn, &theirs.wred));
    assert_eq!(*big_red_switch, theirs.big_red_switch);
    let share = |quanta: [u32; 8]| quanta.map(|quantum| f64::from(quantum) / f64::from(quanta[0]));
    if scheduler.strict_bits & 1 == 0 {
        assert_eq!(share(scheduler.quantum_bytes), share(theirs.scheduler.quantum_bytes));
    }
    for dscp in 0..64 {
        let priority = |config: &SwitchConfig| {
            let map = &config.tag_map;
            map.priority[map.dscp_to_tag[dscp].index()]
        };
        assert_eq!(priority(one), priority(other), "DSCP {dscp}");
    }
    assert_eq!(
        (one.routes.len(), one.neighbors.len()),
        (other.routes.len(), other.neighbors.len())
    );
}
