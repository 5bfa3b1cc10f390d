//! What a deployment says of the channels that a store holds: names, units, rates.

use collect::export::{Catalogue, Meaning};

use super::deployment::{Deployment, Node};
use super::grid::{computer_grid, grid};

/// Codes of a 10-bit converter.
const CODES: f64 = 1024.0;

/// The catalogue of every cell and node.
pub fn catalogue(deployment: &Deployment) -> Catalogue {
    let mut catalogue = Catalogue::default();
    for cell in &deployment.cells {
        catalogue.cells.insert(cell.id, cell.name.clone());
        for computer in &cell.computers {
            catalogue.grids.insert(computer.id, computer_grid(computer));
        }
        for node in &cell.nodes {
            catalogue.grids.insert(node.id, grid(cell, node));
            let leads = node.wiring.leads.iter().map(|lead| lead.channel);
            for input in leads.chain([node.channel]) {
                catalogue.meanings.insert((node.id, input), meaning(node));
            }
        }
    }
    catalogue
}

/// What a code is at the sensor: the lowest voltage that has it, in front of the amplifier.
fn meaning(node: &Node) -> Meaning {
    let gain = node.gain_thousandths as f64 / 1000.0;
    Meaning {
        unit: "V".to_owned(),
        scale: node.reference_nv as f64 * 1e-9 / CODES / gain,
        offset: -(node.offset_nv as f64 * 1e-9) / gain,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn a_code_stands_for_the_voltage_at_the_electrode() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deployments/ecg.toml");
        let catalogue = catalogue(&super::super::deployment::load(&path).unwrap());
        let inputs: Vec<_> = catalogue.meanings.keys().copied().collect();
        assert_eq!(inputs, [(1, 0), (2, 0), (2, 1), (3, 0), (4, 0), (4, 1)]);
        let Meaning { unit, scale, offset } = &catalogue.meanings[&(1, 0)];
        assert_eq!(unit, "V");
        // 1.28 V of 2.56 V is code 512, and 0 V at the electrode; a code is 2.5 mV behind an amplification of 300.
        assert!((scale * 512.0 + offset).abs() < 1e-12);
        assert!((scale - 2.5e-3 / 300.0).abs() < 1e-12);
        assert_eq!(catalogue.cells[&7], "ward");
        assert_eq!(catalogue.grids[&1].samples_per_superframe.get(), 90);
    }
}
