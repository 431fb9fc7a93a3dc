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
}
