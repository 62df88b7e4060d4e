//! A graph as a picture.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::json;
use unicode_width::UnicodeWidthStr as _;

use super::layout::{Layout, Line, layout};
use super::{lines, style};
use crate::back::emit::template::render;
use crate::graph::{Edge, Graph, Kind, Node, visible};

/// Width of a letter of the monospaced font, in pixels.
const LETTER: f64 = 8.4;

/// Height of a line of text.
const LINE: f64 = 18.0;

/// Space between nodes of a rank.
const GAP: f64 = 26.0;

/// Space between ranks.
const BETWEEN: f64 = 52.0;

/// Space around the picture.
const MARGIN: f64 = 16.0;

/// Width of the nodes of a rank. With edges beside them, a page of 800 pixels has room for them.
const RANK: f64 = 640.0;

/// The most letters of a line; longer ones are cut.
const LONGEST: usize = 40;

/// The picture. `None` if the graph is too large.
pub fn svg(name: &str, graph: &Graph) -> Option<String> {
    let labels: Vec<Vec<String>> =
        graph.nodes.iter().map(|node| lines(node).iter().map(|it| cut(it)).collect()).collect();
    let sizes: Vec<(f64, f64)> = labels.iter().map(|lines| size(lines)).collect();
    let drawing = Drawing::new(graph, &sizes)?;
    let node = |(at, node): (usize, &Node)| {
        let ((x, y), (width, height)) = (drawing.centres[at], sizes[at]);
        let round = if matches!(node.kind, Kind::Start | Kind::End) { height / 2.0 } else { 6.0 };
        let (left, top) = (x - width / 2.0, y - height / 2.0);
        // The edge of a subgraph is double.
        let shrunk: &[f64] = if node.kind == Kind::Subgraph { &[0.0, 3.0] } else { &[0.0] };
        let rect = |by: &f64| {
            let (width, height) = (tenth(width - 2.0 * by), tenth(height - 2.0 * by));
            json!({ "x": tenth(left + by), "y": tenth(top + by), "width": width, "height": height })
        };
        let rects: Vec<_> = shrunk.iter().map(rect).collect();
        let line = |(line, text): (u32, &String)| json!({ "y": tenth(top + 22.0 + LINE * f64::from(line)), "text": escaped(text) });
        let lines: Vec<_> = (0..).zip(&labels[at]).map(line).collect();
        json!({ "x": tenth(x), "round": tenth(round), "rects": rects, "lines": lines })
    };
    let edge = |(edge, path)| json!({ "style": style(edge), "path": path });
    let values = json!({
        "name": escaped(&visible(name)),
        "width": drawing.width.ceil().to_string(),
        "height": drawing.height.ceil().to_string(),
        "nodes": graph.nodes.iter().enumerate().map(node).collect::<Vec<_>>(),
        "edges": drawing.paths(graph, &sizes).into_iter().map(edge).collect::<Vec<_>>(),
    });
    Some(render(include_str!("../../../../../../templates/graph.svg.jinja"), &values))
}

/// A coordinate to the tenth of a pixel.
fn tenth(coordinate: f64) -> String {
    format!("{coordinate:.1}")
}

struct Drawing {
    layout: Layout,
    /// The centre of each rank, and its height.
    ranks: Vec<(f64, f64)>,
    centres: Vec<(f64, f64)>,
    width: f64,
    height: f64,
}

impl Drawing {
    fn new(graph: &Graph, sizes: &[(f64, f64)]) -> Option<Self> {
        let widths: Vec<f64> = sizes.iter().map(|size| size.0).collect();
        let layout = layout(graph, &widths, GAP, RANK)?;
        let mut heights = vec![0.0_f64; layout.ranks];
        for (size, (_, rank)) in sizes.iter().zip(&layout.nodes) {
            heights[*rank] = heights[*rank].max(size.1);
        }
        let mut end = MARGIN;
        let rank = |height: &f64| {
            let centre = end + height / 2.0;
            end += height + BETWEEN;
            (centre, *height)
        };
        let ranks: Vec<_> = heights.iter().map(rank).collect();
        let height = end - BETWEEN + MARGIN;
        // An edge of a node to itself is beside it.
        let has_loop = graph.edges.iter().any(|edge| edge.source == edge.target);
        let width = layout.width + 2.0 * MARGIN + if has_loop { GAP } else { 0.0 };
        let centres = layout.nodes.iter().map(|(at, rank)| (at + MARGIN, ranks[*rank].0)).collect();
        Some(Self { layout, ranks, centres, width, height })
    }

    /// The edges as paths.
    fn paths<'g>(&self, graph: &'g Graph, sizes: &[(f64, f64)]) -> Vec<(&'g Edge, String)> {
        let mut paths = Vec::new();
        let ports = ports(&self.layout, &|node| sizes[node].0, 18.0);
        for (Line { edge, source, target, points }, ends) in self.layout.edges.iter().zip(ports) {
            let last = points.len() - 1;
            let sign = if points[0].1 < points[last].1 { 1.0 } else { -1.0 };
            let mut path = String::new();
            let mut from = (0.0, 0.0);
            for (at, (centre, rank)) in points.iter().enumerate() {
                let (middle, height) = self.ranks[*rank];
                // A node may be smaller than its rank.
                let (offset, enter, leave) = match at {
                    0 => (ends.0, 0.0, sizes[*source].1),
                    _ if at == last => (ends.1, sizes[*target].1 + 2.0, 0.0),
                    _ => (0.0, height, height),
                };
                let (x, to) = (MARGIN + centre + offset, middle - sign * enter / 2.0);
                if at > 0 {
                    let turn = (from.1 + to) / 2.0;
                    let _ = write!(path, "C{:.1} {turn:.1} {x:.1} {turn:.1} {x:.1} {to:.1}", from.0);
                }
                from = (x, middle + sign * leave / 2.0);
                if at < last {
                    let command = if at == 0 { "M" } else { "L" };
                    let _ = write!(path, "{command}{:.1} {:.1}", from.0, from.1);
                }
            }
            paths.push((&graph.edges[*edge], path));
        }
        for edge in graph.edges.iter().filter(|edge| edge.source == edge.target) {
            let Some(node) = graph.nodes.iter().position(|node| node.id == edge.source) else { continue };
            let ((x, y), (width, _)) = (self.centres[node], sizes[node]);
            let (right, end) = (x + width / 2.0, x + width / 2.0 + GAP);
            paths.push((
                edge,
                format!(
                    "M{right:.1} {:.1}C{end:.1} {:.1} {end:.1} {:.1} {right:.1} {:.1}",
                    y - 8.0,
                    y - 16.0,
                    y + 16.0,
                    y + 8.0
                ),
            ));
        }
        paths
    }
}

/// For each edge, how far its ends lie from the centres of their nodes: edges on one side of a node are beside each other, at
/// `most` so far apart, in the order of where they lead.
pub(super) fn ports(layout: &Layout, size: &dyn Fn(usize) -> f64, most: f64) -> Vec<(f64, f64)> {
    // Where an edge leads, its index, and whether it starts there.
    type End = (f64, usize, bool);
    let mut sides: BTreeMap<(usize, bool), Vec<End>> = BTreeMap::new();
    for (at, Line { source, target, points, .. }) in layout.edges.iter().enumerate() {
        let last = points.len() - 1;
        let is_forward = points[0].1 < points[last].1;
        sides.entry((*source, is_forward)).or_default().push((points[1].0, at, true));
        sides.entry((*target, !is_forward)).or_default().push((points[last - 1].0, at, false));
    }
    let mut ports = vec![(0.0, 0.0); layout.edges.len()];
    for ((node, _), mut ends) in sides {
        ends.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let count = u32::try_from(ends.len()).unwrap_or(u32::MAX);
        let step = (size(node) * 0.8 / f64::from(count)).min(most);
        for (at, (_, edge, is_source)) in (0_u32..).zip(ends) {
            let offset = (f64::from(at) - f64::from(count - 1) / 2.0) * step;
            if is_source {
                ports[edge].0 = offset;
            } else {
                ports[edge].1 = offset;
            }
        }
    }
    ports
}

fn cut(line: &str) -> String {
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

/// The size of a node with these lines.
fn size(lines: &[String]) -> (f64, f64) {
    let letters = lines.iter().map(|line| letters(line)).max().unwrap_or_default();
    let (letters, count) = (u32::try_from(letters).unwrap_or(0), u32::try_from(lines.len()).unwrap_or(1));
    ((f64::from(letters) * LETTER + 28.0).max(60.0), f64::from(count) * LINE + 16.0)
}

/// Number of columns of a text. Letters of East Asia take two.
pub(super) fn letters(text: &str) -> usize {
    text.width()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
