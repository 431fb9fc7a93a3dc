//! NETWORK.toml and its path file, into the store and out of it.

use super::Failure;
use crate::network::{self, InputError};
use fabric::{Network, PathSet};
use fleet::records::NetworkFiles;
use std::fs;
use std::path::Path;
use toml_edit::{DocumentMut, value};

/// What the path file is called beside NETWORK.toml in the store.
const PATHS: &str = "paths.txt";

/// Reads NETWORK.toml and the path file that it names; both are checked.
pub(super) fn read(file: &Path) -> Result<(NetworkFiles, Network, PathSet), Failure> {
    let (config, paths) = network::load(file)?;
    let text = fs::read_to_string(file).map_err(|error| InputError::at(file, error))?;
    let mut document: DocumentMut = text
        .parse()
        .map_err(|error: toml_edit::TomlError| InputError::at(file, error.message()))?;
    let named = document.get("paths").and_then(|paths| paths.get("file"));
    let Some(named) = named.and_then(|file| file.as_str()).map(str::to_owned) else {
        return Ok((NetworkFiles { network: text, paths: None }, config.network, paths));
    };
    let beside = file.parent().unwrap_or_else(|| Path::new("")).join(named);
    let lines = fs::read_to_string(&beside).map_err(|error| InputError::at(&beside, error))?;
    document["paths"]["file"] = value(PATHS);
    let files = NetworkFiles { network: document.to_string(), paths: Some(lines) };
    Ok((files, config.network, paths))
}

/// The network that the store has.
pub(super) fn load(files: &NetworkFiles) -> Result<(Network, PathSet), Failure> {
    let unwritable = |error| Failure::Wrong(format!("no temporary folder: {error}"));
    let folder = tempfile::tempdir().map_err(unwritable)?;
    let file = folder.path().join("NETWORK.toml");
    fs::write(&file, &files.network).map_err(unwritable)?;
    if let Some(paths) = &files.paths {
        fs::write(folder.path().join(PATHS), paths).map_err(unwritable)?;
    }
    let (config, paths) = network::load(&file)?;
    Ok((config.network, paths))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_with_a_path_file_comes_back_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("n.toml");
        let network = "[[switch]]\nname = 'A'\nports = 3\n[[host]]\nname = 'H'\n[[host]]\nname = 'J'\n\
                       [[link]]\nends = ['A:1', 'H']\n[[link]]\nends = ['A:2', 'J']\n\
                       [paths]\nkind = 'file'\nfile = 'p/list.txt'\n";
        fs::write(&file, network).unwrap();
        fs::create_dir(folder.path().join("p")).unwrap();
        fs::write(folder.path().join("p/list.txt"), "H A J\n").unwrap();
        let (files, one, paths) = read(&file).unwrap();
        let (other, other_paths) = load(&files).unwrap();
        assert_eq!((one.switches(), one.hosts()), (other.switches(), other.hosts()));
        assert_eq!(paths.longest(&one), other_paths.longest(&other));
        assert_eq!(files.paths.as_deref(), Some("H A J\n"));
    }
}
