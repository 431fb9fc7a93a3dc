//! A shard: which of several processes this one is, and so which part of the work is its own.

use std::fmt;
use std::str::FromStr;

/// The most shards that work is shared among.
const SHARDS_MAX: u64 = 1_000_000;

/// Shard `i` of `n`, written `i/n` and counted from 1. It has each `n`th piece of work from the
/// `i`th on, so that pieces that lie beside each other, which cost alike, go to different shards.
///
/// ```
/// let shard: config::Shard = "2/3".parse()?;
/// let own: Vec<u64> = (0..8).filter(|&piece| shard.has(piece)).collect();
/// assert_eq!((own, shard.to_string()), (vec![1, 4, 7], "2/3".to_owned()));
/// # Ok::<(), config::ShardError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Shard {
    /// Counted from 0.
    index: u64,
    count: u64,
}

/// What is wrong with a shard, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShardError {
    /// The text has another form.
    #[error("`{0}` is no shard; write which of how many, such as 1/4")]
    Form(String),
    /// The number is not among the shards.
    #[error("`{0}` is no shard; write 1/{1} to {1}/{1}")]
    Outside(String, u64),
    /// A variable of the environment is no number that it can be.
    #[error("{name} is `{value}`; it is a whole number from {least} to {most}")]
    Variable {
        /// Its name.
        name: &'static str,
        /// What it is.
        value: String,
        /// The least that it can be.
        least: u64,
        /// And the most.
        most: u64,
    },
    /// A variable says which shard this is, and nothing of how many there are.
    #[error(
        "{name} is set, and {missing} is not; set KNOTLESS_SHARDS, or give --shards or --shard"
    )]
    Count {
        /// The one that is set.
        name: &'static str,
        /// The one that is not.
        missing: &'static str,
    },
    /// The number of shards is known, and nothing says which one this is.
    #[error(
        "there are {0} shards, and neither SLURM_ARRAY_TASK_ID nor JOB_COMPLETION_INDEX says which \
         one this is; give --shard"
    )]
    Which(u64),
    /// The tasks of a Slurm array are not evenly apart.
    #[error(
        "the Slurm array leaves out tasks between its first and its last; set KNOTLESS_SHARDS to \
         the number of shards, and task N is then shard N, counted from 0"
    )]
    Gaps,
}

impl Default for Shard {
    /// All of the work.
    fn default() -> Self {
        Self { index: 0, count: 1 }
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index + 1, self.count)
    }
}

impl FromStr for Shard {
    type Err = ShardError;

    fn from_str(text: &str) -> Result<Self, ShardError> {
        let numbers = text.split_once('/').and_then(|(i, n)| Some((number(i)?, number(n)?)));
        match numbers {
            Some((_, 0)) | None => Err(ShardError::Form(text.to_owned())),
            Some((_, count)) if count > SHARDS_MAX => Err(ShardError::Form(text.to_owned())),
            Some((place, count)) if (1..=count).contains(&place) => {
                Ok(Self { index: place - 1, count })
            }
            Some((_, count)) => Err(ShardError::Outside(text.to_owned(), count)),
        }
    }
}

impl Shard {
    /// The shard that a process is asked to be: by an option if there is one, else by the
    /// variables that Slurm's arrays and Kubernetes' indexed Jobs set, else all of the work.
    /// `shards`, or `KNOTLESS_SHARDS`, says how many there are where the variables do not.
    ///
    /// | variable | set by |
    /// |---|---|
    /// | `SLURM_ARRAY_TASK_ID`, `_MIN`, `_MAX`, `_STEP` | `sbatch --array` |
    /// | `JOB_COMPLETION_INDEX` | a Job with `completionMode: Indexed`; counted from 0 |
    ///
    /// # Errors
    /// The variables contradict each other, or say too little.
    pub fn chosen(
        option: Option<Self>,
        shards: Option<u64>,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, ShardError> {
        if let Some(shard) = option {
            return Ok(shard);
        }
        let environment = Environment(variable);
        let count = match shards {
            None => environment.number("KNOTLESS_SHARDS", 1, SHARDS_MAX)?,
            some => some,
        };
        for name in ["SLURM_ARRAY_TASK_ID", "JOB_COMPLETION_INDEX"] {
            let most = count.unwrap_or(1 << 32).saturating_sub(1);
            let Some(index) = environment.number(name, 0, most)? else { continue };
            return match count {
                Some(count) => Ok(Self { index, count }),
                None if name == "SLURM_ARRAY_TASK_ID" => environment.slurm(index),
                None => Err(ShardError::Count { name, missing: "the number of shards" }),
            };
        }
        match count {
            None | Some(1) => Ok(Self::default()),
            Some(count) => Err(ShardError::Which(count)),
        }
    }

    /// Whether this piece of the work, by its place among all of them, belongs to the shard.
    pub const fn has(self, piece: u64) -> bool {
        piece % self.count == self.index
    }

    /// How many shards there are.
    pub const fn count(self) -> u64 {
        self.count
    }

    /// Whether the shard is all of the work.
    pub const fn is_whole(self) -> bool {
        self.count == 1
    }

    /// A part of a file's name: nothing of all of the work, or `-2-of-3`.
    pub fn suffix(self) -> String {
        if self.is_whole() {
            return String::new();
        }
        format!("-{}-of-{}", self.index + 1, self.count)
    }
}

/// Digits alone.
fn number(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

/// The variables of a process.
struct Environment<'a>(&'a dyn Fn(&str) -> Option<String>);

impl Environment<'_> {
    /// A variable that is a number, if it is set.
    fn number(&self, name: &'static str, least: u64, most: u64) -> Result<Option<u64>, ShardError> {
        let Some(value) = (self.0)(name) else { return Ok(None) };
        match number(&value).filter(|number| (least..=most).contains(number)) {
            Some(number) => Ok(Some(number)),
            None => Err(ShardError::Variable { name, value, least, most }),
        }
    }

    /// The shard of a task of an array, by the array's first and last task.
    fn slurm(&self, id: u64) -> Result<Shard, ShardError> {
        let most = u64::from(u32::MAX);
        let value = |missing: &'static str| {
            let absent = ShardError::Count { name: "SLURM_ARRAY_TASK_ID", missing };
            self.number(missing, 0, most)?.ok_or(absent)
        };
        let count = value("SLURM_ARRAY_TASK_COUNT")?;
        let (first, last) = (value("SLURM_ARRAY_TASK_MIN")?, value("SLURM_ARRAY_TASK_MAX")?);
        let step = self.number("SLURM_ARRAY_TASK_STEP", 1, most)?.unwrap_or(1);
        let places = last.checked_sub(first).map(|span| span / step + 1);
        let index = id.checked_sub(first).filter(|past| past.is_multiple_of(step));
        match index.map(|past| past / step) {
            Some(index) if places == Some(count) && index < count => Ok(Shard { index, count }),
            _ => Err(ShardError::Gaps),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn chosen(variables: &[(&str, &str)], shards: Option<u64>) -> Result<String, ShardError> {
        let get = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        Shard::chosen(None, shards, &get).map(|shard| shard.to_string())
    }

    fn slurm(id: &str, count: &str, first: &str, last: &str) -> Result<String, ShardError> {
        chosen(
            &[
                ("SLURM_ARRAY_TASK_ID", id),
                ("SLURM_ARRAY_TASK_COUNT", count),
                ("SLURM_ARRAY_TASK_MIN", first),
                ("SLURM_ARRAY_TASK_MAX", last),
            ],
            None,
        )
    }

    #[test]
    fn a_shard_is_which_of_how_many() {
        for right in ["1/1", "1/4", "4/4", "1000000/1000000"] {
            assert_eq!(right.parse::<Shard>().unwrap().to_string(), right);
        }
        for wrong in ["", "1", "/", "1/", "/4", "1/0", "a/4", "+1/4", "1/4/4", " 1/4", "1/2000000"]
        {
            assert_eq!(wrong.parse::<Shard>(), Err(ShardError::Form(wrong.to_owned())), "{wrong}");
        }
        for outside in ["0/4", "5/4"] {
            let error = outside.parse::<Shard>().unwrap_err().to_string();
            assert_eq!(error, format!("`{outside}` is no shard; write 1/4 to 4/4"));
        }
    }

    #[test]
    fn a_task_of_an_array_is_a_shard_wherever_the_array_begins() {
        assert_eq!(slurm("0", "4", "0", "3"), Ok("1/4".to_owned()));
        assert_eq!(slurm("4", "4", "1", "4"), Ok("4/4".to_owned()));
        assert_eq!(slurm("3", "3", "0", "7"), Err(ShardError::Gaps));
        assert_eq!(slurm("9", "4", "0", "3"), Err(ShardError::Gaps));
        let stepped = [
            ("SLURM_ARRAY_TASK_ID", "4"),
            ("SLURM_ARRAY_TASK_COUNT", "3"),
            ("SLURM_ARRAY_TASK_MIN", "0"),
            ("SLURM_ARRAY_TASK_MAX", "5"),
            ("SLURM_ARRAY_TASK_STEP", "2"),
        ];
        assert_eq!(chosen(&stepped, None), Ok("3/3".to_owned()));
        let alone = [("SLURM_ARRAY_TASK_ID", "3")];
        assert!(matches!(chosen(&alone, None), Err(ShardError::Count { .. })));
        // One task of eight, submitted again by itself.
        assert_eq!(chosen(&alone, Some(8)), Ok("4/8".to_owned()));
    }

    #[test]
    fn an_indexed_job_needs_the_number_of_its_completions() {
        let index = ("JOB_COMPLETION_INDEX", "0");
        assert_eq!(chosen(&[index], Some(3)), Ok("1/3".to_owned()));
        assert_eq!(chosen(&[index, ("KNOTLESS_SHARDS", "3")], None), Ok("1/3".to_owned()));
        assert!(matches!(chosen(&[index], None), Err(ShardError::Count { .. })));
        let past = chosen(&[("JOB_COMPLETION_INDEX", "3")], Some(3)).unwrap_err().to_string();
        assert_eq!(past, "JOB_COMPLETION_INDEX is `3`; it is a whole number from 0 to 2");
    }

    #[test]
    fn without_any_of_them_the_work_is_whole() {
        assert_eq!(chosen(&[], None), Ok("1/1".to_owned()));
        assert_eq!(chosen(&[], Some(4)), Err(ShardError::Which(4)));
        for wrong in ["", "0", "-1", "four", "99999999999999999999"] {
            let error = chosen(&[("KNOTLESS_SHARDS", wrong)], None).unwrap_err();
            assert!(matches!(error, ShardError::Variable { .. }), "{wrong}: {error}");
        }
        let option = Some("2/2".parse().unwrap());
        let array = |_: &str| Some("7".to_owned());
        assert_eq!(Shard::chosen(option, None, &array).unwrap().to_string(), "2/2");
    }

    proptest! {
        #[test]
        fn each_piece_belongs_to_one_shard_and_shares_differ_by_one(count in 1_u64..40, pieces in 0_u64..200) {
            let mut most_and_least = (0, u64::MAX);
            let mut all = 0;
            for index in 0..count {
                let own = (0..pieces).filter(|&piece| Shard { index, count }.has(piece)).count() as u64;
                most_and_least = (own.max(most_and_least.0), own.min(most_and_least.1));
                all += own;
            }
            prop_assert_eq!(all, pieces);
            prop_assert!(most_and_least.0 - most_and_least.1 <= 1);
            let owners = (0..count).filter(|&index| Shard { index, count }.has(pieces));
            prop_assert_eq!(owners.count(), 1);
        }
    }
}
