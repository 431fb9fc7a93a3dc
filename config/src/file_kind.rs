//! Which of the TOML files a text is meant to be, by the keys that no other kind has.

use crate::error::ConfigError;
use crate::source::Source;
use std::fmt;

/// The kinds of TOML file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// SWITCH.toml
    Switch,
    /// NETWORK.toml
    Network,
    /// SCENARIO.toml
    Scenario,
    /// CAMPAIGN.toml
    Campaign,
}

impl fmt::Display for FileKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Switch => "SWITCH.toml",
            Self::Network => "NETWORK.toml",
            Self::Scenario => "SCENARIO.toml",
            Self::Campaign => "CAMPAIGN.toml",
        })
    }
}

impl FileKind {
    /// The kind that `text` is meant to be, though it may be wrong. `None`: it is not TOML, or has
    /// no key that tells.
    pub fn of(text: &str) -> Option<Self> {
        let file = text.parse::<toml::Table>().ok()?;
        let has = |keys: &[&str]| keys.iter().any(|key| file.contains_key(*key));
        let is_table =
            |key: &&str| file.get(*key).is_some_and(|value| value.is_table() || value.is_array());
        if has(&["scenarios", "seeds", "parameter"]) {
            Some(Self::Campaign)
        } else if has(&["port", "lossless"]) || file.get("host").is_some_and(toml::Value::is_table)
        {
            Some(Self::Switch)
        } else if has(&["duration", "flow", "traffic", "fault", "scheme", "expect"]) {
            Some(Self::Scenario)
        } else {
            let network = ["generate", "link", "paths", "switch", "host"];
            network.iter().any(is_table).then_some(Self::Network)
        }
    }

    /// What `assemble` makes of `source`, which must be of this kind. A file that it refuses and
    /// that is of another kind is refused as such.
    pub(crate) fn read<T>(
        self,
        source: &Source,
        assemble: impl FnOnce(&Source) -> Result<T, ConfigError>,
    ) -> Result<T, ConfigError> {
        assemble(source).map_err(|error| match Self::of(source.text()) {
            Some(kind) if kind != self => {
                let message = format!("this is a {kind}; a {self} is needed here");
                source.at(0..0, message)
            }
            _ => error,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CampaignConfig, NetworkConfig, ScenarioConfig, SwitchConfig};
    use std::path::Path;

    const SWITCH: &str = "name = \"A\"\n[[port]]\nname = \"p\"\ndevice = \"net_null0\"\n";
    const NETWORK: &str = "[generate]\nkind = \"fat-tree\"\nk = 4\n";
    const SCENARIO: &str = "duration = \"1ms\"\nnetwork = \"n.toml\"\n[[traffic]]\n";
    const CAMPAIGN: &str = "scenarios = []\n";

    #[test]
    fn a_file_is_told_by_keys_that_no_other_kind_has() {
        let texts = [SWITCH, NETWORK, SCENARIO, CAMPAIGN, "name = \"A\"\n", "", "[[port]", "{}"];
        let [switch, network, scenario, campaign, rest @ ..] = texts.map(FileKind::of);
        assert_eq!(switch, Some(FileKind::Switch));
        assert_eq!(network, Some(FileKind::Network));
        assert_eq!(scenario, Some(FileKind::Scenario));
        assert_eq!(campaign, Some(FileKind::Campaign));
        assert_eq!(rest, [None; 4]);
    }

    #[test]
    fn a_file_of_another_kind_is_refused_as_such() {
        let file = Path::new("x.toml");
        let switch = |text| SwitchConfig::parse(file, text).unwrap_err().to_string();
        let network = |text| NetworkConfig::parse(file, text).unwrap_err().to_string();
        let scenario = |text| ScenarioConfig::parse(file, text).unwrap_err().to_string();
        let campaign = |text| CampaignConfig::parse(file, text).unwrap_err().to_string();
        let refused = |is: &str, needed: &str| {
            format!("x.toml:1:1: this is a {is}; a {needed} is needed here")
        };
        assert_eq!(switch(NETWORK), refused("NETWORK.toml", "SWITCH.toml"));
        assert_eq!(switch(SCENARIO), refused("SCENARIO.toml", "SWITCH.toml"));
        assert_eq!(network(SWITCH), refused("SWITCH.toml", "NETWORK.toml"));
        assert_eq!(network(SCENARIO), refused("SCENARIO.toml", "NETWORK.toml"));
        assert_eq!(scenario(SWITCH), refused("SWITCH.toml", "SCENARIO.toml"));
        assert_eq!(scenario(NETWORK), refused("NETWORK.toml", "SCENARIO.toml"));
        assert_eq!(scenario(CAMPAIGN), refused("CAMPAIGN.toml", "SCENARIO.toml"));
        assert_eq!(campaign(SCENARIO), refused("SCENARIO.toml", "CAMPAIGN.toml"));
    }

    #[test]
    fn a_file_of_another_kind_that_a_scenario_names_as_its_network_is_refused_as_such() {
        let place = tempfile::tempdir().unwrap();
        let [scenario, network] = ["s.toml", "n.toml"].map(|name| place.path().join(name));
        std::fs::write(&scenario, "duration = \"1ms\"\nnetwork = \"n.toml\"\n").unwrap();
        std::fs::write(&network, SWITCH).unwrap();
        let error = ScenarioConfig::load(&scenario).unwrap_err().to_string();
        let refused = "n.toml:1:1: this is a SWITCH.toml; a NETWORK.toml is needed here";
        assert!(error.ends_with(refused), "{error}");
    }

    #[test]
    fn a_file_of_the_right_kind_keeps_its_own_error() {
        let wrong = format!("{NETWORK}colour = 1\n");
        let error = NetworkConfig::parse(Path::new("x.toml"), &wrong).unwrap_err();
        assert!(error.to_string().contains("colour"), "{error}");
    }
}
