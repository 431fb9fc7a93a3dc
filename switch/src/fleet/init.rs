//! `fleet init`: makes a network in the store, and users of etcd.

use super::access::AccessArgs;
use super::proof::{World, text_of};
use super::{Answer, Failure, network_files};
use clap::Args;
use fabric::Network;
use fleet::manifest::Manifest;
use fleet::{Channel, Store, users};
use serde_json::json;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// `knotless fleet init`
#[derive(Debug, Args)]
pub(super) struct InitArgs {
    /// NETWORK.toml
    file: PathBuf,
    /// Directory of the rules that the switches have now, DIR/SWITCH.json: they become revision 1
    #[arg(long, value_name = "DIR")]
    rules: Option<PathBuf>,
    /// Make a user of etcd for each switch, with the password in DIR/SWITCH.password; needs root's
    /// rights in etcd once its authentication is enabled
    #[arg(long, value_name = "DIR")]
    users: Option<PathBuf>,
}

pub(super) async fn run(access: &AccessArgs, arguments: &InitArgs) -> Result<Answer, Failure> {
    let (files, network, paths) = network_files::read(&arguments.file)?;
    let mut world = World { network, paths, texts: Default::default() };
    let mut baseline = None;
    if let Some(directory) = &arguments.rules {
        let rules = crate::network::verify::read_rules(&world.network, directory)?;
        let proof = world.prove(&rules)?;
        let switches = rules.sets().iter().map(|set| {
            let (hash, text) = text_of(set);
            world.texts.insert(hash.clone(), text);
            (set.switch.clone(), hash)
        });
        let switches = switches.collect();
        let message = "what the switches had at init".to_owned();
        let time_unix_s = super::push::time_unix_s();
        baseline = Some(Manifest {
            revision: 1,
            switches,
            proof,
            message,
            time_unix_s,
            ..Default::default()
        });
    }
    let channel = access.channel().await?;
    let mut store = Store::new(&channel, &access.network);
    store.put_rules(&world.texts).await?;
    store.init(&files, baseline.as_ref()).await?;
    let made = match &arguments.users {
        Some(folder) => add_users(&channel, &world.network, &access.network, folder).await?,
        None => 0,
    };
    let (network, switches) = (&access.network, world.network.switches());
    let revision = if baseline.is_some() { "; revision 1 is what they have" } else { "" };
    let mut text = format!("network {network}: {switches} switches{revision}");
    if made > 0 {
        text += &format!(
            "; {made} users of etcd; they count once authentication is enabled (`etcdctl auth enable`)"
        );
    }
    Ok(Answer::of(
        text,
        json!({ "network": network, "switches": switches, "users": made,
                "revision": baseline.map(|manifest| manifest.revision) }),
    ))
}

async fn add_users(
    channel: &Channel,
    network: &Network,
    name: &str,
    folder: &Path,
) -> Result<usize, Failure> {
    let unwritable = |file: &Path, error: std::io::Error| {
        Failure::Wrong(format!("{}:1:1: {error}", file.display()))
    };
    fs::create_dir_all(folder).map_err(|error| unwritable(folder, error))?;
    for switch in network.all_switches() {
        let switch = network.switch_name(switch);
        let file = folder.join(format!("{switch}.password"));
        let password = password(&file).map_err(|error| unwritable(&file, error))?;
        users::add(channel, &users::switch_rights(name, switch), &password).await?;
    }
    Ok(network.switches())
}

/// The password in `file`, or a new one that is written there for its owner alone.
fn password(file: &Path) -> std::io::Result<String> {
    if let Ok(text) = fs::read_to_string(file) {
        return Ok(text.lines().next().unwrap_or_default().to_owned());
    }
    let mut bytes = [0; 24];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    let password: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let mut new = OpenOptions::new().write(true).create_new(true).mode(0o600).open(file)?;
    writeln!(new, "{password}")?;
    Ok(password)
}
