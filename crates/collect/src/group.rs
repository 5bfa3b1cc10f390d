//! What is known of each node while a group is under way and another is open, and what was before each: a group becomes
//! durable as a whole or not at all, and the open one not without the other.

use std::collections::HashMap;

/// Something of every node.
#[derive(Debug)]
pub(crate) struct PerNode<T> {
    nodes: HashMap<u32, T>,
    /// What the nodes of the open group were before it; `None` = nothing was known.
    before: HashMap<u32, Option<T>>,
    /// The same of the group that is under way.
    before_underway: HashMap<u32, Option<T>>,
}

impl<T> Default for PerNode<T> {
    fn default() -> Self {
        PerNode { nodes: HashMap::new(), before: HashMap::new(), before_underway: HashMap::new() }
    }
}

impl<T: Clone> PerNode<T> {
    /// What is known of a node, both groups included.
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
        let before = |node| self.before_underway.get(node).or_else(|| self.before.get(node));
        let durable = |(node, value)| match before(node) {
            Some(before) => before.as_ref().map(|before| (*node, before)),
            None => Some((*node, value)),
        };
        let mut nodes: Vec<(u32, &T)> = self.nodes.iter().filter_map(durable).collect();
        nodes.sort_unstable_by_key(|(node, _)| *node);
        nodes
    }

    /// The open group is complete and under way: what changes from here on is the next one's.
    ///
    /// # Panics
    /// When the one before it is.
    pub(crate) fn depart(&mut self) {
        assert!(self.before_underway.is_empty(), "one group is under way at a time");
        std::mem::swap(&mut self.before_underway, &mut self.before);
    }

    /// The group that was under way is durable.
    pub(crate) fn commit(&mut self) {
        self.before_underway.clear();
    }

    /// It is given up, and with it the open one.
    pub(crate) fn abort(&mut self) {
        for (node, before) in self.before.drain().chain(self.before_underway.drain()) {
            match before {
                Some(before) => self.nodes.insert(node, before),
                None => self.nodes.remove(&node),
            };
        }
    }
}
