//! Whole screens, to the character; colors; and that no input makes drawing fail.

use super::*;
use crate::control::stats::{LldpPortStats, LldpStats, Origin, Stats, Wait};
use crate::top::fixture::{in_trouble, many, port, switch};
use crate::top::history::History;
use crate::top::input::{Action, Sort};
use proptest::prelude::*;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::style::{Color, Modifier};
use serde_json::Value;

fn view_of((before, now): (Stats, Stats)) -> View {
    let mut history = History::default();
    history.take(before);
    history.take(now);
    history.view().unwrap()
}

fn drawn(screen: &Screen<'_>, width: u16, height: u16) -> (Buffer, Extent) {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    let mut extent = Extent::default();
    terminal.draw(|frame| extent = draw(frame, screen)).unwrap();
    (terminal.backend().buffer().clone(), extent)
}

fn lines(buffer: &Buffer) -> Vec<String> {
    let width = usize::from(buffer.area.width);
    let rows = buffer.content.chunks(width);
    rows.map(|row| row.iter().map(|cell| cell.symbol()).collect::<String>()).collect()
}

fn show(view: &View, choices: &Choices, width: u16, height: u16) -> Vec<String> {
    let screen = Screen { view: Some(view), waiting: None, choices };
    let shown = lines(&drawn(&screen, width, height).0);
    shown.iter().map(|line| line.trim_end().to_owned()).collect()
}

#[track_caller]
fn assert_picture(shown: &[String], wanted: &str) {
    assert_eq!(shown, wanted.lines().collect::<Vec<_>>(), "\n{}\n", shown.join("\n"));
}

/// The style of the first cell of `text`.
#[track_caller]
fn style_of(buffer: &Buffer, text: &str) -> (Color, Color, Modifier) {
    for (row, line) in lines(buffer).iter().enumerate() {
        if let Some(column) = line.find(text) {
            let cell = &buffer.content[row * usize::from(buffer.area.width) + column];
            return (cell.fg, cell.bg, cell.modifier);
        }
    }
    panic!("`{text}` is not there:\n{}", lines(buffer).join("\n"));
}

#[test]
fn trouble_on_80_by_24() {
    let shown = show(&view_of(in_trouble()), &Choices::default(), 80, 24);
    assert_picture(&shown, include_str!("pictures/trouble-80x24.txt"));
}

#[test]
fn trouble_on_120_by_40() {
    let shown = show(&view_of(in_trouble()), &Choices::default(), 120, 40);
    assert_picture(&shown, include_str!("pictures/trouble-120x40.txt"));
}

/// [`in_trouble`], but with the peer of `up1` pausing it for good: frames of `h1` wait there.
fn in_a_knot() -> (Stats, Stats) {
    let (before, mut now) = in_trouble();
    now.ports[1].queues[3].rx_paused = true;
    let came_in = |port: usize, name: &str, paused_for_ns| Origin {
        port,
        name: name.to_owned(),
        priority: 3,
        paused: paused_for_ns > 0,
        paused_for_ns,
    };
    now.waits = vec![Wait {
        port: 2,
        name: "up1".to_owned(),
        priority: 3,
        frames: 408,
        bytes: 612_000,
        paused_for_ns: 3_210_000_000,
        origins: vec![came_in(1, "h1", 3_100_000_000), came_in(3, "up2", 0)],
        ..Wait::default()
    }];
    (before, now)
}

#[test]
fn a_knot_on_80_by_24() {
    let shown = show(&view_of(in_a_knot()), &Choices::default(), 80, 24);
    assert_picture(&shown, include_str!("pictures/knot-80x24.txt"));
}

#[test]
fn a_switch_without_traffic_is_a_line_for_each_port() {
    let idle = || switch(5, vec![port(1, "h1"), port(2, "up1")]);
    let mut later = idle();
    later.uptime_ns += 500_000_000;
    let shown = show(&view_of((idle(), later)), &Choices::default(), 80, 12);
    assert_picture(&shown, include_str!("pictures/idle-80x12.txt"));
}

#[test]
fn help_on_80_by_24() {
    let choices = Choices { help: true, ..Choices::default() };
    let shown = show(&view_of(in_trouble()), &choices, 80, 24);
    assert_picture(&shown, include_str!("pictures/help-80x24.txt"));
}

#[test]
fn lossless_drops_are_white_on_red_from_edge_to_edge() {
    let view = view_of(in_trouble());
    let screen = Screen { view: Some(&view), waiting: None, choices: &Choices::default() };
    let (buffer, _) = drawn(&screen, 80, 24);
    let broken = (Color::White, Color::Red, Modifier::BOLD);
    for column in 0..80 {
        let cell = &buffer[(column, 1)];
        assert_eq!((cell.fg, cell.bg, cell.modifier), broken, "column {column}");
    }
    assert_eq!(style_of(&buffer, "LOST 17"), broken);
    assert_eq!(style_of(&buffer, "headroom_overrun"), broken);

    let fine = view_of(many(1));
    let screen = Screen { view: Some(&fine), waiting: None, choices: &Choices::default() };
    let (buffer, _) = drawn(&screen, 80, 24);
    assert_eq!(
        style_of(&buffer, "lossless drops 0"),
        (Color::Green, Color::Reset, Modifier::empty())
    );
    assert!(buffer.content.iter().all(|cell| cell.bg != Color::Red));
}

#[test]
fn what_is_new_and_what_is_paused_stands_out() {
    let view = view_of(in_trouble());
    let screen = Screen { view: Some(&view), waiting: None, choices: &Choices::default() };
    let (buffer, _) = drawn(&screen, 80, 24);
    let notable = (Color::Yellow, Color::Reset, Modifier::BOLD);
    assert_eq!(style_of(&buffer, "XOFF"), notable);
    assert_eq!(style_of(&buffer, "+12.0k"), notable);
    assert_eq!(style_of(&buffer, "down"), notable);
    assert_eq!(style_of(&buffer, "+8"), (Color::Red, Color::Reset, Modifier::BOLD));
    assert_eq!(style_of(&buffer, "XON"), (Color::Reset, Color::Reset, Modifier::empty()));
}

#[test]
fn a_frame_imbalance_is_white_on_red_as_lossless_drops_are() {
    let (before, mut now) = many(1);
    now.totals.imbalance = -3;
    let view = view_of((before, now));
    let screen = Screen { view: Some(&view), waiting: None, choices: &Choices::default() };
    let (buffer, _) = drawn(&screen, 80, 24);
    assert_eq!(style_of(&buffer, "IMBALANCE -3"), (Color::White, Color::Red, Modifier::BOLD));
}

#[test]
fn sixty_four_ports_scroll_from_the_first_to_the_last() {
    let view = view_of(many(64));
    let mut choices = Choices::default();
    let screen = Screen { view: Some(&view), waiting: None, choices: &choices };
    let (buffer, extent) = drawn(&screen, 80, 24);
    let first = lines(&buffer);
    assert_eq!(extent, Extent { lines: 128, page: 15 });
    assert!(first[8].starts_with("1 p1 ") && first[22].starts_with("8 p8 "), "{first:#?}");
    assert!(first[23].ends_with(" 1-15 of 128 "), "{}", first[23]);

    choices.apply(Action::Bottom, extent);
    let last = show(&view, &choices, 80, 24);
    assert!(last[21].starts_with("64 p64 ") && last[22].starts_with("  3 lossless "), "{last:#?}");
    assert!(last[23].ends_with(" 114-128 of 128"), "{}", last[23]);

    // Of all that there is nothing may be cut off but the end.
    for width in [80, 120] {
        let lines = all_lines(&view, &choices, width);
        assert!(lines.iter().all(|line| line.width() <= width), "{width}");
    }
}

#[test]
fn what_no_longer_fits_is_not_scrolled_out_of_sight() {
    let view = view_of(many(64));
    let choices = Choices { scroll: 120, ..Choices::default() };
    let shown = show(&view, &choices, 80, 200);
    assert!(shown[8].starts_with("1 p1 "), "{}", shown[8]);
}

#[test]
fn ports_can_be_sorted() {
    let names = |view: &View, sort| -> Vec<String> {
        let choices = Choices { sort, drops: false, ..Choices::default() };
        let lines = all_lines(view, &choices, 80).into_iter().map(|line| line.to_string());
        let ports = lines.skip(8).filter(|line| !line.starts_with(' '));
        ports.map(|line| line.split_whitespace().nth(1).unwrap().to_owned()).collect()
    };
    let most = names(&view_of(many(64)), Sort::Received);
    assert_eq!((&*most[0], &*most[63]), ("p64", "p1"));
    let (before, mut now) = in_trouble();
    now.ports[2].drops.insert("no_route".to_owned(), 1_000_000);
    let view = view_of((before, now));
    assert_eq!(names(&view, Sort::Number), ["h1", "up1", "up2"]);
    assert_eq!(names(&view, Sort::Sent), ["up1", "h1", "up2"]);
    assert_eq!(names(&view, Sort::Paused), ["h1", "up1", "up2"]);
    assert_eq!(names(&view, Sort::Dropped), ["h1", "up2", "up1"], "a lossless frame weighs most");
}

#[test]
fn drops_and_quiet_classes_are_shown_as_chosen() {
    let view = view_of(in_trouble());
    let count = |choices: Choices| all_lines(&view, &choices, 80).len();
    let default = count(Choices::default());
    assert_eq!(count(Choices { drops: false, ..Choices::default() }), default - 3);
    assert_eq!(count(Choices { quiet: true, ..Choices::default() }), default + 6 + 7 + 8);
}

#[test]
fn a_switch_that_is_gone_is_waited_for() {
    let choices = Choices::default();
    let why = "no switch listens on /run/knotless/leaf1.sock";
    let screen = Screen { view: None, waiting: Some(why), choices: &choices };
    let shown = lines(&drawn(&screen, 80, 24).0);
    assert_eq!(shown[2].trim_end(), "waiting for the switch");
    assert_eq!(shown[3].trim_end(), why);

    let view = view_of(in_trouble());
    let screen = Screen { view: Some(&view), waiting: Some(why), choices: &choices };
    let (buffer, _) = drawn(&screen, 80, 24);
    let shown = lines(&buffer);
    assert_eq!(shown[0].trim_end(), format!(" waiting for the switch: {why}"));
    assert!(shown[1].starts_with("knotless 0.1.0 leaf1"), "the last that was seen stays");
    assert!(style_of(&buffer, "waiting").2.contains(Modifier::REVERSED));
}

#[test]
fn a_paused_view_is_marked() {
    let choices = Choices { paused: true, ..Choices::default() };
    let shown = show(&view_of(in_trouble()), &choices, 80, 24);
    assert!(shown[0].ends_with(" PAUSED, p resumes"), "{}", shown[0]);
}

/// Puts numbers from `numbers` in the place of those in `value`, but where the type or the place
/// has no room for all of them.
fn scramble(value: &mut Value, key: &str, numbers: &mut impl Iterator<Item = u64>) {
    match value {
        Value::Object(fields) => {
            fields.iter_mut().for_each(|(key, value)| scramble(value, key, numbers));
        }
        Value::Array(values) => {
            values.iter_mut().for_each(|value| scramble(value, key, numbers));
        }
        Value::Number(_) if matches!(key, "pid" | "worker" | "mtu" | "number" | "imbalance") => {}
        Value::Number(old) => {
            let new = numbers.next().unwrap();
            let narrow = ["viq_", "veq_", "headroom_"].iter().any(|start| key.starts_with(start))
                || matches!(key, "frames" | "bytes");
            *old = if narrow { (new >> 32).into() } else { new.into() };
        }
        _ => {}
    }
}

fn scrambled(stats: &Stats, numbers: &[u64]) -> Stats {
    let mut value = serde_json::to_value(stats).unwrap();
    scramble(&mut value, "", &mut numbers.iter().copied().cycle());
    serde_json::from_value(value).unwrap()
}

proptest! {
    /// Whatever comes over the socket, and however small the window.
    #[test]
    fn any_figures_can_be_drawn_at_any_size(
        before in prop::collection::vec(any::<u64>(), 1..50),
        now in prop::collection::vec(any::<u64>(), 1..50),
        width in 1_u16..200,
        height in 1_u16..60,
        scroll: usize,
        flags: [bool; 4],
    ) {
        let (first, second) = in_a_knot();
        let view = view_of((scrambled(&first, &before), scrambled(&second, &now)));
        let [paused, drops, quiet, help] = flags;
        let sort = if paused { Sort::Paused } else { Sort::Dropped };
        let choices = Choices { scroll, paused, sort, drops, quiet, help };
        let waiting = help.then_some("gone");
        drawn(&Screen { view: Some(&view), waiting, choices: &choices }, width, height);
    }
}

#[test]
fn levels_and_port_types_are_shown_with_who_is_there_and_what_is_wrong() {
    let (before, mut now) = in_trouble();
    now.lldp = Some(LldpStats { level: Some(1), ..LldpStats::default() });
    let lldp = |orientation: &str, neighbor: &str, conditions: &[&str]| LldpPortStats {
        orientation: orientation.to_owned(),
        neighbor: Some(neighbor.to_owned()),
        conditions: conditions.iter().map(|&name| name.to_owned()).collect(),
    };
    now.ports[0].lldp = Some(lldp("downlink", "host1", &[]));
    now.ports[1].lldp = Some(lldp("uplink", "spine1", &["pfc_mismatch"]));
    now.ports[2].lldp = Some(lldp("unknown", "who", &[]));
    let view = view_of((before, now));
    let choices = Choices::default();
    let screen = Screen { view: Some(&view), waiting: None, choices: &choices };
    let (buffer, _) = drawn(&screen, 160, 30);
    let shown = lines(&buffer).join("\n");
    for text in ["tables v3  level 1", "downlink  host1", "uplink  spine1  pfc_mismatch", "  who"] {
        assert!(shown.contains(text), "no `{text}`:\n{shown}");
    }
    assert_eq!(style_of(&buffer, "pfc_mismatch").0, Color::Yellow);
}
