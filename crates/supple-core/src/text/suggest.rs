//! Suggestions for misspelt names.

/// The candidate nearest to `word` if it is close enough to be a likely misspelling; the first of equals.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let plain_word = plain(word);
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates {
        let plain_candidate = plain(candidate);
        let distance = strsim::damerau_levenshtein(&plain_word, &plain_candidate);
        let longest = plain_word.chars().count().max(plain_candidate.chars().count());
        let begins = plain_word.len() >= 3 && plain_candidate.starts_with(&plain_word);
        let near = 2 * distance <= longest || begins;
        if near && best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// "; did you mean `x`?", or "." if nothing is close.
pub fn did_you_mean<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    nearest(word, candidates).map_or_else(|| ".".to_owned(), |near| format!("; did you mean `{near}`?"))
}

/// "`a`, `b`, `c`".
pub fn list<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    words.into_iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

/// Case, hyphens, blanks and underscores are ignored.
fn plain(word: &str) -> String {
    word.chars().take(64).map(|c| if matches!(c, '-' | ' ') { '_' } else { c.to_ascii_lowercase() }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_the_word_that_was_meant() {
        let words = ["method", "linear", "tolerance", "max_iterations"];
        for (slip, meant) in [
            ("methd", "method"),
            ("Linear", "linear"),
            ("max-iterations", "max_iterations"),
            ("tol", "tolerance"),
        ] {
            assert_eq!(nearest(slip, words), Some(meant));
        }
        assert_eq!(nearest("colour", words), None);
    }
}
