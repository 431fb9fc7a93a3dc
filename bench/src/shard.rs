//! The shard that a bench is asked to be, of benches whose other arguments are words.

use config::Shard;
use std::error::Error;

/// The shard, by `--shard I/N` or as Slurm or Kubernetes say, and all other arguments.
///
/// # Errors
/// It is no shard, or the environment says too little.
pub fn of_arguments() -> Result<(Shard, Vec<String>), Box<dyn Error>> {
    of(std::env::args().skip(1), &|name| std::env::var(name).ok())
}

fn of(
    arguments: impl Iterator<Item = String>,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<(Shard, Vec<String>), Box<dyn Error>> {
    let (mut option, mut words) = (None, Vec::new());
    let mut arguments = arguments.peekable();
    while let Some(word) = arguments.next() {
        let value = match word.strip_prefix("--shard") {
            Some("") => arguments.next().unwrap_or_default(),
            Some(value) if value.starts_with('=') => value[1..].to_owned(),
            _ => {
                words.push(word);
                continue;
            }
        };
        option = Some(value.parse()?);
    }
    Ok((Shard::chosen(option, None, variable)?, words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shard_is_an_option_among_words() {
        let read = |line: &str| {
            of(line.split_whitespace().map(str::to_owned), &|_| None).map_err(|e| e.to_string())
        };
        let (shard, words) = read("clos --shard 2/3 vl2").unwrap();
        assert_eq!(
            (shard.to_string(), words),
            ("2/3".to_owned(), vec!["clos".into(), "vl2".into()])
        );
        assert_eq!(read("--shard=2/2").unwrap().0.to_string(), "2/2");
        assert!(read("").unwrap().0.is_whole());
        for wrong in ["--shard", "--shard=", "--shard 3/2", "--shard x"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
