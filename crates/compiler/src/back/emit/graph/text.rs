//! A graph as text for a terminal.

use super::layout::layout;
use super::lines;
use super::svg::{letters, ports};
use crate::graph::{END, Graph, START, visible};

/// The characters of lines, by where they lead: up 1, right 2, down 4, left 8.
const LINES: [char; 16] = [' ', '╵', '╶', '└', '╷', '│', '┌', '├', '╴', '┘', '─', '┴', '┐', '┤', '┬', '┼'];

/// Space between nodes of a rank.
const GAP: f64 = 3.0;

#[derive(Clone, Copy, Default)]
struct Cell {
    /// Where lines lead to from here.
    sides: usize,
    /// Whether one of them is an edge that a run certainly takes.
    is_solid: bool,
    /// A character that is no line.
    letter: Option<char>,
}

/// A segment between two ranks: its columns at the upper and the lower one, and whether arrows end there.
struct Segment {
    upper: usize,
    lower: usize,
    is_solid: bool,
    points_up: bool,
    points_down: bool,
}

/// The graph as text, as boxes if they fit `width` columns and as a list otherwise.
pub fn text(graph: &Graph, width: usize) -> String {
    drawn(graph, width).unwrap_or_else(|| listed(graph))
}

fn listed(graph: &Graph) -> String {
    let name = |id: &str| match id {
        START => "start".to_owned(),
        END => "end".to_owned(),
        _ => visible(id),
    };
    let mut text = String::new();
    for node in &graph.nodes {
        text += &name(&node.id);
        let edges = graph.edges.iter().filter(|edge| edge.source == node.id);
        for (at, edge) in edges.enumerate() {
            text += if at == 0 { " " } else { ", " };
            text += if edge.conditional { "⇢ " } else { "→ " };
            text += &name(&edge.target);
        }
        text += "\n";
    }
    text
}

fn drawn(graph: &Graph, width: usize) -> Option<String> {
    let labels: Vec<_> = graph.nodes.iter().map(lines).collect();
    let columns = |lines: &Vec<String>| lines.iter().map(|line| letters(line)).max().unwrap_or_default();
    let sizes: Vec<usize> = labels.iter().map(|lines| (columns(lines) + 4) | 1).collect();
    let across: Vec<f64> = sizes.iter().map(|size| u32::try_from(*size).unwrap_or(u32::MAX).into()).collect();
    let width = f64::from(u32::try_from(width).unwrap_or(u32::MAX));
    // Edges need room beside the nodes.
    let layout = layout(graph, &across, GAP, width * 0.8)?;
    if layout.width + 4.0 > width {
        return None;
    }
    let ports = ports(&layout, &|node| across[node], 4.0);
    let mut heights = vec![0; layout.ranks];
    for (lines, (_, rank)) in labels.iter().zip(&layout.nodes) {
        heights[*rank] = heights[*rank].max(lines.len() + 2);
    }
    let mut channels: Vec<Vec<Segment>> = (1..layout.ranks.max(1)).map(|_| Vec::new()).collect();
    let mut passed = Vec::new();
    for (line, ends) in layout.edges.iter().zip(&ports) {
        let edge = &graph.edges[line.edge];
        let last = line.points.len() - 1;
        let column = |at: usize| {
            let offset = if at == 0 {
                ends.0
            } else if at == last {
                ends.1
            } else {
                0.0
            };
            round(line.points[at].0 + offset)
        };
        for at in 0..last {
            let (from, to) = (line.points[at].1, line.points[at + 1].1);
            let is_down = from < to;
            let (upper, lower) =
                if is_down { (column(at), column(at + 1)) } else { (column(at + 1), column(at)) };
            let (points_up, points_down) = (!is_down && at + 1 == last, is_down && at + 1 == last);
            let is_solid = !edge.conditional;
            channels[from.min(to)].push(Segment { upper, lower, is_solid, points_up, points_down });
            if at > 0 {
                passed.push((column(at), from, is_solid));
            }
        }
    }
    let mut canvas = Canvas { rows: Vec::new(), columns: round(layout.width) + 4 };
    let mut tops = Vec::new();
    for (rank, height) in heights.iter().enumerate() {
        tops.push(canvas.rows.len());
        canvas.extend(*height);
        if let Some(channel) = channels.get_mut(rank) {
            canvas.channel(channel);
        }
    }
    for (column, rank, is_solid) in passed {
        canvas.vertical(column, tops[rank], tops[rank] + heights[rank] - 1, is_solid, true);
    }
    for (at, (centre, rank)) in layout.nodes.iter().enumerate() {
        canvas.boxed(&labels[at], round(centre - across[at] / 2.0), tops[*rank], (sizes[at], heights[*rank]));
    }
    Some(canvas.text())
}

/// The column of a coordinate.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "coordinates are small and not negative"
)]
fn round(coordinate: f64) -> usize {
    coordinate.max(0.0).round() as usize
}

struct Canvas {
    rows: Vec<Vec<Cell>>,
    columns: usize,
}

impl Canvas {
    fn extend(&mut self, rows: usize) {
        self.rows.extend(std::iter::repeat_n(vec![Cell::default(); self.columns], rows));
    }

    fn add(&mut self, row: usize, column: usize, sides: usize, is_solid: bool) {
        if let Some(cell) = self.rows.get_mut(row).and_then(|row| row.get_mut(column)) {
            cell.sides |= sides;
            cell.is_solid |= is_solid;
        }
    }

    /// A line from row to row; it goes on beyond both if it is `open`.
    fn vertical(&mut self, column: usize, from: usize, to: usize, is_solid: bool, open: bool) {
        for row in from..=to {
            let up = if row > from || open { 1 } else { 0 };
            let down = if row < to || open { 4 } else { 0 };
            self.add(row, column, up | down, is_solid);
        }
    }

    /// The rows between two ranks: each segment that moves aside has a row, or shares it with others that are elsewhere.
    fn channel(&mut self, segments: &mut [Segment]) {
        // Lines to the right turn the earlier the further right they start, so that they do not cover each other.
        segments
            .sort_by_key(|it| if it.lower >= it.upper { (0, usize::MAX - it.upper) } else { (1, it.upper) });
        let mut tracks: Vec<Vec<(usize, usize)>> = Vec::new();
        let mut rows = Vec::new();
        for segment in segments.iter() {
            let span = (segment.upper.min(segment.lower), segment.upper.max(segment.lower));
            if span.0 == span.1 {
                rows.push(None);
                continue;
            }
            let is_free = |track: &Vec<(usize, usize)>| track.iter().all(|it| it.1 < span.0 || span.1 < it.0);
            let at = tracks.iter().position(is_free).unwrap_or(tracks.len());
            if at == tracks.len() {
                tracks.push(Vec::new());
            }
            tracks[at].push(span);
            rows.push(Some(at));
        }
        let top = self.rows.len();
        self.extend(tracks.len() + 2);
        let bottom = self.rows.len() - 1;
        for (segment, track) in segments.iter().zip(rows) {
            let Segment { upper, lower, is_solid, points_up, points_down } = *segment;
            let row = track.map_or(top, |track| top + 1 + track);
            self.vertical(upper, top, row, is_solid, false);
            self.vertical(lower, row, bottom, is_solid, false);
            self.add(top, upper, 1, is_solid);
            self.add(bottom, lower, 4, is_solid);
            for column in upper.min(lower)..=upper.max(lower) {
                let left = if column > upper.min(lower) { 8 } else { 0 };
                let right = if column < upper.max(lower) { 2 } else { 0 };
                self.add(row, column, left | right, is_solid);
            }
            for (row, column, arrow) in
                [(top, upper, points_up.then_some('▲')), (bottom, lower, points_down.then_some('▼'))]
            {
                if arrow.is_some() {
                    self.rows[row][column].letter = arrow;
                }
            }
        }
    }

    /// A box with the lines of `label` at its top.
    fn boxed(&mut self, label: &[String], left: usize, top: usize, (width, height): (usize, usize)) {
        let inner = width - 2;
        let line = |edges: [char; 2], filling: String| format!("{}{filling}{}", edges[0], edges[1]);
        let mut rows = vec![line(['╭', '╮'], "─".repeat(inner))];
        for row in 0..height - 2 {
            let text = label.get(row).map_or("", String::as_str);
            let before = (inner - letters(text)) / 2;
            let (before, after) = (" ".repeat(before), " ".repeat(inner - letters(text) - before));
            rows.push(line(['│', '│'], format!("{before}{text}{after}")));
        }
        rows.push(line(['╰', '╯'], "─".repeat(inner)));
        for (row, text) in (top..).zip(rows) {
            let mut column = left;
            for c in text.chars() {
                // The second column of a wide letter holds nothing.
                let columns = letters(&c.to_string());
                for (at, letter) in (column..column + columns).zip([c, '\0']) {
                    if let Some(cell) = self.rows.get_mut(row).and_then(|row| row.get_mut(at)) {
                        cell.letter = Some(letter);
                    }
                }
                column += columns;
            }
        }
    }

    fn text(&self) -> String {
        let letter = |cell: &Cell| match (cell.letter, cell.sides, cell.is_solid) {
            (Some(letter), ..) => letter,
            (None, 5, false) => '┊',
            (None, 10, false) => '┈',
            (None, sides, _) => LINES[sides],
        };
        let line = |row: &Vec<Cell>| {
            let line: String = row.iter().map(letter).filter(|c| *c != '\0').collect();
            format!("{}\n", line.trim_end())
        };
        self.rows.iter().map(line).collect()
    }
}
