//! Why nodes were not told something, or who runs the server was not answered.
//!
//! Owns the list and its words. What nodes can be told is `link::sending`'s and `collect::orders`'.

use std::fmt;

use collect::orders::Reason;

use super::Class;

/// Why an order was not given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OrderFault {
    /// Two words set the same.
    Twice,
    /// A node is to be revoked and told something.
    RevokedAndTold,
    /// A node has no such rate.
    Rate {
        /// The node.
        node: u32,
        /// The rate that was asked for.
        found_hz: u64,
        /// Those that it has.
        rates_hz: Vec<u64>,
    },
    /// The server refused.
    Refused(Reason),
    /// Nobody serves, who could wait for nodes.
    NoServer,
    /// Several servers share the deployment.
    Shared,
    /// Nodes did not do what they are told.
    Unheard {
        /// How many.
        left: usize,
        /// How long they were waited for.
        limit_s: u64,
    },
}

impl OrderFault {
    pub(super) fn class(&self) -> Class {
        match self {
            OrderFault::Twice | OrderFault::RevokedAndTold => Class::CommandLine,
            OrderFault::Refused(Reason::DiskFull | Reason::Keys(_))
            | OrderFault::NoServer
            | OrderFault::Unheard { .. } => Class::Environment,
            OrderFault::Rate { .. } | OrderFault::Shared | OrderFault::Refused(_) => Class::Input,
        }
    }
}

impl fmt::Display for OrderFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OrderFault::Twice => f.write_str("found one setting twice, expected each once"),
            OrderFault::RevokedAndTold => f.write_str(
                "found `revoke` and something else, expected either: a revoked node is told nothing",
            ),
            OrderFault::Rate { node, found_hz, rates_hz } => {
                let rates: Vec<String> = rates_hz.iter().map(|rate| format!("{rate} Hz")).collect();
                write!(f, "node {node} cannot sample at {found_hz} Hz, expected one of: {}", rates.join(", "))
            }
            OrderFault::Refused(reason) => match reason {
                Reason::UnknownNode(node) => write!(
                    f,
                    "the server knows no node {node}\nhelp: it reads the deployment when it is started"
                ),
                Reason::Revoked(node) => write!(
                    f,
                    "node {node} is revoked\nhelp: `selvedge collect keys add` admits it again, under another key"
                ),
                Reason::NeverHeard(node) => {
                    write!(f, "no frame of node {node} is stored, so nobody knows in which epoch it is")
                }
                Reason::EpochsUsedUp(node) => write!(f, "no epoch of the key of node {node} is left"),
                Reason::Setting(node) => write!(f, "node {node} cannot be set so"),
                Reason::NeverTold(node) => {
                    write!(f, "node {node} is told nothing: its suite has no tag, and neither end knows who sent what")
                }
                Reason::Keys(what) => {
                    write!(f, "the server cannot read the keys, and goes on with those before: {what}")
                }
                Reason::DiskFull => f.write_str(
                    "the server's disk is full, or its keys': what was not ordered by now has to be ordered again",
                ),
                Reason::Malformed => f.write_str("the server does not understand: it is of another version"),
            },
            OrderFault::Unheard { left, limit_s } => write!(
                f,
                "{left} orders were not acknowledged within {limit_s} s, and are told on\n\
                 help: `selvedge collect send ... --status` says whose"
            ),
            OrderFault::Shared => f.write_str(
                "found transport `nats`, expected `tcp` or `udp`: servers that share a deployment are asked nothing\n\
                 help: `selvedge collect keys revoke`, `close` and `rotate-store` hold for them, from the next lease on",
            ),
            OrderFault::NoServer => {
                f.write_str("no server runs that could tell a node anything\nhelp: `selvedge collect serve`")
            }
        }
    }
}
