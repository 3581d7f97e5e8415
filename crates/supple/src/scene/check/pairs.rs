//! Checks of `[[contact.pair]]` and of the groups that it names.

use crate::scene::check::Checker;
use crate::scene::{ContactPair, Participant};

impl Checker<'_> {
    pub(crate) fn pairs(&mut self) {
        let scene = self.scene;
        let all: Vec<Participant<'_>> = scene
            .bodies
            .iter()
            .map(Participant::from)
            .chain(scene.colliders.iter().map(Participant::from))
            .collect();
        self.groups(&all);
        let mut names: Vec<&str> =
            all.iter().map(|one| one.name).chain(all.iter().filter_map(|one| one.group)).collect();
        names.sort_unstable();
        names.dedup();
        for (i, pair) in scene.contact.pairs.iter().enumerate() {
            let place = format!("contact.pair.{i}");
            let before = self.problem_count();
            for (side, name) in pair.between.iter().enumerate() {
                self.known(&format!("{place}.between.{side}"), "body, collider or group", name, &names);
                self.ambiguous(&format!("{place}.between.{side}"), name, &all);
            }
            if let Some(friction) = pair.friction {
                self.at_least_zero(&format!("{place}.friction"), friction);
            }
            if self.problem_count() == before {
                self.pair(&place, pair, &all);
            }
        }
    }

    /// Groups that are called as something else.
    fn groups(&mut self, all: &[Participant<'_>]) {
        let bodies = self.scene.bodies.len();
        for (i, one) in all.iter().enumerate() {
            let Some(group) = one.group else { continue };
            let place = match i.checked_sub(bodies) {
                None => format!("body.{i}.group"),
                Some(i) => format!("collider.{i}.group"),
            };
            if group.trim().is_empty() {
                self.wrong(&place, "a group needs a name; leave out `group` if there is none".to_owned());
            } else if let Some(other) = all.iter().find(|other| other.name == group) {
                let kind = kind(other);
                self.wrong(&place, format!("a {kind} is also called `{group}`; give the group another name"));
            }
        }
    }

    /// A name that two parts of the scene have.
    fn ambiguous(&mut self, place: &str, name: &str, all: &[Participant<'_>]) {
        if all.iter().filter(|one| one.name == name).count() > 1 {
            let problem = format!("both a body and a collider are called `{name}`; rename one of them");
            self.wrong(place, problem);
        }
    }

    /// An entry whose names are known.
    fn pair(&mut self, place: &str, pair: &ContactPair, all: &[Participant<'_>]) {
        let [first, second] = &pair.between;
        let about: Vec<[Participant<'_>; 2]> = (0..all.len())
            .flat_map(|i| (i..all.len()).map(move |j| [all[i], all[j]]))
            .filter(|[a, b]| pair.is_about(a, b))
            .collect();
        let colliders_only =
            all.iter().filter(|one| one.is_called(first) || one.is_called(second)).all(|one| one.is_collider);
        let meets = |[a, b]: &[Participant<'_>; 2]| self.scene.contact.meeting(*a, *b).collides;
        let problem = if colliders_only {
            format!(
                "`{first}` and `{second}` are colliders, which do not collide with each other; name a body"
            )
        } else if pair.collide.is_none() && pair.friction.is_none() {
            "the pair says nothing; give `collide` or `friction`".to_owned()
        } else if pair.collide == Some(false) && pair.friction.is_some() {
            "what does not collide has no friction; leave out `collide = false` or `friction`".to_owned()
        } else if about.iter().all(|[a, b]| a.is_collider && b.is_collider) {
            format!(
                "no two members of `{first}` and `{second}` can meet; a body meets itself by its own name, given twice"
            )
        } else if pair.collide.is_none() && !about.iter().any(meets) {
            format!(
                "`{first}` and `{second}` do not collide, so that they have no friction; add `collide = true`"
            )
        } else {
            return;
        };
        self.wrong(place, problem);
    }
}

fn kind(one: &Participant<'_>) -> &'static str {
    if one.is_collider { "collider" } else { "body" }
}
