//! What a report is made of: a definition, where its rows come from, and how they look to the person who reads it.
//!
//! When a report runs and who gets it is decided by its workflow (`punctual-workflows`). Here a [`Definition`] is read and
//! checked, [`Sources`] fetch a table for a period, and [`present`] makes the mail and the files of it. Fetching is
//! the only part that leaves the process; everything else is a pure function.
//!
//! Where to look: `definition` for what an author may write, `sources` for SQL, HTTP and built-in data, `present` for
//! the order of things, then one file for each form: `html`, `plain`, `csv`, `xlsx`, `chart`. `locale` has how
//! numbers and dates are written where.

mod chart;
pub mod csv;
mod definition;
mod html;
mod locale;
mod plain;
mod present;
mod sources;
mod view;
pub mod xlsx;
mod zip;

pub use definition::{Chart, ChartKind, ColumnLook, Definition, Format, SourceKind};
pub use locale::Locale;
pub use present::{Look, Place, Presented, ReportFile, present};
pub use sources::{Asked, Author, Builtin, Connection, Connections, FetchFault, Sources};
