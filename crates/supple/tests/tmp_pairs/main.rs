#[path = "../physics/contact_pairs.rs"]
mod contact_pairs;
#[path = "../physics/placed_colliders.rs"]
mod placed_colliders;
