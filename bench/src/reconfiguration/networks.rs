//! The networks: 4-level fat-trees, VL2, HyperX and Jellyfish of 100 to 2,000 switches.

use bench::reconfiguration::cases;
use config::NetworkConfig;
use fabric::Network;
use fabric::network::{End, Link};
use std::error::Error;
use std::path::Path;

/// A network and what it is called.
pub(crate) struct Named {
    pub(crate) kind: &'static str,
    pub(crate) network: Network,
}

/// All of them, the small ones first.
pub(crate) fn all() -> Result<Vec<Named>, Box<dyn Error>> {
    let mut all = Vec::new();
    for k in [3, 5, 8] {
        all.push(Named { kind: "fat-tree", network: fat_tree(k)? });
    }
    for (aggregation_ports, intermediate_ports) in [(20, 16), (48, 48)] {
        let network = cases::vl2(aggregation_ports, intermediate_ports)?;
        all.push(Named { kind: "VL2", network });
    }
    for shape in ["[10, 10]", "[8, 8, 8]", "[13, 13, 12]"] {
        let text = format!("[generate]\nkind = 'hyperx'\nshape = {shape}\nhosts = 1\n");
        all.push(Named { kind: "HyperX", network: generated(&text)? });
    }
    for switches in [100, 500, 1_000, 2_000] {
        all.push(Named { kind: "Jellyfish", network: jellyfish(switches)? });
    }
    Ok(all)
}

/// Jellyfish of 16 network ports, as in the Tagger paper's Table III.
pub(crate) fn jellyfish(switches: usize) -> Result<Network, Box<dyn Error>> {
    generated(&format!(
        "[generate]\nkind = 'jellyfish'\nswitches = {switches}\nports = 17\nnetwork_ports = 16\n\
         seed = 1\n"
    ))
}

fn generated(text: &str) -> Result<Network, Box<dyn Error>> {
    Ok(NetworkConfig::parse(Path::new("N.toml"), text)?.network)
}

/// The k-ary 4-tree (Petrini and Vanneschi, 1997): four levels of k^3 switches, k up and k down;
/// switches of neighboring levels are linked if their digits agree in all places but one.
fn fat_tree(k: u32) -> Result<Network, Box<dyn Error>> {
    let width = k.pow(3);
    let mut network = Network::new();
    for level in 0..4 {
        for at in 0..width {
            network.add_switch(format!("L{level}-{at}"), 2 * k as usize);
        }
    }
    let slot = |network: &Network, level: u32, at: u32, port: u32| {
        network.slots_of(level * width + at).start + port
    };
    for at in 0..width {
        let host = network.add_host(format!("H{at}"));
        let ends = [End::Slot(slot(&network, 0, at, 0)), End::Host(host)];
        network.add_link(Link { ends, speed: None, length: None })?;
    }
    for level in 0..3 {
        let place = k.pow(level);
        for at in 0..width {
            let digit = at / place % k;
            for other in 0..k {
                let above = at - digit * place + other * place;
                // Ports k and up lead up, those below lead down.
                let lower = slot(&network, level, at, k + other);
                let upper = slot(&network, level + 1, above, digit);
                let ends = [End::Slot(lower), End::Slot(upper)];
                network.add_link(Link { ends, speed: None, length: None })?;
            }
        }
    }
    Ok(network)
}
