//! punctual-engine
