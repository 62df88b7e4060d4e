//! The page about the architecture: its drawing is made from the rooms that `tests/house.rs` knows, and its texts from the
//! map in src/lib.rs. `AGENTCLI_BLESS=1` writes them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::pages::generated;
use crate::house::{ROOMS, text};

const WIDTH: f64 = 104.0;
const HEIGHT: f64 = 32.0;
/// Distances between the centres of neighbours, and of levels.
const COLUMN: f64 = 124.0;
const ROW: f64 = 66.0;

/// Room, and the rooms below it.
type Edges = BTreeMap<&'static str, BTreeSet<&'static str>>;

/// What each room may use. Errors of all rooms meet in `error`, which says nothing about the flow.
fn edges() -> Edges {
    let rooms = ROOMS.iter().filter(|(room, _)| *room != "error");
    let others = |used: &[&'static str]| used.iter().copied().filter(|it| *it != "error").collect();
    rooms.map(|(room, used)| (*room, others(used))).collect()
}

fn below(room: &str, edges: &Edges) -> BTreeSet<&'static str> {
    let used = &edges[room];
    used.iter().flat_map(|it| below(it, edges)).chain(used.iter().copied()).collect()
}

/// Without the edges that follow from longer ways.
fn reduced(edges: &Edges) -> Edges {
    let direct = |used: &BTreeSet<&'static str>| {
        let further: BTreeSet<&str> = used.iter().flat_map(|it| below(it, edges)).collect();
        used.iter().copied().filter(|it| !further.contains(it)).collect()
    };
    edges.iter().map(|(room, used)| (*room, direct(used))).collect()
}

/// The longest way down.
fn level(room: &str, edges: &Edges) -> usize {
    edges[room].iter().map(|it| level(it, edges) + 1).max().unwrap_or(0)
}

/// A room, or a place where the line to a room passes a level.
struct Place {
    room: &'static str,
    is_room: bool,
    /// The centres of the places above from which lines lead here.
    from: Vec<f64>,
    x: f64,
}

/// The places of each level, from the highest.
fn layout(edges: &Edges) -> Vec<Vec<Place>> {
    let top = edges.keys().map(|room| level(room, edges)).max().unwrap();
    let mut levels: Vec<Vec<Place>> = Vec::new();
    for number in (0..=top).rev() {
        let mut places: Vec<Place> = Vec::new();
        let above = levels.last().into_iter().flatten();
        let lines = above.flat_map(|place| {
            if place.is_room {
                edges[place.room].iter().map(|room| (*room, place.x)).collect()
            } else {
                vec![(place.room, place.x)]
            }
        });
        for (room, x) in lines {
            let is_room = level(room, edges) == number;
            match places.iter_mut().find(|place| is_room && place.room == room) {
                Some(place) => place.from.push(x),
                None => places.push(Place { room, is_room, from: vec![x], x }),
            }
        }
        for room in edges.keys().filter(|room| level(room, edges) == number) {
            if !places.iter().any(|place| place.is_room && place.room == *room) {
                places.push(Place { room, is_room: true, from: Vec::new(), x: 0.0 });
            }
        }
        spread(&mut places);
        levels.push(places);
    }
    levels
}

/// Puts each place below those that lead to it, side by side.
fn spread(places: &mut [Place]) {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / (values.len().max(1) as f64);
    places.iter_mut().for_each(|place| place.x = mean(&place.from));
    places.sort_by(|one, other| one.x.total_cmp(&other.x));
    let wanted: Vec<f64> = places.iter().map(|place| place.x).collect();
    for index in 1..places.len() {
        places[index].x = places[index].x.max(places[index - 1].x + COLUMN);
    }
    let placed: Vec<f64> = places.iter().map(|place| place.x).collect();
    let shift = mean(&wanted) - mean(&placed);
    places.iter_mut().for_each(|place| place.x = (place.x + shift).round());
}

fn svg() -> String {
    let edges = reduced(&edges());
    let levels = layout(&edges);
    let all = || levels.iter().flatten().map(|place| place.x);
    let left = all().fold(f64::MAX, f64::min) - WIDTH / 2.0 - 8.0;
    let width = all().fold(f64::MIN, f64::max) + WIDTH / 2.0 + 8.0 - left;
    let height = ROW * levels.len() as f64;
    let (mut lines, mut boxes) = (String::new(), String::new());
    for (number, places) in levels.iter().enumerate() {
        let y = ROW * (number as f64 + 0.5);
        for Place { room, is_room, from, x } in places {
            let end = if *is_room { y - HEIGHT / 2.0 } else { y };
            let marker = if *is_room { r#" marker-end="url(#arrow)""# } else { "" };
            for start in from {
                // A line starts at the lower edge of a room, or where it passed the level above.
                let is_pass = |place: &&Place| !place.is_room && place.x == *start;
                let passes = number > 0 && levels[number - 1].iter().any(|place| is_pass(&place));
                let top = y - ROW + if passes { 0.0 } else { HEIGHT / 2.0 };
                let middle = (top + end) / 2.0;
                lines.push_str(&format!(
                    r#"  <path d="M {start} {top} C {start} {middle}, {x} {middle}, {x} {end}"{marker}/>{}"#,
                    "\n"
                ));
            }
            if *is_room {
                let fill = if matches!(*room, "compiler" | "diagnostic") { "#d7e8d4" } else { "#eef1f6" };
                boxes.push_str(&format!(
                    "  <rect x=\"{}\" y=\"{end}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" rx=\"5\" fill=\"{fill}\"/>\n  \
                     <text x=\"{x}\" y=\"{}\">{room}</text>\n",
                    x - WIDTH / 2.0,
                    y + 5.0
                ));
            }
        }
    }
    format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="{left} 0 {width} {height}" width="{width}" height="{height}" font-family="sans-serif" font-size="15" text-anchor="middle">
<title>The rooms of agentcli, and which uses which</title>
<defs><marker id="arrow" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" orient="auto"><path d="M 0 1 L 10 5 L 0 9 z" fill="#66707f"/></marker></defs>
<rect x="{left}" width="{width}" height="{height}" fill="#ffffff"/>
<g fill="none" stroke="#66707f">
{lines}</g>
<g stroke="none" fill="#1c2430">
{boxes}</g>
</svg>
"##
    )
}

#[test]
fn rooms_are_drawn() {
    generated("docs/explanation/rooms.svg", &svg());
}

/// The documentation of src/lib.rs as Markdown.
fn map() -> String {
    let text = text(Path::new("src/lib.rs"));
    let lines = text.lines().filter_map(|line| line.strip_prefix("//!"));
    let lines =
        lines.map(|line| line.strip_prefix(' ').unwrap_or(line).replace("[`", "`").replace("`]", "`"));
    lines.collect::<Vec<_>>().join("\n")
}

/// Replaces the part of `page` from the line `start` up to the next empty line by that of `map`.
fn with_part(page: &str, map: &str, start: &str) -> String {
    let part = |text: &str| {
        let from = text.find(start).unwrap_or_else(|| panic!("no `{start}`"));
        (from, from + text[from..].find("\n\n").unwrap())
    };
    let ((from, to), (map_from, map_to)) = (part(page), part(map));
    format!("{}{}{}", &page[..from], &map[map_from..map_to], &page[to..])
}

#[test]
fn architecture_is_that_of_the_map() {
    let path = "docs/explanation/architecture.md";
    let (map, page) = (map(), text(Path::new(path)));
    let page = with_part(&page, &map, "```text\ntext ─parse→");
    generated(path, &with_part(&page, &map, "| room | purpose | may use |"));
}

/// The map says what `tests/house.rs` enforces, but for the two rooms that it describes in words.
#[test]
fn map_lists_what_rooms_may_use() {
    let map = map();
    for (room, used) in ROOMS.iter().filter(|(room, _)| !matches!(*room, "cli" | "error")) {
        let row = map.lines().find(|line| line.starts_with(&format!("| `{room}` |")));
        let row = row.unwrap_or_else(|| panic!("{room} is not in src/lib.rs"));
        let names: Vec<String> = used.iter().map(|name| format!("`{name}`")).collect();
        let expected = if names.is_empty() { "nothing".to_owned() } else { names.join(", ") };
        assert!(row.ends_with(&format!("| {expected} |")), "{row}");
    }
}
