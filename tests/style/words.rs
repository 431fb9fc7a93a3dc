//! The field's words for things (`GLOSSARY.md`): a name that was replaced does not come back.

use std::fs;
use std::path::Path;
use tests::tree;

/// A replaced word, where it must not stand, and the word to use.
type Banned = (&'static str, &'static str, &'static str);

/// Whole words of code, comments aside. The scope is the start of a path; an empty one is the whole
/// workspace.
const BANNED: [Banned; 59] = [
    ("Arena", "", "FramePool"),
    ("Attention", "dataplane/", "EventDriven"),
    ("Books", "dataplane/", "Accounting"),
    ("ControlLinks", "", "ControlRings"),
    ("Crossing", "", "Run"),
    ("Doorkeeper", "", "TxGrantWriter"),
    ("Doors", "", "TxGrants"),
    ("Exchange", "dataplane/", "HandoffTx"),
    ("Fate", "", "Outcome"),
    ("Fates", "", "OutcomeGroups"),
    ("GentleForm", "", "GfcForm"),
    ("GentleSettings", "", "GfcSettings"),
    ("Held", "", "QueuedFrame"),
    ("HopClasses", "", "TtlClasses"),
    ("HopTable", "", "TtlClassTable"),
    ("Lane", "", "FrameOutcome"),
    ("Lanes", "", "IngressDrr"),
    ("Learnt", "", "Learned"),
    ("LosslessOverrun", "", "HeadroomOverrun"),
    ("LossyFull", "", "IngressLimit"),
    ("LossyTail", "", "TailDrop"),
    ("Neighbour", "", "Neighbor"),
    ("News", "dataplane/", "MacEvent"),
    ("Note", "", "FrameMeta"),
    ("NowhereToFlood", "", "NoFloodMembers"),
    ("Numbered", "", "Run"),
    ("PuntLimited", "", "PuntPoliced"),
    ("Recipe", "", "RewriteEntry"),
    ("Recipes", "", "Pairs"),
    ("Said", "dataplane/src/pfc", "PfcTxStats"),
    ("Slope", "", "RateMap"),
    ("Slots", "dataplane/", "PortMask"),
    ("Slowing", "", "RateCodes"),
    ("Staging", "", "TxBatch"),
    ("Tally", "dataplane/", "OutcomeGroup"),
    ("Way", "dataplane/", "Disposition"),
    ("announced_frames", "", "reserved_frames"),
    ("at_hand", "", "pending"),
    ("by_parts", "", "event_driven"),
    ("control_flow", "", "pfc_tx"),
    ("gentle_absent", "", "gfc_stub"),
    ("handed_over", "dataplane/", "handoff_tx"),
    ("has_told", "", "has_sent_pause"),
    ("hears_of_room", "", "awaits_tx_ready"),
    ("look_at_doors", "", "apply_tx_grants"),
    ("put_away", "", "spill_pending"),
    ("sends_for_owner_of", "", "has_tx_queue"),
    ("set_neighbour", "", "set_neighbor"),
    ("settle_lane", "", "dispatch_frame"),
    ("take_frame", "", "on_rx"),
    ("take_over", "dataplane/", "handoff_rx"),
    ("take_room", "", "on_tx_ready"),
    ("taken_over", "dataplane/", "handoff_rx"),
    ("throw_away", "", "free"),
    ("told_bits", "", "xoff_sent_bits"),
    ("told_by", "", "rates_in"),
    ("tx_alone", "", "tx_one"),
    ("tx_room_frames", "", "tx_free_frames"),
    ("way_out", "", "egress_slot"),
];

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Whether `word` stands in `line` by itself.
fn has_word(line: &str, word: &str) -> bool {
    line.split(|c: char| !is_word(c)).any(|it| it == word)
}

#[test]
fn no_replaced_word_comes_back() {
    let own = Path::new("tests/style/words.rs");
    let mut found = Vec::new();
    let sources = tree::rust_sources().unwrap();
    for (path, text) in sources.iter().filter(|(path, _)| *path != own) {
        for (number, line) in (1..).zip(text.lines()) {
            for (word, scope, instead) in BANNED {
                let code = line.split("//").next().unwrap_or_default();
                if path.starts_with(scope) && has_word(code, word) {
                    found.push(format!("{}:{number}: {word}: say {instead}", path.display()));
                }
            }
        }
    }
    assert!(found.is_empty(), "words that were replaced:\n{}", found.join("\n"));
}

#[test]
fn the_glossary_has_each_word_that_replaces_one() {
    let glossary = fs::read_to_string(tree::root().join("GLOSSARY.md")).unwrap();
    let missing: Vec<&str> = BANNED
        .iter()
        .map(|&(_, _, instead)| instead)
        .filter(|word| word.starts_with(char::is_uppercase) && !has_word(&glossary, word))
        .collect();
    assert!(missing.is_empty(), "GLOSSARY.md does not say what these are: {missing:?}");
}
