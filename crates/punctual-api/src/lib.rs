//! punctual-api
