//! Reports as others see them: files opened by an independent reader, endpoints behind the guard.

mod endpoint;
mod files;
mod looks;
mod python;
mod sample;
