//! `[fleet]`: the store that the switch takes its rules from.

use super::schema::SwitchFile;
use crate::error::ConfigError;
use crate::names::is_in_names;
use crate::source::Source;
use std::path::PathBuf;
use std::time::Duration;
use toml::Spanned;

/// How long a switch that starts waits for the store by default.
const START_WAIT: Duration = Duration::from_secs(3);

/// The store, and how it is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fleet {
    /// The network's name in the store.
    pub network: String,
    /// URLs of the members.
    pub endpoints: Vec<String>,
    /// The certificate of the authority that signed those of the members.
    pub ca: Option<PathBuf>,
    /// The switch's own certificate, and its key.
    pub identity: Option<(PathBuf, PathBuf)>,
    /// The user, and the file with the password.
    pub user: Option<(String, PathBuf)>,
    /// How long the switch waits for the store when it starts.
    pub start_wait: Duration,
}

/// The store, if there is a `[fleet]`.
///
/// # Errors
/// A name or a URL is none, or one of two keys that belong together is missing.
pub(super) fn build(source: &Source, file: &SwitchFile) -> Result<Option<Fleet>, ConfigError> {
    let Some(field) = &file.fleet else { return Ok(None) };
    let table = field.get_ref();
    let wrong = |span, message: &str| source.at(span, message);
    if let Some(field) = &file.fabric {
        let message = "the switch learns its rules by `[fabric]`, and `[fleet]` would give it others; \
                       keep one";
        return Err(wrong(field.span(), message));
    }
    check_network(source, &table.network)?;
    if table.endpoints.get_ref().is_empty() {
        return Err(wrong(table.endpoints.span(), "`endpoints` is empty; list the URLs of etcd"));
    }
    for endpoint in table.endpoints.get_ref() {
        let text = endpoint.get_ref();
        let host = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
        if host.is_none_or(str::is_empty) {
            let message = format!("`{text}` is no URL; write \"http://ADDRESS:2379\", or https");
            return Err(source.at(endpoint.span(), message));
        }
    }
    let path = |field: &Spanned<PathBuf>| source.resolve(field.get_ref());
    let identity = match (&table.certificate, &table.key) {
        (Some(certificate), Some(key)) => Some((path(certificate), path(key))),
        (None, None) => None,
        (Some(one), None) | (None, Some(one)) => {
            return Err(wrong(one.span(), "`certificate` and `key` belong together; give both"));
        }
    };
    let user = match (&table.user, &table.password_file) {
        (Some(user), Some(file)) => Some((user.get_ref().clone(), path(file))),
        (None, None) => None,
        (Some(user), None) => {
            return Err(wrong(user.span(), "`user` needs a `password_file`"));
        }
        (None, Some(file)) => return Err(wrong(file.span(), "`password_file` needs a `user`")),
    };
    let start_wait = table.start_wait.as_ref();
    Ok(Some(Fleet {
        network: table.network.get_ref().clone(),
        endpoints: table.endpoints.get_ref().iter().map(|it| it.get_ref().clone()).collect(),
        ca: table.ca.as_ref().map(path),
        identity,
        user,
        start_wait: start_wait.map_or(START_WAIT, |it| Duration::from_nanos(it.get_ref().0)),
    }))
}

fn check_network(source: &Source, name: &Spanned<String>) -> Result<(), ConfigError> {
    let text = name.get_ref();
    if is_network_name(text) {
        return Ok(());
    }
    let message =
        format!("`{text}` is no name of a network; use 1 to 63 letters, digits, `-`, `_` and `.`");
    Err(source.at(name.span(), message))
}

/// Whether this names a network in the store.
pub fn is_network_name(text: &str) -> bool {
    (1..=63).contains(&text.len()) && text.chars().all(is_in_names)
}

#[cfg(test)]
mod tests {
    use crate::SwitchConfig;
    use std::path::Path;

    fn message(table: &str) -> String {
        let port =
            "[[port]]\ndevice = 'net_tap0,iface=a'\naddresses = ['10.0.1.1/24']\nspeed = '1G'";
        let text = format!("name = 's1'\n[fleet]\n{table}\n{port}\n");
        SwitchConfig::parse(Path::new("s1.toml"), &text).unwrap_err().to_string()
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        let endpoints = "endpoints = ['http://a:1']";
        for (table, place, reason) in [
            (format!("network = 'a/b'\n{endpoints}"), "3:11", "no name of a network"),
            ("network = 'a'\nendpoints = []".into(), "4:13", "list the URLs"),
            ("network = 'a'\nendpoints = ['a:2379']".into(), "4:14", "no URL"),
            (format!("network = 'a'\n{endpoints}\nkey = 'k'"), "5:7", "belong together"),
            (format!("network = 'a'\n{endpoints}\nuser = 'u'"), "5:8", "needs a `password_file`"),
            (format!("network = 'a'\n{endpoints}\npassword_file = 'p'"), "5:17", "needs a `user`"),
        ] {
            let found = message(&table);
            assert!(found.starts_with(&format!("s1.toml:{place}: ")), "{found}");
            assert!(found.contains(reason), "{found}");
        }
    }
}
