//! The integer coding of USD crate files (`Usd_IntegerCompression`): differences of neighbours, each with a 2-bit
//! code for its size, packed by LZ4 in the framing of `TfFastCompression`.

use std::collections::HashMap;

/// The maximum size of one LZ4 block (`LZ4_MAX_INPUT_SIZE`).
pub(super) const MAX_BLOCK_BYTES: usize = 0x7E00_0000;

/// LZ4 as `TfFastCompression` frames a single block: a zero byte (no chunks), then the block. The input must not be
/// longer than [`MAX_BLOCK_BYTES`].
pub(super) fn compress(bytes: &[u8]) -> Vec<u8> {
    let mut framed = vec![0];
    framed.extend(lz4_flex::block::compress(bytes));
    framed
}

/// Encodes and compresses 32-bit integers.
pub(super) fn compress_integers(values: &[i32]) -> Vec<u8> {
    compress(&encode(values))
}

/// The most common difference, two bits per difference (0: the common one, 1, 2, 3: one, two, four bytes),
/// then the bytes of the others.
fn encode(values: &[i32]) -> Vec<u8> {
    let common = most_common_difference(values);
    let mut codes = vec![0u8; values.len().div_ceil(4)];
    let mut bytes = Vec::new();
    for (i, difference) in differences(values).enumerate() {
        let code = if difference == common {
            0
        } else if let Ok(small) = i8::try_from(difference) {
            bytes.extend(small.to_le_bytes());
            1
        } else if let Ok(medium) = i16::try_from(difference) {
            bytes.extend(medium.to_le_bytes());
            2
        } else {
            bytes.extend(difference.to_le_bytes());
            3
        };
        codes[i / 4] |= code << (2 * (i % 4));
    }
    [&common.to_le_bytes()[..], &codes, &bytes].concat()
}

fn differences(values: &[i32]) -> impl Iterator<Item = i32> {
    let before = std::iter::once(0).chain(values.iter().copied());
    values.iter().zip(before).map(|(value, before)| value.wrapping_sub(before))
}

fn most_common_difference(values: &[i32]) -> i32 {
    let mut counts: HashMap<i32, u32> = HashMap::new();
    differences(values).for_each(|difference| *counts.entry(difference).or_default() += 1);
    // The larger value wins a tie, so that the result does not depend on the map's order.
    counts
        .into_iter()
        .max_by_key(|&(difference, count)| (count, difference))
        .map_or(0, |(difference, _)| difference)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_published_coding_comes_out_byte_for_byte() {
        // From the comment that documents the coding in OpenUSD's integerCoding.cpp.
        let encoded = encode(&[123, 124, 125, 100125, 100125, 100126, 100126]);
        let differences = [123, 1, 1, 100_000, 0, 1, 0];
        let mut expected = 1i32.to_le_bytes().to_vec();
        expected.extend([0b1100_0001, 0b0001_0001]);
        expected.push(123);
        expected.extend(100_000i32.to_le_bytes());
        expected.extend([0, 0]);
        assert_eq!(differences.iter().sum::<i32>(), 100_126);
        assert_eq!(encoded, expected);
    }

    /// Decodes the documented format.
    fn decode(encoded: &[u8], count: usize) -> Vec<i32> {
        let (common, rest) = encoded.split_first_chunk().unwrap();
        let (codes, mut rest) = rest.split_at(count.div_ceil(4));
        let mut take = |length: usize| {
            let (taken, left) = rest.split_at(length);
            rest = left;
            taken
        };
        let mut value = 0i32;
        let mut next = |i: usize| {
            let difference = match codes[i / 4] >> (2 * (i % 4)) & 3 {
                0 => i32::from_le_bytes(*common),
                1 => i32::from(i8::from_le_bytes(take(1).try_into().unwrap())),
                2 => i32::from(i16::from_le_bytes(take(2).try_into().unwrap())),
                _ => i32::from_le_bytes(take(4).try_into().unwrap()),
            };
            value = value.wrapping_add(difference);
            value
        };
        (0..count).map(&mut next).collect()
    }

    proptest::proptest! {
        #[test]
        fn any_integers_come_back(values: Vec<i32>, small in proptest::collection::vec(-300..300, 0..50)) {
            proptest::prop_assert_eq!(decode(&encode(&values), values.len()), values);
            proptest::prop_assert_eq!(decode(&encode(&small), small.len()), small);
        }
    }

    #[test]
    fn a_compressed_block_is_an_lz4_block_after_a_zero_byte() {
        let text = b"points points points points points points".repeat(20);
        let framed = compress(&text);
        assert_eq!(framed[0], 0);
        assert_eq!(lz4_flex::block::decompress(&framed[1..], text.len()).unwrap(), text);
    }
}
