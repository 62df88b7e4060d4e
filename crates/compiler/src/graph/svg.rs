//! A graph as a picture: one file without scripts, in light and dark colours.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::layout::{Layout, Line, layout};
use super::markup::lines;
use super::{Edge, Graph, Kind, Node};

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

const STYLE: &str = "\
svg{color-scheme:light dark;--ink:#1f2328;--line:#59636e;--fill:#f6f8fa;--page:#fff}
@media(prefers-color-scheme:dark){svg{--ink:#f0f6fc;--line:#9198a1;--fill:#212830;--page:#0d1117}}
text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:var(--ink);text-anchor:middle}
.tool{font-size:12px;fill:var(--line)}
rect{fill:var(--fill);stroke:var(--line)}
.page{fill:var(--page);stroke:none}
path{fill:none;stroke:var(--line);stroke-width:1.4}
.conditional{stroke-dasharray:6 4}
.possible{stroke-dasharray:2 4}
marker path{fill:var(--line);stroke:none}";

/// The picture. `None` if the graph is too large.
pub fn svg(name: &str, graph: &Graph) -> Option<String> {
    let labels: Vec<Vec<String>> =
        graph.nodes.iter().map(|node| lines(node).iter().map(|it| cut(it)).collect()).collect();
    let sizes: Vec<(f64, f64)> = labels.iter().map(|lines| size(lines)).collect();
    let drawing = Drawing::new(graph, &sizes)?;
    let (width, height) = (drawing.width.ceil(), drawing.height.ceil());
    let title = escaped(&super::markup::visible(name));
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\" aria-label=\"{title}\">\n\
         <title>{title}</title>\n<style>\n{STYLE}\n</style>\n\
         <defs><marker id=\"arrow\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" markerUnits=\"userSpaceOnUse\" \
         orient=\"auto\"><path d=\"M0 0L8 4L0 8z\"/></marker></defs>\n<rect class=\"page\" width=\"{width}\" height=\"{height}\"/>\n"
    );
    for (edge, path) in drawing.paths(graph, &sizes) {
        let class = match (edge.conditional, edge.certain) {
            (false, true) => "",
            (true, true) => " class=\"conditional\"",
            (_, false) => " class=\"possible\"",
        };
        let _ = writeln!(text, "<path{class} d=\"{path}\" marker-end=\"url(#arrow)\"/>");
    }
    for (at, node) in graph.nodes.iter().enumerate() {
        drawing.node(&mut text, node, &labels[at], drawing.centres[at], sizes[at]);
    }
    Some(text + "</svg>\n")
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

    fn node(
        &self,
        text: &mut String,
        node: &Node,
        label: &[String],
        (x, y): (f64, f64),
        (width, height): (f64, f64),
    ) {
        let round = if matches!(node.kind, Kind::Start | Kind::End) { height / 2.0 } else { 6.0 };
        let mut rect = |shrink: f64| {
            let (left, top) = (x - width / 2.0 + shrink, y - height / 2.0 + shrink);
            let _ = writeln!(
                text,
                "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"{round:.1}\"/>",
                width - 2.0 * shrink,
                height - 2.0 * shrink
            );
        };
        rect(0.0);
        if node.kind == Kind::Subgraph {
            rect(3.0);
        }
        let mut line = y - height / 2.0 + 22.0;
        for (at, part) in label.iter().enumerate() {
            let class = if at > 0 { " class=\"tool\"" } else { "" };
            let _ = writeln!(text, "<text{class} x=\"{x:.1}\" y=\"{line:.1}\">{}</text>", escaped(part));
            line += LINE;
        }
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
    text.chars().map(|c| if c >= '\u{1100}' && c != '…' { 2 } else { 1 }).sum()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
