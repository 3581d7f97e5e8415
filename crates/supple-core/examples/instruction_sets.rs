//! Prints which instruction sets the tests of this build cover on this machine, one per line.

use supple_core::simd::instruction_sets;

fn main() {
    for (name, here) in instruction_sets() {
        if !here {
            println!("skipped: no {name} on this machine");
        } else if cfg!(debug_assertions) && name != "baseline" {
            println!("skipped: kernels for {name}, which builds with debug assertions do not contain");
        } else {
            println!("tested: {name}");
        }
    }
}
