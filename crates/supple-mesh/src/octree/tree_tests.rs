//! Invariants of every octree.

use glam::DVec3;

use super::coarsen::coarsen;
use super::construct::{Grading, fill};
use super::octant::Octant;
use super::tree::Octree;
use crate::test_support::{box_surface, bumpy, cube};

fn levels(finest: Octree) -> Vec<Octree> {
    let mut all = vec![finest];
    while let Some(coarser) = coarsen(all.last().unwrap()) {
        all.push(coarser.tree);
    }
    all
}

/// The counts of an independent prototype for the cube, and of `n³` cells for uniform ones.
#[test]
fn cubes_have_the_elements_and_nodes_counted_independently() {
    for (n, elements, nodes) in [(16, 2528, 2961), (32, 11_992, 12_971), (64, 52_368, 54_469)] {
        let tree = cube(n, Grading::Layers(1)).tree;
        assert_eq!((tree.elements().len(), tree.nodes().len()), (elements, nodes), "{n}");
    }
    let uniform = cube(12, Grading::Uniform).tree;
    assert_eq!((uniform.elements().len(), uniform.nodes().len()), (12usize.pow(3), 13usize.pow(3)));
    assert!(uniform.hanging().iter().all(|hanging| *hanging == 0));
}

/// Every shared node has one value, independent of the element: a field that is linear in space, given at
/// the conforming nodes, is that linear field at every corner.
#[test]
fn hanging_nodes_keep_linear_fields_exact_on_all_levels() {
    for tree in levels(bumpy(24).tree).into_iter().chain(levels(cube(16, Grading::Layers(1)).tree)) {
        let field = |place: [u16; 3]| {
            let p = DVec3::from_array(place.map(f64::from));
            1.0 + 0.5 * p.x - 2.0 * p.y + 0.25 * p.z
        };
        let values: Vec<f64> = tree.nodes().iter().map(|node| field(*node)).collect();
        for (e, element) in tree.elements().iter().enumerate() {
            for corner in 0..8 {
                let point = std::array::from_fn(|k| f64::from((corner >> k & 1) as u8));
                let weights = tree.weights(e, point);
                let found: f64 = weights.iter().map(|&(node, w)| w * values[node as usize]).sum();
                assert!((found - field(element.corner(corner))).abs() < 1e-10);
            }
        }
    }
}

/// Nodes that hang in one element hang in all, and a piecewise trilinear field is continuous: random values at the nodes
/// give the same value at every point that two elements share.
#[test]
fn fields_are_continuous_across_elements_of_different_sizes() {
    for tree in levels(bumpy(20).tree) {
        let value = |node: u32| (f64::from(node) * 12.9898).sin() * 43_758.545_3 % 1.0;
        let at = |e: usize, place: DVec3| -> f64 {
            let element = tree.elements()[e];
            let anchor = DVec3::from_array(element.anchor().map(f64::from));
            let point = ((place - anchor) / f64::from(element.size())).to_array();
            tree.weights(e, point).iter().map(|&(node, w)| w * value(node)).sum()
        };
        for (e, element) in tree.elements().iter().enumerate() {
            for (k, t) in [(0, 0.3), (1, 0.7), (2, 0.55)] {
                // A point on the face across axis k at the high side, seen from the element beyond.
                let mut point = [0.25, 0.65, 0.4];
                point[(k + 1) % 3] = t;
                point[k] = 1.0;
                let anchor = DVec3::from_array(element.anchor().map(f64::from));
                let place = anchor + f64::from(element.size()) * DVec3::from_array(point);
                let mut beyond = place;
                beyond[k] += 0.5;
                let Some(other) = tree.find(beyond.to_array().map(|c| c as u16)) else { continue };
                assert!((at(e, place) - at(other, place)).abs() < 1e-12, "{element:?}");
            }
        }
    }
}

#[test]
fn coarser_trees_cover_the_finer_ones_by_themselves_or_their_parents() {
    for fine in [bumpy(24).tree, cube(16, Grading::Layers(1)).tree] {
        let coarse = coarsen(&fine).unwrap();
        for (c, range) in coarse.first_child.windows(2).enumerate() {
            let own = coarse.tree.elements()[c];
            let children = &fine.elements()[range[0] as usize..range[1] as usize];
            let is_parent = |child: &Octant| child.parent() == own;
            assert!(children.len() <= 8 && !children.is_empty());
            assert!(children == [own] || children.iter().all(is_parent), "{own:?} {children:?}");
        }
    }
    // Level k + 1 of a cube is level k of one half as large.
    let half = cube(16, Grading::Layers(1)).tree.elements().len();
    assert_eq!(coarsen(&cube(32, Grading::Layers(1)).tree).unwrap().tree.elements().len(), half);
}

#[test]
fn the_filled_volume_is_that_of_the_surface() {
    for n in [12.0, 24.0] {
        let (positions, triangles) = box_surface(DVec3::ZERO, DVec3::new(n, 0.77 * n, 0.59 * n));
        let filled = fill(&positions, triangles, 1.0, Grading::Layers(1)).unwrap();
        let volume: f64 =
            (0..filled.fill.len()).map(|e| f64::from(filled.fill[e]) * filled.tree.side(e).powi(3)).sum();
        let exact = n * 0.77 * n * 0.59 * n;
        assert!((volume / exact - 1.0).abs() < 0.03, "{volume} {exact}");
    }
}

#[test]
fn what_cannot_be_cut_into_octants_is_refused_with_what_to_do() {
    let (positions, triangles) = box_surface(DVec3::ZERO, DVec3::ONE);
    let problem =
        |cell: f64| fill(&positions, triangles.clone(), cell, Grading::Layers(1)).unwrap_err().to_string();
    assert!(problem(1e-6).contains("use at least"), "{}", problem(1e-6));
    assert!(problem(f64::NAN).contains("positive and finite"));
    let bad = [DVec3::NAN; 3];
    assert!(
        fill(&bad, vec![[0, 1, 2]], 1.0, Grading::Layers(1)).unwrap_err().to_string().contains("vertex 0")
    );
    assert!(fill(&positions, Vec::new(), 1.0, Grading::Layers(1)).is_err());
}

#[test]
fn faces_that_point_inward_are_turned_with_a_note() {
    let (positions, mut triangles) = box_surface(DVec3::ZERO, DVec3::splat(8.0));
    triangles.iter_mut().for_each(|t| t.swap(0, 1));
    let filled = fill(&positions, triangles, 1.0, Grading::Layers(1)).unwrap();
    assert_eq!(filled.notes.len(), 1);
    assert_eq!(filled.tree, cube(8, Grading::Layers(1)).tree);
}
