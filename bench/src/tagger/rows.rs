//! The rows: networks of the Tagger paper's evaluation (section VIII-C), its figures, and what ours
//! must reach.

/// One network with its paths.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    /// `[generate]`, line by line.
    generate: &'static str,
    /// `[paths]`, line by line.
    paths: &'static str,
    /// The Tagger paper's priorities, most entries, and time.
    pub(crate) paper: (&'static str, &'static str, &'static str),
    /// Priorities at the most.
    pub(crate) must_priorities: usize,
    /// Entries of a switch at the most.
    pub(crate) must_rules: usize,
    /// Time at the most, where it matters.
    pub(crate) must_seconds: Option<f64>,
    /// Whether Algorithm 2 is run as well.
    pub(crate) with_greedy: bool,
}

impl Row {
    /// The text of its NETWORK.toml.
    pub(crate) fn network(&self) -> String {
        format!("[generate]\n{}\n[paths]\n{}\n", self.generate, self.paths)
    }
}

const fn row(
    name: &'static str,
    generate: &'static str,
    paths: &'static str,
    paper: (&'static str, &'static str, &'static str),
    must: (usize, usize),
) -> Row {
    Row {
        name,
        generate,
        paths,
        paper,
        must_priorities: must.0,
        must_rules: must.1,
        must_seconds: None,
        with_greedy: true,
    }
}

const TREES: &str = "kind = 'shortest-trees'";

pub(crate) const ROWS: [Row; 22] = [
    row(
        "triangle (Fig. 5)",
        "kind = 'hyperx'\nshape = [3]",
        "kind = 'all-simple'",
        ("2", "8", "-"),
        (2, 4),
    ),
    row(
        "Clos, 1 bounce (Fig. 6)",
        "kind = 'clos'\npods = 2\ntors = 2\nleaves = 2\nspines = 2\nhosts = 4",
        "kind = 'up-down'\nbounces = 1",
        ("3, optimum 2", "-", "-"),
        (2, 4),
    ),
    row(
        "leaf-spine 32 x 16, 3 bounces",
        "kind = 'clos'\nleaves = 32\nspines = 16\nhosts = 16",
        "kind = 'up-down'\nbounces = 3",
        ("4", "-", "-"),
        (4, 8),
    ),
    Row {
        with_greedy: false,
        ..row(
            "fat-tree k = 16, 2 bounces",
            "kind = 'fat-tree'\nk = 16",
            "kind = 'up-down'\nbounces = 2",
            ("3", "-", "-"),
            (3, 6),
        )
    },
    row(
        "Jellyfish 100",
        "kind = 'jellyfish'\nswitches = 100\nports = 32\nnetwork_ports = 16",
        TREES,
        ("2", "40", "-"),
        (2, 6),
    ),
    row(
        "Jellyfish 500",
        "kind = 'jellyfish'\nswitches = 500\nports = 64\nnetwork_ports = 32",
        TREES,
        ("3", "76", "-"),
        (2, 6),
    ),
    Row {
        with_greedy: false,
        ..row(
            "Jellyfish 1,000",
            "kind = 'jellyfish'\nswitches = 1000\nports = 64\nnetwork_ports = 32",
            TREES,
            ("3", "88", "-"),
            (2, 6),
        )
    },
    Row {
        with_greedy: false,
        ..row(
            "Jellyfish 2,000",
            "kind = 'jellyfish'\nswitches = 2000\nports = 64\nnetwork_ports = 32",
            TREES,
            ("3", "98", "-"),
            (2, 6),
        )
    },
    Row {
        with_greedy: false,
        ..row(
            "Jellyfish 2,000 + 20,000 random",
            "kind = 'jellyfish'\nswitches = 2000\nports = 64\nnetwork_ports = 32",
            "kind = 'shortest-trees'\nrandom = 20000",
            ("4", "135", "-"),
            (3, 8),
        )
    },
    Row {
        with_greedy: false,
        ..row(
            "the same, over 5 switches each",
            "kind = 'jellyfish'\nswitches = 2000\nports = 64\nnetwork_ports = 32",
            "kind = 'shortest-trees'\nrandom = 20000\nrandom_switches = 5",
            ("4", "135", "-"),
            (3, 8),
        )
    },
    Row {
        with_greedy: false,
        ..row(
            "the same, over 6 switches each",
            "kind = 'jellyfish'\nswitches = 2000\nports = 64\nnetwork_ports = 32",
            "kind = 'shortest-trees'\nrandom = 20000\nrandom_switches = 6",
            ("4", "135", "-"),
            (3, 8),
        )
    },
    Row {
        with_greedy: false,
        ..row(
            "BCube(8,3), 4 shortest",
            "kind = 'bcube'\nn = 8\nk = 3",
            "kind = 'k-shortest'\nk = 4",
            ("4", "41", "-"),
            (4, 8),
        )
    },
    Row {
        with_greedy: false,
        ..row(
            "F10 of 64 ports, 1 bounce",
            "kind = 'f10'\nk = 64",
            "kind = 'up-down'\nbounces = 1",
            ("2", "164", "-"),
            (2, 32),
        )
    },
    row(
        "Jellyfish 100, 16 shortest",
        "kind = 'jellyfish'\nswitches = 100\nports = 32\nnetwork_ports = 16",
        "kind = 'k-shortest'\nk = 16",
        ("2", "47", "-"),
        (2, 9),
    ),
    Row {
        must_seconds: Some(40.0),
        with_greedy: false,
        ..row(
            "Jellyfish 10,000",
            "kind = 'jellyfish'\nswitches = 10000\nports = 64\nnetwork_ports = 32",
            TREES,
            ("-", "-", "19.6 h"),
            (3, 8),
        )
    },
    Row {
        must_seconds: Some(40.0),
        with_greedy: false,
        ..row(
            "another Jellyfish 10,000",
            "kind = 'jellyfish'\nswitches = 10000\nports = 64\nnetwork_ports = 32\nseed = 2",
            TREES,
            ("-", "-", "-"),
            (3, 8),
        )
    },
    Row {
        with_greedy: false,
        ..row(
            "leaf-spine 4 x 2, 2 bounces",
            "kind = 'clos'\nleaves = 4\nspines = 2",
            "kind = 'up-down'\nbounces = 2",
            ("-", "-", "-"),
            (2, 8),
        )
    },
    Row {
        with_greedy: false,
        ..row(
            "leaf-spine 4 x 2, 4 bounces",
            "kind = 'clos'\nleaves = 4\nspines = 2",
            "kind = 'up-down'\nbounces = 4",
            ("-", "-", "-"),
            (3, 10),
        )
    },
    Row {
        with_greedy: false,
        ..row(
            "leaf-spine 4 x 3, 3 bounces",
            "kind = 'clos'\nleaves = 4\nspines = 3",
            "kind = 'up-down'\nbounces = 3",
            ("-", "-", "-"),
            (3, 12),
        )
    },
    Row {
        with_greedy: false,
        ..row(
            "mesh 7 x 7, all shortest",
            "kind = 'mesh'\nshape = [7, 7]",
            "kind = 'shortest'",
            ("-", "-", "-"),
            (2, 10),
        )
    },
    Row {
        with_greedy: false,
        ..row(
            "torus 5 x 5 x 5",
            "kind = 'torus'\nshape = [5, 5, 5]",
            "kind = 'shortest-trees'",
            ("-", "-", "-"),
            (3, 16),
        )
    },
    Row {
        with_greedy: false,
        ..row(
            "torus 10 x 10, all shortest",
            "kind = 'torus'\nshape = [10, 10]",
            "kind = 'shortest'",
            ("-", "-", "-"),
            (4, 24),
        )
    },
];
