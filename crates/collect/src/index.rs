//! What a segment holds, node by node: how many frames, of which time.
//!
//! It is gathered while the segment is written, and the next segment begins with it ([`crate::record::Span`]): whoever
//! looks for a node or a time reads that, and no segment that has nothing of it.

use std::collections::HashMap;

use crate::record::{Body, Span, stamp};

/// The spans of a segment's nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Index(HashMap<u32, Span>);

impl Index {
    /// Notes the stored frames among `bodies`.
    pub(crate) fn note(&mut self, bodies: &[impl AsRef<[u8]>]) {
        for (node, sample_ps, arrived_ns) in bodies.iter().filter_map(|body| stamp(body.as_ref())) {
            let new = Span {
                node,
                frames: 0,
                sample_ps: (sample_ps, sample_ps),
                arrived_ns: (arrived_ns, arrived_ns),
            };
            let span = self.0.entry(node).or_insert(new);
            span.frames = span.frames.saturating_add(1);
            span.sample_ps = (span.sample_ps.0.min(sample_ps), span.sample_ps.1.max(sample_ps));
            span.arrived_ns = (span.arrived_ns.0.min(arrived_ns), span.arrived_ns.1.max(arrived_ns));
        }
    }

    /// The spans, by node.
    pub(crate) fn bodies(&self) -> impl Iterator<Item = Body> {
        let mut spans: Vec<Span> = self.0.values().copied().collect();
        spans.sort_unstable_by_key(|span| span.node);
        spans.into_iter().map(Body::Span)
    }
}
