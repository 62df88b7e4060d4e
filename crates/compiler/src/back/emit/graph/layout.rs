//! Where the nodes and edges of a drawing are: nodes in ranks, most edges from one rank to a later one.
//!
//! The steps are those of Sugiyama, Tagawa and Toda, “Methods for Visual Understanding of Hierarchical System Structures”
//! (1981). Coordinates across the ranks are least squares under the order of each rank.

use std::collections::{HashMap, VecDeque};

use crate::graph::Graph;

/// The most places that are laid out: nodes, and the points at which edges pass ranks.
const MOST: usize = 20_000;

/// Number of sweeps over all ranks, for their order and for the coordinates.
const SWEEPS: usize = 12;

/// A drawing without its units.
#[derive(Clone, Debug, Default)]
pub(super) struct Layout {
    /// For each node, its centre across the ranks, from 0, and its rank.
    pub(super) nodes: Vec<(f64, usize)>,
    /// The edges, but those of a node to itself.
    pub(super) edges: Vec<Line>,
    /// Number of ranks.
    pub(super) ranks: usize,
    /// Size across the ranks.
    pub(super) width: f64,
}

/// The way of an edge.
#[derive(Clone, Debug)]
pub(super) struct Line {
    /// Index of the edge.
    pub(super) edge: usize,
    /// Index of its source.
    pub(super) source: usize,
    /// Index of its target.
    pub(super) target: usize,
    /// The centres at which it passes ranks, and these, from the source to the target.
    pub(super) points: Vec<(f64, usize)>,
}

/// Lays out a graph whose nodes have these sizes across the ranks, with a `gap` between them. The nodes of a rank are `most`
/// wide, if no node is wider. `None` if the graph is too large.
pub(super) fn layout(graph: &Graph, sizes: &[f64], gap: f64, most: f64) -> Option<Layout> {
    let index: HashMap<_, _> = graph.nodes.iter().enumerate().map(|(at, node)| (&*node.id, at)).collect();
    let edges: Vec<_> = graph
        .edges
        .iter()
        .map(|edge| Some((*index.get(&*edge.source)?, *index.get(&*edge.target)?)))
        .collect();
    let forward = forward(graph.nodes.len(), &edges);
    let ranks = ranks(sizes, gap, most, &forward);
    let count = ranks.iter().max().map_or(0, |last| last + 1);
    let length: usize = forward.iter().flatten().map(|(from, to, _)| ranks[*to] - ranks[*from]).sum();
    if length + ranks.len() > MOST {
        return None;
    }
    // Places: the nodes, and one for each rank that an edge passes.
    let mut places = Places { rank: ranks, size: sizes.to_vec(), gap, above: Vec::new(), below: Vec::new() };
    places.above.resize(sizes.len(), Vec::new());
    places.below.resize(sizes.len(), Vec::new());
    let mut lines = Vec::new();
    for (edge, ends) in forward.iter().enumerate() {
        let Some((from, to, is_reversed)) = *ends else { continue };
        let mut line = vec![from];
        for rank in places.rank[from] + 1..places.rank[to] {
            line.push(places.rank.len());
            places.rank.push(rank);
            places.size.push(0.0);
            places.above.push(Vec::new());
            places.below.push(Vec::new());
        }
        line.push(to);
        for pair in line.windows(2) {
            places.below[pair[0]].push(pair[1]);
            places.above[pair[1]].push(pair[0]);
        }
        if is_reversed {
            line.reverse();
        }
        lines.push((edge, line));
    }
    let order = places.ordered(count);
    let at = places.centres(&order, sizes.len());
    let left = (0..at.len()).map(|it| at[it] - places.size[it] / 2.0).fold(f64::MAX, f64::min);
    let right = (0..at.len()).map(|it| at[it] + places.size[it] / 2.0).fold(f64::MIN, f64::max);
    let point = |it: &usize| (at[*it] - left, places.rank[*it]);
    Some(Layout {
        nodes: (0..sizes.len()).map(|it| point(&it)).collect(),
        edges: lines
            .iter()
            .map(|(edge, line)| Line {
                edge: *edge,
                source: line[0],
                target: line[line.len() - 1],
                points: line.iter().map(point).collect(),
            })
            .collect(),
        ranks: count,
        width: right - left,
    })
}

/// The edges without cycles: those that lead back to a node before them are reversed, and those to their own node are left out.
fn forward(count: usize, edges: &[Option<(usize, usize)>]) -> Vec<Option<(usize, usize, bool)>> {
    let mut next = vec![Vec::new(); count];
    for (edge, (from, to)) in edges.iter().enumerate().filter_map(|(at, ends)| Some((at, (*ends)?))) {
        next[from].push((edge, to));
    }
    // 0: not visited, 1: on the path, 2: done.
    let mut state = vec![0; count];
    let mut is_back = vec![false; edges.len()];
    for start in 0..count {
        let mut path = if state[start] == 0 { vec![(start, 0)] } else { Vec::new() };
        while let Some((node, at)) = path.last_mut() {
            state[*node] = 1;
            let Some(&(edge, to)) = next[*node].get(*at) else {
                state[*node] = 2;
                path.pop();
                continue;
            };
            *at += 1;
            is_back[edge] = state[to] == 1;
            if state[to] == 0 {
                path.push((to, 0));
            }
        }
    }
    let ends = edges.iter().zip(is_back);
    ends.map(|(ends, is_back)| {
        let (from, to) = ends.filter(|(from, to)| from != to)?;
        Some(if is_back { (to, from, true) } else { (from, to, false) })
    })
    .collect()
}

/// The rank of each node: after those of the nodes before it, and with room for it.
fn ranks(sizes: &[f64], gap: f64, most: f64, forward: &[Option<(usize, usize, bool)>]) -> Vec<usize> {
    let count = sizes.len();
    let mut missing = vec![0; count];
    let mut next = vec![Vec::new(); count];
    for (from, to, _) in forward.iter().flatten() {
        missing[*to] += 1;
        next[*from].push(*to);
    }
    let mut ranks = vec![0; count];
    let mut widths: Vec<f64> = Vec::new();
    let mut open: VecDeque<usize> = (0..count).filter(|node| missing[*node] == 0).collect();
    while let Some(node) = open.pop_front() {
        let free = widths.iter().skip(ranks[node]).position(|width| width + sizes[node] <= most);
        let rank = ranks[node] + free.unwrap_or(widths.len().saturating_sub(ranks[node]));
        widths.resize(widths.len().max(rank + 1), 0.0);
        widths[rank] += sizes[node] + gap;
        ranks[node] = rank;
        for &to in &next[node] {
            ranks[to] = ranks[to].max(rank + 1);
            missing[to] -= 1;
            if missing[to] == 0 {
                open.push_back(to);
            }
        }
    }
    ranks
}

struct Places {
    rank: Vec<usize>,
    /// Lines have none.
    size: Vec<f64>,
    gap: f64,
    above: Vec<Vec<usize>>,
    below: Vec<Vec<usize>>,
}

impl Places {
    /// The places of each rank in their order: each near to the middle of those that it is connected with.
    fn ordered(&self, count: usize) -> Vec<Vec<usize>> {
        let mut order = vec![Vec::new(); count];
        (0..self.rank.len()).for_each(|place| order[self.rank[place]].push(place));
        let mut position = vec![0.0; self.rank.len()];
        let mut best = (usize::MAX, order.clone());
        for sweep in 0..SWEEPS {
            let is_down = sweep % 2 == 0;
            for step in 0..count {
                let rank = if is_down { step } else { count - 1 - step };
                let near = if is_down { &self.above } else { &self.below };
                let keys: HashMap<usize, f64> = order[rank]
                    .iter()
                    .map(|place| (*place, mean(&near[*place], &position).unwrap_or(position[*place])))
                    .collect();
                order[rank].sort_by(|a, b| keys[a].total_cmp(&keys[b]));
                order[rank].iter().zip(0_u32..).for_each(|(place, at)| position[*place] = at.into());
            }
            let crossings = self.crossings(&order, &position);
            if crossings < best.0 {
                best = (crossings, order.clone());
            }
        }
        best.1
    }

    /// Number of crossings between ranks, as far as they are few.
    fn crossings(&self, order: &[Vec<usize>], position: &[f64]) -> usize {
        let crossed = |rank: &Vec<usize>| {
            let ends = rank
                .iter()
                .flat_map(|place| self.below[*place].iter().map(|to| (position[*place], position[*to])));
            let ends: Vec<_> = ends.take(400).collect();
            let pairs =
                ends.iter().enumerate().flat_map(|(at, a)| ends[at + 1..].iter().map(move |b| (a, b)));
            pairs.filter(|(a, b)| (a.0 - b.0) * (a.1 - b.1) < 0.0).count()
        };
        order.iter().map(crossed).sum()
    }

    /// The centres of all places.
    fn centres(&self, order: &[Vec<usize>], nodes: usize) -> Vec<f64> {
        let mut at = vec![0.0; self.rank.len()];
        for pair in order.iter().flat_map(|rank| rank.windows(2)) {
            at[pair[1]] = at[pair[0]] + self.distance(pair[0], pair[1]);
        }
        for sweep in 0..SWEEPS {
            let is_last = sweep + 1 == SWEEPS;
            let ranks: Vec<usize> =
                if sweep % 2 == 0 { (0..order.len()).collect() } else { (0..order.len()).rev().collect() };
            for rank in ranks {
                let near = |place: usize| match (is_last, sweep % 2) {
                    (true, _) => mean(&[&self.above[place][..], &self.below[place]].concat(), &at),
                    (false, 0) => mean(&self.above[place], &at),
                    _ => mean(&self.below[place], &at),
                };
                // Long edges are straight before nodes are in the middle.
                let wanted: Vec<_> = order[rank]
                    .iter()
                    .map(|&place| (near(place).unwrap_or(at[place]), if place < nodes { 1.0 } else { 4.0 }))
                    .collect();
                for (place, centre) in order[rank].iter().zip(self.fit(&order[rank], &wanted)) {
                    at[*place] = centre;
                }
            }
        }
        at
    }

    /// The distance of neighbours. Lines may be near to each other.
    fn distance(&self, a: usize, b: usize) -> f64 {
        let gap = if self.size[a].min(self.size[b]) > 0.0 { self.gap } else { self.gap / 2.0 };
        (self.size[a] + self.size[b]) / 2.0 + gap
    }

    /// The centres next to the wanted ones, by their weights, that keep the order and the gaps: neighbours that would
    /// overlap move as a block.
    fn fit(&self, rank: &[usize], wanted: &[(f64, f64)]) -> Vec<f64> {
        let mut offset = 0.0;
        let mut offsets = Vec::new();
        // Sum of weighted positions, weight, and number of places.
        let mut blocks: Vec<(f64, f64, usize)> = Vec::new();
        for (at, place) in rank.iter().enumerate() {
            if at > 0 {
                offset += self.distance(rank[at - 1], *place);
            }
            offsets.push(offset);
            let (position, weight) = wanted[at];
            let mut block = ((position - offset) * weight, weight, 1);
            while let Some(last) = blocks.last().copied().filter(|last| last.0 / last.1 > block.0 / block.1) {
                blocks.pop();
                block = (last.0 + block.0, last.1 + block.1, last.2 + block.2);
            }
            blocks.push(block);
        }
        let base = blocks.iter().flat_map(|(sum, weight, count)| std::iter::repeat_n(sum / weight, *count));
        base.zip(offsets).map(|(base, offset)| base + offset).collect()
    }
}

/// The mean position of places.
fn mean(places: &[usize], position: &[f64]) -> Option<f64> {
    let count = u32::try_from(places.len()).ok().filter(|count| *count > 0)?;
    Some(places.iter().map(|place| position[*place]).sum::<f64>() / f64::from(count))
}
