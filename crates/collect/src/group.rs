//! What is known of each node while a group is open, and what was before it: the group becomes durable as a whole or not
//! at all.

use std::collections::HashMap;

/// Something of every node.
#[derive(Debug)]
pub(crate) struct PerNode<T> {
    nodes: HashMap<u32, T>,
    /// What the nodes of the open group were before it; `None` = nothing was known.
    before: HashMap<u32, Option<T>>,
}

impl<T> Default for PerNode<T> {
    fn default() -> Self {
        PerNode { nodes: HashMap::new(), before: HashMap::new() }
    }
}

impl<T: Clone> PerNode<T> {
    /// What is known of a node, the open group included.
    pub(crate) fn get(&self, node: u32) -> Option<&T> {
        self.nodes.get(&node)
    }

    /// The same, for the group to change.
    pub(crate) fn entry(&mut self, node: u32) -> &mut T
    where
        T: Default,
    {
        self.before.entry(node).or_insert_with(|| self.nodes.get(&node).cloned());
        self.nodes.entry(node).or_default()
    }

    /// What the group makes of a node.
    pub(crate) fn put(&mut self, node: u32, value: T) {
        let before = self.nodes.insert(node, value);
        self.before.entry(node).or_insert(before);
    }

    /// What is durable, by node in order.
    pub(crate) fn durable(&self) -> Vec<(u32, &T)> {
        let durable = |(node, value)| match self.before.get(node) {
            Some(before) => before.as_ref().map(|before| (*node, before)),
            None => Some((*node, value)),
        };
        let mut nodes: Vec<(u32, &T)> = self.nodes.iter().filter_map(durable).collect();
        nodes.sort_unstable_by_key(|(node, _)| *node);
        nodes
    }

    /// Everything since the last end of a group is durable.
    pub(crate) fn commit(&mut self) {
        self.before.clear();
    }

    /// Nothing since then is.
    pub(crate) fn abort(&mut self) {
        for (node, before) in self.before.drain() {
            match before {
                Some(before) => self.nodes.insert(node, before),
                None => self.nodes.remove(&node),
            };
        }
    }
}
