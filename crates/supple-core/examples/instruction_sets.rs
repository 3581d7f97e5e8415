//! Prints which instruction sets tests of this build and machine cover, one line each.

use supple_core::simd::instruction_sets;

fn main() {
    for (name, here) in instruction_sets() {
        match (here, name) {
            (false, _) => println!("skipped: no {name} on this machine"),
            (true, "baseline") => println!("{name}: tested"),
            (true, _) if cfg!(debug_assertions) => println!(
                "{name}: lanes and octree products tested; skipped: other kernels, of which builds with debug assertions \
                 hold the baseline alone (cargo nextest run --release --lib -E 'test(/::instruction_sets_/)')"
            ),
            (true, _) => println!("{name}: tested"),
        }
    }
}
