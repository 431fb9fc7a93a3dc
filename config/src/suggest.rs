//! "Did you mean": what was probably meant by a word that is not known.

/// SONiC's words, and words of other switches, for what is called otherwise here.
const SYNONYMS: &[(&str, &str)] = &[
    ("static_th", "xoff"),
    ("alpha", "dynamic_th"),
    ("reserve", "size"),
    ("reserved", "size"),
    ("ports", "port"),
    ("tags", "tag"),
    ("neighbours", "neighbor"),
    ("neighbour", "neighbor"),
    ("neighbors", "neighbor"),
    ("access_vlan", "vlan"),
    ("trunk", "vlans"),
    ("native_vlan", "native"),
    ("ip", "addresses"),
    ("address", "addresses"),
    ("gateway", "via"),
    ("prefix", "to"),
];

/// The known word that `word` probably stands for, if any comes near.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = word.to_lowercase();
    let synonym = SYNONYMS.iter().find(|(other, _)| *other == lower).map(|&(_, ours)| ours);
    known
        .into_iter()
        .map(|candidate| {
            let distance = if Some(candidate) == synonym {
                0
            } else {
                strsim::damerau_levenshtein(&lower, &candidate.to_lowercase())
            };
            (distance, candidate)
        })
        .min()
        .filter(|&(distance, candidate)| distance <= 1 + candidate.len().min(word.len()) / 4)
        .map(|(_, candidate)| candidate)
}

/// Rewrites serde's "unknown field" and "unknown variant": the likely word instead of all of them;
/// and
/// "missing field", which says nothing of what to do. Any other message comes back as it is.
pub(crate) fn explain(message: &str) -> String {
    if let Some(field) = message.strip_prefix("missing field ") {
        return format!("{field} is missing here; it has no default");
    }
    let Some(rest) = message.strip_prefix("unknown ") else {
        return plain(message);
    };
    let quoted: Vec<&str> = rest.split('`').skip(1).step_by(2).collect();
    let Some((word, known)) = quoted.split_first() else {
        return message.to_owned();
    };
    let kind = rest.split(' ').next().unwrap_or("field");
    match nearest(word, known.iter().copied()) {
        Some(candidate) => format!("unknown {kind} `{word}`; did you mean `{candidate}`?"),
        None => format!("unknown {kind} `{word}`; known here: {}", known.join(", ")),
    }
}

/// The types of Rust by the names that people know.
fn plain(message: &str) -> String {
    if message == "wanted string or table" {
        return "this takes one of a few words, in quotes".to_owned();
    }
    let Some((what, expected)) = message.rsplit_once(", expected ") else {
        return message.to_owned();
    };
    let expected = match expected {
        "u64" => "a whole number that is not negative",
        "i64" => "a whole number",
        "f64" => "a number",
        "a boolean" => "true or false",
        "a string" | "path string" => "a text in quotes",
        "a sequence" => "a list in brackets",
        other => other,
    };
    format!("{what}, expected {expected}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_keyboard_is_understood_and_nonsense_is_not() {
        let known = ["priority", "size", "xoff", "xon", "xon_offset", "dynamic_th"];
        let near = |word| nearest(word, known);
        assert_eq!(near("prioirty"), Some("priority"));
        assert_eq!(near("XOFF"), Some("xoff"));
        assert_eq!(near("dynamic-th"), Some("dynamic_th"));
        assert_eq!(near("static_th"), Some("xoff"), "SONiC's word");
        assert_eq!(near("colour"), None);
        assert_eq!(nearest("x", []), None);
    }

    #[test]
    fn serdes_messages_are_shortened() {
        let message = "unknown field `naem`, expected one of `name`, `seed`, `rules`";
        assert_eq!(explain(message), "unknown field `naem`; did you mean `name`?");
        let message = "unknown field `colour`, expected `name` or `seed`";
        assert_eq!(explain(message), "unknown field `colour`; known here: name, seed");
        let message = "unknown variant `bsy`, expected `busy` or `sleep`";
        assert_eq!(explain(message), "unknown variant `bsy`; did you mean `busy`?");
        let message = "`name` is missing here; it has no default";
        assert_eq!(explain("missing field `name`"), message);
        assert_eq!(explain("duplicate key"), "duplicate key");
        let message = "invalid type: string \"x\", expected a whole number";
        assert_eq!(explain("invalid type: string \"x\", expected i64"), message);
    }
}
