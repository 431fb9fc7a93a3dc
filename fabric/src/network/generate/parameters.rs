//! The numbers of a generated network: each there if needed, in its range, and none without use.

use crate::length::Length;
use dataplane::time::Speed;

/// The most ports of all switches together: enough for 16,384 switches of 256.
const SLOTS_MAX: usize = 1 << 22;

/// A kind of network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Kind {
    /// Leaves and spines, or ToRs and leaves in pods under spines.
    Clos,
    /// The fat-tree of k-port switches.
    FatTree,
    /// A random regular graph of switches.
    Jellyfish,
    /// BCube, whose servers forward.
    Bcube,
    /// Switches in a lattice, each linked to all that differ from it in one coordinate.
    Hyperx,
    /// Switches in a lattice, each linked to the next one in each dimension, the last one to the
    /// first.
    Torus,
    /// A torus without the links from the last switch to the first.
    Mesh,
    /// Slim Fly, of diameter two.
    SlimFly,
    /// A fat-tree that wires every other pod differently.
    F10,
}

/// What a network is generated from.
#[derive(Clone, Debug)]
pub struct Parameters {
    kind: Kind,
    numbers: Vec<(&'static str, i64)>,
    shape: Option<Vec<i64>>,
    /// Of every link.
    pub speed: Option<Speed>,
    /// Of every cable.
    pub length: Option<Length>,
}

/// Why a network cannot be generated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GenerateError {
    /// A number that this kind does not take. The message goes on from the kind's name.
    #[error("takes no `{name}`; it takes {known}")]
    Unknown {
        /// The number's name.
        name: &'static str,
        /// The names that it takes.
        known: String,
    },
    /// A number that is not there. The message goes on from the kind's name.
    #[error("needs {0}")]
    Missing(String),
    /// A number is wrong: its name, and the whole message.
    #[error("{1}")]
    Wrong(&'static str, String),
    /// The network as a whole is too large: the whole message.
    #[error("{0}")]
    TooLarge(String),
}

impl GenerateError {
    pub(super) fn wrong(name: &'static str, message: impl Into<String>) -> Self {
        Self::Wrong(name, message.into())
    }
}

impl Parameters {
    /// A network of `kind` without any number.
    pub const fn new(kind: Kind) -> Self {
        Self { kind, numbers: Vec::new(), shape: None, speed: None, length: None }
    }

    /// Gives the number `name`.
    pub fn set(&mut self, name: &'static str, value: i64) {
        self.numbers.push((name, value));
    }

    /// Gives A lattice's switches along each dimension.
    pub fn set_shape(&mut self, sizes: Vec<i64>) {
        self.shape = Some(sizes);
    }

    pub(super) const fn kind(&self) -> Kind {
        self.kind
    }

    /// Refuses numbers that this kind does not take.
    pub(super) fn allow(&self, names: &[&str]) -> Result<(), GenerateError> {
        let given = self.numbers.iter().map(|&(name, _)| name);
        let mut given = given.chain(self.shape.as_ref().map(|_| "shape"));
        match given.find(|name| !names.contains(name)) {
            None => Ok(()),
            Some(name) => Err(GenerateError::Unknown { name, known: names.join(", ") }),
        }
    }

    /// A number, if it is there.
    pub(super) fn optional(
        &self,
        name: &'static str,
        least: usize,
        most: usize,
    ) -> Result<Option<usize>, GenerateError> {
        let given = self.numbers.iter().find(|(known, _)| *known == name);
        let Some(&(_, number)) = given else { return Ok(None) };
        let value = usize::try_from(number).ok().filter(|value| (least..=most).contains(value));
        value.map(Some).ok_or_else(|| {
            GenerateError::wrong(name, format!("`{name}` is {number}; use {least} to {most}"))
        })
    }

    /// A number that must be there.
    pub(super) fn need(
        &self,
        name: &'static str,
        least: usize,
        most: usize,
    ) -> Result<usize, GenerateError> {
        let missing = || GenerateError::Missing(format!("`{name}`, {least} to {most}"));
        self.optional(name, least, most)?.ok_or_else(missing)
    }

    /// An even number that must be there.
    pub(super) fn even(
        &self,
        name: &'static str,
        least: usize,
        most: usize,
    ) -> Result<usize, GenerateError> {
        let value = self.need(name, least, most)?;
        if value.is_multiple_of(2) {
            return Ok(value);
        }
        Err(GenerateError::wrong(name, format!("`{name}` is {value}; it must be even")))
    }

    /// The seed.
    pub(super) fn seed(&self) -> Result<u64, GenerateError> {
        let seed = self.optional("seed", 0, usize::MAX >> 1)?;
        Ok(seed.unwrap_or(1) as u64)
    }

    /// A lattice's switches along each dimension.
    pub(super) fn shape(&self) -> Result<Vec<usize>, GenerateError> {
        let Some(shape) = &self.shape else {
            return Err(GenerateError::Missing("`shape`, such as [4, 4]".to_owned()));
        };
        let sizes: Option<Vec<usize>> = shape
            .iter()
            .map(|&size| usize::try_from(size).ok().filter(|size| (2..=256).contains(size)))
            .collect();
        sizes.filter(|sizes| (1..=8).contains(&sizes.len())).ok_or_else(|| {
            let message = "`shape` has 1 to 8 dimensions of 2 to 256 switches, such as [4, 4]";
            GenerateError::wrong("shape", message)
        })
    }

    /// Refuses networks that would not fit in memory, before they are built. `factors` are
    /// multiplied.
    pub(super) fn check_size(&self, factors: &[usize]) -> Result<(), GenerateError> {
        let slots =
            factors.iter().try_fold(1_usize, |product, &factor| product.checked_mul(factor));
        if slots.is_some_and(|slots| slots <= SLOTS_MAX) {
            return Ok(());
        }
        let message = format!(
            "this network has more than {SLOTS_MAX} ports of switches; generate a smaller one"
        );
        Err(GenerateError::TooLarge(message))
    }
}
