use super::*;

const SCENARIO: &str = "duration = '50us'\ngenerate = { kind = 'clos', leaves = 2, spines = 1, hosts = 2 }\n\
                        [[traffic]]\nkind = 'permutation'\nrate = '10G'\n";

fn refused(text: &str) -> String {
    CampaignConfig::parse(Path::new("c.toml"), text).unwrap_err().to_string()
}

/// A campaign in a folder with `s.toml`: its points, or what is wrong.
fn points(text: &str, scenario: &str) -> Result<Points, String> {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("c.toml");
    fs::write(&file, text).unwrap();
    fs::write(place.path().join("s.toml"), scenario).unwrap();
    let campaign = CampaignConfig::load(&file).map_err(|error| error.to_string())?;
    let error =
        |error: ConfigError| error.to_string().replace(&format!("{}/", place.path().display()), "");
    campaign.points().map_err(error)
}

#[test]
fn each_value_meets_each_value_of_the_others() {
    let text = "scenarios = ['s.toml']\n[[parameter]]\nkey = 'traffic.rate'\nvalues = ['5G', '10G']\n\
                [[parameter]]\nkey = 'links.length'\nvalues = ['1m', '2m', '3m']\n";
    let points = points(text, SCENARIO).unwrap();
    let values: Vec<&[usize]> = points.all.iter().map(|point| &point.values[..]).collect();
    assert_eq!(values, [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]);
    let last = &points.all[5].scenario;
    assert_eq!(last.links.length, crate::units::Length::from_metres(3));
    let rate = |point: usize| points.all[point].scenario.traffic[0].pace.rate;
    assert_eq!((rate(5), rate(0)), (rate(3), rate(2)));
    assert_ne!(rate(5), rate(0));
}

#[test]
fn the_digest_is_that_of_every_file_it_comes_from() {
    let text = "scenarios = ['s.toml']\n";
    let digest = |text: &str, scenario: &str| points(text, scenario).unwrap().digest;
    let first = digest(text, SCENARIO);
    assert_eq!(first.len(), 64);
    assert_eq!(digest(text, SCENARIO), first);
    assert_ne!(digest(&format!("{text}seeds = 3\n"), SCENARIO), first);
    assert_ne!(digest(text, &SCENARIO.replace("10G", "20G")), first);

    let place = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(place.path().join(name), text).unwrap();
    write("c.toml", text);
    write("s.toml", "network = 'n.toml'\nduration = '1us'\n[[traffic]]\nkind = 'permutation'\n");
    let network = "generate = { kind = 'clos', leaves = 2, spines = 1, hosts = 2 }\n";
    let digest =
        || CampaignConfig::load(&place.path().join("c.toml")).unwrap().points().unwrap().digest;
    write("n.toml", network);
    let first = digest();
    write("n.toml", &network.replace("hosts = 2", "hosts = 3"));
    assert_ne!(digest(), first, "the network is a file of its own");
}

#[test]
fn a_mistake_is_said_with_its_place() {
    assert_eq!(refused("scenarios = []\n"), "c.toml:1:13: this is empty; add a scenario");
    assert_eq!(
        refused("scenarios = ['s']\nsede = 1\n"),
        "c.toml:2:1: unknown field `sede`; did you mean `seeds`?"
    );
    let with = |rest: &str| refused(&format!("scenarios = ['s']\n{rest}"));
    assert!(with("schemes = ['tager']").contains("did you mean `tagger`?"));
    assert!(with("schemes = ['pfc', 'pfc']").starts_with("c.toml:2:19: `pfc` stands here twice"));
    assert!(with("seeds = 0").contains("`seeds` is 0; use 1 to 100000"));
    let parameter = |key: &str, values: &str| {
        with(&format!("[[parameter]]\nkey = '{key}'\nvalues = {values}\n"))
    };
    let near = "c.toml:3:7: a scenario has no `trafic`; did you mean `traffic`?";
    assert_eq!(parameter("trafic.load", "[1]"), near);
    assert!(parameter("seed", "[1]").contains("write `seeds = N`"));
    assert!(parameter("traffic.load", "[]").contains("this is empty; add a value"));
    assert!(parameter("traffic.load", "[1, 1]").contains("stands here twice"));
    assert!(parameter("traffic", "[{ load = 1 }]").contains("name the key in the table"));
    let twice = "[[parameter]]\nkey = 'links.speed'\nvalues = [1]\n".repeat(2);
    assert!(with(&twice).contains("`links.speed` is varied twice"));
    let many = format!(
        "[[parameter]]\nkey = 'links.speed'\nvalues = {:?}\n",
        (0..10_001).collect::<Vec<_>>()
    );
    assert!(with(&many).contains("10001 scenarios with different values"));
}

#[test]
fn a_value_that_a_scenario_cannot_have_is_said_with_both_places() {
    let text =
        "scenarios = ['s.toml']\n[[parameter]]\nkey = 'traffic.rate'\nvalues = ['5G',\n'fast']\n";
    let error = points(text, SCENARIO).unwrap_err();
    assert!(error.starts_with("c.toml:5:1: with traffic.rate = 'fast': s.toml:5:8: "), "{error}");
    let text = text.replace("traffic.rate", "traffic.raet");
    let error = points(&text, SCENARIO).unwrap_err();
    assert!(error.contains("s.toml:3:1: unknown field `raet`; did you mean `rate`?"), "{error}");
    let text = "scenarios = ['s.toml', 't.toml']\n";
    let error = points(text, SCENARIO).unwrap_err();
    assert!(error.starts_with("c.toml:1:24: t.toml cannot be read"), "{error}");
    let error = points("scenarios = ['s.toml', './s.toml']\n", SCENARIO).unwrap_err();
    assert!(error.contains("another scenario is named `s` too"), "{error}");
}
