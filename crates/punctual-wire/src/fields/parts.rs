//! Reading objects and arrays.

use std::{io, ops::RangeInclusive};

use serde_json::{Map, Value};

use super::{Fields, span};
use crate::problem::Code;

impl<'v> Fields<'v> {
    /// Any JSON object, kept as it is, of at most `bytes` when written out.
    pub fn object(&mut self, name: &'static str, bytes: usize) -> Option<Value> {
        let value = self.get(name)?;
        if !value.is_object() {
            self.wrong_type(name, "an object", value);
            return None;
        }
        self.json(name, bytes)
    }

    pub fn required_object(&mut self, name: &'static str, bytes: usize) -> Value {
        self.require(name, || format!("an object of at most {bytes} bytes"));
        self.object(name, bytes).unwrap_or_default()
    }

    /// Any JSON value, kept as it is, of at most `bytes` when written out.
    pub fn json(&mut self, name: &'static str, bytes: usize) -> Option<Value> {
        let value = self.get(name)?;
        let size = json_size(value);
        if size > bytes {
            let detail = format!("`{name}` takes at most {bytes} bytes of JSON; it has {size}.");
            self.refuse(name, Code::OutOfRange, detail);
            return None;
        }
        Some(value.clone())
    }

    /// The fields of an object whose names are data, such as locales.
    pub fn entries(
        &mut self,
        name: &'static str,
        count: RangeInclusive<usize>,
    ) -> Option<&'v Map<String, Value>> {
        let value = self.get(name)?;
        let Some(entries) = value.as_object() else {
            self.wrong_type(name, "an object", value);
            return None;
        };
        self.count(name, entries.len(), count).then_some(entries)
    }

    pub fn required_entries(
        &mut self,
        name: &'static str,
        count: RangeInclusive<usize>,
    ) -> Option<&'v Map<String, Value>> {
        self.require(name, || format!("an object of {} entries", span(&count)));
        self.entries(name, count)
    }

    pub fn array(&mut self, name: &'static str, count: RangeInclusive<usize>) -> Option<&'v [Value]> {
        let value = self.get(name)?;
        let Some(items) = value.as_array() else {
            self.wrong_type(name, "an array", value);
            return None;
        };
        self.count(name, items.len(), count).then_some(items)
    }

    pub fn required_array(&mut self, name: &'static str, count: RangeInclusive<usize>) -> &'v [Value] {
        self.require(name, || format!("an array of {} items", span(&count)));
        self.array(name, count).unwrap_or_default()
    }

    /// An object with fields of its own, read by `read`.
    pub fn nested<T>(&mut self, name: &'static str, read: impl FnOnce(&mut Fields<'v>) -> T) -> Option<T> {
        self.part(name, self.open, read)
    }

    /// The same for an object whose other fields somebody else reads and checks.
    pub fn nested_open<T>(
        &mut self,
        name: &'static str,
        read: impl FnOnce(&mut Fields<'v>) -> T,
    ) -> Option<T> {
        self.part(name, true, read)
    }

    fn part<T>(
        &mut self,
        name: &'static str,
        open: bool,
        read: impl FnOnce(&mut Fields<'v>) -> T,
    ) -> Option<T> {
        let value = self.get(name)?;
        let mut inner = Fields { open, ..Fields::new(value, self.pointer_to(name)) };
        let part = read(&mut inner);
        let faults = inner.finish();
        self.accept(faults).map(|()| part)
    }

    /// Exactly one of two fields is to be given; says so where none or both are.
    pub fn one_of(&mut self, first: &'static str, second: &'static str) {
        let detail = |found| format!("Give either `{first}` or `{second}`; {found}.");
        match (self.has(first), self.has(second)) {
            (true, true) => self.refuse(second, Code::FieldConflict, detail("both were given")),
            (false, false) if self.object.is_some() => {
                self.refuse(first, Code::MissingField, detail("neither was given"));
            }
            _ => {}
        }
    }
}

/// How many bytes the value has when written out, without writing it.
pub fn json_size(value: &Value) -> usize {
    struct Count(usize);
    impl io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    // A tree without maps of odd keys always serialises, and counting cannot fail.
    let _ = serde_json::to_writer(&mut count, value);
    count.0
}
