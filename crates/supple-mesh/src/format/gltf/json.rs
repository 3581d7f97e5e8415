//! Fields of JSON objects by name and type. A missing field or one of another type is an error that names its path, as in
//! `meshes[0].primitives[2].mode`; `null` counts as missing, and fields that are not requested are ignored.

use serde_json::{Map, Value};

/// A JSON object, and its path in the document.
pub(super) struct Object<'v> {
    fields: &'v Map<String, Value>,
    /// Empty for the document itself; otherwise it ends with a dot.
    place: String,
}

/// A list of the document whose entries are referred to by their numbers.
#[derive(Clone, Copy)]
pub(super) struct List {
    /// What an entry is called.
    pub entry: &'static str,
    /// The number of entries.
    pub count: usize,
}

impl<'v> Object<'v> {
    /// The whole document.
    pub(super) fn document(value: &'v Value) -> Result<Self, String> {
        match value.as_object() {
            Some(fields) => Ok(Self { fields, place: String::new() }),
            None => Err("the JSON must be an object".to_owned()),
        }
    }

    pub(super) fn error(&self, key: &str, problem: &str) -> String {
        format!("{}{key} {problem}", self.place)
    }

    /// The value of a required field.
    pub(super) fn require<T>(&self, key: &str, value: Option<T>) -> Result<T, String> {
        value.ok_or_else(|| self.error(key, "is missing"))
    }

    /// The names of all fields.
    pub(super) fn keys(&self) -> impl Iterator<Item = &'v str> + use<'v> {
        self.fields.keys().map(String::as_str)
    }

    /// The number of entries of a list that may be missing.
    pub(super) fn list(&self, key: &str, entry: &'static str) -> Result<List, String> {
        Ok(List { entry, count: self.values(key)?.len() })
    }

    /// An unsigned integer.
    pub(super) fn number(&self, key: &str) -> Result<Option<usize>, String> {
        let whole = |value: &Value| value.as_u64().and_then(|number| usize::try_from(number).ok());
        self.field(key, whole, "must be an unsigned integer")
    }

    pub(super) fn flag(&self, key: &str) -> Result<bool, String> {
        Ok(self.field(key, Value::as_bool, "must be true or false")?.unwrap_or(false))
    }

    pub(super) fn text(&self, key: &str) -> Result<Option<&'v str>, String> {
        self.field(key, Value::as_str, "must be a text")
    }

    /// A list of `N` numbers.
    pub(super) fn floats<const N: usize>(&self, key: &str) -> Result<Option<[f32; N]>, String> {
        let all = |value: &Value| {
            let numbers = value.as_array()?.iter().map(|number| Some(number.as_f64()? as f32));
            numbers.collect::<Option<Vec<f32>>>()?.try_into().ok()
        };
        self.field(key, all, &format!("must be a list of {N} numbers"))
    }

    pub(super) fn texts(&self, key: &str) -> Result<Vec<String>, String> {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let texts: Option<Vec<String>> = self.values(key)?.iter().map(text).collect();
        texts.ok_or_else(|| self.error(key, "must be an array of strings"))
    }

    pub(super) fn object(&self, key: &str) -> Result<Option<Self>, String> {
        let fields = self.field(key, Value::as_object, "must be an object")?;
        Ok(fields.map(|fields| Self { fields, place: format!("{}{key}.", self.place) }))
    }

    /// The objects of a list that may be missing.
    pub(super) fn objects(&self, key: &str) -> Result<Vec<Self>, String> {
        let object = |(index, value): (usize, &'v Value)| match value.as_object() {
            Some(fields) => Ok(Self { fields, place: format!("{}{key}[{index}].", self.place) }),
            None => Err(self.error(&format!("{key}[{index}]"), "must be an object")),
        };
        self.values(key)?.iter().enumerate().map(object).collect()
    }

    /// The number of an entry that exists.
    pub(super) fn reference(&self, key: &str, list: List) -> Result<Option<usize>, String> {
        match self.number(key)? {
            Some(index) if index >= list.count => Err(self.missing_entry(key, index, list)),
            index => Ok(index),
        }
    }

    /// The numbers of entries that exist, in a list that may be missing.
    pub(super) fn references(&self, key: &str, list: List) -> Result<Vec<usize>, String> {
        let reference = |(place, value): (usize, &Value)| {
            let key = format!("{key}[{place}]");
            match value.as_u64().map(|index| usize::try_from(index).unwrap_or(usize::MAX)) {
                Some(index) if index < list.count => Ok(index),
                Some(index) => Err(self.missing_entry(&key, index, list)),
                None => Err(self.error(&key, "must be an unsigned integer")),
            }
        };
        self.values(key)?.iter().enumerate().map(reference).collect()
    }

    fn missing_entry(&self, key: &str, index: usize, List { entry, count }: List) -> String {
        self.error(key, &format!("is {entry} {index}, which does not exist: the file has {count}"))
    }

    fn values(&self, key: &str) -> Result<&'v [Value], String> {
        Ok(self.field(key, Value::as_array, "must be a list")?.map(Vec::as_slice).unwrap_or_default())
    }

    fn field<T>(
        &self,
        key: &str,
        read: impl Fn(&'v Value) -> Option<T>,
        wanted: &str,
    ) -> Result<Option<T>, String> {
        match self.fields.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => read(value).map(Some).ok_or_else(|| self.error(key, wanted)),
        }
    }
}
