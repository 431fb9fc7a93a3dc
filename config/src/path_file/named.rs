//! A file of named paths, `name: node node ...` a line, with comments after `#`.
//!
//! The nodes are those of a path file: host, switches, host, with the ingress port where two
//! switches share links, `B:3`. A path may begin or end at a switch, if its hosts do not matter.

use super::{Mistake, Word, check_end, enter, host, switch};
use crate::error::ConfigError;
use crate::names::{Names, Node};
use crate::source::Source;
use fabric::Network;
use fabric::paths::SWITCHES_MAX;
use fabric::plan::{NamedPath, Route};
use std::collections::HashSet;
use std::path::Path;

/// Reads a file of named paths. It may be empty: a network may have no paths before, or after.
///
/// # Errors
/// The first line that is no path of this network, or a name that comes twice.
pub fn load(file: &Path, network: &Network) -> Result<Vec<NamedPath>, ConfigError> {
    read(&Source::read(file)?, network)
}

/// As [`load`], of `text`, which errors will say is in `file`.
///
/// # Errors
/// As [`load`].
pub fn parse(file: &Path, text: &str, network: &Network) -> Result<Vec<NamedPath>, ConfigError> {
    read(&Source::new(file, text), network)
}

fn read(source: &Source, network: &Network) -> Result<Vec<NamedPath>, ConfigError> {
    let names = Names::of(network);
    let text = source.text();
    let place = |part: &str| part.as_ptr() as usize - text.as_ptr() as usize;
    let mut paths = Vec::new();
    let mut seen = HashSet::new();
    for line in text.lines() {
        let line = line.split('#').next().unwrap_or_default();
        if line.trim().is_empty() {
            continue;
        }
        let start = line.trim_start();
        let named = start.split_once(':').map(|(name, nodes)| (name.trim_end(), nodes));
        let named =
            named.filter(|(name, _)| !name.is_empty() && !name.contains(char::is_whitespace));
        let Some((name, nodes)) = named else {
            let message = "a path has a name; write `name: node node ...`";
            return Err(source.at(place(start)..place(start), message));
        };
        if !seen.insert(name) {
            let message = format!("there is a path `{name}` already; each needs its own name");
            return Err(source.at(place(name)..place(name), message));
        }
        let words = nodes.split_whitespace().map(|text| Word { text, at: place(text) });
        let words: Vec<Word<'_>> = words.collect();
        let route = route(network, &names, &words, place(nodes))
            .map_err(|(at, message)| source.at(at..at, message))?;
        paths.push(NamedPath { name: name.to_owned(), route });
    }
    Ok(paths)
}

/// The route that `words` name. What is wrong with no word at all is wrong at `end`.
fn route(
    network: &Network,
    names: &Names<'_>,
    words: &[Word<'_>],
    end: usize,
) -> Result<Route, Mistake> {
    let is_host = |word: &Word<'_>| matches!(names.find(word.text), Ok(Node::Host(_)));
    let (source, rest) = match words {
        [first, rest @ ..] if is_host(first) => (Some(first), rest),
        _ => (None, words),
    };
    let (target, switches) = match rest {
        [switches @ .., last] if is_host(last) => (Some(last), switches),
        _ => (None, rest),
    };
    let Some(first_word) = switches.first() else {
        let at = target.or(source).map_or(end, |word| word.at);
        let message = "a path passes a switch; write `name: host switch ... switch host`";
        return Err((at, message.to_owned()));
    };
    if switches.len() > SWITCHES_MAX {
        let message = format!("a path has {SWITCHES_MAX} switches at the most");
        return Err((switches[SWITCHES_MAX].at, message));
    }
    let (first, _) = switch(network, names, first_word)?;
    let mut seen = vec![first];
    let mut inputs = Vec::with_capacity(switches.len() - 1);
    for word in &switches[1..] {
        let (switch, input) = switch(network, names, word)?;
        if seen.contains(&switch) {
            let name = network.switch_name(switch);
            let message =
                format!("`{name}` is on this path twice; a lossless path must be free of loops");
            return Err((word.at, message));
        }
        inputs.push(enter(network, seen[seen.len() - 1], switch, input, word)?);
        seen.push(switch);
    }
    let end_at = |word: Option<&Word<'_>>, switch: u32| -> Result<Option<u32>, Mistake> {
        let Some(word) = word else { return Ok(None) };
        let slot = host(network, names, word)?;
        check_end(network, slot, switch, word, word)?;
        Ok(Some(slot))
    };
    let source = end_at(source, first)?;
    let target_word = target;
    let target = end_at(target, seen[seen.len() - 1])?;
    if let (Some(word), true) = (target_word, source.is_some() && source == target) {
        let message = format!("the path ends where it begins, at `{}`; name two hosts", word.text);
        return Err((word.at, message));
    }
    Ok(Route { source, first, inputs, target })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NETWORK: &str = r#"
        switch = [{name = "A", ports = 4}, {name = "B", ports = 4}, {name = "C", ports = 4}]
        host = [{name = "H"}, {name = "J"}]
        link = [{ends = ["A:1", "B:1"]}, {ends = ["A:2", "B:2"]}, {ends = ["B:3", "C:1"]},
                {ends = ["A:4", "H"]}, {ends = ["C:4", "J"]}]
    "#;

    fn network() -> Network {
        crate::NetworkConfig::parse(Path::new("N.toml"), NETWORK).unwrap().network
    }

    fn error(text: &str) -> String {
        parse(Path::new("OLD.txt"), text, &network()).unwrap_err().to_string()
    }

    #[test]
    fn a_line_is_a_name_and_the_nodes_in_order() {
        let network = network();
        let text = "# old\n\n p1: H A B:2 C J  # by the second link\np-2: A B\nlocal: B\n";
        let paths = parse(Path::new("OLD.txt"), text, &network).unwrap();
        let names: Vec<_> = paths.iter().map(|path| path.name.as_str()).collect();
        assert_eq!(names, ["p1", "p-2", "local"]);
        let route = &paths[0].route;
        let show = |slots: &[u32]| slots.iter().map(|&slot| network.show(slot)).collect::<Vec<_>>();
        assert_eq!(show(&route.inputs), ["B:2", "C:1"]);
        assert_eq!(show(&[route.source.unwrap(), route.target.unwrap()]), ["A:4", "C:4"]);
        let turns: Vec<_> = route.turns(&network).map(|(i, o)| show(&[i, o])).collect();
        assert_eq!(turns, [["A:4", "A:2"], ["B:2", "B:3"], ["C:1", "C:4"]]);
        assert_eq!((paths[1].route.source, paths[1].route.len()), (None, 2));
        assert_eq!(paths[2].route.waits().count(), 0);
        assert_eq!(parse(Path::new("OLD.txt"), "# none\n", &network), Ok(Vec::new()));
    }

    #[test]
    fn what_is_no_path_is_refused_at_its_place() {
        for (text, message) in [
            ("p1 A B", "OLD.txt:1:1: a path has a name; write `name: node node ...`"),
            ("H A B:1 C J", "OLD.txt:1:1: a path has a name; write `name: node node ...`"),
            (
                "p1: A B\np1: B C",
                "OLD.txt:2:1: there is a path `p1` already; each needs its own name",
            ),
            (
                "p1: H J",
                "OLD.txt:1:7: a path passes a switch; write `name: host switch ... switch host`",
            ),
            (
                "p1:",
                "OLD.txt:1:4: a path passes a switch; write `name: host switch ... switch host`",
            ),
            ("p1: A C", "OLD.txt:1:7: there is no link from `A` to `C`; a path follows links"),
            (
                "p1: A B A",
                "OLD.txt:1:9: `A` is on this path twice; a lossless path must be free of loops",
            ),
            ("p1: J A B", "OLD.txt:1:5: host `J` is not linked to `A`, but to `C`"),
            ("p1: A J C", "OLD.txt:1:7: `J` is a host; only switches forward"),
            ("p1: A B:3", "OLD.txt:1:7: `B:3` is not linked to `A`"),
        ] {
            assert_eq!(error(text), message, "{text}");
        }
        let unknown = error("p1: A D");
        assert!(unknown.starts_with("OLD.txt:1:7: ") && unknown.contains("`D`"), "{unknown}");
    }
}
