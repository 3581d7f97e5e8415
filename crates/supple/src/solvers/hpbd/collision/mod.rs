//! Collisions of particles with colliders and with other particles (Müller 2008, section 3.4).

pub(crate) mod colliders;
pub(crate) mod particle_hash;
pub(crate) mod patches;
pub(crate) mod points;
pub(crate) mod pushes;
pub(crate) mod self_collisions;
