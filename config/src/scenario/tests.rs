//! What a scenario reads as, and what is wrong with one that is.

use super::*;

#[test]
fn a_scenario_may_have_its_network_in_a_file_of_its_own() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("net.toml"), "[generate]\nkind = 'fat-tree'\nk = 4\n")
        .unwrap();
    let file = directory.path().join("s.toml");
    let text = "network = 'net.toml'\nduration = '1ms'\n[[traffic]]\nkind = 'permutation'\n";
    std::fs::write(&file, text).unwrap();
    let scenario = ScenarioConfig::load(&file).unwrap();
    assert_eq!((scenario.network.hosts(), scenario.seed), (16, 1));
}
