//! Who meets whom: the pair table of `[contact]` applied to two bodies, or to a body and a collider.
//!
//! Bodies meet each other by `between_bodies`, themselves by `self_contact`, and colliders always; entries of `[[contact.pair]]` change that
//! in their order. A group with itself is its members with each other: a body with itself is named twice by its own name.

use crate::scene::{Body, Collider, Contact, ContactPair};

/// A body or collider as the pair table names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Participant<'a> {
    /// Its name, unique among bodies or among colliders.
    pub name: &'a str,
    /// Its group.
    pub group: Option<&'a str>,
    /// Whether it is a collider.
    pub is_collider: bool,
    /// Whether it collides with itself without the table.
    pub self_contact: bool,
}

/// Whether and how two of them meet.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Meeting {
    /// Whether they collide.
    pub collides: bool,
    /// Their friction coefficient, where the table gives one.
    pub friction: Option<f64>,
}

impl<'a> From<&'a Body> for Participant<'a> {
    fn from(body: &'a Body) -> Self {
        let (name, group) = (body.name.as_str(), body.group.as_deref());
        Self { name, group, is_collider: false, self_contact: body.self_contact.unwrap_or_default() }
    }
}

impl<'a> From<&'a Collider> for Participant<'a> {
    fn from(collider: &'a Collider) -> Self {
        let (name, group) = (collider.name.as_str(), collider.group.as_deref());
        Self { name, group, is_collider: true, self_contact: false }
    }
}

impl Participant<'_> {
    /// Whether a name is its own or that of its group.
    pub(crate) fn is_called(&self, name: &str) -> bool {
        self.name == name || self.group == Some(name)
    }

    fn is(&self, other: &Self) -> bool {
        (self.is_collider, self.name) == (other.is_collider, other.name)
    }
}

impl Contact {
    /// Whether and how two bodies, one twice, or a body and a collider meet. Colliders never meet colliders.
    pub fn meeting(&self, first: Participant<'_>, second: Participant<'_>) -> Meeting {
        let collides = match (first.is_collider, second.is_collider) {
            (true, true) => return Meeting::default(),
            (false, false) if first.is(&second) => first.self_contact,
            (false, false) => self.between_bodies,
            _ => true,
        };
        let mut meeting = Meeting { collides, friction: None };
        for pair in self.pairs.iter().filter(|pair| pair.is_about(&first, &second)) {
            meeting.collides = pair.collide.unwrap_or(meeting.collides);
            meeting.friction = pair.friction.or(meeting.friction);
        }
        meeting
    }
}

impl ContactPair {
    /// Whether it is about two bodies, one twice, or a body and a collider.
    pub(crate) fn is_about(&self, first: &Participant<'_>, second: &Participant<'_>) -> bool {
        let [a, b] = &self.between;
        if first.is(second) {
            return a == b && a == first.name;
        }
        first.is_called(a) && second.is_called(b) || first.is_called(b) && second.is_called(a)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body<'a>(name: &'a str, group: Option<&'a str>) -> Participant<'a> {
        Participant { name, group, is_collider: false, self_contact: false }
    }

    #[test]
    fn later_entries_win_and_each_says_only_what_it_gives() {
        let pairs = [
            ContactPair::ignore("shirt", "coat"),
            ContactPair::friction("coat", "shirt", 0.2),
            ContactPair::collide("shirt", "coat"),
            ContactPair::friction("shirt", "coat", 0.7),
        ];
        let (shirt, coat) = (body("shirt", None), body("coat", None));
        let with = |count: usize| Contact { pairs: pairs[..count].to_vec(), ..Contact::default() };
        let found: Vec<Meeting> = (0..=4).map(|count| with(count).meeting(shirt, coat)).collect();
        let expected =
            [(true, None), (false, None), (false, Some(0.2)), (true, Some(0.2)), (true, Some(0.7))];
        assert_eq!(found, expected.map(|(collides, friction)| Meeting { collides, friction }));
        assert_eq!(with(4).meeting(coat, shirt), found[4]);
    }

    #[test]
    fn a_group_with_itself_is_its_members_with_each_other() {
        let contact = Contact {
            between_bodies: false,
            pairs: vec![ContactPair::collide("clothes", "clothes"), ContactPair::collide("coat", "coat")],
            ..Contact::default()
        };
        let [shirt, coat, ball] =
            [body("shirt", Some("clothes")), body("coat", Some("clothes")), body("ball", None)];
        let meets = |a, b| contact.meeting(a, b).collides;
        assert!(meets(shirt, coat) && meets(coat, coat));
        assert!(!meets(shirt, shirt) && !meets(shirt, ball) && !meets(ball, ball));
        let floor = Participant { is_collider: true, ..body("floor", Some("clothes")) };
        assert!(meets(floor, ball) && !meets(floor, floor));
    }
}
