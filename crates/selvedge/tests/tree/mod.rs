//! A source tree of one's own, whose program is changed before it is built.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

/// With the files of `firmware/node` and `firmware/crypto`.
pub fn copied() -> TempDir {
    let tree = tempfile::tempdir().expect("a folder");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for folder in ["firmware/node", "firmware/crypto"] {
        fs::create_dir_all(tree.path().join(folder)).expect("a folder of the tree");
        for entry in fs::read_dir(root.join(folder)).expect("the tree has it") {
            let path = entry.expect("it can be listed").path();
            if path.is_file() {
                let file = path.file_name().expect("it has a name");
                fs::copy(&path, tree.path().join(folder).join(file)).expect("it can be copied");
            }
        }
    }
    tree
}
