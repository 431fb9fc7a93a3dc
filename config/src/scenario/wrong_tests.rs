//! What is wrong with a scenario: where, and what would be right, to the letter.

use super::ScenarioConfig;

/// Two leaves and a spine. What a test adds begins in line 11.
const BASE: &str = "duration = '1ms'
switch = [{ name = 'L', ports = 4 }, { name = 'M', ports = 4 }, { name = 'S', ports = 3 }]
host = [{ name = 'alfa' }, { name = 'bravo' }, { name = 'charlie' }]
link = [
  { ends = ['L:1', 'S:1'] },
  { ends = ['M:1', 'S:2'] },
  { ends = ['L:3', 'alfa'] },
  { ends = ['L:4', 'bravo'] },
  { ends = ['M:3', 'charlie'] },
]
";

/// Lines 11 to 13; a setting of it comes in line 14.
const FLOW: &str = "[[flow]]\nfrom = 'alfa'\nto = 'charlie'\n";

/// The line that `text` is refused with, without the file.
fn refusal(text: &str) -> String {
    match ScenarioConfig::parse("s.toml".as_ref(), text) {
        Ok(_) => format!("good: {text}"),
        Err(error) => error.to_string().replacen("s.toml:", "", 1),
    }
}

/// The base with `before` and each of these texts: how it is refused.
fn check(before: &str, cases: &[(&str, &str)]) {
    for (text, expected) in cases {
        assert_eq!(refusal(&format!("{BASE}{before}{text}\n")), *expected, "{text}");
    }
}

#[test]
fn the_base_is_right() {
    assert_eq!(refusal(&format!("{BASE}{FLOW}")), format!("good: {BASE}{FLOW}"));
}

#[test]
fn settings_and_tables() {
    let cases = [
        ("[scheme]\nkin = 'pfc'", "15:1: unknown field `kin`; did you mean `kind`?"),
        ("[scheme]\nkind = 'taggr'", "15:8: there is no scheme `taggr`; did you mean `tagger`?"),
        (
            "[scheme]\nkind = 'none'",
            "15:8: there is no scheme `none`; use pfc, watchdog, tagger, updown, ttl, gfc, lossy",
        ),
        ("[scheme]\npriorities = 8", "15:14: `priorities` is 8; use 1 to 7"),
        (
            "[scheme]\nkind = 'tagger'\nrules = 'no-such'",
            "16:9: no-such is no directory; name one with a rule file for each switch, or remove `rules`",
        ),
        ("[links]\nspeed = 40", "15:9: `40` is not a speed, such as \"200M\" or \"40G\""),
        ("[links]\nspeed = '0G'", "15:9: `0G` is out of range; a speed is 1M to 1.6T"),
        (
            "[links]\nlength = '10'",
            "15:10: `10` is not a length; write \"10m\", \"0.5m\" or \"2km\"",
        ),
        (
            "[switches]\nstatic_th = '40KB'\ndynamic_th = 0",
            "16:14: a threshold is static or dynamic; remove `static_th` or `dynamic_th`",
        ),
        ("[switches]\ndynamic_th = 4", "15:14: `dynamic_th` is 4; use -7 to 3"),
        ("[switches]\ncell = 0", "15:8: a cell is 1 to 9728 bytes"),
        ("[switches]\ncell = '10KB'", "15:8: a cell is 1 to 9728 bytes"),
        (
            "[switches]\nsize = '12XB'",
            "15:8: `12XB` is not a size; write bytes as 9216, \"64KB\" (times 1000), \
             \"64KiB\" (times 1024) or \"12MB\"",
        ),
        (
            "[switches]\nstatic_th = '5GB'",
            "15:13: a threshold of more than the whole buffer; use 12000000 at the most",
        ),
        (
            "[switches]\nsize = '1MB'\nlossy = '2MB'",
            "16:9: this is more than the whole buffer; use 1000000 at the most",
        ),
        (
            "[switches]\necn = { kmin = '9KB', kmax = '5KB', pmax = 0.1 }",
            "15:7: `kmin` is above `kmax`; swap them",
        ),
        (
            "[switches]\necn = { kmin = '5KB', kmax = '9KB', pmax = 1.5 }",
            "15:7: 1.5 is no share; use 0.0 to 1.0",
        ),
        (
            "[switches]\necn = { kmin = '5KB', kmax = '9KB' }",
            "15:7: `pmax` is missing here; it has no default",
        ),
        (
            "[paths]\nkind = 'file'\nfile = 'none.paths'",
            "16:8: none.paths cannot be read: No such file or directory (os error 2)",
        ),
        (
            "[generate]\nkind = 'clos'\nleaves = 2\nspines = 2",
            "2:11: a network is either generated or listed; remove [generate], or the switches, hosts and links",
        ),
        ("[[flw]]", "14:3: unknown field `flw`; did you mean `flow`?"),
    ];
    check(FLOW, &cases);
}

#[test]
fn routing() {
    let cases = [
        ("[routing]\nkind = 'ecpm'", "15:8: there is no routing `ecpm`; did you mean `ecmp`?"),
        (
            "[routing]\nkind = 'magic'",
            "15:8: there is no routing `magic`; use shortest, ecmp, pinned",
        ),
        (
            "[routing]\nfailed = ['alfa']",
            "15:11: `alfa` is not on a link between switches; a host without its link has no way",
        ),
        (
            "[routing]\nfailed = ['L:3']",
            "15:11: `L:3` is not on a link between switches; a host without its link has no way",
        ),
        ("[routing]\nfailed = ['L:2']", "15:11: `L:2` has no link; name a port that has one"),
        ("[routing]\nfailed = ['L']", "15:11: `L` is a switch; say which port, such as \"L:1\""),
        ("[routing]\nfailed = ['L:9']", "15:11: `L` has no port `9`; its ports are 1 to 4"),
        ("[routing]\nfailed_share = 0.95", "15:16: 0.95 is no share; use 0.0 to 0.9"),
        ("[routing]\nfailed_share = -0.1", "15:16: -0.1 is no share; use 0.0 to 0.9"),
        ("[routing]\nfailed_share = nan", "15:16: NaN is no share; use 0.0 to 0.9"),
        ("[routing]\nreroute = 5", "15:11: `5` is not a time, such as \"20us\" or \"300s\""),
    ];
    check(FLOW, &cases);
}

#[test]
fn flows() {
    let cases = [
        ("[[flow]]\nfrom = 'alfa'", "11:1: `to` is missing here; it has no default"),
        (
            "[[flow]]\nfrom = 'alpha'\nto = 'charlie'",
            "12:8: there is no switch or host `alpha`; did you mean `alfa`?",
        ),
        (
            "[[flow]]\nfrom = 'nobody'\nto = 'charlie'",
            "12:8: there is no switch or host `nobody`; name one of those declared",
        ),
        ("[[flow]]\nfrom = 'alfa'\nto = 'S'", "13:6: `S` is a switch; name a host"),
        (
            "[[flow]]\nfrom = 'alfa'\nto = 'alfa'",
            "13:6: `alfa` would send to itself; name two hosts",
        ),
        (
            "[[flow]]\nfrom = 'alfa'\nto = 'charlie'\npath = 'L M'",
            "14:8: there is no link from `L` to `M`; a path follows links",
        ),
        (
            "[[flow]]\nfrom = 'alfa'\nto = 'charlie'\npath = 'L S'",
            "14:8: host `charlie` is not linked to `S`, but to `M`",
        ),
        (
            "[[flow]]\nfrom = 'alfa'\nto = 'charlie'\npath = ''",
            "14:8: a path passes a switch; write host switch ... switch host",
        ),
        (
            "[[flow]]\nfrom = 'alfa'\nto = 'charlie'\npath = 'S M'",
            "14:8: host `alfa` is not linked to `S`, but to `L`",
        ),
    ];
    check("", &cases);
}

#[test]
fn how_a_flow_sends() {
    let cases = [
        (
            "[[flow]]\nfrom = 'alfa'\nto = 'charlie'",
            "14:1: there is a flow `alfa-charlie` already; give this one a `name`",
        ),
        ("name = 'x'\nfrom = 'alfa'", "15:1: `from` stands here twice; keep one"),
        ("frame = 1515", "14:9: a frame of 1515 bytes; use 60 to 1514"),
        ("frame = 59", "14:9: a frame of 59 bytes; use 60 to 1514"),
        ("window = 1513", "14:10: a window below a frame sends nothing; use 1514 at the least"),
        (
            "window = 99\nframe = 100",
            "14:10: a window below a frame sends nothing; use 100 at the least",
        ),
        ("start = '5us'\nstop = '5us'", "15:8: it stops before it starts; use a later time"),
        ("stop = '0s'", "14:8: it stops before it starts; use a later time"),
        ("size = 0", "14:8: a flow of 0 bytes is none; use more"),
        (
            "rate = 'fast'",
            "14:8: `fast` is not a speed; write bits per second as \"200M\", \"2.5G\" or \"40G\"",
        ),
        ("lossy = 1", "14:9: found the number 1, expected true or false"),
        (
            "class = 2",
            "14:9: class 2 is not one of [paths], which has 1; use 1 to 1, or more `classes`",
        ),
        (
            "lossy = true\nclass = 1",
            "15:9: a lossy flow is in no application class; remove `class` or `lossy`",
        ),
    ];
    check(FLOW, &cases);
}

#[test]
fn traffic() {
    let cases = [
        (
            "[[traffic]]\nkind = 'permutaton'",
            "12:8: there is no traffic `permutaton`; did you mean `permutation`?",
        ),
        (
            "[[traffic]]\nkind = 'star'",
            "12:8: there is no traffic `star`; use permutation, incast, random, all-to-all",
        ),
        ("[[traffic]]\nkind = 'random'", "12:8: how many? add `flows`"),
        ("[[traffic]]\nkind = 'random'\nflows = 0", "13:9: `flows` is 0; use 1 to 1000000"),
        (
            "[[traffic]]\nkind = 'incast'\nflows = 3",
            "13:9: `flows` is of `random` traffic; remove it",
        ),
        (
            "[[traffic]]\nkind = 'random'\nflows = 3\nto = 'alfa'",
            "14:6: `to` is of `incast` traffic; remove it",
        ),
        ("[[traffic]]\nkind = 'incast'\nsenders = 4", "13:11: `senders` is 4; use 1 to 2"),
        (
            "[[traffic]]\nkind = 'incast'\nsenders = 1\nfrom = ['alfa']",
            "14:9: `alfa` would send to itself; name other senders",
        ),
        (
            "[[traffic]]\nkind = 'incast'\nto = 'alfa'\nfrom = ['alfa']",
            "14:9: `alfa` would send to itself; name other senders",
        ),
        (
            "[[traffic]]\nkind = 'permutation'\nfrom = ['alfa']",
            "13:8: they send to each other; name two",
        ),
        (
            "[[traffic]]\nkind = 'permutation'\nfrom = ['alfa', 'alfa']",
            "13:17: `alfa` is named twice; name each sender once",
        ),
        (
            "[[traffic]]\nkind = 'permutation'\nsizes = 'websearch'\nload = 0.5",
            "13:9: there is no distribution `websearch`; did you mean `web-search`?",
        ),
        (
            "[[traffic]]\nkind = 'permutation'\nsizes = 'pareto'\nload = 0.5",
            "13:9: there is no distribution `pareto`; use web-search, data-mining",
        ),
        (
            "[[traffic]]\nkind = 'permutation'\nsizes = 'web-search'",
            "13:9: how much? add `load`, such as 0.5",
        ),
        (
            "[[traffic]]\nkind = 'permutation'\nload = 0.5",
            "13:8: `load` is of flows that come at random; add `sizes`",
        ),
        (
            "[[traffic]]\nkind = 'permutation'\nsizes = 'web-search'\nload = 0",
            "14:8: a load of 0 sends nothing; use more",
        ),
        (
            "[[traffic]]\nkind = 'permutation'\nsizes = 'web-search'\nload = 0.0",
            "14:8: a load of 0 sends nothing; use more",
        ),
        (
            "[[traffic]]\nkind = 'permutation'\nsizes = 'web-search'\nload = 11.0",
            "14:8: 11 is no share; use 0.0 to 10.0",
        ),
        (
            "[[traffic]]\nkind = 'permutation'\nsizes = 'web-search'\nload = 0.5\nsize = 9",
            "15:8: flows have one `size` or random `sizes`; remove one",
        ),
    ];
    check("", &cases);
}

#[test]
fn faults() {
    let cases = [
        (
            "[[fault]]\nkind = 'link-down'\nat = '1us'\nlnik = 'L:1'",
            "17:1: unknown field `lnik`; did you mean `link`?",
        ),
        (
            "[[fault]]\nkind = 'link-down'\nat = '1us'",
            "15:8: `link-down` needs `link`, one end of a link, such as \"A:1\"",
        ),
        (
            "[[fault]]\nkind = 'link-down'\nlink = 'L:1'",
            "14:1: `at` is missing here; it has no default",
        ),
        (
            "[[fault]]\nkind = 'link-dwn'\nat = '1us'\nlink = 'L:1'",
            "15:8: there is no fault `link-dwn`; did you mean `link-down`?",
        ),
        (
            "[[fault]]\nkind = 'earthquake'\nat = '1us'",
            "15:8: there is no fault `earthquake`; use link-down, route, slow-receiver, \
             hung-receiver, pause-storm, lose-pfc, corrupt-pfc, restart",
        ),
        (
            "[[fault]]\nkind = 'link-down'\nat = '1us'\nlink = 'L:1'\nhost = 'alfa'",
            "18:8: `link-down` has no `host`; remove it",
        ),
        (
            "[[fault]]\nkind = 'link-down'\nat = '2us'\nuntil = '2us'\nlink = 'L:1'",
            "17:9: it is over before it begins; use a later time",
        ),
        (
            "[[fault]]\nkind = 'link-down'\nat = '2us'\nlink = 'alfa:1'",
            "17:8: `alfa` is a host and has one port; write \"alfa\"",
        ),
        (
            "[[fault]]\nkind = 'route'\nat = '2us'\nswitch = 'L'\nto = 'charlie'\nvia = 'M'",
            "19:7: `L` has no link to `M`; name a neighbor",
        ),
        (
            "[[fault]]\nkind = 'route'\nat = '2us'\nswitch = 'L'\nto = 'charlie'\nvia = 'bravo'",
            "19:7: `bravo` is a host; name a switch",
        ),
        (
            "[[fault]]\nkind = 'route'\nat = '2us'\nswitch = 'L'\nto = 'charlie'",
            "15:8: `route` needs `via`, the neighbor that frames go to",
        ),
        (
            "[[fault]]\nkind = 'slow-receiver'\nat = '2us'\nhost = 'charlie'",
            "15:8: `slow-receiver` needs `speed`, such as \"1G\"; one that takes nothing is a `hung-receiver`",
        ),
        (
            "[[fault]]\nkind = 'hung-receiver'\nat = '2us'\nhost = 'charlie'\nspeed = '1G'",
            "18:9: `hung-receiver` has no `speed`; remove it",
        ),
        (
            "[[fault]]\nkind = 'restart'\nat = '2us'\nswitch = 'alfa'",
            "17:10: `alfa` is a host; name a switch",
        ),
        (
            "[[fault]]\nkind = 'pause-storm'\nat = '2us'\nhost = 'L'",
            "17:8: `L` is a switch; name a host",
        ),
        (
            "[[fault]]\nkind = 'lose-pfc'\nat = '2us'\nto = 'L:1'\nshare = 1.1",
            "18:9: 1.1 is no share; use 0.0 to 1.0",
        ),
        (
            "[[fault]]\nkind = 'lose-pfc'\nat = '2us'\nto = 'L'",
            "17:6: `L` is a switch; say which port, such as \"L:1\"",
        ),
    ];
    check(FLOW, &cases);
}

#[test]
fn expectations() {
    let cases = [
        ("[expect.pcf]\ndeadlock = true", "14:1: there is no scheme `pcf`; did you mean `pfc`?"),
        ("[expect.pfc]\ndeadlok = true", "15:1: unknown field `deadlok`; did you mean `deadlock`?"),
        (
            "[expect.pfc]\nat_least = { alfa-charly = '1G' }",
            "15:28: there is no flow `alfa-charly`; did you mean `alfa-charlie`?",
        ),
        (
            "[expect.pfc]\nat_most = { zulu = '1G' }",
            "15:20: there is no flow `zulu`; name one of [[flow]]",
        ),
        ("[expect.pfc]\ndeadlock = 'yes'", "15:12: found the text \"yes\", expected true or false"),
        (
            "[expect.pfc]\ndeadlock = false\ndeadlock_after = '1us'",
            "16:18: `deadlock_after` is of a deadlock that must be; remove it",
        ),
        (
            "[expect.pfc]\ndeadlock_after = '3us'\ndeadlock_before = '2us'",
            "16:19: this is before `deadlock_after`; use a later time",
        ),
    ];
    check(FLOW, &cases);
}

#[test]
fn the_file_as_a_whole() {
    check("", &[("", "1:1: nobody sends anything; add [[flow]], [[traffic]] or [[collective]]")]);
    for (text, expected) in [
        ("", "1:1: `duration` is missing here; it has no default"),
        ("x", "1:2: key with no value, expected `=`"),
        (
            "duration = '1ms'",
            "1:1: there is no network; add [[switch]], [[host]] and [[link]], or [generate]",
        ),
        (
            "duration = '0s'\n",
            "1:1: there is no network; add [[switch]], [[host]] and [[link]], or [generate]",
        ),
        ("duration = 5", "1:12: `5` is not a time, such as \"20us\" or \"300s\""),
        (
            "duration = '-1s'",
            "1:12: `-1s` is not a time; write \"500ns\", \"20us\", \"5ms\", \"300s\" or \"5min\"",
        ),
        (
            "duration = '1ms'\nnetwork = 'none.toml'\n[[traffic]]\nkind='permutation'",
            "2:11: none.toml cannot be read: No such file or directory (os error 2)",
        ),
        (
            "duration = '1ms'\nnetwork = 'none.toml'\n[generate]\nkind='clos'\nleaves=2\nspines=1\n\
             [[traffic]]\nkind='permutation'",
            "2:11: a network is either in a file of its own or here; remove `network`, or the tables",
        ),
        (
            "seed = -1\nduration='1ms'",
            "1:8: found the number -1, expected a whole number that is not negative",
        ),
        (
            "seed = 1.5\nduration='1ms'",
            "1:8: found the number 1.5, expected a whole number that is not negative",
        ),
        ("dration = '1ms'", "1:1: unknown field `dration`; did you mean `duration`?"),
        (
            "duration='1ms'\n[generate]\nkind='clos'\nleaves=1\nspines=1\n[[traffic]]\nkind='permutation'",
            "7:6: traffic needs two hosts; add hosts",
        ),
        ("[[flow]]\nfrom='H1'", "1:1: `to` is missing here; it has no default"),
    ] {
        assert_eq!(refusal(text), expected, "{text}");
    }
    let no_time = format!("{BASE}{FLOW}").replace("1ms", "0ms");
    assert_eq!(refusal(&no_time), "1:12: 0 ns is too short; the sources must have time to send");
}
