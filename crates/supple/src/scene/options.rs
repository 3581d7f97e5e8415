//! Options of steppers: every stepper has its own plain struct, read from and written to its table under `[solver]`. The
//! scene keeps them without knowing their types.

use std::any::Any;
use std::fmt;

use serde::de::DeserializeOwned;
use serde::ser::{Serialize, SerializeMap, Serializer};
use toml_edit::ser::ValueSerializer;

use crate::scene::Adjustable;
use crate::scene::read::document::Node;
use crate::scene::read::reader::{self, ReadError};
use supple_core::Error;

/// Options of a stepper: a plain struct that serde reads (with `deny_unknown_fields` and `default`) and writes.
///
/// ```
/// use serde::{Deserialize, Serialize};
/// use supple::{Error, Solver, scene::NamedOptions};
///
/// #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
/// #[serde(deny_unknown_fields, default)]
/// struct FallOptions {
///     drag: f64,
/// }
///
/// impl NamedOptions for FallOptions {
///     const TABLE: &'static str = "fall";
///
///     fn check(&self) -> Result<(), Error> {
///         if self.drag >= 0.0 { Ok(()) } else { Err(Error::out_of_range("fall.drag", self.drag, "0 or above")) }
///     }
/// }
///
/// let solver = Solver::default().with_options(FallOptions { drag: 0.5 });
/// assert_eq!(solver.options.get::<FallOptions>().drag, 0.5);
/// ```
pub trait NamedOptions:
    Serialize + DeserializeOwned + Default + PartialEq + Clone + fmt::Debug + Send + Sync + 'static
{
    /// The name of their table under `[solver]`: lower case, with underscores.
    const TABLE: &'static str;

    /// Rejects values outside their range, with key, value and range.
    fn check(&self) -> Result<(), Error>;

    /// The options that the viewer lets the user change. The others are set in scene files.
    fn adjustable(&self) -> Vec<Adjustable> {
        Vec::new()
    }

    /// Why a simulation with these options cannot continue with `changed` from its current state, or `None` if it can: a clause.
    fn reason_to_restart(&self, _changed: &Self) -> Option<&'static str> {
        None
    }
}

/// The options of steppers in a scene. Missing options have their defaults, so that a set with the defaults of some stepper
/// equals one without them.
#[derive(Debug, Default)]
pub struct OptionSet(Vec<Box<dyn StoredOptions>>);

impl OptionSet {
    /// The options of a stepper: those set, or its defaults.
    pub fn get<T: NamedOptions>(&self) -> T {
        let stored = self.0.iter().find_map(|stored| stored.as_any().downcast_ref::<T>());
        stored.cloned().unwrap_or_default()
    }

    /// Mutable options of a stepper.
    pub fn get_mut<T: NamedOptions>(&mut self) -> &mut T {
        let at = self.0.iter().position(|stored| stored.as_any().is::<T>()).unwrap_or_else(|| {
            self.insert(Box::new(T::default()));
            self.0.iter().position(|stored| stored.as_any().is::<T>()).expect("it was just put in")
        });
        self.0[at].as_any_mut().downcast_mut().expect("found by its type")
    }

    /// Sets the options of a stepper.
    pub fn set<T: NamedOptions>(&mut self, options: T) {
        self.insert(Box::new(options));
    }

    /// In the order of their tables' names, replacing those of the same table.
    pub(crate) fn insert(&mut self, options: Box<dyn StoredOptions>) {
        match self.0.binary_search_by_key(&options.table(), |stored| stored.table()) {
            Ok(at) => self.0[at] = options,
            Err(at) => self.0.insert(at, options),
        }
    }

    /// Rejects values outside their range.
    pub fn check(&self) -> Result<(), Error> {
        self.0.iter().try_for_each(|stored| stored.check())
    }

    /// Those that differ from their defaults.
    fn changed(&self) -> impl Iterator<Item = &dyn StoredOptions> {
        self.0.iter().map(|stored| &**stored).filter(|stored| !stored.is_default())
    }

    /// Writes a table for each that differs from its default into the map of `[solver]`.
    pub(crate) fn serialize_into<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        for stored in self.changed() {
            let value = stored.to_value().map_err(serde::ser::Error::custom)?;
            map.serialize_entry(stored.table(), &OrderedValue(&value))?;
        }
        Ok(())
    }
}

impl Clone for OptionSet {
    fn clone(&self) -> Self {
        Self(self.0.iter().map(|stored| stored.clone_box()).collect())
    }
}

impl PartialEq for OptionSet {
    fn eq(&self, other: &Self) -> bool {
        self.changed().count() == other.changed().count()
            && self.changed().zip(other.changed()).all(|(one, another)| one.equals(another))
    }
}

/// A table under `[solver]` known to the scene reader.
#[derive(Clone, Copy)]
pub struct OptionTable {
    name: &'static str,
    read: fn(&Node) -> Result<Box<dyn StoredOptions>, ReadError>,
    adjustable: fn(&OptionSet) -> Vec<Adjustable>,
    reason_to_restart: fn(&OptionSet, &OptionSet) -> Option<&'static str>,
}

impl OptionTable {
    /// The table of these options.
    pub const fn of<T: NamedOptions>() -> Self {
        Self {
            name: T::TABLE,
            read: |node| Ok(Box::new(reader::read_part::<T>(node)?)),
            adjustable: |options| options.get::<T>().adjustable(),
            reason_to_restart: |before, after| before.get::<T>().reason_to_restart(&after.get()),
        }
    }

    /// Its name.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// The options that the viewer lets the user change.
    pub fn adjustable(&self, options: &OptionSet) -> Vec<Adjustable> {
        (self.adjustable)(options)
    }

    /// Why a simulation cannot continue from its state when its options change; `None` if it can.
    pub fn reason_to_restart(&self, before: &OptionSet, after: &OptionSet) -> Option<&'static str> {
        (self.reason_to_restart)(before, after)
    }

    pub(crate) fn read(&self, node: &Node) -> Result<Box<dyn StoredOptions>, ReadError> {
        (self.read)(node)
    }
}

impl fmt::Debug for OptionTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OptionTable").field(&self.name).finish()
    }
}

/// [`NamedOptions`] of any type.
pub(crate) trait StoredOptions: fmt::Debug + Send + Sync {
    fn table(&self) -> &'static str;
    fn check(&self) -> Result<(), Error>;
    fn is_default(&self) -> bool;
    fn equals(&self, other: &dyn StoredOptions) -> bool;
    fn to_value(&self) -> Result<toml_edit::Value, toml_edit::ser::Error>;
    fn clone_box(&self) -> Box<dyn StoredOptions>;
    fn as_any(&self) -> &dyn Any;
    fn as_any_mut(&mut self) -> &mut dyn Any;
}

impl<T: NamedOptions> StoredOptions for T {
    fn table(&self) -> &'static str {
        T::TABLE
    }

    fn check(&self) -> Result<(), Error> {
        NamedOptions::check(self)
    }

    fn is_default(&self) -> bool {
        *self == T::default()
    }

    fn equals(&self, other: &dyn StoredOptions) -> bool {
        other.as_any().downcast_ref::<T>() == Some(self)
    }

    fn to_value(&self) -> Result<toml_edit::Value, toml_edit::ser::Error> {
        self.serialize(ValueSerializer::new())
    }

    fn clone_box(&self) -> Box<dyn StoredOptions> {
        Box::new(self.clone())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }
}

/// A value whose tables preserve the order of their keys.
struct OrderedValue<'a>(&'a toml_edit::Value);

impl Serialize for OrderedValue<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use toml_edit::Value;
        match self.0 {
            Value::String(text) => serializer.serialize_str(text.value()),
            Value::Integer(number) => serializer.serialize_i64(*number.value()),
            Value::Float(number) => serializer.serialize_f64(*number.value()),
            Value::Boolean(flag) => serializer.serialize_bool(*flag.value()),
            Value::Datetime(date) => serializer.serialize_str(&date.value().to_string()),
            Value::Array(elements) => serializer.collect_seq(elements.iter().map(OrderedValue)),
            Value::InlineTable(table) => {
                serializer.collect_map(table.iter().map(|(key, value)| (key, OrderedValue(value))))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde::{Deserialize, Serialize};

    use super::*;

    #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
    struct Late {
        zeta: f64,
        alpha: u32,
    }

    impl NamedOptions for Late {
        const TABLE: &'static str = "late";

        fn check(&self) -> Result<(), Error> {
            if self.alpha < 10 {
                Ok(())
            } else {
                Err(Error::out_of_range("late.alpha", self.alpha, "below 10"))
            }
        }
    }

    #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
    struct Early {
        count: u32,
    }

    impl NamedOptions for Early {
        const TABLE: &'static str = "early";

        fn check(&self) -> Result<(), Error> {
            Ok(())
        }
    }

    struct Written<'a>(&'a OptionSet);

    impl Serialize for Written<'_> {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let mut map = serializer.serialize_map(None)?;
            self.0.serialize_into(&mut map)?;
            map.end()
        }
    }

    #[test]
    fn defaults_equal_what_is_not_set() {
        let mut set = OptionSet::default();
        set.set(Late::default());
        assert_eq!(set, OptionSet::default());
        set.get_mut::<Late>().alpha = 3;
        assert_ne!(set, OptionSet::default());
        assert_eq!(set.clone(), set);
        assert_eq!(set.get::<Late>().alpha, 3);
        assert_eq!(set.get::<Early>(), Early::default());
    }

    #[test]
    fn tables_are_written_by_name_with_keys_as_declared_and_without_defaults() {
        let mut set = OptionSet::default();
        set.set(Late { zeta: 0.5, alpha: 1 });
        set.set(Early { count: 2 });
        let text = toml_edit::ser::to_string(&Written(&set)).unwrap();
        assert_eq!(text, "early = { count = 2 }\nlate = { zeta = 0.5, alpha = 1 }\n");
        set.set(Early::default());
        let text = toml_edit::ser::to_string(&Written(&set)).unwrap();
        assert_eq!(text, "late = { zeta = 0.5, alpha = 1 }\n");
    }

    #[test]
    fn every_stored_table_is_checked() {
        let mut set = OptionSet::default();
        set.set(Early { count: 2 });
        assert!(set.check().is_ok());
        set.get_mut::<Late>().alpha = 10;
        assert_eq!(set.check().unwrap_err().to_string(), "`late.alpha` is 10; it must be below 10");
    }
}
