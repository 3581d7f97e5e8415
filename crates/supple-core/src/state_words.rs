//! Floating-point numbers as 32-bit words of checkpoints, bit by bit.

/// Adds a number as two words.
pub fn push(words: &mut Vec<u32>, number: f64) {
    let bits = number.to_bits();
    words.extend([bits as u32, (bits >> 32) as u32]);
}

/// The numbers encoded by words, two each; `2 N` must be the count of words.
pub fn numbers<const N: usize>(words: &[u32]) -> [f64; N] {
    std::array::from_fn(|i| f64::from_bits(u64::from(words[2 * i]) | u64::from(words[2 * i + 1]) << 32))
}
