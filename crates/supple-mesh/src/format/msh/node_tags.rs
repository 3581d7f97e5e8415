//! From Gmsh's node tags, which may have gaps and any order, to vertex indices.

/// Finds the vertex of a node tag.
pub(super) enum NodeTags {
    /// `vertex[tag - first]`, with `u32::MAX` in the gaps.
    Dense { first: i64, vertex: Vec<u32> },
    /// Pairs of tag and vertex, sorted by tag.
    Sparse(Vec<(i64, u32)>),
}

impl NodeTags {
    /// Vertex `i` has the tag `tags[i]`; a tag that occurs twice is the error.
    pub(super) fn new(tags: &[i64]) -> Result<Self, i64> {
        let first = tags.iter().copied().min().unwrap_or(0);
        let last = tags.iter().copied().max().unwrap_or(-1);
        let range = i128::from(last) - i128::from(first) + 1;
        if range > 4 * tags.len() as i128 {
            return Self::sparse(tags);
        }
        let mut vertex = vec![u32::MAX; range as usize];
        for (i, &tag) in tags.iter().enumerate() {
            let slot = &mut vertex[(tag - first) as usize];
            if *slot != u32::MAX {
                return Err(tag);
            }
            *slot = i as u32;
        }
        Ok(Self::Dense { first, vertex })
    }

    fn sparse(tags: &[i64]) -> Result<Self, i64> {
        let mut pairs: Vec<(i64, u32)> = tags.iter().enumerate().map(|(i, &tag)| (tag, i as u32)).collect();
        pairs.sort_unstable();
        match pairs.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            Some(pair) => Err(pair[0].0),
            None => Ok(Self::Sparse(pairs)),
        }
    }

    pub(super) fn find(&self, tag: i64) -> Option<u32> {
        match self {
            Self::Dense { first, vertex } => {
                let slot = usize::try_from(tag.checked_sub(*first)?).ok()?;
                vertex.get(slot).copied().filter(|&vertex| vertex != u32::MAX)
            }
            Self::Sparse(pairs) => {
                let slot = pairs.binary_search_by_key(&tag, |pair| pair.0).ok()?;
                Some(pairs[slot].1)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_with_gaps_of_any_size_are_found() {
        for tags in [vec![1, 2, 3], vec![7, 3, 5], vec![i64::MAX, 1, i64::MIN, 10]] {
            let nodes = NodeTags::new(&tags).ok().unwrap();
            for (i, &tag) in tags.iter().enumerate() {
                assert_eq!(nodes.find(tag), Some(i as u32), "{tags:?}");
            }
            assert_eq!(nodes.find(4), None);
            assert_eq!(nodes.find(0), None);
        }
    }

    #[test]
    fn a_tag_used_twice_is_an_error() {
        assert_eq!(NodeTags::new(&[1, 2, 1]).err(), Some(1));
        assert_eq!(NodeTags::new(&[1, 1_000_000, 1_000_000]).err(), Some(1_000_000));
    }
}
