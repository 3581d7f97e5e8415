//! Names of bodies and materials as file names and identifiers, and of data on vertices.

/// The force of contact on each vertex, in newtons.
pub(super) const CONTACT_FORCE: &str = "contact_force";
/// Its pressure, in Pa.
pub(super) const CONTACT_PRESSURE: &str = "contact_pressure";

/// One file name (without extension) per name: characters that a file system might refuse become `_`, and names that
/// would collide, also where case is ignored, are numbered.
pub(super) fn file_stems<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    unique(names.map(|name| {
        let stem: String =
            name.chars().map(|c| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '_' }).collect();
        let stem = stem.trim_matches('.');
        if stem.is_empty() { "body".to_owned() } else { stem.to_owned() }
    }))
}

/// One identifier (ASCII letters, digits and `_`, not starting with a digit) per name, all different.
pub(super) fn identifiers<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    unique(names.map(|name| {
        let identifier: String =
            name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        if identifier.starts_with(|c: char| !c.is_ascii_digit()) {
            identifier
        } else {
            format!("_{identifier}")
        }
    }))
}

fn unique(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut taken: Vec<String> = Vec::new();
    for name in names {
        let is_free = |candidate: &str| !taken.iter().any(|other| other.eq_ignore_ascii_case(candidate));
        let numbered = (2..).map(|number| format!("{name}_{number}"));
        let free = std::iter::once(name.clone()).chain(numbered).find(|candidate| is_free(candidate));
        taken.push(free.expect("there are more numbers than names"));
    }
    taken
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_stems_stay_inside_the_folder_and_never_meet() {
        let stems = file_stems(["Kleid ß", "../etc/passwd", "a", "A", "a_2", "", "a/b\\c:d"].into_iter());
        assert_eq!(stems, ["Kleid_ß", "_etc_passwd", "a", "A_2", "a_2_2", "body", "a_b_c_d"]);
    }

    #[test]
    fn identifiers_are_what_usd_allows() {
        let names = identifiers(["cloth", "2nd layer", "Ärmel", ""].into_iter());
        assert_eq!(names, ["cloth", "_2nd_layer", "_rmel", "_"]);
    }
}
