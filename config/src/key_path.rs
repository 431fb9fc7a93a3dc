//! The place of a key in a scenario: `switches.static_th`, `traffic.load`, `flow[1].rate`.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

/// A table on the way to a key: its name, and which one of several.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Step {
    name: String,
    /// Counted from 0; `None` for all of them.
    index: Option<usize>,
}

/// See the module's head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeyPath {
    tables: Vec<Step>,
    key: String,
}

/// A key of a scenario, and what it is to be.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub(crate) key: KeyPath,
    /// As TOML writes it.
    pub(crate) value: String,
}

/// What keys that the campaign sets itself are to be replaced by.
const TAKEN: [(&str, &str); 4] = [
    ("seed", "write `seeds = N`"),
    ("scheme.kind", "write `schemes = [...]`"),
    ("name", "it is what the results are called by"),
    ("about", "it changes nothing"),
];

impl fmt::Display for KeyPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Step { name, index } in &self.tables {
            match index {
                Some(index) => write!(f, "{name}[{index}].")?,
                None => write!(f, "{name}.")?,
            }
        }
        f.write_str(&self.key)
    }
}

impl KeyPath {
    /// From `text`; `Err` is the whole message.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        const RIGHT: &str = "write tables and a key with dots between, such as switches.static_th";
        if let Some((_, instead)) = TAKEN.iter().find(|(key, _)| *key == text) {
            return Err(format!("`{text}` is no parameter; {instead}"));
        }
        let step = |part: &str| {
            let (name, index) = match part.strip_suffix(']').map(|part| part.split_once('[')) {
                None => (part, None),
                Some(Some((name, index))) => (name, Some(index.parse().ok()?)),
                Some(None) => return None,
            };
            let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
            let is_name = !name.is_empty() && name.chars().all(is_bare);
            is_name.then(|| Step { name: name.to_owned(), index })
        };
        let steps: Option<Vec<Step>> = text.split('.').map(step).collect();
        match steps.map(|mut steps| (steps.pop(), steps)) {
            Some((Some(Step { name: key, index: None }), tables)) => Ok(Self { tables, key }),
            _ => Err(format!("`{text}` is no key of a scenario; {RIGHT}")),
        }
    }

    /// Sets the key in `root` to `value`, the text of a TOML value. `Err` is where it does not fit,
    /// and why.
    pub(crate) fn set<'a>(
        &self,
        root: &mut DeTable<'a>,
        value: &'a str,
    ) -> Result<(), (Range<usize>, String)> {
        self.set_below(&self.tables, root, 0..0, value)
    }

    fn set_below<'a>(
        &self,
        steps: &[Step],
        table: &mut DeTable<'a>,
        place: Range<usize>,
        value: &'a str,
    ) -> Result<(), (Range<usize>, String)> {
        let Some((step, rest)) = steps.split_first() else {
            return self.set_in(table, place, value);
        };
        let name = &step.name;
        if !table.contains_key(name.as_str()) && step.index.is_none() {
            let empty = DeValue::Table(DeTable::new());
            table.insert(named(name, &place), Spanned::new(place.clone(), empty));
        }
        let Some(below) = table.get_mut(name.as_str()) else {
            return Err((place, format!("there is no [[{name}]] here for `{self}`")));
        };
        let span = below.span();
        match (below.get_mut(), step.index) {
            (DeValue::Table(below), None) => self.set_below(rest, below, span, value),
            (DeValue::Array(all), index) => {
                let count = all.len();
                let chosen =
                    all.iter_mut().enumerate().filter(|(at, _)| index.is_none_or(|i| i == *at));
                let mut is_set = false;
                for (_, one) in chosen {
                    is_set = true;
                    let span = one.span();
                    let DeValue::Table(below) = one.get_mut() else {
                        return Err((
                            span,
                            format!("`{name}` is no list of tables, as `{self}` needs"),
                        ));
                    };
                    self.set_below(rest, below, span, value)?;
                }
                if is_set {
                    return Ok(());
                }
                Err((
                    span,
                    format!("there are {count} [[{name}]] here, counted from 0, for `{self}`"),
                ))
            }
            _ => Err((span, format!("`{name}` is no table here, as `{self}` needs"))),
        }
    }

    fn set_in<'a>(
        &self,
        table: &mut DeTable<'a>,
        place: Range<usize>,
        value: &'a str,
    ) -> Result<(), (Range<usize>, String)> {
        // What is wrong with the value is said of the place that it takes.
        let place = table.get(self.key.as_str()).map_or(place, Spanned::span);
        let parsed = DeValue::parse(value).map_err(|error| (place.clone(), error.to_string()))?;
        let value = Spanned::new(place.clone(), moved(parsed.into_inner(), &place));
        table.insert(named(&self.key, &place), value);
        Ok(())
    }
}

fn named<'a>(name: &str, place: &Range<usize>) -> Spanned<Cow<'a, str>> {
    Spanned::new(place.clone(), Cow::Owned(name.to_owned()))
}

/// The value with all that is in it at `place`.
fn moved<'a>(value: DeValue<'a>, place: &Range<usize>) -> DeValue<'a> {
    let DeValue::Array(all) = value else { return value };
    let mut array = DeArray::new();
    for one in all {
        array.push(Spanned::new(place.clone(), moved(one.into_inner(), place)));
    }
    DeValue::Array(array)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(path: &str, value: &str, text: &str) -> Result<toml::Value, String> {
        let path = KeyPath::parse(path)?;
        let mut tables = DeTable::parse(text).unwrap();
        path.set(tables.get_mut(), value)
            .map_err(|(at, message)| format!("{}: {message}", at.start))?;
        let read =
            <toml::Value as serde::Deserialize>::deserialize(toml::Deserializer::from(tables));
        read.map_err(|error| error.to_string())
    }

    fn table(text: &str) -> Result<toml::Value, String> {
        Ok(toml::Value::Table(text.parse().unwrap()))
    }

    #[test]
    fn a_key_is_set_in_its_table_which_is_made_if_there_is_none() {
        assert_eq!(set("duration", "'2ms'", "duration = '1ms'"), table("duration = '2ms'"));
        assert_eq!(set("a.b", "1", "[a]\nc = 2"), table("[a]\nb = 1\nc = 2"));
        assert_eq!(set("a.b.c", "[1, 'x']", ""), table("[a.b]\nc = [1, 'x']"));
        assert_eq!(set("a.b", "1", "a = { b = 0 }"), table("a.b = 1"));
    }

    #[test]
    fn a_key_of_several_tables_is_set_in_each_or_in_the_one_that_is_named() {
        let two = "[[t]]\nk = 1\n[[t]]\n";
        assert_eq!(set("t.k", "5", two), table("[[t]]\nk = 5\n[[t]]\nk = 5"));
        assert_eq!(set("t[1].k", "5", two), table("[[t]]\nk = 1\n[[t]]\nk = 5"));
        let past = set("t[2].k", "5", two).unwrap_err();
        assert!(past.contains("there are 2 [[t]] here, counted from 0"), "{past}");
        assert!(set("t[0].k", "5", "").unwrap_err().contains("there is no [[t]]"));
        assert!(set("k.x", "5", "k = 1").unwrap_err().contains("`k` is no table"));
        assert!(set("k.x", "5", "k = [1]").unwrap_err().contains("no list of tables"));
    }

    #[test]
    fn what_is_no_path_is_refused() {
        for wrong in ["", ".", "a.", ".a", "a[", "a[]", "a[x].b", "a[0]", "a b", "a.[0]", "ä"] {
            let error = KeyPath::parse(wrong).unwrap_err();
            assert!(error.contains("is no key of a scenario"), "{wrong}: {error}");
        }
        for taken in ["seed", "scheme.kind", "name"] {
            assert!(KeyPath::parse(taken).unwrap_err().contains("is no parameter"), "{taken}");
        }
        for right in ["duration", "traffic[0].load", "a-b.c_d"] {
            assert_eq!(KeyPath::parse(right).unwrap().to_string(), right);
        }
    }
}
